package repo

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// forReading are the flags to open a file.
const forReading = os.O_RDONLY

// everyByte is the length to lock: all bytes of a file, including bytes that are appended later.
const everyByte = ^uint32(0)

// lockFile locks an open file until unlockFile, or returns ErrBusy. The lock belongs to the open file,
// so that two Repositories of one process exclude each other too.
func lockFile(f *os.File, how lockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if how == exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, everyByte, everyByte, new(windows.Overlapped))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrBusy
	default:
		return fmt.Errorf("%s: cannot lock the file: %w", f.Name(), err)
	}
}

// unlockFile releases the lock and closes the file. Closing releases it too, but not at once.
func unlockFile(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, everyByte, everyByte, new(windows.Overlapped))
	return errors.Join(err, f.Close())
}

// patience is how long rename waits for others to close a file that it replaces.
const patience = 10 * time.Second

// rename renames a file and replaces an existing one. On NTFS this works while others read the
// existing file. On other file systems, and while a virus scanner reads it, rename tries again until
// they are done.
func rename(root *os.Root, from, to string) error {
	for began := time.Now(); ; time.Sleep(lockPause) {
		err := root.Rename(from, to)
		passes := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !passes || time.Since(began) > patience {
			return err
		}
	}
}

// syncFolder flushes the names in a folder to disk, if the file system can do so on request, as NTFS
// can. Other file systems flush them in their own time.
func syncFolder(dir string) error {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	const all = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.FILE_WRITE_DATA, all, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err == nil {
		err = errors.Join(windows.FlushFileBuffers(h), windows.CloseHandle(h))
	}
	if err != nil && !cannotSync(err) {
		return &os.PathError{Op: "sync", Path: dir, Err: err}
	}
	return nil
}

// cannotSync reports whether an error means that the file system cannot flush folders.
func cannotSync(err error) bool {
	for _, cannot := range []error{windows.ERROR_ACCESS_DENIED, windows.ERROR_INVALID_FUNCTION, windows.ERROR_INVALID_HANDLE, windows.ERROR_INVALID_PARAMETER, windows.ERROR_NOT_SUPPORTED} {
		if errors.Is(err, cannot) {
			return true
		}
	}
	return false
}

// hasNoLinks reports whether an error of link means that the file system has no hard links, as FAT.
func hasNoLinks(err error) bool {
	return errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_NOT_SUPPORTED)
}
