package store

import (
	"context"
	"fmt"
	"math"

	"varve/codec"
	"varve/grid"
)

// Piece is a part of a region that Visit passes to its caller.
type Piece struct {
	grid.Region       // in the array's coordinates
	codec.Elems       // in C order of the region; valid until the function that gets the piece returns
	Number      int64 // index of the piece in C order
}

// pieceSizes are limits of the size of pieces, in bytes.
type pieceSizes struct {
	// least is the size up to which small chunks are joined into one piece, because each piece needs some
	// time of its own.
	least int64
	// most is the largest size of pieces of uncompressed data, which can be cut anywhere. Such a piece is
	// still in the processor's cache when look reads it.
	most int64
}

var visitSizes = pieceSizes{256 << 10, 1 << 20}

// Visit calls look for each piece of a region, on the goroutine that decoded the piece. The calls are
// concurrent and in any order, but a region is always divided into the same pieces. A piece is one or more
// whole declared chunks, or a part of uncompressed chunks. Memory does not grow with the region.
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
	cuts, err := a.visitCuts(r, sizes)
	if err != nil {
		return err
	}
	typ, number := a.spec.Schema.DataType.Type(), int64(0)
	return a.readTargets(ctx, func(add func(*target, grid.Region) error) error {
		return eachBox(cuts, func(box grid.Region) error {
			p := &Piece{Region: box, Number: number}
			number++
			to := &target{window: newWindow(codec.Elems{}, box, typ), form: a.spec.Schema.Form(box.Shape)}
			to.finish = func() error {
				p.Elems = to.Elems
				return look(p)
			}
			return add(to, box)
		})
	})
}

// visitCuts returns the positions along each axis at which a region is cut, including its start and
// end.
func (a *Array) visitCuts(r grid.Region, sizes pieceSizes) ([][]int64, error) {
	rank := len(r.Shape)
	first, lengths := make([]int64, rank), make([]int64, rank)
	for k := range rank {
		chunk, err := a.grid.Dim(k).Find(r.Origin[k])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
		size, _ := a.grid.Dim(k).CodecSize(chunk)
		first[k], lengths[k] = chunk, min(size, r.Shape[k])
	}
	p, err := a.Pipeline(first)
	if err != nil {
		return nil, err
	}
	anywhere := p.Partial() == codec.PartialRows
	if !anywhere {
		sizes.most = math.MaxInt64
	}
	sizes.fit(lengths, r.Shape, a.spec.Schema.DataType.Type())
	cuts := make([][]int64, rank)
	for k := range cuts {
		cuts[k] = a.axisCuts(k, r.Origin[k], r.End(k), lengths[k], anywhere)
	}
	return cuts, nil
}

// fit changes lengths from the shape of a chunk to the shape of a piece of the region.
func (s pieceSizes) fit(lengths, region []int64, t codec.Type) {
	size := int64(t.Size)
	if t.Varies() {
		size = 32 // a lower bound of the size of a text
	}
	for _, n := range lengths {
		size = min(size, 1<<40) * min(n, 1<<20) // clipped, so that it cannot overflow
	}
	for k := len(lengths) - 1; k >= 0 && size < s.least; k-- {
		grown := min(lengths[k]*((s.least+size-1)/size), region[k])
		size = size / lengths[k] * grown
		lengths[k] = grown
	}
	for k := 0; k < len(lengths) && size > s.most; k++ {
		cut := max(lengths[k]*s.most/size, 1)
		size = size / lengths[k] * cut
		lengths[k] = cut
	}
}

// axisCuts cuts an axis into pieces of a length. Unless it can be cut anywhere, pieces are made longer
// to end with a chunk.
func (a *Array) axisCuts(axis int, from, to, length int64, anywhere bool) []int64 {
	d := a.grid.Dim(axis)
	cuts := []int64{from}
	for at := from; at < to; {
		end := to
		if length < to-at {
			end = at + length
		}
		if chunk, err := d.Find(end - 1); err == nil && !anywhere {
			_, chunkEnd, _ := grid.Bounds(d, chunk)
			end = min(chunkEnd, to)
		}
		cuts = append(cuts, end)
		at = end
	}
	return cuts
}

// eachBox calls do with all boxes between the cuts, in C order.
func eachBox(cuts [][]int64, do func(grid.Region) error) error {
	at := make([]int, len(cuts))
	for {
		box := grid.MakeRegion(len(cuts))
		for k, i := range at {
			box.Origin[k], box.Shape[k] = cuts[k][i], cuts[k][i+1]-cuts[k][i]
		}
		if err := do(box); err != nil {
			return err
		}
		k := len(cuts) - 1
		for k >= 0 && at[k]+2 == len(cuts[k]) {
			at[k] = 0
			k--
		}
		if k < 0 {
			return nil
		}
		at[k]++
	}
}
