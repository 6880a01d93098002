//go:build unix

package source

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"syscall"
)

// OpenShared opens a file for its bytes, and lets others write it, rename it and remove it
// meanwhile. It does not wait for the other end of a pipe.
func OpenShared(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// hasName reports whether an open file can still be found in any folder.
func hasName(_ *os.File, info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 0
}

// pathOf is the path that a file URL names.
func pathOf(name string, u *url.URL) (string, error) {
	if u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("%s: a file on the host %q: %w", name, u.Host, errors.ErrUnsupported)
	}
	return u.Path, nil
}
