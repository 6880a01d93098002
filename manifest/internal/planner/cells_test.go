package planner

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
)

// cells makes a coordinate of 64-bit whole numbers, such as the IDs of S2 cells.
func cells(list ...uint64) wanted {
	w := cube("cell", "cell", []int64{int64(len(list))}, []int64{int64(len(list))})
	w.v.Type = codec.Type{Kind: codec.Uint, Size: 8}
	w.values = &manifest.Values{}
	for _, n := range list {
		w.values.Data = binary.LittleEndian.AppendUint64(w.values.Data, n)
	}
	return w
}

// TestCells: whole numbers beyond int64 are sorted, compared and shown correctly, as values and in
// summaries.
func TestCells(t *testing.T) {
	const far = 1 << 63
	m := newMaker()
	for name, list := range map[string][]uint64{"d": {math.MaxUint64 - 1, math.MaxUint64}, "c": {far + 5, far + 6}, "b": {far - 1, far}, "a": {3, 4}} {
		m.file(name, cells(list...), cube("x", "cell", []int64{2}, []int64{2}))
	}
	for _, valueBytes := range []int64{1 << 20, 1} {
		p, _, err := summarized(t, m.files, plan.Options{}, valueBytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Arrays {
			if a.Schema.Shape[0] != 8 {
				t.Errorf("%s has the shape %v", a.Path, a.Schema.Shape)
			}
			for _, w := range p.Placements {
				for _, tile := range w.Tiles {
					if at := int64(m.files[tile.File].URL[len(m.files[tile.File].URL)-1]-'a') * 2; w.ID == a.Placement && tile.Origin[0] != at {
						t.Errorf("%s: %s is at %d, not %d", a.Path, m.files[tile.File].URL, tile.Origin[0], at)
					}
				}
			}
		}
	}
}

// TestCellsBesideFloats: whole numbers that round to the same float64 stay distinct if another file
// has floats.
func TestCellsBesideFloats(t *testing.T) {
	for _, first := range []uint64{1 << 60, 1<<63 + 1<<60} {
		m := newMaker()
		for i := range uint64(3) {
			m.file(string('b'+rune(i)), cells(first+i), cube("x", "cell", []int64{1}, []int64{1}))
		}
		m.file("a", coords("cell", "cell", float64s, 0.5), cube("x", "cell", []int64{1}, []int64{1}))
		for _, valueBytes := range []int64{1 << 20, 1} {
			var no *plan.Error
			p, _, err := summarized(t, m.files, plan.Options{}, valueBytes)
			if errors.As(err, &no) {
				t.Logf("refused: %v", err)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range p.Arrays {
				if a.Schema.Shape[0] != 4 {
					t.Errorf("%s has the shape %v", a.Path, a.Schema.Shape)
				}
			}
		}
	}
}
