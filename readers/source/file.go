package source

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// file is a local file. Every read checks that the file is still the same.
type file struct {
	f  *os.File
	id Identity
}

func openFile(ctx context.Context, name string) (*file, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return fromFile(f)
}

// fromFile takes over an open file.
func fromFile(f *os.File) (*file, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: f.Name(), Err: notRegular(info)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{f: f, id: identify(info)}, nil
}

var errFolder = errors.New("is a folder, not a file")

func notRegular(info os.FileInfo) error {
	if info.IsDir() {
		return errFolder
	}
	return fmt.Errorf("is not a regular file (%s)", info.Mode())
}

func identify(info os.FileInfo) Identity {
	return Identity{Size: info.Size(), Modified: info.ModTime()}
}

func (f *file) Identity() Identity { return f.id }

// BlockBits makes blocks of 8 KiB: what is next to metadata is seldom metadata.
func (f *file) BlockBits() int { return 13 }

func (f *file) Close() error { return f.f.Close() }

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.f.ReadAt(p, off)
	if err != nil && n < len(p) {
		return n, err
	}
	info, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	if now := identify(info); now != f.id {
		return 0, fmt.Errorf("%w: it had %d bytes of %s, now %d of %s", ErrChanged,
			f.id.Size, f.id.Modified.Format("2006-01-02 15:04:05.000"), now.Size, now.Modified.Format("2006-01-02 15:04:05.000"))
	}
	return n, nil
}
