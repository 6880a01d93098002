// Package chunks reads all elements of a variable that is stored in chunks.
package chunks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"varve/codec"
	"varve/grid"
	"varve/readers"
	"varve/readers/source"
)

// maxChunkWork limits the size of a chunk to a multiple of the size of all values, unless the chunk
// has a moderate size. A damaged chunk shape must not allocate memory.
const (
	maxChunkWork  = 16
	moderateChunk = 64 << 20
)

// ReadAll returns all elements of a variable whose storage is Plain and Chunked, Contiguous or Unallocated. It fails if
// they take more than limit bytes.
func ReadAll(ctx context.Context, src *source.Source, v *readers.Variable, limit uint64) (readers.Value, error) {
	size := bytesOf(v.Type.Size, v.Shape)
	if size > limit || size > math.MaxInt64 {
		return readers.Value{}, fmt.Errorf("values take %d bytes, which is more than the limit of %d", size, limit)
	}
	if v.Storage.Undecodable != nil {
		return readers.Value{}, v.Storage.Undecodable
	}
	out := make([]byte, size)
	var err error
	if v.Storage.Layout == readers.Contiguous {
		if _, err = src.ReadAt(ctx, out, v.Storage.Offset); err == nil {
			out, err = v.Type.AppendMemory(out[:0:0], out)
		}
	} else {
		err = Read(ctx, src, v, out)
	}
	return readers.Value{Type: v.Type, Shape: v.Shape, Data: out}, err
}

// bytesOf returns the size of elements, or the largest number if it overflows.
func bytesOf(size int, shape []uint64) uint64 {
	n := uint64(size)
	for _, length := range shape {
		hi, lo := bits.Mul64(n, length)
		if hi != 0 {
			return math.MaxUint64
		}
		n = lo
	}
	return n
}

// Read fills out with all elements of a variable whose storage is Plain and Chunked or Unallocated.
func Read(ctx context.Context, src *source.Source, v *readers.Variable, out []byte) error {
	element, ok := v.Type.Element()
	if !ok {
		return fmt.Errorf("type %s has no elements in memory: %w", v.Type, errors.ErrUnsupported)
	}
	r := reader{src: src, v: v, form: codec.Form{Type: element, Fill: v.Fill.Value}}
	codec.Elems{Fixed: out}.SetFill(r.form)
	if len(out) == 0 || v.Storage.ReadIndex == nil {
		return ctx.Err()
	}
	if err := r.setGrid(uint64(len(out))); err != nil {
		return err
	}
	r.whole = grid.Window[byte]{Data: out, Region: grid.Whole(r.grid.Shape())}
	for ref, err := range v.Storage.Refs(ctx) {
		if err == nil {
			err = r.read(ctx, ref)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// reader decodes chunks and copies them to their positions.
type reader struct {
	src       *source.Source
	v         *readers.Variable
	grid      *grid.Grid
	whole     grid.Window[byte]
	form      codec.Form
	pipelines codec.Pipelines
	stored    []byte
	elems     codec.Elems
}

func (r *reader) setGrid(size uint64) (err error) {
	s := &r.v.Storage
	if r.grid = s.Grid; r.grid != nil {
		return nil
	}
	if chunk := bytesOf(r.v.Type.Size, s.ChunkShape); chunk > max(maxChunkWork*size, moderateChunk) {
		return fmt.Errorf("chunks of shape %v are too large for a variable of shape %v: %w", s.ChunkShape, r.v.Shape, errors.ErrUnsupported)
	}
	lengths, edges := make([]int64, len(r.v.Shape)), make([]int64, len(r.v.Shape))
	for k := range lengths {
		lengths[k], edges[k] = int64(r.v.Shape[k]), int64(s.ChunkShape[k])
	}
	if r.grid, err = grid.Regular(lengths, edges); err != nil {
		return readers.Corruptf("%w", err)
	}
	return nil
}

func (r *reader) read(ctx context.Context, ref *readers.Ref) error {
	coords := make([]int64, len(ref.Index))
	for k, n := range ref.Index {
		coords[k] = int64(n)
	}
	chunk, ok := r.grid.Chunk(coords)
	if !ok {
		return readers.Corruptf("chunk %v is outside of the variable", ref.Index)
	}
	specs, err := r.v.Storage.Pipeline.Specs(ref.Mask)
	if err != nil {
		return err
	}
	r.form.Shape = chunk.Codec
	p, err := r.pipelines.New(specs, r.form)
	if err != nil {
		return err
	}
	stored, err := r.bytes(ctx, ref)
	if err != nil {
		return err
	}
	if len(r.elems.Fixed) != r.form.Bytes() {
		r.elems = codec.NewElems(r.form)
	}
	if err := p.Decode(r.elems, stored); err != nil {
		return &readers.Error{Offset: ref.Offset, Err: fmt.Errorf("chunk %v: %w", ref.Index, err)}
	}
	_, err = grid.CopyShared(r.whole, grid.Window[byte]{Data: r.elems.Fixed, Region: grid.Region{Origin: chunk.Origin, Shape: chunk.Codec}}, int64(r.form.Type.Size))
	return err
}

func (r *reader) bytes(ctx context.Context, ref *readers.Ref) ([]byte, error) {
	if ref.Other != nil {
		return ref.Other.Inline, nil
	}
	if uint64(cap(r.stored)) < ref.Size {
		r.stored = make([]byte, ref.Size)
	}
	_, err := r.src.ReadAt(ctx, r.stored[:ref.Size], ref.Offset)
	return r.stored[:ref.Size], err
}
