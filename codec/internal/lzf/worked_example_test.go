package lzf

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	const want = "abcabcabc"
	dst := make([]byte, len(want))
	n, err := Decode(dst, []byte("\x02\x61\x62\x63\x80\x02"))
	if err != nil || n != len(want) || string(dst) != want {
		t.Errorf("%q of %d bytes: %v", dst, n, err)
	}
}
