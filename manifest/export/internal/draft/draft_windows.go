package draft

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// The system locks files and no folders, and gives no folder another name in which a file is open.
// So the lock of a folder is a hidden file beside it, which nobody else can open, and which goes
// with the process that does.
//
//	.NAME.lock      of the folder NAME
//	.varve.lock     in a folder that is nobody's own

// lock locks a folder until what is returned is closed, or is ErrTaken. It is nil where nobody
// may make files.
func lock(dir string) (io.Closer, error) {
	if _, err := os.Lstat(dir); err != nil {
		return nil, err
	}
	name := filepath.Base(dir)
	return lockFile(filepath.Join(filepath.Dir(dir), "."+name[:min(len(name), longest)]+".lock"))
}

// lockWithin is lock of a folder that is nobody's own.
func lockWithin(folder string) (io.Closer, error) {
	return lockFile(filepath.Join(folder, ".varve.lock"))
}

// patience is how long a lock may take to go that its process has given back: somebody else, such
// as a scanner for viruses, may still look at the file.
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
