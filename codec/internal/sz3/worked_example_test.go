package sz3

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	src, err := hex.DecodeString(strings.Join(strings.Fields(`a000000000000000 28b52ffd20a05d000020000050400100 99294704
		02 0500000000000000 0800000000000000 2800000000000000 01 00 0000000000000000 9a9999999999b93f
		01000100 01 00 20000000 01 01 00000100 10000000 10000000 02000000 00 48000000`), ""))
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := Parse([]uint32{2, 0, 8, 5})
	if err != nil {
		t.Fatal(err)
	}
	dst, want := make([]byte, 160), bytes.Repeat([]byte{0, 0, 0x50, 0x40}, 40)
	n, err := chunk.Decode(dst, src)
	if err != nil || n != len(want) || !bytes.Equal(dst, want) {
		t.Errorf("% x of %d bytes: %v", dst, n, err)
	}
}
