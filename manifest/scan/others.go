package scan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve/manifest"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// identify opens a source that another source names, and returns its version and its size. It returns an error if the other
// source records another version.
func (o *opened) identify(x *readers.Other) (out manifest.Source, size int64, err error) {
	src, err := o.openNamed(o.ctx, x.Source)
	if err != nil {
		return out, 0, err
	}
	out, size = identity(URLOf(x.Source, o.KeepQuery...), src, ""), src.Size()
	if err := src.Close(); err != nil {
		return out, size, err
	}
	if x.ETag != "" && out.ETag != "" && strings.Trim(x.ETag, `"`) != strings.Trim(out.ETag, `"`) {
		return out, size, fmt.Errorf("%s: %w: its ETag is %s, but %s expects %s", out.URL, source.ErrChanged, out.ETag, o.src.Name(), x.ETag)
	}
	if x.Size > 0 && x.Size != size {
		return out, size, fmt.Errorf("%s: %w: it has %d bytes, but %s expects %d", out.URL, source.ErrChanged, size, o.src.Name(), x.Size)
	}
	isOther := out.Modified.Truncate(time.Second).After(x.Modified)
	if x.Size > 0 { // the time is that of the file then
		isOther = !out.Modified.Equal(x.Modified)
	}
	if !x.Modified.IsZero() && !out.Modified.IsZero() && isOther {
		return out, size, fmt.Errorf("%s: %w: it was modified on %s, but %s expects the version of %s", out.URL, source.ErrChanged, out.Modified, o.src.Name(), x.Modified)
	}
	return out, size, nil
}

// openNamed opens a source that the current one names, if reading it is allowed.
func (o *opened) openNamed(ctx context.Context, name string) (*source.Source, error) {
	src, err := o.Opener.OpenReferred(ctx, o.src, name, func(outer string) (*source.Source, error) { return o.openAllowed(ctx, outer) })
	if isAbsent(err) && o.data != nil && !source.IsURL(name) && !filepath.IsAbs(name) {
		for _, option := range formats.Named(o.data.Format).Options {
			if option.Place != nil {
				err = manifest.WithRemedy(fmt.Errorf("%s is relative to a folder or prefix that is not known: %w", name, err), option.Name, "PLACE")
			}
		}
	}
	return src, err
}

// openAllowed is openNamed for a source that is not packed.
func (o *opened) openAllowed(ctx context.Context, name string) (*source.Source, error) {
	if path, err := source.LocalPath(name); err == nil {
		src, err := source.OpenWithin(ctx, name, o.folders()...)
		if errors.Is(err, source.ErrForbidden) {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real
			}
			err = forbid(path)
		}
		return src, err
	}
	u, err := source.ParseURL(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", source.ErrForbidden, err)
	}
	for _, prefix := range slices.Concat([]string{besides(o.src.Name())}, o.trail.folders, o.Allow) {
		if p, err := source.ParseURL(prefix); err == nil && p.Host != "" && source.URLWithin(u, p) {
			_, name, err := o.named(name)
			if err != nil {
				return nil, err
			}
			return o.Opener.Open(ctx, name)
		}
	}
	return nil, forbid(name)
}

// forbidden is the error for a source that the present source names, but that may not be read. Its value is the
// name.
type forbidden string

func (name forbidden) Error() string {
	return "values are in " + string(name) + ", which is not in the folder of the file that names it"
}

func (name forbidden) Unwrap() error { return source.ErrForbidden }

// forbid returns the error for a source that may not be read, with the option that allows it.
func forbid(name string) error {
	name = source.Shown(name)
	return manifest.WithRemedy(forbidden(name), "allow", forbidden(name).folder())
}

// folder returns the folder that the user must allow.
func (name forbidden) folder() string { return besides(string(name)) }

// besides returns the folder of a file, or of the archive that contains it, as a path or URL.
func besides(name string) string {
	name = source.Outer(name)
	if path, err := source.LocalPath(name); err == nil {
		return filepath.Dir(path)
	}
	return name[:strings.LastIndexByte(name, '/')]
}

// folders returns the folders whose files the source may name.
func (o *opened) folders() []string {
	folder := source.Outer(o.src.Name())
	if path, err := source.LocalPath(folder); err == nil {
		folder = path
	}
	if !o.src.IsFolder() {
		folder = filepath.Dir(folder)
	}
	list := []string{folder}
	for _, a := range slices.Concat(o.trail.folders, o.Allow) {
		if path, err := source.LocalPath(a); err == nil {
			list = append(list, path)
		}
	}
	return list
}

// isAbsent reports whether an error means that the file does not exist.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
