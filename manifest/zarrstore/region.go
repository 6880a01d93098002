package zarrstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"

	"varve/codec"
	"varve/grid"
)

// ReadRegion fills dst, in C order of the region, with the elements of a region. It reads only the
// needed bytes of shards and of chunks without compression.
func (a *Array) ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.each(ctx, &a.form, r, dst, a.readPart)
}

// WriteRegion replaces the elements of a region by src, in C order of the region. Chunks that
// have only the fill value afterwards are not stored, unless the array is of format 2 without one.
func (a *Array) WriteRegion(ctx context.Context, r grid.Region, src codec.Elems) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.each(ctx, &a.form, r, src, a.writePart)
}

// part is the intersection of a region and a chunk.
type part struct {
	*form
	coords []int64
	number int64
	chunk  grid.Chunk
	region grid.Region // in the array's coordinates
	within grid.Region // in the chunk's coordinates
	all    grid.Region // the whole region
}

// each calls do for the chunks that a region intersects, several at a time.
func (a *Array) each(ctx context.Context, f *form, r grid.Region, elems codec.Elems, do func(context.Context, *part, codec.Elems) error) error {
	if err := f.check(r, elems); err != nil {
		return fmt.Errorf("%s: %w", a.files.Name(""), err)
	}
	w, err := f.grid.WalkRegion(r)
	if err != nil {
		return fmt.Errorf("%s: %w", a.files.Name(""), err)
	}
	return a.inParallel(ctx, func(yield func(*part, task) bool) {
		for w.Next() {
			p := f.part(w, r)
			if !yield(p, func(ctx context.Context) error { return do(ctx, p, elems) }) {
				return
			}
		}
	})
}

// task reads or writes one chunk.
type task func(context.Context) error

// inParallel runs a task for each part, several at a time, until one fails.
func (a *Array) inParallel(ctx context.Context, tasks iter.Seq2[*part, task]) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(a.opts.Workers)
	for p, run := range tasks {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			if err := run(ctx); err != nil {
				return fmt.Errorf("%s: %w", a.files.Name(a.key(p.coords)), err)
			}
			return nil
		})
	}
	err := ctx.Err() // the caller's, unless a chunk failed
	if failed := g.Wait(); failed != nil {
		return failed
	}
	return err
}

// check compares a region with the array, and elements with the region.
func (f *form) check(r grid.Region, elems codec.Elems) error {
	shape := f.grid.Shape()
	if len(r.Origin) != len(shape) || len(r.Shape) != len(shape) || !grid.Whole(shape).Contains(r) {
		return fmt.Errorf("region %v of an array of shape %v: %w", r, shape, grid.ErrOutOfBounds)
	}
	n, err := r.Elements()
	if err != nil {
		return err
	}
	return f.checkElements(n, elems)
}

// checkElements compares elements with their number.
func (f *form) checkElements(n int64, elems codec.Elems) error {
	unit := f.unit()
	if unit == 0 && int64(len(elems.Var)) != n {
		return fmt.Errorf("%d elements for a region of %d", len(elems.Var), n)
	}
	if unit > 0 && (n > math.MaxInt64/unit || int64(len(elems.Fixed)) != n*unit) {
		return fmt.Errorf("%d bytes for a region of %d elements of %d", len(elems.Fixed), n, unit)
	}
	return nil
}

// unit returns the size of an element, or 0 if sizes differ.
func (f *form) unit() int64 { return int64(f.schema.DataType.Type().Size) }

func (f *form) part(w *grid.Walker, r grid.Region) *part {
	return f.partOf(append([]int64{}, w.Coords...), grid.Chunk{Region: w.Region.Clone(), Codec: append([]int64{}, w.Codec...)}, r)
}

// partOf returns the intersection of a region and a chunk. It keeps the chunk.
func (f *form) partOf(coords []int64, chunk grid.Chunk, r grid.Region) *part {
	p := &part{form: f, all: r, coords: coords, chunk: chunk, region: grid.MakeRegion(r.Rank())}
	p.number, _ = f.grid.Number(p.coords)
	p.region.Intersect(r, p.chunk.Region)
	p.within = p.region.Clone()
	p.within.Shift(p.chunk.Origin)
	return p
}

// pipelineOf returns the codecs of the chunk, and the form of the part of it.
func (p *part) pipelineOf() (*codec.Pipeline, codec.Form, error) {
	pipeline, err := p.pipeline(p.chunk.Codec)
	if err != nil {
		return nil, codec.Form{}, err
	}
	f := pipeline.Form()
	if f.Count() < 0 || f.Bytes() < 0 {
		return nil, f, fmt.Errorf("a chunk of shape %v does not fit in memory: %w", p.chunk.Codec, errors.ErrUnsupported)
	}
	f.Shape = p.region.Shape
	return pipeline, f, nil
}

// newElems allocates the elements of the part, and returns their form.
func (p *part) newElems() (codec.Elems, codec.Form, error) {
	_, form, err := p.pipelineOf()
	if err == nil {
		err = form.CheckSize()
	}
	if err != nil {
		return codec.Elems{}, form, err
	}
	return codec.NewElems(form), form, nil
}

func (a *Array) readPart(ctx context.Context, p *part, dst codec.Elems) (err error) {
	pipeline, form, err := p.pipelineOf()
	if err != nil {
		return err
	}
	whole := p.region.Equal(p.all)
	elems := dst
	if !whole {
		elems = codec.NewElems(form)
	}
	stored := false
	err = a.files.useChunk(ctx, a.key(p.coords), func(c chunkFile) error {
		stored = true
		return pipeline.DecodeRegion(ctx, c, p.within, elems)
	})
	if !stored {
		elems.SetFill(form)
	}
	if err != nil || whole {
		return err
	}
	return p.move(dst, p.all, elems, p.region)
}

// move copies the elements of the part from one window to another.
func (p *part) move(dst codec.Elems, to grid.Region, src codec.Elems, from grid.Region) error {
	if unit := p.unit(); unit > 0 {
		return grid.Copy(grid.Window[byte]{Data: dst.Fixed, Region: to}, grid.Window[byte]{Data: src.Fixed, Region: from}, p.region, unit)
	}
	return grid.Copy(grid.Window[[]byte]{Data: dst.Var, Region: to}, grid.Window[[]byte]{Data: src.Var, Region: from}, p.region, 1)
}

// lock returns the lock of the part's chunk.
func (a *Array) lock(p *part) *sync.Mutex { return &a.locks[p.number%int64(len(a.locks))] }

// writePart replaces the elements of the part. A chunk that is replaced completely is not read.
func (a *Array) writePart(ctx context.Context, p *part, src codec.Elems) error {
	_, form, err := p.pipelineOf()
	if err != nil {
		return err
	}
	if !p.region.Equal(p.all) {
		elems := codec.NewElems(form)
		if err := p.move(elems, p.region, src, p.all); err != nil {
			return err
		}
		src = elems
	}
	lock := a.lock(p)
	lock.Lock()
	defer lock.Unlock()
	return a.replacePart(ctx, p, src)
}

// replacePart replaces the elements of the part, whose chunk is locked.
func (a *Array) replacePart(ctx context.Context, p *part, src codec.Elems) error {
	pipeline, _, err := p.pipelineOf()
	if err != nil {
		return err
	}
	var old []byte
	if !p.region.Equal(p.chunk.Region) {
		if old, err = a.files.readChunk(ctx, a.key(p.coords)); err != nil {
			return err
		}
	}
	b, err := pipeline.EncodeRegion(nil, old, p.within, src)
	if err != nil {
		return err
	}
	return a.put(ctx, p, b)
}

// put stores the bytes of a chunk. No bytes mean a chunk of fill value only, which is not stored. If a
// document of format 2 has no fill value, readers may use any value for missing chunks, so such a chunk
// is stored.
func (a *Array) put(ctx context.Context, p *part, b []byte) (err error) {
	if len(b) == 0 && p.v2 != nil && p.v2.Fill == nil {
		if b, err = p.encodeFill(); err != nil {
			return err
		}
	}
	if len(b) == 0 {
		return a.files.remove(ctx, a.key(p.coords))
	}
	return a.files.Put(ctx, a.key(p.coords), b, a.files.how)
}

// encodeFill encodes a chunk that has only the fill value.
func (p *part) encodeFill() ([]byte, error) {
	pipeline, _, err := p.pipelineOf()
	if err == nil {
		err = pipeline.Form().CheckSize()
	}
	if err != nil {
		return nil, err
	}
	elems := codec.NewElems(pipeline.Form())
	elems.SetFill(pipeline.Form())
	return pipeline.Encode(nil, elems)
}
