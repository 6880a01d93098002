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

// ErrForbidden marks errors caused by a source that refers to another source which the user has not allowed to be read.
var ErrForbidden = errors.New("not allowed")

// OpenWithin opens a local file, given by a path or a file URL, if it is in one of the folders. The target of a symbolic link must
// also be in one of them. It is for files to which other sources refer.
func OpenWithin(ctx context.Context, name string, folders ...string) (*Source, error) {
	path, err := LocalPath(name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := openInOne(path, folders)
	// os.Root rejects every absolute link and every link out of the folder. The target may still be in one of the folders.
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

// openInOne opens a file in the first of the folders that contains it.
func openInOne(path string, folders []string) (*os.File, error) {
	for _, folder := range folders {
		if inside, ok := relative(folder, path); ok {
			return openInside(folder, inside)
		}
	}
	return nil, fmt.Errorf("%s is in none of the folders that may be read (%s): %w", path, strings.Join(folders, ", "), ErrForbidden)
}

// openInside opens a file by its path in a folder. os.Root prevents symbolic links from leading out of it.
func openInside(folder, inside string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return f, errors.Join(err, root.Close())
}

// relative returns the path from a folder to a file in it, or false. Both paths may contain symbolic links.
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

// resolved returns a path without symbolic links, or the path itself if that fails.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// LocalPath returns the path of a local file, given by a path or a file URL. For other URLs the error is errors.ErrUnsupported.
// The path of a packed file is that of its outer file, and the steps.
func LocalPath(name string) (string, error) {
	if !IsURL(name) {
		return name, nil
	}
	if outer, steps := CutPacked(name); steps != "" {
		path, err := LocalPath(outer)
		return path + steps, err
	}
	scheme, _, _ := strings.Cut(strings.ToLower(name), "://")
	if scheme == "local" {
		return filepath.FromSlash(name[len("local://"):]), nil
	}
	if scheme != "file" {
		return "", fmt.Errorf("%s: a local file is expected, not a %s:// URL: %w", name, scheme, errors.ErrUnsupported)
	}
	u, err := url.Parse(name)
	if err != nil {
		return "", err
	}
	if u.Fragment != "" || u.RawQuery != "" || u.ForceQuery {
		return "", fmt.Errorf("%s: the URL of a local file cannot have a query or a fragment; write %%3F for ? and %%23 for #", name)
	}
	return pathOf(name, u)
}

// URLWithin reports whether a URL is prefix or is below it. It is false if the path contains "." or "..", which a server might
// resolve to a place outside.
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
