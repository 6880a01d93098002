package fits

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	const want = "\x05\x05\x05\x05\x05\x05\x05\x05"
	dst := make([]byte, len(want))
	n, err := Rice{Bytes: 1, Block: 8, Size: 1}.Decode(dst, []byte("\x05\x00"))
	if err != nil || n != len(want) || string(dst) != want {
		t.Errorf("% x of %d bytes: %v", dst, n, err)
	}
}
