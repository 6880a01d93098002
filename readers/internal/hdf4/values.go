package hdf4

import (
	"context"
	"errors"
	"fmt"

	"varve/readers"
	"varve/readers/internal/chunks"
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
		err = chunks.Read(ctx, f.src, v, out)
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
