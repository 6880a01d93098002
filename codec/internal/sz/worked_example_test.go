package sz

import (
	"bytes"
	"testing"
)

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	chunk := mustParse(t, []uint32{2, 2, 7, 5})
	dst, want := make([]byte, 35), bytes.Repeat([]byte{9}, 35)
	n, err := chunk.Decode(dst, []byte("\x02\x01\x0c\x43\x44\x00\x64\x26\xac\x02\x38\xd1\xb7\x17\x00\x00\x00\x00\x65\x00\x00\x01\x00\x00\x00"+
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x23\x09"))
	if err != nil || n != len(want) || !bytes.Equal(dst, want) {
		t.Errorf("% x of %d bytes: %v", dst, n, err)
	}
}
