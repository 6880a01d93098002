package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Temporary is a temporary file that is open for reading and writing. It has no name, except on systems that
// cannot remove an open file, so that nothing remains when the process is killed. It is for contents that are
// uploaded: an upload needs the size first, and may have to send parts again.
type Temporary struct{ *os.File }

// NewTemporary creates a temporary file in a folder, or in the system's folder if the name is empty.
func NewTemporary(folder string) (*Temporary, error) {
	f, err := os.CreateTemp(folder, "varve-*")
	if err != nil {
		return nil, TemporaryError(err)
	}
	_ = os.Remove(f.Name()) // fails on Windows; there, Close removes the file
	return &Temporary{f}, nil
}

// Close closes and removes the file.
func (t *Temporary) Close() error {
	err := t.File.Close()
	if removed := os.Remove(t.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// TemporaryError adds to an error of a temporary file or folder how to choose another place. It hides
// fs.ErrNotExist, which callers would take for a missing source.
func TemporaryError(err error) error {
	const what = "temporary file (set TMPDIR, or TMP on Windows, to use another folder)"
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %v", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
