package grid

import (
	"slices"
	"testing"
)

func TestReverse(t *testing.T) {
	for axis, want := range [][]byte{{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}, {4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 6, 7}} {
		data := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
		Reverse(data, []int64{2, 3}, axis, 2)
		if !slices.Equal(data, want) {
			t.Errorf("axis %d: %v, want %v", axis, data, want)
		}
	}
	Reverse([]byte(nil), []int64{0, 3}, 1, 2)
}
