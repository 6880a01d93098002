package aec

import "testing"

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	want := [8]byte{0, 1, 0, 2, 0, 0, 1, 0}
	var dst [8]byte
	err := Decode(dst[:], []byte{0x36, 0x76}, Params{PixelsPerBlock: 8, BitsPerPixel: 8, PixelsPerScanline: 8})
	if err != nil || dst != want {
		t.Errorf("got %v, %v; want %v", dst, err, want)
	}
}
