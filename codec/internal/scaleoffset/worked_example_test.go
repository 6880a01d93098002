package scaleoffset

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	const want = "\x64\x00\x67\x00\x65\x00\x66\x00"
	dst := make([]byte, len(want))
	n, err := mustParse(t, append([]uint32{2, 0, 4, 0, 2}, make([]uint32, 15)...)).Decode(dst, []byte("\x02\x00\x00\x00\x08\x64\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00"))
	if err != nil || n != len(want) || string(dst) != want {
		t.Errorf("% x of %d bytes: %v", dst, n, err)
	}
}
