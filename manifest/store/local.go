package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"varve/manifest"
	"varve/readers/source"
)

// Local is the open file of a source, for whoever has the system copy bytes of it.
type Local struct {
	*os.File
	path string
	id   source.Identity
}

// LocalPath is the path of a source that is a file of this machine, and of which enough is
// known to tell another version. Only such sources can be opened with OpenLocal.
func LocalPath(src manifest.Source) (string, bool) {
	path, err := source.LocalPath(src.URL)
	return path, err == nil && filepath.IsAbs(path) && src.Size >= 0 && !src.Modified.IsZero()
}

// OpenLocal opens a file as every read of the store does: if it may be read, and if it is what
// was scanned. Others are errors.ErrUnsupported. What is read of it is not looked at any more;
// that the file stayed what it was, Check tells afterwards.
func (s *Store) OpenLocal(ctx context.Context, row int64) (*Local, error) {
	src, err := s.Source(ctx, row)
	if err != nil {
		return nil, err
	}
	x := s.access
	if s.patches.isFile(row) {
		x = s.patches.access(src)
	}
	return opening(ctx, s.sources, func() (*Local, error) { return openLocal(src, x) })
}

// OpenLocal opens the file of a source whoever may read it, if it is what was scanned.
func OpenLocal(src manifest.Source) (*Local, error) {
	return openLocal(src, &access{everything: true})
}

func openLocal(src manifest.Source, x *access) (*Local, error) {
	path, ok := LocalPath(src)
	if !ok {
		return nil, fmt.Errorf("%s: no file of this machine whose version is known: %w", src.URL, errors.ErrUnsupported)
	}
	f, err := x.openFile(src, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it is not there any more: %w", path, source.ErrChanged, err)
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

// openFile opens a file for its bytes. A pipe that took its place would otherwise wait for
// its other end.
func (x *access) openFile(src manifest.Source, path string) (*os.File, error) {
	if x.everything {
		return source.OpenShared(path)
	}
	real, folder, err := x.find(src, path)
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(folder, real)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return f, errors.Join(err, root.Close())
}

// Check compares the file with what was scanned.
func (l *Local) Check() error {
	info, err := l.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return l.Changed("it is no regular file")
	}
	if err := l.id.Check(source.Identity{Size: info.Size(), Modified: info.ModTime()}); err != nil {
		return fmt.Errorf("%s: %w", l.path, err)
	}
	return nil
}

// Changed is the error of a file that is not what was scanned.
func (l *Local) Changed(how string) error {
	return fmt.Errorf("%s: %w: %s", l.path, source.ErrChanged, how)
}
