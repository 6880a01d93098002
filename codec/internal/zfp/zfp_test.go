package zfp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// vector is a chunk, and what libhdf5 or ZFP reads of it; testdata/generate.py makes them.
type vector struct {
	Name   string
	Values []uint32 // none: the stream begins with its header
	Stored []byte
	Size   int
	Sum    string
}

func vectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vs []vector
	if err := json.Unmarshal(text, &vs); err != nil {
		t.Fatal(err)
	}
	return vs
}

func (v *vector) decode(t testing.TB, dst, src []byte) (int, error) {
	t.Helper()
	if len(v.Values) == 0 {
		return DecodeStream(dst, src)
	}
	a, err := Parse(v.Values)
	if err != nil {
		t.Fatalf("Parse(%#x): %v", v.Values, err)
	}
	return a.Decode(dst, src)
}

func TestDecodeAsZFP(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			dst := bytes.Repeat([]byte{0xa5}, v.Size+3)
			stored := bytes.Clone(v.Stored)
			n, err := v.decode(t, dst, stored)
			if err != nil || n != v.Size {
				t.Fatalf("Decode = %d, %v, want %d bytes", n, err, v.Size)
			}
			if sum := sha256.Sum256(dst[:n]); hex.EncodeToString(sum[:]) != v.Sum {
				t.Errorf("decodes to %x…", dst[:min(n, 64)])
			}
			if !bytes.Equal(dst[n:], []byte{0xa5, 0xa5, 0xa5}) {
				t.Errorf("wrote past the end: %x", dst[n:])
			}
			if !bytes.Equal(stored, v.Stored) {
				t.Error("changed what it reads")
			}
		})
	}
}
