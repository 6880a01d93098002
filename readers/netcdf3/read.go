package netcdf3

import (
	"context"
	"fmt"

	"varve/readers"
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
		err = f.gather(ctx, out, s)
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

const (
	maxSpan = 1 << 20 // bytes read at once for the sake of several records
	minFull = 16      // read what lies between records too, if it is less than this many times as much
)

// gather reads the runs of a slab one after another into out. Runs that lie near to one
// another are read together.
func (f *File) gather(ctx context.Context, out []byte, s slab) error {
	perRead := uint64(1)
	switch {
	case len(out) == 0:
		return ctx.Err()
	case s.count == 1 || s.stride == s.size:
		_, err := f.src.ReadAt(ctx, out, s.begin)
		return err
	case s.stride/minFull < s.size || s.stride < 4096:
		perRead = max(maxSpan/s.stride, 1)
	}
	var buf []byte
	for r := uint64(0); r < s.count; r += perRead {
		n := min(perRead, s.count-r)
		span := (n-1)*s.stride + s.size
		at := s.begin + int64(r*s.stride)
		if n == 1 {
			if _, err := f.src.ReadAt(ctx, out[r*s.size:][:s.size], at); err != nil {
				return err
			}
			continue
		}
		if buf == nil {
			buf = make([]byte, span)
		}
		if _, err := f.src.ReadAt(ctx, buf[:span], at); err != nil {
			return err
		}
		for i := range n {
			copy(out[(r+i)*s.size:][:s.size], buf[i*s.stride:])
		}
	}
	return nil
}
