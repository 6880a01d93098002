package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrForbidden marks errors caused by a source that names another one which nobody said
// may be read.
var ErrForbidden = errors.New("not allowed")

// OpenWithin opens a local file that another source names, by its path or as a file URL, if
// it lies in one of the folders. What a link leads to must lie in one of them too.
func OpenWithin(ctx context.Context, name string, folders ...string) (*Source, error) {
	path, err := LocalPath(name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := openInOne(path, folders)
	if real := resolved(path); err != nil && real != path && !errors.Is(err, ErrForbidden) {
		f, err = openInOne(real, folders)
	}
	if err != nil {
		return nil, err
	}
	ranges, err := fromFile(f)
	if err != nil {
		return nil, err
	}
	return New(name, ranges), nil
}

// openInOne opens a file in the first folder that it lies in.
func openInOne(path string, folders []string) (*os.File, error) {
	for _, folder := range folders {
		if inside, ok := relative(folder, path); ok {
			return openInside(folder, inside)
		}
	}
	return nil, fmt.Errorf("%s lies in none of the folders that may be read (%s): %w", path, strings.Join(folders, ", "), ErrForbidden)
}

func openInside(folder, inside string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return f, errors.Join(err, root.Close())
}

// relative returns the path from a folder to a file in it. Both may be written with links
// on the way to the folder.
func relative(folder, path string) (string, bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", false
	}
	for _, from := range []string{folder, resolved(folder)} {
		for _, to := range []string{path, filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))} {
			if inside, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(inside) {
				return inside, true
			}
		}
	}
	return "", false
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// LocalPath returns the path of a local file that is named by its path or as a file URL.
// Other URLs are errors.ErrUnsupported.
func LocalPath(name string) (string, error) {
	if !IsURL(name) {
		return name, nil
	}
	scheme, _, _ := strings.Cut(strings.ToLower(name), "://")
	if scheme == "local" {
		return filepath.FromSlash(name[len("local://"):]), nil
	}
	if scheme != "file" {
		return "", fmt.Errorf("%s: sources at %s:// are not read: %w", name, scheme, errors.ErrUnsupported)
	}
	u, err := url.Parse(name)
	if err != nil {
		return "", err
	}
	if u.Fragment != "" || u.RawQuery != "" || u.ForceQuery {
		return "", fmt.Errorf("%s: a URL of a file has no query and no fragment; write %%3F for ? and %%23 for #", name)
	}
	return pathOf(name, u)
}

// URLWithin reports whether a URL is a prefix, or lies below it, whatever a server makes of its
// path: nothing in it leads up.
func URLWithin(u, prefix *url.URL) bool {
	if u.Opaque != "" || !strings.EqualFold(u.Scheme, prefix.Scheme) || !strings.EqualFold(u.Host, prefix.Host) {
		return false
	}
	for _, part := range strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == "." || part == ".." {
			return false
		}
	}
	below, ok := strings.CutPrefix(u.Path, strings.TrimSuffix(prefix.Path, "/"))
	return ok && (below == "" || below[0] == '/')
}
