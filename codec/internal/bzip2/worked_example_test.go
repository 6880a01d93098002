package bzip2

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	const want = "\x78"
	dst := make([]byte, len(want))
	n, err := Decode(dst, []byte("\x42\x5a\x68\x31\x31\x41\x59\x26\x53\x59\x77\x4b\xb0\x14\x00\x00\x00\x00\x80\x00\x40\x20\x00\x21\x18\x46\x82\xee\x48\xa7\x0a\x12\x0e\xe9\x76\x02\x80"))
	if err != nil || n != len(want) || string(dst) != want {
		t.Errorf("% x of %d bytes: %v", dst, n, err)
	}
}
