//go:build unix

package source

import (
	"os"
	"syscall"
)

// hasName reports whether a file can still be found in any folder.
func hasName(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 0
}
