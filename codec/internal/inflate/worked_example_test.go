package inflate

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	const want = "hi"
	dst := make([]byte, len(want))
	n, err := Zlib(dst, []byte("\x78\x01\x01\x02\x00\xfd\xff\x68\x69\x01\x3b\x00\xd2"))
	if err != nil || n != len(want) || string(dst) != want {
		t.Errorf("%q of %d bytes: %v", dst, n, err)
	}
}
