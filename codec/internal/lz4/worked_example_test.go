package lz4

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	const want = "abcabcabcavwxyz"
	dst := make([]byte, len(want))
	n, err := Decode(dst, []byte("\x33\x61\x62\x63\x03\x00\x50\x76\x77\x78\x79\x7a"))
	if err != nil || n != len(want) || string(dst) != want {
		t.Errorf("%q of %d bytes: %v", dst, n, err)
	}
}
