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

// OpenBeside opens a file that the one called of names, by a path from its folder, with open. It
// looks where libhdf5 does, in this order: of an absolute path there, then for the file of that
// name beside the one that names it; and if that was a link to a file, beside this. Where it is
// first that may be opened counts. The error is fs.ErrNotExist if there is no such file.
func OpenBeside(of, name string, open func(place string) (*Source, error)) (*Source, error) {
	var forbidden error
	for _, place := range places(of, name) {
		if path, err := LocalPath(place); err == nil {
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
	return nil, fmt.Errorf("%s names %q: %w", of, name, fs.ErrNotExist)
}

// places are where a file may be that the one called of names.
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

// besideURL is the URL of a file by a path from the folder of another, which leads up no farther than
// to the host.
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

// above is what a file or folder lies in, below the first bytes of its name.
func above(name string, root int) string {
	return name[:root+max(strings.LastIndexByte(name[root:], '/'), 0)]
}
