package draft

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// Windows locks files but not folders, and does not rename a folder that contains an open file. So the lock of a folder is
// a hidden file beside it, which only one process can open, and which Windows removes when that process ends.
//
//	.NAME.lock      of the folder NAME
//	.varve.lock     in a folder that several processes share

// lock locks a folder until the result is closed. It is ErrTaken if another process has the lock. The result is nil if
// files cannot be made beside the folder.
func lock(dir string) (io.Closer, error) {
	if _, err := os.Lstat(dir); err != nil {
		return nil, err
	}
	name := filepath.Base(dir)
	return lockFile(filepath.Join(filepath.Dir(dir), "."+name[:min(len(name), longest)]+".lock"))
}

// lockWithin is lock for a folder that several processes share.
func lockWithin(folder string) (io.Closer, error) {
	return lockFile(filepath.Join(folder, ".varve.lock"))
}

// patience is the time that Windows may take to remove a released lock: another program, such as a virus scanner, may still
// have the file open.
const patience = 2 * time.Second

func lockFile(name string) (io.Closer, error) {
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
		case time.Since(began) > patience:
			return nil, nil
		}
	}
}
