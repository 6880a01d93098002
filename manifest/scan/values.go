package scan

import (
	"context"
	"errors"
	"fmt"

	"varve/codec"
	"varve/manifest"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// maxScalar is how large a scalar may be to be read while scanning.
const maxScalar = 64

// values reads the values that a manifest keeps of each file: those of coordinates, of
// scalars, and of what codecs cannot decode.
func (r *reading) values(out *manifest.Variable, v *readers.Variable) (*manifest.Values, error) {
	valued := out.Storage.Layout == manifest.Valued
	if !valued && !isCoordinate(out) && !isSmallScalar(out) {
		return nil, nil
	}
	if n, err := elements(out.Shape); err != nil || n > r.ValueBytes/int64(max(out.Type.Size, 1)) {
		if valued {
			return nil, r.tooLarge(out, v)
		}
		return nil, err
	}
	values, err := readValues(r.ctx, v, out.Type, r.ValueBytes)
	switch {
	case err == nil:
		return r.shared.value(values), nil
	case valued || errors.Is(err, readers.ErrCorrupt) || r.ctx.Err() != nil:
		return nil, err
	}
	return nil, nil // whoever needs them will ask, and be told
}

func (r *reading) tooLarge(out *manifest.Variable, v *readers.Variable) error {
	return fmt.Errorf("elements of type %s can only be kept in the manifest, and shape %v takes more than %d bytes of it; --value-bytes allows more: %w",
		v.Type, out.Shape, r.ValueBytes, errors.ErrUnsupported)
}

func isCoordinate(v *manifest.Variable) bool { return len(v.Dims) == 1 && v.Dims[0] == v.Path }

func isSmallScalar(v *manifest.Variable) bool {
	return len(v.Shape) == 0 && !v.Type.Varies() && v.Type.Size <= maxScalar
}

// readValues reads all elements of a variable in memory form.
func readValues(ctx context.Context, v *readers.Variable, t codec.Type, limit int64) (*manifest.Values, error) {
	value, err := v.ReadAll(ctx, uint64(limit))
	if err != nil {
		return nil, err
	}
	if t.Varies() {
		return &manifest.Values{Texts: value.Texts}, nil
	}
	if t.Kind == codec.FixedBytes && value.Texts != nil {
		return &manifest.Values{Data: padded(value.Texts, t.Size)}, nil
	}
	return &manifest.Values{Data: widen(v.Type, t, value.Data)}, nil
}

// padded lays texts out as elements of one size, with NULs at the end.
func padded(texts [][]byte, size int) []byte {
	out := make([]byte, len(texts)*size)
	for i, t := range texts {
		copy(out[i*size:(i+1)*size], t)
	}
	return out
}

// Values reads all values of a variable of a file that was scanned, if they take up to
// ValueBytes. The file must not have changed since.
func Values(ctx context.Context, f *manifest.File, variable int, opts *Options) (*manifest.Values, error) {
	o := opts.withDefaults()
	if f.Values[variable] != nil {
		return f.Values[variable], nil
	}
	if o.Opener == nil {
		o.Opener = source.NewOpener(nil)
		defer o.Opener.Close()
	}
	v := &f.Header.Variables[variable]
	if v.Unreadable != "" {
		return nil, fmt.Errorf("%s: %s: %s: %w", f.URL, v.Path, v.Unreadable, errors.ErrUnsupported)
	}
	src, err := o.open(ctx, f)
	if err != nil {
		return nil, err
	}
	values, err := valuesOf(ctx, src, v, o.ValueBytes)
	if err = errors.Join(err, src.Close()); err != nil {
		return nil, err
	}
	values.SetID()
	return values, nil
}

// open opens a file that was scanned, in the version that it was.
func (o *Options) open(ctx context.Context, f *manifest.File) (*source.Source, error) {
	src, err := o.Opener.Open(ctx, f.URL)
	if err != nil {
		return nil, err
	}
	if src.IsFolder() {
		return src, nil
	}
	if err := f.Identity().Check(src.Identity()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.URL, err), src.Close())
	}
	return src, nil
}

func valuesOf(ctx context.Context, src *source.Source, v *manifest.Variable, limit int64) (*manifest.Values, error) {
	data, err := formats.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	var same *readers.Variable
	data.Root.Walk(func(g *readers.Group) bool {
		for _, x := range g.Variables {
			if x.Path == v.Path {
				same = x
			}
		}
		return same == nil
	})
	if same == nil {
		return nil, fmt.Errorf("%s: has no variable %s any more: %w", src.Name(), v.Path, source.ErrChanged)
	}
	return readValues(ctx, same, v.Type, limit)
}
