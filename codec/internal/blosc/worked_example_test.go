package blosc

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	const want = "hi"
	dst := make([]byte, len(want))
	n, err := Decode(dst, []byte("\x02\x01\x02\x01\x02\x00\x00\x00\x02\x00\x00\x00\x12\x00\x00\x00\x68\x69"))
	if err != nil || n != len(want) || string(dst) != want {
		t.Errorf("%q of %d bytes: %v", dst, n, err)
	}
}
