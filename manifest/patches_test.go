package manifest

import (
	"errors"
	"testing"

	"varve/codec"
)

// TestPatchedCheck checks that Check rejects runs that do not fit an array with two axes.
func TestPatchedCheck(t *testing.T) {
	good := Patched{Counts: []int64{3, 4}, Shift: []int64{0, 1}, Limit: []int64{3, 2}}
	if err := good.Check(2); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]Patched{
		"no axes":           {},
		"no shift":          {Counts: []int64{3, 4}, Limit: []int64{3, 2}},
		"one axis":          {Counts: []int64{3}, Shift: []int64{0}, Limit: []int64{3}},
		"limit over counts": {Counts: []int64{3, 4}, Shift: []int64{0, 0}, Limit: []int64{3, 5}},
		"limit below 0":     {Counts: []int64{3, 4}, Shift: []int64{0, 0}, Limit: []int64{3, -1}},
		"shift below 0":     {Counts: []int64{3, 4}, Shift: []int64{0, -1}, Limit: []int64{3, 1}},
	} {
		if err := bad.Check(2); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
