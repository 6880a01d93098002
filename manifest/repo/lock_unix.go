//go:build unix

package repo

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// forReading are the flags to open a file. O_NONBLOCK prevents waiting if the file is a pipe.
const forReading = os.O_RDONLY | unix.O_NONBLOCK

// lockFile locks an open file until it is closed, or returns ErrBusy. The lock belongs to the open
// file, so that two Repositories of one process exclude each other too.
func lockFile(f *os.File, how lockMode) error {
	op := unix.LOCK_EX
	if how == shared {
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
func rename(root *os.Root, from, to string) error { return root.Rename(from, to) }

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
