package shuffle

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	dst := make([]byte, 4)
	Shuffle(dst, []byte{1, 2, 3, 4}, 2)
	if want := [4]byte{1, 3, 2, 4}; [4]byte(dst) != want {
		t.Errorf("got % x, want % x", dst, want)
	}
}
