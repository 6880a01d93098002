package serve

import (
	"io/fs"
	"syscall"
)

// stamp identifies a file and changes when its bytes, name or permissions change. The inode number is not
// reused while the file is open.
type stamp struct {
	device, number uint64
	size           int64
	modified       syscall.Timespec
	changed        syscall.Timespec
}

func newStamp(s *syscall.Stat_t) stamp {
	return stamp{uint64(s.Dev), s.Ino, s.Size, s.Mtim, s.Ctim}
}

func stampOf(info fs.FileInfo) stamp {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return newStamp(s)
	}
	return stamp{}
}

// isCurrent reports whether name still refers to the open file and the file is unchanged.
func (d *descriptor) isCurrent(name string) bool {
	var now syscall.Stat_t
	return syscall.Stat(name, &now) == nil && newStamp(&now) == d.stamp
}
