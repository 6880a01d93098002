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

// Later reads values of a file that was scanned. The file must not have changed since. It is for
// one goroutine.
type Later struct {
	file *manifest.File
	r    *reading
	own  *source.Opener // nil if it is somebody else's
}

// Reopen opens a file that was scanned. Of the options, ValueBytes, Allow and
// Opener count.
func Reopen(ctx context.Context, f *manifest.File, opts *Options) (*Later, error) {
	if f.Hidden {
		return nil, fmt.Errorf("%s: values of a hidden file are those of the file that it is a part of", f.URL)
	}
	l := &Later{file: f, r: &reading{scanner: &scanner{Options: opts.withDefaults(), shared: newInterner()}, ctx: ctx, out: &found{url: f.URL}, indexes: true}}
	if l.r.Opener == nil {
		l.own = source.NewOpener(nil)
		l.r.Opener = l.own
	}
	var err error
	if l.r.src, err = l.r.open(ctx, f); err != nil {
		return nil, errors.Join(err, l.closeOwn())
	}
	if l.r.data, err = formats.Open(ctx, l.r.src, l.r.Allow...); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close closes the file.
func (l *Later) Close() error {
	return errors.Join(l.r.closeNeighbours(), l.r.src.Close(), l.closeOwn())
}

func (l *Later) closeOwn() error {
	if l.own == nil {
		return nil
	}
	return l.own.Close()
}

// Values reads all values of a variable, if they take up to ValueBytes.
func (l *Later) Values(variable int) (values *manifest.Values, err error) {
	if known := l.file.Values[variable]; known != nil && !known.Summed {
		return known, nil
	}
	err = l.look(variable, func(out *manifest.Variable, v *readers.Variable) error {
		values, err = l.r.readValues(out, v, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	values.SetID()
	return values, nil
}

// look has a variable looked at as it is in the file, its refs being in l.r.out.
func (l *Later) look(variable int, at func(*manifest.Variable, *readers.Variable) error) error {
	known := &l.file.Header.Variables[variable]
	failed := func(err error) error { return fmt.Errorf("%s: %s: %w", l.file.URL, known.Path, err) }
	if known.Unreadable != "" {
		return failed(fmt.Errorf("%s: %w", known.Unreadable, errors.ErrUnsupported))
	}
	v, through, err := l.r.locate(known.Path)
	if err != nil {
		return failed(err)
	}
	if v == nil {
		return failed(fmt.Errorf("the file has no such variable any more: %w", source.ErrChanged))
	}
	out, err := l.r.describe(v, through)
	if err != nil {
		return failed(err)
	}
	defer l.r.out.refs.free()
	if err := at(out, v); err != nil {
		return failed(err)
	}
	return nil
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

// readValues reads all values of a variable whose refs begin at row first.
func (r *reading) readValues(out *manifest.Variable, v *readers.Variable, first int) (*manifest.Values, error) {
	if out.Storage.Layout == manifest.Valued {
		return r.readThrough(r.ctx, v, out.Type)
	}
	elems, err := r.decode(out, r.out, first, r.out.file.Parts[len(r.header.Variables)])
	return &manifest.Values{Data: elems.Fixed, Texts: elems.Var}, err
}
