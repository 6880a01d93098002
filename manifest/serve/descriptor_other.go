//go:build !linux

package serve

import (
	"io/fs"
	"os"
)

// stamp identifies a file and changes when its bytes or permissions change.
type stamp struct{ fs.FileInfo }

func stampOf(info fs.FileInfo) stamp { return stamp{info} }

// isCurrent reports whether name still refers to the open file and the file is unchanged.
func (d *descriptor) isCurrent(name string) bool {
	now, err := os.Stat(name)
	return err == nil && os.SameFile(now, d.stamp) && now.Size() == d.stamp.Size() && now.ModTime().Equal(d.stamp.ModTime()) && now.Mode() == d.stamp.Mode()
}
