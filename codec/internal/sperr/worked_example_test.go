package sperr

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	layout, err := Parse([]uint32{1042, 268697600, 9, 12})
	if err != nil {
		t.Fatal(err)
	}
	dst, want := make([]byte, 4*9*12), make([]byte, 0, 4*9*12)
	for range 9 * 12 {
		want, _ = binary.Append(want, binary.LittleEndian, float32(3.7))
	}
	n, err := layout.Decode(dst, []byte("\x00\x81\x6c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xa0\x99\x99\x0d\x40"))
	if err != nil || n != len(want) || !bytes.Equal(dst, want) {
		t.Errorf("% x of %d bytes: %v", dst, n, err)
	}
}
