package source

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// OpenShared opens a file for reading. Other processes may write, rename and remove it while it is open, which os.Open
// does not allow.
func OpenShared(name string) (*os.File, error) {
	wide, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	const all = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(wide, windows.GENERIC_READ, all, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(h), name), nil
}

// standardInfo is FILE_STANDARD_INFO.
type standardInfo struct {
	allocated, end int64
	links          uint32
	deletePending  bool
	isFolder       bool
}

// hasName reports whether an open file still has a name in a folder.
func hasName(f *os.File, _ os.FileInfo) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var info standardInfo
	failed := raw.Control(func(fd uintptr) {
		err = windows.GetFileInformationByHandleEx(windows.Handle(fd), windows.FileStandardInfo, (*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	})
	return failed == nil && err == nil && info.links > 0 && !info.deletePending
}

// pathOf returns the path in a file URL:
//
//	file:///C:/data/x.nc        C:\data\x.nc
//	file://C:/data/x.nc         C:\data\x.nc (not correct, but common)
//	file://server/share/x.nc    \\server\share\x.nc
func pathOf(_ string, u *url.URL) (string, error) {
	path := filepath.FromSlash(u.Path)
	switch {
	case isDrive(u.Host):
		path = `\` + u.Host + path
	case u.Host != "" && u.Host != "localhost":
		return `\\` + u.Host + path, nil
	}
	drive, below, _ := strings.Cut(strings.TrimPrefix(path, `\`), `\`)
	if isDrive(drive) {
		return drive + `\` + below, nil
	}
	return path, nil
}

func isDrive(s string) bool { return len(s) == 2 && filepath.VolumeName(s) == s }
