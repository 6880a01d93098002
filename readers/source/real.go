package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// OpenReal opens a file by an absolute path of which no part may be a symbolic link. Callers resolve the links of a path,
// decide whether the file may be read, and then open the resolved path. A part that becomes a link in the meantime is an
// ErrForbidden: no other file is ever opened. For a named pipe it does not wait for a writer.
func OpenReal(path string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrInvalid}
	}
	return openReal(filepath.Clean(path))
}

// errReplaced is the error for a part of a path that became a symbolic link.
func errReplaced(path string) error {
	return fmt.Errorf("%s: %w: a part of this path was replaced by a symbolic link while it was opened", path, ErrForbidden)
}

// OpenRealSource is OpenReal for a version of a source. name is the name of the source for messages.
func OpenRealSource(name, path string, id Identity) (*Source, error) {
	f, err := OpenReal(path)
	if err != nil {
		return nil, err
	}
	ranges, err := fromFile(f)
	if err != nil {
		return nil, err
	}
	if err := id.Check(ranges.Identity()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), ranges.Close())
	}
	return New(name, ranges), nil
}
