//go:build unix

package manifest

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// forReading opens a file, and does not wait where it is a pipe.
const forReading = os.O_RDONLY | unix.O_NONBLOCK

// lockFile locks an open file until it is closed, or is ErrBusy. Locks belong to the open
// file, so that two Repositories of one process lock each other out as well.
func lockFile(f *os.File, how lockMode) error {
	op := unix.LOCK_EX
	if how == together {
		op = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), op|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrBusy
		default:
			return fmt.Errorf("%s: cannot be locked: %w", f.Name(), err)
		}
	}
}

// unlockFile closes a file that was locked.
func unlockFile(f *os.File) error { return f.Close() }

// rename gives a file another name, and replaces what has it.
func rename(root *os.Root, from, to string) error { return root.Rename(from, to) }

// syncFolder brings the names in a folder to disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
