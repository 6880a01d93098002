package fits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"varve/readers"
	"varve/readers/internal/strided"
)

// isDamage reports whether an error is about the bytes of a source. Other errors are about reading
// them.
func isDamage(err error) bool {
	return errors.Is(err, readers.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported)
}

// setReader sets ReadAll of a variable whose values are in the given number of runs.
func (b *builder) setReader(v *readers.Variable, runs uint64) {
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		value, err := b.read(ctx, v, runs, limit)
		if err != nil {
			err = &readers.Error{Source: b.src.Name(), Path: v.Path, Offset: -1, Err: err}
		}
		return value, err
	}
}

func (b *builder) read(ctx context.Context, v *readers.Variable, runs, limit uint64) (readers.Value, error) {
	s := &v.Storage
	end := uint64(s.Offset) + s.Bytes
	if s.Layout == readers.Records && runs > 0 {
		end = uint64(s.Offset) + (runs-1)*uint64(s.Stride) + s.Bytes/runs
	}
	switch {
	case s.Undecodable != nil:
		return readers.Value{}, s.Undecodable
	case s.Bytes > 0 && end > uint64(b.src.Size()):
		return readers.Value{}, readers.Corruptf("file is truncated: the data end at offset %d, but the file at %d; fetch it again", end, b.src.Size())
	case s.Bytes > limit:
		return readers.Value{}, fmt.Errorf("values take %d bytes, which is more than the limit of %d", s.Bytes, limit)
	}
	stored := make([]byte, s.Bytes)
	run := strided.Runs{Offset: s.Offset, Size: s.Bytes / max(runs, 1), Stride: uint64(s.Stride), Count: runs}
	if err := strided.Read(ctx, b.src, stored, run); err != nil {
		return readers.Value{}, err
	}
	data, err := v.Type.AppendMemory(stored[:0:0], stored)
	if err != nil {
		return readers.Value{}, err
	}
	value := readers.Value{Type: v.Type, Shape: v.Shape, Data: data}
	if v.Type.Class == readers.String {
		for text := range slices.Chunk(data, v.Type.Size) {
			value.Texts = append(value.Texts, trim(text))
		}
	}
	return value, nil
}

// trim cuts a string at its first NUL and removes blanks at its end.
func trim(text []byte) []byte {
	text, _, _ = bytes.Cut(text, []byte{0})
	return bytes.TrimRight(text, " ")
}
