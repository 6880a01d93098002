package serve

import (
	"io/fs"
	"syscall"
)

// stamp tells a file, and any change to it: of its bytes, its name or its permissions. As
// long as the file is open no other gets its number.
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

// isCurrent reports whether the file of a name is the open one, and nothing happened to it.
func (d *descriptor) isCurrent(name string) bool {
	var now syscall.Stat_t
	return syscall.Stat(name, &now) == nil && newStamp(&now) == d.stamp
}
