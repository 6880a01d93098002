package manifest

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// forReading opens a file.
const forReading = os.O_RDONLY

// everyByte is how much of a file is locked: all of it, and all that may come.
const everyByte = ^uint32(0)

// lockFile locks an open file until unlockFile, or is ErrBusy. Locks belong to the open file,
// so that two Repositories of one process lock each other out as well.
func lockFile(f *os.File, how lockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if how == exclusively {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, everyByte, everyByte, new(windows.Overlapped))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrBusy
	default:
		return fmt.Errorf("%s: cannot be locked: %w", f.Name(), err)
	}
}

// unlockFile closes a file that was locked. Without being asked the system gives a lock back as
// well, but not at once.
func unlockFile(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, everyByte, everyByte, new(windows.Overlapped))
	return errors.Join(err, f.Close())
}

// patience is how long somebody may have a file open that is to be replaced.
const patience = 10 * time.Second

// rename gives a file another name, and replaces what has it. NTFS does so while others read
// what is replaced; elsewhere, and where a scanner for viruses looks at it, that takes until they
// have read it.
func rename(root *os.Root, from, to string) error {
	for began := time.Now(); ; time.Sleep(lockPause) {
		err := root.Rename(from, to)
		passes := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !passes || time.Since(began) > patience {
			return err
		}
	}
}

// syncFolder brings the names in a folder to disk where the file system does so when it is asked, as
// NTFS does. Others bring them there in their own time.
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

// cannotSync reports whether an error is that folders are not brought to disk here.
func cannotSync(err error) bool {
	for _, cannot := range []error{windows.ERROR_ACCESS_DENIED, windows.ERROR_INVALID_FUNCTION, windows.ERROR_INVALID_HANDLE, windows.ERROR_INVALID_PARAMETER, windows.ERROR_NOT_SUPPORTED} {
		if errors.Is(err, cannot) {
			return true
		}
	}
	return false
}
