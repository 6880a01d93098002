//go:build !linux && !darwin

package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// openReal opens each part of the path relative to the one before. What it opens must be the folder or file that the
// folder lists under that name, and no link.
func openReal(path string) (*os.File, error) {
	volume := filepath.VolumeName(path) + string(filepath.Separator)
	root, err := os.OpenRoot(volume)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimPrefix(path, volume), string(filepath.Separator))
	last := len(parts) - 1
	for _, part := range parts[:last] {
		listed, err := root.Lstat(part)
		if err != nil || listed.Mode()&fs.ModeSymlink != 0 {
			return nil, joinReal(path, err, root)
		}
		next, err := root.OpenRoot(part)
		if err != nil {
			return nil, joinReal(path, err, root)
		}
		_ = root.Close() // nothing was written to it
		root = next
		if opened, err := root.Stat("."); err != nil || !os.SameFile(listed, opened) {
			return nil, joinReal(path, err, root)
		}
	}
	listed, err := root.Lstat(parts[last])
	if err != nil || listed.Mode()&fs.ModeSymlink != 0 {
		return nil, joinReal(path, err, root)
	}
	f, err := root.OpenFile(parts[last], os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, joinReal(path, err, root)
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(listed, opened) {
		_ = f.Close()
		return nil, joinReal(path, err, root)
	}
	return f, root.Close()
}

// joinReal closes a folder, and returns the error of opening a path. Without one, the path has a link.
func joinReal(path string, err error, root *os.Root) error {
	_ = root.Close() // nothing was written to it
	if err == nil {
		return errReplaced(path)
	}
	return err
}
