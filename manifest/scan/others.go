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
	"varve/readers/source"
)

// others are the sources that the refs of one source point at.
type others struct {
	r      *reading
	last   *readers.Other // refs come in runs that share one
	number int32
	known  map[string]int32
}

func newOthers(r *reading) others { return others{r: r} }

// holdsChunks reports whether chunks are in the source itself.
func (r *reading) holdsChunks() bool {
	f := r.data.Format
	return strings.HasPrefix(f, "HDF5") || strings.HasPrefix(f, "netCDF") || f == "FITS"
}

// named returns the number of a source among the others, from 1 on.
func (o *others) named(x *readers.Other) (int32, error) {
	if x == o.last {
		return o.number, nil
	}
	k, ok := o.known[x.Source]
	if !ok {
		src, err := o.r.identify(x)
		if err != nil {
			return 0, err
		}
		o.r.out.others = append(o.r.out.others, src)
		k = int32(len(o.r.out.others))
		if o.known == nil {
			o.known = map[string]int32{}
		}
		o.known[x.Source] = k
	}
	o.last, o.number = x, k
	return k, nil
}

// identify opens a source that another names, and says which version it is.
func (r *reading) identify(x *readers.Other) (manifest.Source, error) {
	src, err := r.openNamed(r.ctx, x.Source)
	if err != nil {
		return manifest.Source{}, err
	}
	out := identity(absolute(x.Source), src, "")
	if err := src.Close(); err != nil {
		return out, err
	}
	if x.ETag != "" && out.ETag != "" && strings.Trim(x.ETag, `"`) != strings.Trim(out.ETag, `"`) {
		return out, fmt.Errorf("%s: %w: its ETag is %s, and %s says %s", x.Source, source.ErrChanged, out.ETag, r.src.Name(), x.ETag)
	}
	if !x.Modified.IsZero() && out.Modified.Truncate(time.Second).After(x.Modified) {
		return out, fmt.Errorf("%s: %w: it was modified on %s, and %s knows it as of %s", x.Source, source.ErrChanged, out.Modified, r.src.Name(), x.Modified)
	}
	return out, nil
}

// openNamed opens a source that the one being read names, if that may be.
func (r *reading) openNamed(ctx context.Context, name string) (*source.Source, error) {
	if path, err := source.LocalPath(name); err == nil {
		src, err := source.OpenWithin(ctx, name, r.folders()...)
		if errors.Is(err, source.ErrForbidden) {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real
			}
			err = forbidden(path)
		}
		return src, err
	}
	u, err := source.ParseURL(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", source.ErrForbidden, err)
	}
	for _, prefix := range slices.Concat([]string{besides(r.src.Name())}, r.near.folders, r.Allow) {
		if p, err := source.ParseURL(prefix); err == nil && p.Host != "" && source.URLWithin(u, p) {
			return r.Opener.Open(ctx, name)
		}
	}
	return nil, forbidden(name)
}

// forbidden says what to do about a source that may not be opened.
func forbidden(name string) error {
	return fmt.Errorf("values are in %s, which is not in the folder of the file that says so; --allow %s lets it be read: %w",
		name, besides(name), source.ErrForbidden)
}

// besides is the folder that a file lies in, or the URL of one.
func besides(name string) string {
	if path, err := source.LocalPath(name); err == nil {
		return filepath.Dir(path)
	}
	return name[:strings.LastIndexByte(name, '/')]
}

// folders are those of which files may be opened that the source names.
func (r *reading) folders() []string {
	folder := r.src.Name()
	if path, err := source.LocalPath(folder); err == nil {
		folder = path
	}
	if !r.src.IsFolder() {
		folder = filepath.Dir(folder)
	}
	list := []string{folder}
	for _, a := range slices.Concat(r.near.folders, r.Allow) {
		if path, err := source.LocalPath(a); err == nil {
			list = append(list, path)
		}
	}
	return list
}

// isAbsent reports whether an error is that there is no such file.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
