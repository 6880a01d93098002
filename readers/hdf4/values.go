package hdf4

import (
	"context"
	"errors"
	"fmt"

	"varve/codec"
	"varve/grid"
	"varve/readers"
	"varve/readers/internal/strided"
)

// setReader sets the variable's ReadAll.
func (b *builder) setReader(v *readers.Variable) {
	f := b.file
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		value, err := f.withFullBudget().read(ctx, v, limit)
		if err != nil {
			err = &readers.Error{Source: f.src.Name(), Path: v.Path, Offset: -1, Err: err}
		}
		return value, err
	}
}

func (f *file) read(ctx context.Context, v *readers.Variable, limit uint64) (readers.Value, error) {
	if v.Storage.Undecodable != nil {
		return readers.Value{}, v.Storage.Undecodable
	}
	size, err := sizeOf(v.Type, v.Shape)
	if err == nil && uint64(size) > limit {
		err = fmt.Errorf("values take %d bytes, which is more than the limit of %d", size, limit)
	}
	if err != nil {
		return readers.Value{}, err
	}
	out := make([]byte, size)
	if v.Storage.Layout == readers.Chunked || v.Storage.Layout == readers.Unallocated {
		err = f.readChunks(ctx, v, out)
	} else {
		out, err = f.readRuns(ctx, v, out)
	}
	value := readers.Value{Type: v.Type, Shape: v.Shape, Data: out}
	if v.Type.Class == readers.String && err == nil {
		for at := 0; at < len(out); at += v.Type.Size {
			value.Texts = append(value.Texts, v.Type.Padding.Trim(out[at:at+v.Type.Size]))
		}
	}
	return value, err
}

// readRuns reads values that are not in chunks.
func (f *file) readRuns(ctx context.Context, v *readers.Variable, out []byte) ([]byte, error) {
	s := &v.Storage
	var err error
	switch s.Layout {
	case readers.Inline:
		copy(out, s.Data)
	case readers.External:
		err = f.readExternal(ctx, s.Files[0], out)
	case readers.Records:
		runs := strided.Runs{Offset: s.Offset, Size: uint64(len(out)) / max(v.Shape[0], 1), Stride: uint64(s.Stride), Count: v.Shape[0]}
		if err = f.checkReach(runs.Offset, int64(runs.Stride*max(runs.Count, 1)-runs.Stride+runs.Size)); err == nil {
			err = strided.Read(ctx, f.src, out, runs)
		}
	default:
		if err = f.checkReach(s.Offset, int64(len(out))); err == nil {
			_, err = f.src.ReadAt(ctx, out, s.Offset)
		}
	}
	if err != nil {
		return nil, err
	}
	return v.Type.AppendMemory(out[:0:0], out)
}

// checkReach returns an error if the file ends before the given range does.
func (f *file) checkReach(offset, length int64) error {
	if length > f.src.Size()-offset {
		return readers.Corruptf("file is truncated: values end at offset %d, but the file at %d; fetch it again", offset+length, f.src.Size())
	}
	return nil
}

func (f *file) readExternal(ctx context.Context, run readers.ExternalFile, out []byte) (err error) {
	src, err := f.openSibling(ctx, run.Name)
	if err != nil {
		return fmt.Errorf("external file %q: %w", run.Name, err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if end := int64(run.Offset) + int64(len(out)); end > src.Size() {
		return readers.Corruptf("external file %[2]q: values end at offset %[1]d, but it has %[3]d bytes", end, run.Name, src.Size())
	}
	_, err = src.ReadAt(ctx, out, int64(run.Offset))
	return err
}

// maxChunkWork limits the size of a chunk to a multiple of the size of all values, unless the chunk
// has a moderate size. A damaged chunk shape must not allocate memory.
const (
	maxChunkWork  = 16
	moderateChunk = 64 << 20
)

// readChunks reads values that are in chunks, or not stored.
func (f *file) readChunks(ctx context.Context, v *readers.Variable, out []byte) error {
	element, _, _ := v.Type.Plain()
	form := codec.Form{Type: element, Fill: v.Fill.Value}
	codec.Elems{Fixed: out}.SetFill(form)
	if v.Storage.Layout == readers.Unallocated {
		return ctx.Err()
	}
	shape, err := toInt64(v.Shape)
	if err != nil {
		return err
	}
	if form.Shape, err = toInt64(v.Storage.ChunkShape); err != nil {
		return err
	}
	if size, err := sizeOf(v.Type, v.Storage.ChunkShape); err != nil || size > max(maxChunkWork*int64(len(out)), moderateChunk) {
		return unsupported("chunks of shape %v are too large for a dataset of shape %v", v.Storage.ChunkShape, v.Shape)
	}
	specs, err := v.Storage.Pipeline.Specs(0)
	if err != nil {
		return err
	}
	p, err := codec.New(specs, form)
	if err != nil {
		return err
	}
	whole := grid.Window[byte]{Data: out, Region: grid.Whole(shape)}
	elems := codec.NewElems(form)
	for ref, err := range v.Storage.Refs(ctx) {
		if err != nil {
			return err
		}
		stored, err := f.chunkBytes(ctx, ref)
		if err == nil {
			err = p.Decode(elems, stored)
		}
		if err != nil {
			return fmt.Errorf("chunk %v: %w", ref.Index, err)
		}
		at := grid.Region{Shape: form.Shape}
		for i, n := range ref.Index {
			at.Origin = append(at.Origin, int64(n)*form.Shape[i])
		}
		if _, err := grid.CopyShared(whole, grid.Window[byte]{Data: elems.Fixed, Region: at}, int64(element.Size)); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) chunkBytes(ctx context.Context, r *readers.Ref) ([]byte, error) {
	if r.Other != nil {
		return r.Other.Inline, nil
	}
	b := make([]byte, r.Size)
	_, err := f.src.ReadAt(ctx, b, r.Offset)
	return b, err
}

func toInt64(shape []uint64) ([]int64, error) {
	out := make([]int64, len(shape))
	for i, n := range shape {
		if out[i] = int64(n); out[i] < 0 {
			return nil, readers.Corruptf("shape %v is out of range", shape)
		}
	}
	return out, nil
}
