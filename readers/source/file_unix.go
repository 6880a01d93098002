//go:build unix

package source

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"syscall"
)

// OpenShared opens a file for reading. Other processes may write, rename and remove it while it is open. For a named
// pipe it does not wait for a writer.
func OpenShared(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// hasName reports whether an open file still has a name in a folder.
func hasName(_ *os.File, info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 0
}

// pathOf returns the path in a file URL.
func pathOf(name string, u *url.URL) (string, error) {
	if u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("%s: the host of a file URL is %q, must be empty or localhost: %w", name, u.Host, errors.ErrUnsupported)
	}
	return u.Path, nil
}
