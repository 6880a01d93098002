package source

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// file is a local file. Every read looks after itself whether the file is still the same:
// its size and time as the system has them for the open file, and whether it still has a
// name. That costs one more system call a read, and finds a file that was written to, cut
// off, removed or replaced by another; it does not find bytes that were changed within
// the tick of the system's clock in which the file was opened.
type file struct {
	f      *os.File
	id     Identity
	linked bool // had a name when it was opened
}

func openFile(ctx context.Context, name string) (*file, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Opening a device does something, and a named pipe would wait for its other end.
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

// fromFile takes over an open file.
func fromFile(f *os.File) (*file, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: f.Name(), Err: notRegular(info)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{f: f, id: identify(info), linked: hasName(f, info)}, nil
}

// notFile is the error of what is no regular file, in which nothing is to be read.
type notFile string

func (n notFile) Error() string { return "is " + string(n) + ", not a file" }

// Unwrap makes it something that is not understood, and not something that failed.
func (n notFile) Unwrap() error { return errors.ErrUnsupported }

const errFolder = notFile("a folder")

// IsNoFile reports whether an error is that there is something else than a file: a folder, a pipe.
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
	return notFile(fmt.Sprintf("something else (%s)", mode))
}

func identify(info os.FileInfo) Identity {
	return Identity{Size: info.Size(), Modified: info.ModTime()}
}

func (f *file) Identity() Identity { return f.id }

// BlockBits makes blocks of 16 KiB: what is next to metadata is often none, and a system call costs
// about as much as so many bytes.
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
	info, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	if err := f.id.Check(identify(info)); err != nil {
		return 0, err
	}
	if f.linked && !hasName(f.f, info) {
		return 0, fmt.Errorf("%w: it was removed, or replaced by another", ErrChanged)
	}
	return n, nil
}
