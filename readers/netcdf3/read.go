package netcdf3

import (
	"context"
	"fmt"

	"varve/readers"
	"varve/readers/internal/strided"
)

// Read returns all elements of a variable in memory form, if they take up to limit bytes.
func (f *File) Read(ctx context.Context, v *Var, limit uint64) ([]byte, error) {
	s := f.header.place(v, f.records)
	err := s.err
	if err == nil {
		err = f.header.check(s, f.src.Size())
	}
	if err == nil && s.bytes() > limit {
		err = fmt.Errorf("the values take %d bytes, more than the %d asked for", s.bytes(), limit)
	}
	var out []byte
	if err == nil {
		out = make([]byte, s.bytes())
		err = strided.Read(ctx, f.src, out, strided.Runs{Offset: s.begin, Size: s.size, Stride: s.stride, Count: s.count})
	}
	if err != nil {
		return nil, &readers.Error{Source: f.src.Name(), Path: "/" + CleanName(v.Name), Offset: -1, Err: err}
	}
	swap(v.Type, out)
	return out, nil
}

// swap brings elements into memory form.
func swap(t *readers.Type, elements []byte) {
	if t.Size > 1 {
		readers.SwapBytes(elements, t.Size)
	}
}
