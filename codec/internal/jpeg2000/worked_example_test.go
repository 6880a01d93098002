package jpeg2000

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	src, err := hex.DecodeString(strings.Join(strings.Fields(`ff4f
		ff510029 0000 00000001 00000001 00000000 00000000 00000001 00000001 00000000 00000000 0001 0b0101
		ff52000c 00 00 0001 00 00 04 04 00 01  ff5c0004 4060  ff90000a 0000 00000014 0001  ff93 c07d4040059f  ffd9`), ""))
	if err != nil {
		t.Fatal(err)
	}
	image, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]int32, 1)
	if err := image.Decode(dst); err != nil || dst[0] != 2006 {
		t.Errorf("got %d, %v; want 2006", dst, err)
	}
}
