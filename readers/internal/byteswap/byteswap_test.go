package byteswap

import (
	"bytes"
	"testing"
)

func TestElements(t *testing.T) {
	for size, want := range map[int][]byte{
		1: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
		2: {2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11},
		3: {3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10},
		4: {4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9},
	} {
		b := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
		if Elements(b, size); !bytes.Equal(b, want) {
			t.Errorf("by %d: %v, want %v", size, b, want)
		}
	}
}
