package zarrstore

import (
	"context"
	"fmt"

	"varve/codec"
	"varve/grid"
)

// Read fills dst, in C order of the indexer's shape, with the elements that an indexer of the array's
// grid selects: grid.Basic, Orthogonal, Coordinate, Mask or Block.
func (a *Array) Read(ctx context.Context, ix *grid.Indexer, dst codec.Elems) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.eachProjection(ctx, ix, dst, a.readProjection)
}

// Write replaces the elements that an indexer of the array's grid selects by src, in C order of the
// indexer's shape. If it selects an element twice, the later value counts. Chunks of fill value only are
// not stored, as by WriteRegion.
func (a *Array) Write(ctx context.Context, ix *grid.Indexer, src codec.Elems) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.eachProjection(ctx, ix, src, a.writeProjection)
}

// eachProjection calls do for each chunk that a selection touches, several at a time.
func (a *Array) eachProjection(ctx context.Context, ix *grid.Indexer, elems codec.Elems, do func(context.Context, *part, *grid.Projection, codec.Elems) error) error {
	f := &a.form
	if g := ix.Grid(); g != f.grid && !g.Equal(f.grid) {
		return fmt.Errorf("%s: the indexer is of another grid; the array may have been resized since", a.files.Name(""))
	}
	n, err := grid.Elements(ix.Shape())
	if err == nil {
		err = f.checkElements(n, elems)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.files.Name(""), err)
	}
	return a.inParallel(ctx, func(yield func(*part, task) bool) {
		for c := ix.Project(); c.Next(); {
			at := c.Projection.Clone()
			p := f.partOf(at.Coords, at.Chunk, boxOf(at))
			if !yield(p, func(ctx context.Context) error { return do(ctx, p, at, elems) }) {
				return
			}
		}
	})
}

// boxOf returns the smallest region of the array that holds the selected elements of a chunk.
func boxOf(p *grid.Projection) grid.Region {
	box := grid.MakeRegion(len(p.Coords))
	p.Bounds(box)
	for k, origin := range p.Origin {
		box.Origin[k] += origin
	}
	return box
}

func (a *Array) readProjection(ctx context.Context, p *part, at *grid.Projection, dst codec.Elems) error {
	elems, err := a.readBox(ctx, p)
	if err != nil {
		return err
	}
	if unit := p.unit(); unit > 0 {
		return grid.Gather(at, dst.Fixed, grid.Window[byte]{Data: elems.Fixed, Region: p.within}, unit)
	}
	return grid.Gather(at, dst.Var, grid.Window[[]byte]{Data: elems.Var, Region: p.within}, 1)
}

// readBox reads the elements of a part into new memory.
func (a *Array) readBox(ctx context.Context, p *part) (codec.Elems, error) {
	elems, _, err := p.newElems()
	if err != nil {
		return elems, err
	}
	return elems, a.readPart(ctx, p, elems)
}

func (a *Array) writeProjection(ctx context.Context, p *part, at *grid.Projection, src codec.Elems) error {
	lock := a.lock(p)
	lock.Lock()
	defer lock.Unlock()
	elems, _, err := p.newElems()
	if err == nil && !at.IsWhole() {
		err = a.readPart(ctx, p, elems) // the box has elements that are not selected
	}
	if err != nil {
		return err
	}
	if unit := p.unit(); unit > 0 {
		err = grid.Scatter(at, grid.Window[byte]{Data: elems.Fixed, Region: p.within}, src.Fixed, unit)
	} else {
		err = grid.Scatter(at, grid.Window[[]byte]{Data: elems.Var, Region: p.within}, src.Var, 1)
	}
	if err != nil {
		return err
	}
	return a.replacePart(ctx, p, elems)
}
