package netcdf3

import (
	"context"
	"fmt"

	"varve/readers"
	"varve/readers/internal/byteswap"
	"varve/readers/internal/strided"
)

// Read returns all elements of a variable in memory form, or an error if they take more than limit
// bytes.
func (f *File) Read(ctx context.Context, v *Var, limit uint64) ([]byte, error) {
	s := f.header.place(v, f.records)
	err := s.err
	if err == nil {
		err = f.header.checkBounds(s, f.src.Size())
	}
	if err == nil && s.bytes() > limit {
		err = fmt.Errorf("values take %d bytes, which is more than the limit of %d", s.bytes(), limit)
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

// swap converts elements to memory form.
func swap(t *readers.Type, elements []byte) {
	if t.Size > 1 {
		byteswap.Elements(elements, t.Size)
	}
}
