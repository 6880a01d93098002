//go:build !linux

package serve

import (
	"io/fs"
	"os"
)

// stamp tells a file, and changes to its bytes and permissions.
type stamp struct{ fs.FileInfo }

func stampOf(info fs.FileInfo) stamp { return stamp{info} }

// isCurrent reports whether the file of a name is the open one, and nothing happened to it.
func (d *descriptor) isCurrent(name string) bool {
	now, err := os.Stat(name)
	return err == nil && os.SameFile(now, d.stamp) && now.Size() == d.stamp.Size() && now.ModTime().Equal(d.stamp.ModTime()) && now.Mode() == d.stamp.Mode()
}
