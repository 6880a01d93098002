package home

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// forReading are the flags to open a file.
const forReading = os.O_RDONLY

// everyByte is the length to lock: all bytes of a file, including bytes that are appended later.
const everyByte = ^uint32(0)

// lockFile locks an open file until unlockFile, or returns ErrBusy. The lock belongs to the open file,
// so that two Folders of one process exclude each other too.
func lockFile(f *os.File, how LockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if how == Exclusive {
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

// renamePatience is how long rename waits for others to close a file that it replaces.
const renamePatience = 10 * time.Second

// rename renames a file and replaces an existing one. On NTFS this works while others read the
// existing file. On other file systems, and while a virus scanner reads it, rename tries again until
// they are done.
func rename(in names, from, to string) error {
	for began := time.Now(); ; time.Sleep(lockPause) {
		err := in.Rename(from, to)
		passes := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !passes || time.Since(began) > renamePatience {
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

// Windows locks files but not folders, and does not rename a folder that contains an open file. So the lock of a folder is
// a hidden file beside it, which only one process can open, and which Windows removes when that process ends.
//
//	.NAME.lock      of the folder NAME
//	.varve.lock     in a folder that several processes share

// lockFolder locks a folder until the result is closed. It is ErrTaken if another process has the lock. The result is nil if
// files cannot be made beside the folder.
func lockFolder(dir string) (io.Closer, error) {
	if _, err := os.Lstat(dir); err != nil {
		return nil, err
	}
	name := filepath.Base(dir)
	return lockAlone(filepath.Join(filepath.Dir(dir), "."+short(name)+".lock"))
}

// lockWithin is lockFolder for a folder that several processes share.
func lockWithin(folder string) (io.Closer, error) {
	return lockAlone(filepath.Join(folder, ".varve.lock"))
}

// lockPatience is the time that Windows may take to remove a released lock: another program, such as a virus scanner, may still
// have the file open.
const lockPatience = 2 * time.Second

func lockAlone(name string) (io.Closer, error) {
	wide, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	for began := time.Now(); ; time.Sleep(turnPause) {
		h, err := windows.CreateFile(wide, windows.GENERIC_WRITE|windows.DELETE, 0, nil, windows.OPEN_ALWAYS, windows.FILE_ATTRIBUTE_HIDDEN|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(h), name), nil
		case errors.Is(err, windows.ERROR_SHARING_VIOLATION):
			return nil, ErrTaken
		case !errors.Is(err, windows.ERROR_ACCESS_DENIED):
			return nil, &os.PathError{Op: "lock", Path: name, Err: err}
		case time.Since(began) > lockPatience:
			return nil, nil
		}
	}
}
