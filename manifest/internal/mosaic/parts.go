package mosaic

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve/codec"
	"varve/grid"
)

// Part is the part of a region that one stored chunk of a tile provides.
type Part struct {
	Tile int32
	Fit  *Fit
	// Row is the row of the stored chunk's ref. It is -1 if the variable has no refs, so that all its
	// elements have the fill value.
	Row int64
	// Box is the part in the coordinates of the array. Within is the same part in the coordinates of
	// the stored chunk, with the variable's order of axes: see Fit.Order. Along an axis that the
	// variable lacks, each element of Within repeats over the length of Box.
	Box, Within grid.Region
	// Reversed has the axes of the array along which the last element of Within is the first of Box.
	Reversed []int
	// Codec is the codec shape of the stored chunk. IsPadded says that the chunk extends beyond the
	// variable's shape.
	Codec    []int64
	IsPadded bool
	// HasAllData says that the part is the whole stored chunk, except padding.
	HasAllData bool
}

// IsWhole reports whether the part is the whole stored chunk, including padding.
func (p *Part) IsWhole() bool { return grid.Whole(p.Codec).Equal(p.Within) }

// Pipeline returns the codec pipeline of the stored chunk for its ref's filter mask.
func (p *Part) Pipeline(mask uint32) (*codec.Pipeline, error) {
	return p.Fit.Pipeline(p.Codec, mask, p.IsPadded)
}

// Parts yields the parts of a region that stored chunks provide, tile by tile. All other elements have
// the fill value. Each Part is valid until the next one. An error ends the sequence.
func (m *Mosaic) Parts(ctx context.Context, r grid.Region) iter.Seq2[*Part, error] {
	return func(yield func(*Part, error) bool) {
		if len(r.Origin) != m.grid.Rank() || !grid.Whole(m.grid.Shape()).Contains(r) {
			yield(nil, m.wrap(fmt.Errorf("region %v: %w: the shape is %v", r, grid.ErrOutOfBounds, m.grid.Shape())))
			return
		}
		if r.IsEmpty() {
			return
		}
		l := m.locator(ctx)
		for _, t := range slices.Clone(l.tiles(r)) {
			f, err := l.fitOf(t)
			if err != nil {
				yield(nil, err)
				return
			}
			if f != nil && !f.parts(t, r, yield) {
				return
			}
		}
	}
}

// parts yields the parts of one tile. It reports whether the caller wants more parts.
func (f *Fit) parts(t int32, r grid.Region, yield func(*Part, error) bool) bool {
	n := len(f.axes)
	box := grid.MakeRegion(n)
	for k := range f.axes {
		from, to := f.coveredRange(t, k)
		box.Origin[k] = max(from, r.Origin[k])
		box.Shape[k] = min(to, r.End(k)) - box.Origin[k]
		if box.Shape[k] <= 0 {
			return true
		}
	}
	wanted := f.inVariable(t, box)
	p := &Part{Tile: t, Fit: f, Row: -1, Box: box, Within: grid.MakeRegion(len(f.order)), Reversed: f.reversed(t)}
	if !f.HasRefs() {
		p.Within.Set(wanted)
		p.Codec = f.Variable.Shape
		return yield(p, nil)
	}
	w, err := f.grid.WalkRegion(wanted)
	if err != nil {
		return yield(nil, f.m.wrap(err)) && false
	}
	// setBox changes p.Box, and needs box unchanged.
	p.Box = box.Clone()
	first := f.m.files.Row(f.m.layout.file(t)) + f.rowsBefore
	for w.Next() {
		number, _ := f.grid.Number(w.Coords)
		p.Row = first + number
		p.Codec, p.IsPadded = w.Codec, false
		p.Within.Intersect(w.Region, wanted)
		p.HasAllData = p.Within.Equal(w.Region)
		f.setBox(p, box, wanted)
		for i, at := range w.Origin {
			p.IsPadded = p.IsPadded || w.Codec[i] > f.Variable.Shape[i]-at
			p.Within.Origin[i] -= at
		}
		if !yield(p, nil) {
			return false
		}
	}
	return true
}

// inVariable returns a box of the array in the coordinates and axes of the variable.
func (f *Fit) inVariable(t int32, box grid.Region) grid.Region {
	v := grid.MakeRegion(len(f.order))
	for k := range f.axes {
		if axis := f.axes[k].axis; axis >= 0 {
			v.Origin[axis] = f.variableIndex(t, k, box.Origin[k])
			if f.isReversed(t, k) {
				v.Origin[axis] -= box.Shape[k] - 1
			}
			v.Shape[axis] = box.Shape[k]
		}
	}
	return v
}

// setBox sets the part's Box from its Within, which must still be in the variable's coordinates. wanted
// is box in the variable's coordinates.
func (f *Fit) setBox(p *Part, box, wanted grid.Region) {
	for k := range f.axes {
		if axis := f.axes[k].axis; axis >= 0 {
			p.Box.Origin[k] = box.Origin[k] + p.Within.Origin[axis] - wanted.Origin[axis]
			p.Box.Shape[k] = p.Within.Shape[axis]
		}
	}
	for _, k := range p.Reversed {
		axis := f.axes[k].axis
		p.Box.Origin[k] = box.End(k) - (p.Within.End(axis) - wanted.Origin[axis])
	}
}

// Covers reports whether every element of a region is in a tile.
func (m *Mosaic) Covers(ctx context.Context, r grid.Region) (bool, error) {
	left, err := r.Elements()
	if err != nil || left == 0 {
		return true, err
	}
	l := m.locator(ctx)
	for _, t := range slices.Clone(l.tiles(r)) {
		f, err := l.fitOf(t)
		if err != nil {
			return false, err
		}
		if f == nil {
			continue
		}
		n := int64(1)
		for k := range f.axes {
			from, to := f.coveredRange(t, k)
			n *= max(min(to, r.End(k))-max(from, r.Origin[k]), 0)
		}
		left -= n // tiles do not overlap
	}
	return left == 0, nil
}
