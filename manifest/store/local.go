package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"varve/manifest"
	"varve/readers/source"
)

// Local is an open local file of a source. It is for callers that let the operating system copy the bytes.
type Local struct {
	*os.File
	path string
	id   source.Identity
}

// LocalPath returns the path of a local source whose version is known. Only such sources can be opened
// with OpenLocal. It refuses files in compressed files and archives: the local file has other bytes.
func LocalPath(src manifest.Source) (string, bool) {
	path, err := source.LocalPath(src.URL)
	return path, err == nil && !source.IsPacked(src.URL) && filepath.IsAbs(path) && src.Size >= 0 && !src.Modified.IsZero()
}

// OpenLocal opens a local source. Like every read of the store, it checks that the source may be read, and
// that it is the version that was scanned. For any other source it returns an errors.ErrUnsupported. Call Check
// after reading, because the file may change while it is open.
func (s *Store) OpenLocal(ctx context.Context, row int64) (*Local, error) {
	src, err := s.Source(ctx, row)
	if err != nil {
		return nil, err
	}
	x := s.access
	if s.patches.isFile(row) {
		x = s.patches.access(src)
	}
	return openRetrying(ctx, s.sources, func() (*Local, error) { return openLocal(src, x) })
}

// OpenLocal opens the file of a source without checking access, if it is the version that was scanned.
func OpenLocal(src manifest.Source) (*Local, error) {
	return openLocal(src, &Access{isUnlimited: true})
}

func openLocal(src manifest.Source, x *Access) (*Local, error) {
	path, ok := LocalPath(src)
	if !ok {
		return nil, fmt.Errorf("%s: not a local file with a known version: %w", src.URL, errors.ErrUnsupported)
	}
	f, err := x.openFile(src, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &missingError{path, err}
	}
	if err != nil {
		return nil, err
	}
	l := &Local{f, path, src.Identity()}
	if err := l.Check(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// openFile opens a file for reading.
func (x *Access) openFile(src manifest.Source, path string) (*os.File, error) {
	if x.isUnlimited {
		return source.OpenShared(path)
	}
	real, err := x.find(src.URL, path)
	if err != nil {
		return nil, err
	}
	return source.OpenReal(real)
}

// Check returns a source.ErrChanged if the file is not the version that was scanned.
func (l *Local) Check() error {
	info, err := l.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return l.Changed("it is not a regular file")
	}
	if err := l.id.Check(source.Identity{Size: info.Size(), Modified: info.ModTime()}); err != nil {
		return fmt.Errorf("%s: %w", l.path, err)
	}
	return nil
}

// Changed returns the error for a file that differs from the scanned version. how describes the difference.
func (l *Local) Changed(how string) error {
	return fmt.Errorf("%s: %w: %s", l.path, source.ErrChanged, how)
}
