package hdf5

import (
	"testing"

	"varve/readers"
)

// TestChunkLimits: like libhdf5, readChunkedLayout rejects chunks that are longer than the maximum
// of a fixed dimension, unless that is 0.
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
