package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/readers"
	"varve/readers/source"
)

// maxScalar is the maximum size in bytes of a scalar that is read while scanning.
const maxScalar = 64

// values reads the values that a manifest stores for each file: coordinates, scalars, and values that codecs
// cannot decode. It returns nil for other variables.
func (e *entry) values() (*manifest.Values, error) {
	out := &e.out
	if !wanted(out) {
		return nil, nil
	}
	valued := out.Storage.Layout == manifest.Valued
	if n, err := elements(out.Shape); err != nil || n > e.ValueBytes/int64(max(out.Type.Size, e.v.Type.Size, 1)) {
		if valued {
			return nil, e.tooLarge(out.Shape)
		}
		return nil, err
	}
	if n, err := elements(out.Shape); err == nil {
		if err := e.asked.held.claim(n * int64(max(out.Type.Size, e.v.Type.Size, 1))); err != nil {
			return nil, err
		}
	}
	values, err := e.readValues()
	switch {
	case err == nil:
		return e.shared.value(values), nil
	case valued || errors.Is(err, readers.ErrCorrupt) || e.ctx.Err() != nil:
		return nil, err
	}
	return nil, nil // reading them again, when they are needed, returns the error
}

func (e *entry) tooLarge(shape []int64) error {
	return tooLargeFor(fmt.Errorf("elements of type %s can only be stored in the manifest, but shape %v needs more than %d bytes (the option value-bytes): %w",
		e.v.Type, shape, e.ValueBytes, errors.ErrUnsupported))
}

// tooLargeFor adds the option that raises the limit on the values of one variable.
func tooLargeFor(err error) error { return manifest.WithRemedy(err, "value-bytes", "BYTES") }

// wanted reports whether the values of a variable are read while scanning.
func wanted(v *manifest.Variable) bool {
	return v.Storage.Layout == manifest.Valued || isCoordinate(v) || isSmallScalar(v)
}

func isCoordinate(v *manifest.Variable) bool { return len(v.Dims) == 1 && v.Dims[0] == v.Path }

func isSmallScalar(v *manifest.Variable) bool {
	return len(v.Shape) == 0 && !v.Type.Varies() && v.Type.Size <= maxScalar
}

// Later reads values of a scanned file that the scan did not read. It is not safe for concurrent use.
type Later struct {
	file *manifest.File
	at   *opened
	own  *source.Opener // nil if the caller owns the opener
}

// Reopen opens a scanned file, which must not have changed. It uses only ValueBytes, Allow and Opener of the
// options.
func Reopen(ctx context.Context, f *manifest.File, opts *Options) (*Later, error) {
	if f.Hidden {
		return nil, fmt.Errorf("%s: a hidden file cannot be opened; open the file that contains it", f.URL)
	}
	l := &Later{file: f, at: &opened{scanner: &scanner{Options: opts.withDefaults(), shared: newInterner()}, ctx: ctx, url: f.URL}}
	if l.at.Opener == nil {
		l.own = source.NewOpener(nil)
		l.at.Opener = l.own
	}
	l.at.setReaders()
	var err error
	if l.at.src, err = l.at.open(ctx, f); err != nil {
		return nil, errors.Join(err, l.closeOwn())
	}
	if err = l.at.load(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close closes the file.
func (l *Later) Close() error {
	return errors.Join(l.at.closeNeighbours(), l.at.src.Close(), l.closeOwn())
}

func (l *Later) closeOwn() error {
	if l.own == nil {
		return nil
	}
	return l.own.Close()
}

// Values reads all values of a variable, up to ValueBytes.
func (l *Later) Values(variable int) (values *manifest.Values, err error) {
	if known := l.file.Values[variable]; known != nil && !known.Summed {
		return known, nil
	}
	err = l.look(variable, func(e *entry) error {
		values, err = e.readValues()
		return err
	})
	if err != nil {
		return nil, err
	}
	values.SetID()
	return values, nil
}

// Elements reads all values of a variable, up to manifest.MostSummed bytes. They are not stored.
func (l *Later) Elements(variable int) (*manifest.Values, error) {
	defer l.unbounded()()
	return l.Values(variable)
}

// look reads the description and the refs of a variable again, and calls do with the entry.
func (l *Later) look(variable int, do func(*entry) error) error {
	known := l.file.Header.Variable(variable)
	failed := func(err error) error { return fmt.Errorf("%s: %s: %w", l.file.URL, known.Path, err) }
	if known.Unreadable != "" {
		return failed(fmt.Errorf("%s: %w", known.Unreadable, errors.ErrUnsupported))
	}
	v, in, err := l.at.locate(known.Path)
	if err != nil {
		return failed(err)
	}
	if v == nil {
		return failed(fmt.Errorf("the variable no longer exists: %w", source.ErrChanged))
	}
	e, err := l.at.describe(v, in)
	if err != nil {
		return failed(err)
	}
	defer e.found.refs.free()
	if err := do(e); err != nil {
		return failed(err)
	}
	return nil
}

// open opens a scanned file and checks that its version is the scanned one.
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

// readValues reads all values of a variable.
func (e *entry) readValues() (*manifest.Values, error) {
	if e.out.Storage.Layout == manifest.Valued {
		values, err := e.readThrough()
		if err != nil {
			return nil, err
		}
		return e.extended(values), nil
	}
	elems, err := e.decode(&e.out, e.found, e.first, e.found.file.Parts[e.number])
	return &manifest.Values{Data: elems.Fixed, Texts: elems.Var}, err
}

// extended appends fill values if the variable is a coordinate that extendCoordinate extended.
func (e *entry) extended(values *manifest.Values) *manifest.Values {
	out := &e.out
	if !isCoordinate(out) || uint64(out.Shape[0]) <= e.v.Shape[0] {
		return values
	}
	form := codec.Form{
		Type: out.Type, Shape: []int64{out.Shape[0] - int64(e.v.Shape[0])},
		Fill: bytes.Clone(out.Fill.Value), // copied, because its memory is reused for other files
	}
	rest := codec.NewElems(form)
	rest.SetFill(form)
	return &manifest.Values{Data: slices.Concat(values.Data, rest.Fixed), Texts: slices.Concat(values.Texts, rest.Var)}
}
