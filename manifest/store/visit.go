package store

import (
	"context"
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
)

// Piece is a part of a region that Visit passes to its caller.
type Piece struct {
	grid.Region       // in the array's coordinates
	codec.Elems       // in C order of the region; valid until the function that gets the piece returns
	Number      int64 // pieces are numbered from 0
	// IsUniform means that nothing is stored in the region: Elems has one element, the fill value, for all of them.
	IsUniform bool
}

// pieceSizes are limits of the size of pieces, in bytes.
type pieceSizes struct {
	// least is the size up to which small chunks are joined into one piece, because each piece needs some
	// time of its own.
	least int64
	// most is the largest size of pieces of uncompressed data, which can be cut anywhere. Such a piece is
	// still in the processor's cache when look reads it.
	most int64
	// vast is the size from which a region is divided until in each part nothing is stored, or the part is smaller. A shape
	// costs nothing to declare, so the work must follow from the stored chunks.
	vast int64
}

var visitSizes = pieceSizes{least: 256 << 10, most: 1 << 20, vast: 1 << 30}

// Visit calls look for each piece of a region, on the goroutine that decoded the piece. The calls are
// concurrent and in any order, but a region is always divided into the same pieces. A piece is one or more
// whole declared chunks, a part of uncompressed chunks, or a large part of the region in which nothing is stored. Memory
// does not grow with the region.
func (a *Array) Visit(ctx context.Context, r grid.Region, look func(*Piece) error) error {
	return a.visit(ctx, r, visitSizes, look)
}

func (a *Array) visit(ctx context.Context, r grid.Region, sizes pieceSizes, look func(*Piece) error) error {
	if err := a.checkRegion(r); err != nil {
		return err
	}
	if r.IsEmpty() {
		return ctx.Err()
	}
	typ, number := a.spec.Schema.DataType.Type(), int64(0)
	return a.readTargets(ctx, func(add func(*target, grid.Region) error) error {
		visit := func(box grid.Region) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			p := &Piece{Region: box, Number: number}
			number++
			to := &target{window: newWindow(codec.Elems{}, box, typ), form: a.spec.Schema.Form(box.Shape)}
			to.finish = func() error {
				p.Elems = to.Elems
				return look(p)
			}
			return add(to, box)
		}
		uniform := func(box grid.Region) error {
			form := a.spec.Schema.Form(slices.Repeat([]int64{1}, len(box.Shape)))
			p := &Piece{Region: box, Number: number, IsUniform: true, Elems: codec.NewElems(form)}
			number++
			p.SetFill(form)
			return look(p)
		}
		return a.divide(ctx, r, sizes.vast, func(part grid.Region, isStored bool) error {
			if !isStored {
				return uniform(part)
			}
			return a.eachPiece(ctx, part, sizes, visit, uniform)
		})
	})
}

// eachPiece calls visit with each piece of a region, or uniform with a large one in which nothing is stored.
func (a *Array) eachPiece(ctx context.Context, r grid.Region, sizes pieceSizes, visit, uniform func(grid.Region) error) error {
	cut, partial, err := a.visitCuts(r, sizes)
	if err != nil {
		return err
	}
	return eachBox(r, cut, func(box grid.Region) error {
		form := a.spec.Schema.Form(box.Shape)
		if form.MemorySize() <= largePiece {
			return visit(box)
		}
		stored, err := a.storedIn(ctx, box)
		if err != nil {
			return err
		}
		if stored && !partial {
			if err := form.CheckSize(); err != nil {
				return fmt.Errorf("%s: %w", a.Path(), err)
			}
			return visit(box)
		}
		if stored {
			return eachBox(box, a.anywhere(box, pieceSizes{least: largePiece / 2, most: largePiece}), visit)
		}
		return uniform(box)
	})
}

// largePiece is the size in bytes from which a piece is not allocated before it is known that something in it is stored,
// and is divided if its chunks can be read in parts.
const largePiece = 64 << 20

// divide calls do with parts of a region, and whether anything may be stored in them. It halves the region as long as
// that can separate stored chunks from missing ones.
func (a *Array) divide(ctx context.Context, r grid.Region, vast int64, do func(part grid.Region, isStored bool) error) error {
	if a.spec.Schema.Form(r.Shape).MemorySize() <= vast {
		return do(r, true)
	}
	some, err := a.HasStored(ctx, r)
	if err != nil {
		return err
	}
	axis, middle := a.middleOf(r)
	if !some || axis < 0 {
		return do(r, some)
	}
	half := r.Clone()
	half.Shape[axis] = middle - r.Origin[axis]
	if err := a.divide(ctx, half, vast, do); err != nil {
		return err
	}
	half = r.Clone()
	half.Origin[axis], half.Shape[axis] = middle, r.End(axis)-middle
	return a.divide(ctx, half, vast, do)
}

// middleOf returns the axis along which a region has the most chunks, and the boundary of chunks in its middle. The axis is
// -1 if the region is within one chunk.
func (a *Array) middleOf(r grid.Region) (axis int, middle int64) {
	axis = -1
	most := int64(1)
	for k := range r.Shape {
		d := a.grid.Dim(k)
		first, err := d.Find(r.Origin[k])
		last, failed := d.Find(r.End(k) - 1)
		if n := last - first + 1; err == nil && failed == nil && n > most {
			axis, most = k, n
			middle, _, _ = grid.Bounds(d, first+n/2)
		}
	}
	return axis, middle
}

// HasStored reports whether any declared chunk in a region is stored.
func (a *Array) HasStored(ctx context.Context, r grid.Region) (bool, error) {
	chunks, err := a.grid.ChunksOf(r)
	if err != nil {
		return false, fmt.Errorf("%s: %w", a.Path(), err)
	}
	for run, err := range a.Runs(ctx, chunks) {
		if err != nil {
			return false, err
		}
		if run.Kind != manifest.Missing {
			return true, nil
		}
	}
	return false, nil
}

// storedIn reports whether any declared chunk in a region is stored. It checks the sizes of chunks that are served
// unchanged.
func (a *Array) storedIn(ctx context.Context, r grid.Region) (bool, error) {
	chunks, err := a.grid.ChunksOf(r)
	if err != nil {
		return false, fmt.Errorf("%s: %w", a.Path(), err)
	}
	some := false
	for run, err := range a.Runs(ctx, chunks) {
		if err != nil {
			return false, err
		}
		if run.Kind == manifest.Missing {
			continue
		}
		some = true
		if run.Kind != manifest.Verbatim || run.Sizes == nil {
			continue
		}
		p, err := a.Pipeline(run.Coords)
		if err == nil {
			err = p.Form().CheckGrowth(slices.Max(run.Sizes))
		}
		if err != nil {
			return false, fmt.Errorf("%s: chunk %v: %w", a.Path(), run.Coords, err)
		}
	}
	return some, nil
}

// anywhere cuts a region into pieces that need not end with a chunk.
func (a *Array) anywhere(r grid.Region, sizes pieceSizes) []axisCut {
	lengths := slices.Clone(r.Shape)
	sizes.fit(lengths, r.Shape, a.spec.Schema.DataType.Type())
	cut := make([]axisCut, len(lengths))
	for k := range cut {
		cut[k] = a.axisCut(k, r.End(k), lengths[k], true)
	}
	return cut
}

// axisCut returns the end of the piece that begins at a position along an axis.
type axisCut func(at int64) (end int64)

// visitCuts returns how a region is cut along each axis, and whether a part of a chunk can be read alone.
func (a *Array) visitCuts(r grid.Region, sizes pieceSizes) (cut []axisCut, partial bool, err error) {
	rank := len(r.Shape)
	first, lengths := make([]int64, rank), make([]int64, rank)
	for k := range rank {
		chunk, err := a.grid.Dim(k).Find(r.Origin[k])
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", a.Path(), err)
		}
		size, _ := a.grid.Dim(k).CodecSize(chunk)
		first[k], lengths[k] = chunk, min(size, r.Shape[k])
	}
	p, err := a.Pipeline(first)
	if err != nil {
		return nil, false, err
	}
	anywhere := p.Partial() == codec.PartialRows
	if !anywhere {
		sizes.most = math.MaxInt64
	}
	sizes.fit(lengths, r.Shape, a.spec.Schema.DataType.Type())
	cut = make([]axisCut, rank)
	for k := range cut {
		cut[k] = a.axisCut(k, r.End(k), lengths[k], anywhere)
	}
	return cut, p.Partial() != codec.WholeChunks, nil
}

// fit changes lengths from the shape of a chunk to the shape of a piece of the region. Sizes are floats, because a declared
// shape may have more bytes than an integer can count.
func (s pieceSizes) fit(lengths, region []int64, t codec.Type) {
	size := float64(t.Size)
	if t.Varies() {
		size = 32 // a lower bound of the size of a text
	}
	for _, n := range lengths {
		size *= float64(n)
	}
	if size == 0 {
		return
	}
	least, most := float64(s.least), float64(s.most)
	for k := len(lengths) - 1; k >= 0 && size < least; k-- {
		grown := min(lengths[k]*int64(math.Ceil(least/size)), region[k])
		size = size / float64(lengths[k]) * float64(grown)
		lengths[k] = grown
	}
	for k := 0; k < len(lengths) && size > most; k++ {
		cut := max(int64(float64(lengths[k])*(most/size)), 1)
		size = size / float64(lengths[k]) * float64(cut)
		lengths[k] = cut
	}
}

// axisCut cuts an axis up to an end into pieces of a length. Unless it can be cut anywhere, pieces are made longer to
// end with a chunk.
func (a *Array) axisCut(axis int, to, length int64, anywhere bool) axisCut {
	d := a.grid.Dim(axis)
	return func(at int64) int64 {
		end := to
		if length < to-at {
			end = at + length
		}
		if anywhere {
			return end
		}
		if chunk, err := d.Find(end - 1); err == nil {
			_, chunkEnd, _ := grid.Bounds(d, chunk)
			end = min(chunkEnd, to)
		}
		return end
	}
}

// eachBox calls do with all boxes into which a region is cut, in C order. It keeps no list of them: a declared shape may
// have any number.
func eachBox(r grid.Region, cut []axisCut, do func(grid.Region) error) error {
	box := grid.MakeRegion(len(cut))
	var along func(k int) error
	along = func(k int) error {
		if k == len(cut) {
			return do(box.Clone())
		}
		for at := r.Origin[k]; at < r.End(k); {
			end := cut[k](at)
			box.Origin[k], box.Shape[k] = at, end-at
			if err := along(k + 1); err != nil {
				return err
			}
			at = end
		}
		return nil
	}
	return along(0)
}
