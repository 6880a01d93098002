package vectors

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// Chunk is a test vector of an HDF5 filter. Values are the filter's parameters, Want is the
// decoded form of Stored.
type Chunk struct {
	Name   string
	Values []uint32
	Stored []byte
	Want   []byte
}

// CheckDecode checks that decode turns stored into want, and that it writes neither past the
// end of dst nor to stored.
func CheckDecode(t testing.TB, stored, want []byte, decode func(dst, src []byte) (int, error)) {
	t.Helper()
	guard := bytes.Repeat([]byte{0xa5}, 9)
	dst := append(bytes.Repeat([]byte{0xa5}, len(want)), guard...)
	before := bytes.Clone(stored)
	n, err := decode(dst[:len(want)], stored)
	if err != nil || n != len(want) {
		t.Fatalf("Decode = %d, %v, want %d bytes", n, err, len(want))
	}
	for i, b := range want {
		if dst[i] != b {
			t.Fatalf("byte %d of %d is %#x, want %#x; got %x…, want %x…", i, n, dst[i], b, dst[i:min(i+16, n)], want[i:min(i+16, n)])
		}
	}
	if !bytes.Equal(dst[n:], guard) {
		t.Errorf("wrote past the end: %x", dst[n:])
	}
	if !bytes.Equal(before, stored) {
		t.Errorf("changed its input")
	}
}

// Sample returns the n bytes that the generate.py scripts encode under the name kind: "smooth",
// "steps", "zeros" or "noise". Any other kind returns random bytes from 0 to 3.
func Sample(kind string, n int) []byte {
	b := make([]byte, 0, n+4)
	switch kind {
	case "smooth", "steps":
		for i := 0; len(b) < n; i++ {
			k := i
			if kind == "steps" {
				k /= 16
			}
			b = binary.LittleEndian.AppendUint32(b, uint32(k*k/50%100003))
		}
		return b[:n]
	case "zeros":
		return b[:n]
	}
	mask := uint32(3)
	if kind == "noise" {
		mask = 255
	}
	// The scripts use the same generator, the rand of ISO C's example.
	x := uint32(1)
	for len(b) < n {
		x = (x*1103515245 + 12345) & 0x7FFFFFFF
		b = append(b, byte(x>>16&mask))
	}
	return b
}
