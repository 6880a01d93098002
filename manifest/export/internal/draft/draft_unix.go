//go:build unix

package draft

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a folder until the result is closed. It is ErrTaken if another process has the lock. The result is nil if the
// file system has no locks for folders.
func lock(dir string) (io.Closer, error) {
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

// lockWithin is lock for a folder that several processes share.
func lockWithin(folder string) (io.Closer, error) { return lock(folder) }
