package zarrtree

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"varve/codec"
	"varve/grid"
	"varve/readers"
)

// Limits of reading a variable at once.
const (
	smallChunk  = 64 << 20 // size limit of a chunk's elements, unless the caller's limit is larger
	chunkBudget = 16       // limit of all chunks together, as a multiple
)

// readAll returns the elements of an array, or an error if they take more than limit bytes.
func (a *Array) readAll(ctx context.Context, limit uint64) (readers.Value, error) {
	if a.err != nil {
		return readers.Value{}, a.locate(asUnsupported(a.err))
	}
	r := reading{a: a, ctx: ctx, limit: limit, open: opener{tree: a.tree}}
	err := r.allocate()
	if err == nil {
		err = r.chunks()
	}
	err = errors.Join(err, r.open.Close())
	if err != nil {
		return readers.Value{}, a.locate(err)
	}
	return r.value(), nil
}

// reading is the state of readAll.
type reading struct {
	a     *Array
	ctx   context.Context
	limit uint64
	open  opener

	whole grid.Region
	out   codec.Elems
	seen  []uint64 // one bit a chunk
	spent uint64   // size of the elements of chunks
	texts uint64   // size of the elements of varying length
}

func (r *reading) allocate() error {
	form := r.a.Doc.Form(r.a.Grid.Shape())
	r.whole = grid.Whole(form.Shape)
	if n := uint64(form.MemorySize()); n > r.limit {
		return fmt.Errorf("elements take %d bytes (limit %d): %w", n, r.limit, errors.ErrUnsupported)
	}
	r.out = codec.NewElems(form)
	r.out.SetFill(form)
	r.seen = make([]uint64, r.a.Grid.Chunks()/64+1)
	return nil
}

func (r *reading) chunks() error {
	p := r.a.pipeline
	return r.a.eachChunk(r.a.tree.Chunks.Refs(r.ctx, r.a), func(ref *readers.Ref, box grid.Chunk, coords []int64) (err error) {
		// Chunks of variable grids differ in shape.
		if p, err = p.WithShape(box.Codec); err == nil {
			err = r.chunk(p, ref, box, coords)
		}
		if err != nil {
			return fmt.Errorf("chunk %v: %w", ref.Index, err)
		}
		return nil
	})
}

// eachChunk calls visit with each ref, its chunk of the grid and the coordinates of the chunk. It ends at an error.
// visit must not keep coords.
func (a *Array) eachChunk(refs iter.Seq2[*readers.Ref, error], visit func(ref *readers.Ref, box grid.Chunk, coords []int64) error) error {
	coords := make([]int64, a.Grid.Rank())
	for ref, err := range refs {
		if err != nil {
			return err
		}
		for k, n := range ref.Index {
			coords[k] = int64(n)
		}
		box, ok := a.Grid.Chunk(coords)
		if !ok {
			return readers.Corruptf("chunk %v is outside the grid", ref.Index)
		}
		if err := visit(ref, box, coords); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) chunk(p *codec.Pipeline, ref *readers.Ref, box grid.Chunk, coords []int64) error {
	if err := r.account(p, coords); err != nil {
		return err
	}
	c, err := r.open.open(r.ctx, ref)
	if err != nil {
		return err
	}
	form := p.Form()
	form.Shape = box.Shape
	elems := codec.NewElems(form)
	if err := p.DecodeRegion(r.ctx, c, grid.Whole(box.Shape), elems); err != nil {
		return err
	}
	if !form.Type.Varies() {
		size := int64(form.Type.Size)
		_, err := grid.CopyShared(grid.Window[byte]{Data: r.out.Fixed, Region: r.whole}, grid.Window[byte]{Data: elems.Fixed, Region: box.Region}, size)
		return err
	}
	for _, e := range elems.Var {
		if r.texts += uint64(len(e)); r.texts > r.limit {
			return fmt.Errorf("elements take more than %d bytes: %w", r.limit, errors.ErrUnsupported)
		}
	}
	_, err = grid.CopyShared(grid.Window[[]byte]{Data: r.out.Var, Region: r.whole}, grid.Window[[]byte]{Data: elems.Var, Region: box.Region}, 1)
	return err
}

// account rejects chunks that take too much memory or work for the size of the array.
func (r *reading) account(p *codec.Pipeline, coords []int64) error {
	n, _ := r.a.Grid.Number(coords)
	if r.seen[n/64]>>(n%64)&1 != 0 {
		return readers.Corruptf("chunk is stored twice")
	}
	// Chunks may come in any order, and twice from a damaged index.
	r.seen[n/64] |= 1 << (n % 64)
	size, most := uint64(p.Form().MemorySize()), max(r.limit, smallChunk)
	r.spent += size
	if size > most || r.spent > chunkBudget*most {
		return fmt.Errorf("chunks of shape %v take too much memory for an array of shape %v: %w",
			p.Form().Shape, r.a.Grid.Shape(), errors.ErrUnsupported)
	}
	return nil
}

func (r *reading) value() readers.Value {
	t := r.a.Doc.DataType.Type()
	v := readers.Value{Type: TypeOf(t, readers.LittleEndian)}
	for _, n := range r.a.Grid.Shape() {
		v.Shape = append(v.Shape, uint64(n))
	}
	if t.Varies() {
		v.Texts = r.out.Var
		return v
	}
	v.Data, v.Texts = r.out.Fixed, Texts(t, r.out.Fixed)
	return v
}
