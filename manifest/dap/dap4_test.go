package dap

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"hash/crc32"
	"testing"
)

// variablesOf takes an answer of DAP4 apart, checks its chunks and checksums, and returns the values of variables of these
// lengths.
func variablesOf(t testing.TB, answer []byte, lengths ...int) (out [][]byte) {
	t.Helper()
	var chunks [][]byte
	for isLast := false; !isLast; {
		if len(answer) < 4 {
			t.Fatal("no last chunk")
		}
		header := binary.BigEndian.Uint32(answer)
		n := int(header & 0xffffff)
		isLast = header>>24&1 != 0
		if header>>24&^1 != 4 || n > len(answer)-4 {
			t.Fatalf("header %08x", header)
		}
		chunks = append(chunks, answer[4:4+n])
		answer = answer[4+n:]
	}
	if len(answer) > 0 {
		t.Fatalf("%d bytes after the last chunk", len(answer))
	}
	if err := xml.Unmarshal(chunks[0], new(struct{})); err != nil || !bytes.HasSuffix(chunks[0], []byte("\r\n")) {
		t.Errorf("%v in %s", err, chunks[0])
	}
	values := bytes.Join(chunks[1:], nil)
	for _, n := range lengths {
		if crc32.ChecksumIEEE(values[:n]) != binary.LittleEndian.Uint32(values[n:]) {
			t.Errorf("the checksum of %x differs", values[:n])
		}
		out = append(out, values[:n])
		values = values[n+4:]
	}
	if len(values) > 0 {
		t.Errorf("%d bytes after the last variable", len(values))
	}
	return out
}

func TestData(t *testing.T) {
	d := openTwoFiles(t)
	a, err := d.Data(t.Context(), "/t2m[0:2:2][1][];flags;/station;time=[1:2];/time", true, noLimit)
	got := variablesOf(t, answerOf(t, a, err), 2, 2*8+4, 12, 16)
	want := [][]byte{
		{0xfe, 1}, // the shared dimension applies to a variable without a hyperslab
		[]byte("\x01\x00\x00\x00\x00\x00\x00\x00a\x03\x00\x00\x00\x00\x00\x00\x00bcd"),
		bytesOf(t, []int16{3, 4, 5, 15, 16, 17}),
		bytesOf(t, []int64{1, 2}),
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("variable %d: got %x, want %x", i, got[i], want[i])
		}
	}
	if a.Values != 2+20+12+16 {
		t.Errorf("%d bytes of values", a.Values)
	}
	bare, err := d.Data(t.Context(), "/t2m[0][1][2]", false, noLimit)
	if b := answerOf(t, bare, err); !bytes.HasSuffix(b, []byte{4 | 8 | 1, 0, 0, 2, 5, 0}) {
		t.Errorf("without a checksum: % x", b[len(b)-8:])
	}
}

// TestChunks checks that values that fill several chunks, or exactly one, are divided right.
func TestChunks(t *testing.T) {
	for _, n := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes} {
		var out bytes.Buffer
		c := &chunkWriter{out: &out, flags: littleEndian, left: int64(n)}
		if err := c.begin(); err != nil {
			t.Fatal(err)
		}
		for at := 0; at < n; at += 1000 {
			if _, err := c.Write(make([]byte, min(1000, n-at))); err != nil {
				t.Fatal(err)
			}
		}
		if want := n + 4*max(1, (n+chunkBytes-1)/chunkBytes); out.Len() != want {
			t.Errorf("%d bytes fill %d, not %d", n, out.Len(), want)
		}
		if _, err := c.Write([]byte{1}); err == nil {
			t.Errorf("a byte after %d bytes was accepted", n)
		}
		first := binary.BigEndian.Uint32(out.Bytes())
		if isLast := first&lastChunk != 0; isLast != (n <= chunkBytes) || int(first&0xffffff) != min(n, chunkBytes) {
			t.Errorf("%d bytes begin with the header %08x", n, first)
		}
	}
}
