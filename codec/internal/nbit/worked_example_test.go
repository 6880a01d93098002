package nbit

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	const want = "\x23\x01\x56\x04\x89\x07"
	dst := make([]byte, len(want))
	n, err := mustParse(t, []uint32{8, 0, 3, 1, 2, 0, 12, 0}).Decode(dst, []byte("\x12\x34\x56\x78\x90"))
	if err != nil || n != len(want) || string(dst) != want {
		t.Errorf("% x of %d bytes: %v", dst, n, err)
	}
}
