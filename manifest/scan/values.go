package scan

import (
	"context"
	"errors"
	"fmt"

	"varve/manifest"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// maxScalar is how large a scalar may be to be read while scanning.
const maxScalar = 64

// values reads the values that a manifest keeps of each file: those of coordinates, of
// scalars, and of what codecs cannot decode.
func (r *reading) values(out *manifest.Variable, v *readers.Variable, first int) (*manifest.Values, error) {
	if !wanted(out) {
		return nil, nil
	}
	valued := out.Storage.Layout == manifest.Valued
	if n, err := elements(out.Shape); err != nil || n > r.ValueBytes/int64(max(out.Type.Size, v.Type.Size, 1)) {
		if valued {
			return nil, r.tooLarge(out, v)
		}
		return nil, err
	}
	values, err := r.readValues(out, v, first)
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

// wanted reports whether the values of a variable are read while scanning.
func wanted(v *manifest.Variable) bool {
	return v.Storage.Layout == manifest.Valued || isCoordinate(v) || isSmallScalar(v)
}

func isCoordinate(v *manifest.Variable) bool { return len(v.Dims) == 1 && v.Dims[0] == v.Path }

func isSmallScalar(v *manifest.Variable) bool {
	return len(v.Shape) == 0 && !v.Type.Varies() && v.Type.Size <= maxScalar
}

// Values reads all values of a variable of a file that was scanned, if they take up to
// ValueBytes. The file must not have changed since.
func Values(ctx context.Context, f *manifest.File, variable int, opts *Options) (values *manifest.Values, err error) {
	if known := f.Values[variable]; known != nil && !known.Summed {
		return known, nil
	}
	err = reopened(ctx, f, variable, opts.withDefaults(), func(r *reading, out *manifest.Variable, v *readers.Variable) error {
		values, err = r.readValues(out, v, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	values.SetID()
	return values, nil
}

// reopened opens a file that was scanned, and has a variable of it looked at as it is there.
func reopened(ctx context.Context, f *manifest.File, variable int, o *Options, look func(*reading, *manifest.Variable, *readers.Variable) error) error {
	if o.Opener == nil {
		o.Opener = source.NewOpener(nil)
		defer o.Opener.Close()
	}
	v := &f.Header.Variables[variable]
	if f.Hidden {
		return fmt.Errorf("%s: values of a hidden file are those of the file that it is a part of", f.URL)
	}
	if v.Unreadable != "" {
		return fmt.Errorf("%s: %s: %s: %w", f.URL, v.Path, v.Unreadable, errors.ErrUnsupported)
	}
	src, err := o.open(ctx, f)
	if err != nil {
		return err
	}
	r := &reading{scanner: &scanner{Options: o, shared: newInterner()}, ctx: ctx, src: src, out: &found{url: f.URL}, indexes: true}
	err = r.lookAt(v.Path, look)
	return errors.Join(err, r.closeNeighbours(), src.Close())
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

func (r *reading) lookAt(path string, look func(*reading, *manifest.Variable, *readers.Variable) error) error {
	var err error
	if r.data, err = formats.Open(r.ctx, r.src); err != nil {
		return err
	}
	v, f, err := r.describe(path)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", r.src.Name(), path, err)
	}
	if v == nil {
		return fmt.Errorf("%s: has no variable %s any more: %w", r.src.Name(), path, source.ErrChanged)
	}
	if err = look(r, v, find(r.data, path)); err != nil {
		err = fmt.Errorf("%s: %s: %w", r.src.Name(), path, err)
	}
	f.refs.free()
	return err
}

// readValues reads all values of a variable whose refs begin at row first.
func (r *reading) readValues(out *manifest.Variable, v *readers.Variable, first int) (*manifest.Values, error) {
	if out.Storage.Layout == manifest.Valued {
		return r.readThrough(r.ctx, v, out.Type)
	}
	elems, err := r.decode(out, r.out, first, r.out.file.Parts[len(r.header.Variables)])
	return &manifest.Values{Data: elems.Fixed, Texts: elems.Var}, err
}
