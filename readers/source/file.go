package source

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// file is a local file. After every read it checks that the file is still the same: its size, its time of
// modification, and that it still has a name. This costs one more system call per read. It detects a file that was
// written, truncated, removed or replaced. It does not detect bytes that were changed within the tick of the system's
// clock in which the file was opened.
type file struct {
	f        *os.File
	id       Identity
	isLinked bool // had a name when it was opened
}

func openFile(ctx context.Context, name string) (*file, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Only regular files are opened: opening a device can have effects, and opening a named pipe can wait forever.
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: name, Err: notRegular(info)}
	}
	f, err := OpenShared(name)
	if err != nil {
		return nil, err
	}
	return fromFile(f)
}

// fromFile returns a file that owns f.
func fromFile(f *os.File) (*file, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: f.Name(), Err: notRegular(info)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{f: f, id: identify(info), isLinked: hasName(f, info)}, nil
}

// notFile is the error for a path that is not a regular file. Its text is the kind of the path.
type notFile string

func (n notFile) Error() string { return "is " + string(n) + ", not a file" }

// Unwrap returns errors.ErrUnsupported: the path can be read, but has no bytes for varve.
func (n notFile) Unwrap() error { return errors.ErrUnsupported }

const errFolder = notFile("a folder")

// IsNoFile reports whether an error is caused by a path that is not a regular file: a folder, a pipe, a device.
func IsNoFile(err error) bool {
	var n notFile
	return errors.As(err, &n)
}

func notRegular(info os.FileInfo) error {
	mode := info.Mode()
	switch {
	case mode.IsDir():
		return errFolder
	case mode&os.ModeNamedPipe != 0:
		return notFile("a named pipe")
	case mode&os.ModeSocket != 0:
		return notFile("a socket")
	case mode&os.ModeDevice != 0:
		return notFile("a device")
	}
	return notFile(fmt.Sprintf("of the mode %s", mode))
}

func identify(info os.FileInfo) Identity {
	return Identity{Size: info.Size(), Modified: info.ModTime()}
}

func (f *file) Identity() Identity { return f.id }

// BlockBits returns 14, for blocks of 16 KiB. A system call costs about as much as reading so many bytes, and the bytes
// next to metadata are often not needed.
func (f *file) BlockBits() int { return 14 }

func (f *file) Close() error { return f.f.Close() }

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.f.ReadAt(p, off)
	if err != nil && n < len(p) {
		return n, err
	}
	// The check comes after the read, because a check before it would miss a change during the read.
	info, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	if err := f.id.Check(identify(info)); err != nil {
		return 0, err
	}
	if f.isLinked && !hasName(f.f, info) {
		return 0, fmt.Errorf("%w: it was removed, or replaced by another", ErrChanged)
	}
	return n, nil
}
