package mosaic

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve/codec"
	"varve/grid"
)

// Part is what one stored chunk of a tile has of a region.
type Part struct {
	Tile int32
	Fit  *Fit
	// Row is that of the stored chunk's ref, or -1 if the variable has no refs: all is fill.
	Row int64
	// Box is the part in the array, Within the same in the stored chunk, in the variable's
	// axes: they have the same elements, in another order unless the Fit is straight, and each as
	// often as Box is long along axes that the variable lacks.
	Box, Within grid.Region
	// Codec is the shape of the stored chunk, and Reaches whether it extends over the variable's.
	Codec   []int64
	Reaches bool
	// All reports whether the part is all of the stored chunk that counts.
	All bool
}

// IsWhole reports whether the part is all that the stored chunk decodes to.
func (p *Part) IsWhole() bool { return grid.Whole(p.Codec).Equal(p.Within) }

// Pipeline decodes the stored chunk if its ref has a mask.
func (p *Part) Pipeline(mask uint32) (*codec.Pipeline, error) {
	return p.Fit.Pipeline(p.Codec, mask, p.Reaches)
}

// Parts yields what stored chunks have of a region of the array, tile by tile. What is in
// no part is fill. The Part is overwritten by the next; an error ends it.
func (m *Mosaic) Parts(ctx context.Context, r grid.Region) iter.Seq2[*Part, error] {
	return func(yield func(*Part, error) bool) {
		if len(r.Origin) != m.grid.Rank() || !grid.Whole(m.grid.Shape()).Contains(r) {
			yield(nil, m.wrap(fmt.Errorf("region %v: %w: the shape is %v", r, grid.ErrOutOfBounds, m.grid.Shape())))
			return
		}
		if r.IsEmpty() {
			return
		}
		l := m.Locator(ctx)
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

// parts yields those of one tile, and reports whether to go on.
func (f *Fit) parts(t int32, r grid.Region, yield func(*Part, error) bool) bool {
	n := len(f.axes)
	box := grid.MakeRegion(n)
	for k := range f.axes {
		from, to := f.extent(t, k)
		box.Origin[k] = max(from, r.Origin[k])
		box.Shape[k] = min(to, r.End(k)) - box.Origin[k]
		if box.Shape[k] <= 0 {
			return true
		}
	}
	wanted := f.inVariable(t, box)
	p := &Part{Tile: t, Fit: f, Row: -1, Box: box, Within: grid.MakeRegion(len(f.order))}
	if !f.HasRefs() {
		p.Within.Set(wanted)
		p.Codec = f.Variable.Shape
		return yield(p, nil)
	}
	w, err := f.grid.WalkRegion(wanted)
	if err != nil {
		return yield(nil, f.m.wrap(err)) && false
	}
	p.Box = box.Clone()
	first := f.m.files.Row(f.m.layout.file(t)) + f.skip
	for w.Next() {
		number, _ := f.grid.Number(w.Coords)
		p.Row = first + number
		p.Codec, p.Reaches = w.Codec, false
		p.Within.Intersect(w.Region, wanted)
		p.All = p.Within.Equal(w.Region)
		f.boxOf(p, box, wanted)
		for i, at := range w.Origin {
			p.Reaches = p.Reaches || w.Codec[i] > f.Variable.Shape[i]-at
			p.Within.Origin[i] -= at
		}
		if !yield(p, nil) {
			return false
		}
	}
	return true
}

// inVariable is a box of the array in the coordinates and axes of the variable.
func (f *Fit) inVariable(t int32, box grid.Region) grid.Region {
	v := grid.MakeRegion(len(f.order))
	for k := range f.axes {
		if axis := f.axes[k].axis; axis >= 0 {
			v.Origin[axis] = f.within(t, k, box.Origin[k])
			v.Shape[axis] = box.Shape[k]
		}
	}
	return v
}

// boxOf sets the part's Box to what its Within is in the array, while that is still in the
// variable's coordinates: all is wanted, which is box there.
func (f *Fit) boxOf(p *Part, box, wanted grid.Region) {
	for k := range f.axes {
		if axis := f.axes[k].axis; axis >= 0 {
			p.Box.Origin[k] = box.Origin[k] + p.Within.Origin[axis] - wanted.Origin[axis]
			p.Box.Shape[k] = p.Within.Shape[axis]
		}
	}
}

// Covers reports whether every element of a region is in a tile.
func (m *Mosaic) Covers(ctx context.Context, r grid.Region) (bool, error) {
	left, err := r.Elements()
	if err != nil || left == 0 {
		return true, err
	}
	l := m.Locator(ctx)
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
			from, to := f.extent(t, k)
			n *= max(min(to, r.End(k))-max(from, r.Origin[k]), 0)
		}
		left -= n // tiles do not overlap
	}
	return left == 0, nil
}
