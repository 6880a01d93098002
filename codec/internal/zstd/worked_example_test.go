package zstd

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	const want = "\x68\x69"
	dst := make([]byte, len(want))
	n, err := Decode(dst, []byte("\x28\xb5\x2f\xfd\x20\x02\x11\x00\x00\x68\x69"))
	if err != nil || n != len(want) || string(dst) != want {
		t.Errorf("% x of %d bytes: %v", dst, n, err)
	}
}
