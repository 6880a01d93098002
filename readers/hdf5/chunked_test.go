package hdf5

import (
	"testing"

	"varve/readers"
)

// TestChunkLimits: chunks are no longer than what a fixed dimension can be, as libhdf5 has it,
// except where that is nothing at all.
func TestChunkLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		most uint64
		ok   bool
	}{{"as long", 3, true}, {"longer", 2, false}, {"nothing at all", 0, true}, {"no limit", readers.Unlimited, true}} {
		d := &Dataset{Type: &readers.Type{Size: 4}, Shape: []uint64{0, 4}, MaxShape: []uint64{c.most, 4},
			layout: layout{version: 4, chunk: []uint64{3, 4}, element: 4}}
		if err := d.readChunkedLayout(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
