package source

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// openReal opens each part of the path relative to the one before, and never follows a link. O_PATH needs no permission
// to list the folders.
func openReal(path string) (*os.File, error) {
	failed := func(err error) (*os.File, error) {
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			return nil, errReplaced(path)
		}
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	at, err := openPart(unix.AT_FDCWD, "/", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return failed(err)
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		flags := unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW
		if i == len(parts)-1 {
			flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW
		}
		next, err := openPart(at, part, flags)
		_ = unix.Close(at) // nothing was written to it
		if err != nil {
			return failed(err)
		}
		at = next
	}
	return os.NewFile(uintptr(at), path), nil
}

func openPart(at int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
