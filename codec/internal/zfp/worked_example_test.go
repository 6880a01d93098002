package zfp

import (
	"bytes"
	"testing"
)

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	array, err := Parse([]uint32{269504785, 91252346, 2147483734, 3404726272})
	if err != nil {
		t.Fatal(err)
	}
	dst, want := bytes.Repeat([]byte{1}, 4*6*9), make([]byte, 4*6*9)
	n, err := array.Decode(dst, []byte{0})
	if err != nil || n != len(want) || !bytes.Equal(dst, want) {
		t.Errorf("% x of %d bytes: %v", dst, n, err)
	}
}
