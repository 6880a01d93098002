package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// OpenBeside opens the file that another file, of, refers to by the path name. It calls open with the places where
// libhdf5 looks, in this order, until one can be opened:
//
//  1. the path, if it is absolute
//  2. the path (or, if it is absolute, its base name) from the folder of the file `of`
//  3. the same from the folder of the file to which `of` is a symbolic link
//
// If `of` is a packed file, these are the places after all files are unpacked where they are:
//
//   - A member of an archive refers to members of the same archive, and then to files outside, from the folder of the archive. A
//     path that leads out of the archive is an errors.ErrUnsupported, because it depends on the folder in which the archive is
//     unpacked.
//   - A compressed file refers to files that are not compressed, and then to files that are compressed in the same way.
//
// The error is fs.ErrNotExist if no such file exists, and ErrForbidden if the only existing ones may not be opened.
func OpenBeside(of, name string, open func(place string) (*Source, error)) (*Source, error) {
	list, err := places(of, name)
	if err != nil {
		return nil, err
	}
	var forbidden error
	for _, place := range list {
		if path, err := LocalPath(Outer(place)); err == nil {
			// A missing file must not count as forbidden, so this check comes before open.
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		src, err := open(place)
		switch {
		case errors.Is(err, ErrForbidden):
			if forbidden == nil {
				forbidden = err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return src, err
		}
	}
	if forbidden != nil {
		return nil, forbidden
	}
	return nil, fmt.Errorf("%s refers to the file %q: %w", of, name, fs.ErrNotExist)
}

// OpenLocalBeside opens the local file that the source `of` refers to by the path name, see OpenBeside. It must be in the folder of `of`,
// in the same archive, or in an allowed folder. If `of` is not local, the error is errors.ErrUnsupported. If o is nil, an Opener
// is made for the file.
func (o *Opener) OpenLocalBeside(ctx context.Context, of *Source, name string, allow ...string) (*Source, error) {
	here, err := LocalPath(of.Name())
	if err != nil {
		return nil, fmt.Errorf("external file %q: only local files can refer to other files; copy both into one folder: %w", name, errors.ErrUnsupported)
	}
	if o == nil {
		o = NewOpener(nil)
	}
	folders := append([]string{filepath.Dir(Outer(here))}, allow...)
	return OpenBeside(here, name, func(place string) (*Source, error) {
		return o.OpenReferred(ctx, of, place, func(outer string) (*Source, error) { return OpenWithin(ctx, outer, folders...) })
	})
}

// OpenReferred opens a source to which the source `of` refers. open opens sources that are not packed, if they may be read. All
// members of the archive that contains `of` may be read, also if the archive is behind a link, because the user named it.
func (o *Opener) OpenReferred(ctx context.Context, of *Source, name string, open func(name string) (*Source, error)) (*Source, error) {
	outer, steps := CutPacked(name)
	if err := o.Check(outer); err != nil {
		return nil, err
	}
	if steps == "" {
		return open(name)
	}
	var src *Source
	var err error
	if here := Outer(of.Name()); here != of.Name() && isSamePlace(here, outer) {
		src, err = o.OpenVersion(ctx, here, of.Identity())
	} else {
		src, err = open(outer)
	}
	if err != nil {
		return nil, err
	}
	return o.Unpack(ctx, src, name, nil)
}

// isSamePlace reports whether two names of sources are equal, or of the same local path.
func isSamePlace(a, b string) bool {
	if a == b {
		return true
	}
	first, err1 := LocalPath(a)
	second, err2 := LocalPath(b)
	if err1 != nil || err2 != nil {
		return false
	}
	first, err1 = filepath.Abs(first)
	second, err2 = filepath.Abs(second)
	return err1 == nil && err2 == nil && first == second
}

// places returns the possible places of the file that `of` refers to by name, see OpenBeside.
func places(of, name string) ([]string, error) {
	p, isPacked := parsePacked(of)
	switch {
	case !isPacked:
		return plainPlaces(of, name), nil
	case p.archive == "":
		list := plainPlaces(p.outer, name)
		if HasPackedEnding(p.outer) {
			for _, place := range list[:len(list):len(list)] {
				list = append(list, place+path.Ext(p.outer)+p.steps)
			}
		}
		return list, nil
	}
	inside := filepath.ToSlash(name)
	if isAbsolute(name) {
		inside = filepath.ToSlash(filepath.Base(name))
	}
	inside = path.Join(path.Dir(p.member), inside)
	if !fs.ValidPath(inside) {
		return nil, fmt.Errorf("%s refers to the file %q, which is outside of the archive; unpack the archive: %w", of, name, errors.ErrUnsupported)
	}
	list := []string{p.withMember(inside)}
	unpacked := besideURL(p.outer, p.member)
	if here, err := LocalPath(p.outer); err == nil {
		unpacked = filepath.Join(filepath.Dir(here), filepath.FromSlash(p.member))
	}
	return append(list, plainPlaces(unpacked, name)...), nil
}

// isAbsolute reports whether the path in a file is absolute.
func isAbsolute(name string) bool {
	return name != "" && os.IsPathSeparator(name[0]) || filepath.IsAbs(name)
}

// plainPlaces is places for a file that is not packed.
func plainPlaces(of, name string) []string {
	var list []string
	if isAbsolute(name) {
		list, name = append(list, name), filepath.Base(name)
	}
	here, err := LocalPath(of)
	if err != nil {
		return append(list, besideURL(of, name))
	}
	folder := filepath.Dir(here)
	list = append(list, filepath.Join(folder, name))
	if real := filepath.Dir(resolved(here)); real != resolved(folder) {
		list = append(list, filepath.Join(real, name))
	}
	return list
}

// Beside returns the name of a file in the folder of the file `of`. Beside a member of an archive it is a member of the archive.
func Beside(of, base string) string {
	p, isPacked := parsePacked(of)
	if isPacked && p.archive != "" {
		return p.withMember(path.Join(path.Dir(p.member), base))
	}
	of = Outer(of)
	return of[:strings.LastIndexByte(filepath.ToSlash(of), '/')+1] + base
}

// besideURL returns the URL of a file, given by a path from the folder of the URL `of`. The path leads up at most to the
// host.
func besideURL(of, name string) string {
	root := 0
	if scheme, rest, ok := strings.Cut(of, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		root = len(scheme) + len("://") + len(host)
	}
	folder := above(of, root)
	name = path.Clean(filepath.ToSlash(name))
	for strings.HasPrefix(name, "../") {
		folder = above(folder, root)
		name = name[len("../"):]
	}
	return folder + "/" + name
}

// above returns the name of the folder that contains name, at least its first root bytes.
func above(name string, root int) string {
	return name[:root+max(strings.LastIndexByte(name[root:], '/'), 0)]
}
