package zarrstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"varve/codec"
	"varve/grid"
)

// Edges are the lengths of chunks that an axis gets behind those that it has.
type Edges struct {
	Axis int
	Runs []grid.Run
}

// EdgesOf names edges one by one.
func EdgesOf(axis int, sizes ...int64) Edges { return Edges{axis, grid.Compress(sizes...)} }

// Resize gives the array another shape. What it grows by is fill value. Where an axis grows
// past the edges that are declared, those behind them can be named: an array with a regular
// grid becomes rectilinear by edges of other lengths. Without names the last edge repeats.
//
// Chunks that are outside afterwards are deleted, and an edge that the array no longer fills
// stays as it is. Metadata that is consolidated in a group is not the array's: it is not
// changed.
func (a *Array) Resize(ctx context.Context, shape []int64, edges ...Edges) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.form.grid.Shape()
	if len(shape) != len(old) {
		return fmt.Errorf("%s: shape %v for an array of %d axes", a.dir, shape, len(old))
	}
	least := slices.Clone(shape)
	for axis := range least {
		least[axis] = min(least[axis], old[axis])
	}
	grown, err := a.form.grow(shape, edges)
	if err != nil {
		return fmt.Errorf("%s: %w", a.dir, err)
	}
	if !slices.Equal(least, old) {
		if err := a.shrink(ctx, least); err != nil {
			return err
		}
	}
	if slices.Equal(least, shape) {
		return nil
	}
	if err := a.uncover(ctx, grown); err != nil {
		return err
	}
	return a.become(grown)
}

// grow is the form with another shape.
func (f *form) grow(shape []int64, edges []Edges) (*form, error) {
	named := make([][]grid.Run, len(shape))
	for _, e := range edges {
		if e.Axis < 0 || e.Axis >= len(shape) || named[e.Axis] != nil {
			return nil, fmt.Errorf("edges are named for axis %d, once too often or of %d", e.Axis, len(shape))
		}
		named[e.Axis] = e.Runs
	}
	dims := make([]grid.Dimension, len(shape))
	for axis := range dims {
		var err error
		if dims[axis], err = f.grid.Dim(axis).Resize(shape[axis], named[axis]...); err != nil {
			return nil, fmt.Errorf("axis %d: %w", axis, err)
		}
	}
	g, err := grid.New(dims...)
	if err != nil {
		return nil, err
	}
	return f.resized(g)
}

func (a *Array) become(f *form) error {
	if err := a.publish(f); err != nil {
		return err
	}
	a.form = *f
	return nil
}

// shrink gives the array a smaller shape, and deletes what is outside then.
func (a *Array) shrink(ctx context.Context, shape []int64) error {
	f, err := a.form.grow(shape, nil)
	if err == nil {
		err = a.become(f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.dir, err)
	}
	return a.removeOutside(ctx)
}

func (a *Array) removeOutside(ctx context.Context) error {
	_, err := a.sweep(ctx, func(coords []int64) bool { _, ok := a.form.grid.Number(coords); return ok })
	return err
}

// sweep removes the files of chunks that are not to be kept, and drafts. It returns the
// folders that it was in, each before those within it.
func (a *Array) sweep(ctx context.Context, keep func(coords []int64) bool) (folders []string, err error) {
	coords := make([]int64, a.form.grid.Rank())
	err = filepath.WalkDir(a.dir, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if entry.IsDir() {
			folders = append(folders, name)
			return nil
		}
		key, err := filepath.Rel(a.dir, name)
		if err != nil {
			return err
		}
		chunk := a.form.schema.Keys.Parse(filepath.ToSlash(key), coords)
		if chunk && !keep(coords) || !chunk && isDraft(entry.Name()) {
			return os.Remove(name)
		}
		return nil
	})
	return folders, err
}

// uncover makes fill value of everything that the array is about to grow over: what was
// stored in chunks past its extent, and files that were left outside.
func (a *Array) uncover(ctx context.Context, grown *form) error {
	if err := a.removeOutside(ctx); err != nil {
		return err
	}
	old := a.form.grid.Shape()
	for axis, now := range grown.grid.Shape() {
		if now <= old[axis] || old[axis] == 0 {
			continue
		}
		d := grown.grid.Dim(axis)
		last, err := d.Find(old[axis] - 1)
		if err != nil {
			return err
		}
		end := d.Offset(last) + d.DataSize(last)
		r := grid.Whole(grown.grid.Shape()).Clone()
		r.Origin[axis], r.Shape[axis] = old[axis], end-old[axis]
		if r.IsEmpty() {
			continue
		}
		if err := a.clear(ctx, grown, r); err != nil {
			return err
		}
	}
	return nil
}

// clear makes a region fill value where chunks are stored that hold anything else.
func (a *Array) clear(ctx context.Context, f *form, r grid.Region) error {
	w, err := f.grid.WalkRegion(r)
	if err != nil {
		return err
	}
	for w.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.clearPart(f.part(w, r)); err != nil {
			return fmt.Errorf("%s: %w", a.path(w.Coords), err)
		}
	}
	return nil
}

func (a *Array) clearPart(p *part) error {
	old, err := readIfThere(a.path(p.coords))
	if err != nil || old == nil {
		return err
	}
	pipeline, form, err := p.pipelineOf()
	if err == nil {
		err = form.CheckSize()
	}
	if err != nil {
		return err
	}
	elems := codec.NewElems(form)
	if err := pipeline.DecodeRegion(context.Background(), codec.Memory(old), p.within, elems); err != nil {
		return err
	}
	if form.IsFill(elems) {
		return nil
	}
	elems.SetFill(form)
	b, err := pipeline.EncodeRegion(nil, old, p.within, elems)
	if err != nil {
		return err
	}
	return a.put(p, b)
}

// Append makes an axis longer by n and writes src, which is as wide as the array along the
// others, into what is new. Edges can be named as for Resize. The document comes last: who
// reads meanwhile sees the array as it was.
func (a *Array) Append(ctx context.Context, axis int, n int64, src codec.Elems, edges ...int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.form.grid.Shape()
	if axis < 0 || axis >= len(old) || n < 0 {
		return fmt.Errorf("%s: %d appended along axis %d of %d", a.dir, n, axis, len(old))
	}
	shape := slices.Clone(old)
	shape[axis] += n
	var named []Edges
	if len(edges) > 0 {
		named = []Edges{EdgesOf(axis, edges...)}
	}
	grown, err := a.form.grow(shape, named)
	if err != nil {
		return fmt.Errorf("%s: %w", a.dir, err)
	}
	r := grid.Region{Origin: make([]int64, len(shape)), Shape: slices.Clone(shape)}
	r.Origin[axis], r.Shape[axis] = old[axis], n
	if err := a.each(ctx, grown, r, src, a.writePart); err != nil {
		return err
	}
	return a.become(grown)
}
