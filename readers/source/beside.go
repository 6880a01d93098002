package source

import (
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
// The error is fs.ErrNotExist if no such file exists, and ErrForbidden if the only existing ones may not be opened.
func OpenBeside(of, name string, open func(place string) (*Source, error)) (*Source, error) {
	var forbidden error
	for _, place := range places(of, name) {
		if path, err := LocalPath(place); err == nil {
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

// places returns the possible places of the file that `of` refers to by name, see OpenBeside.
func places(of, name string) []string {
	var list []string
	if name != "" && os.IsPathSeparator(name[0]) || filepath.IsAbs(name) {
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
