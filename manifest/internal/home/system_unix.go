//go:build unix

package home

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// forReading are the flags to open a file. O_NONBLOCK prevents waiting if the file is a pipe.
const forReading = os.O_RDONLY | unix.O_NONBLOCK

// lockFile locks an open file until it is closed, or returns ErrBusy. The lock belongs to the open
// file, so that two Folders of one process exclude each other too.
func lockFile(f *os.File, how LockMode) error {
	op := unix.LOCK_EX
	if how == Shared {
		op = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), op|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR): // a signal came: try again
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrBusy
		default:
			return fmt.Errorf("%s: cannot lock the file: %w", f.Name(), err)
		}
	}
}

// unlockFile closes a file and so releases its lock.
func unlockFile(f *os.File) error { return f.Close() }

// rename renames a file and replaces an existing one.
func rename(in names, from, to string) error { return in.Rename(from, to) }

// syncFolder flushes the names in a folder to disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// hasNoLinks reports whether an error of link means that the file system has no hard links. Those of Unix are
// errors.ErrUnsupported or fs.ErrPermission.
func hasNoLinks(error) bool { return false }

// lockFolder locks a folder until the result is closed. It is ErrTaken if another process has the lock. The result is nil if the
// file system has no locks for folders.
func lockFolder(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, errors.Join(ErrTaken, f.Close())
	case err != nil:
		return nil, f.Close()
	}
	mine, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Lstat(dir); err == nil && !os.SameFile(mine, there) {
			err = ErrTaken
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockWithin is lockFolder for a folder that several processes share.
func lockWithin(folder string) (io.Closer, error) { return lockFolder(folder) }
