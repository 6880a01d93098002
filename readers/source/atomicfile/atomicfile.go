// Package atomicfile writes files that readers see complete or not at all: as a draft beside the file, which is then
// renamed.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mark is in the names of drafts, after the name of the file.
const mark = ".draft-"

// longestBase limits the bytes of the part of a draft's name that comes from the file's name. File systems allow 255 bytes.
const longestBase = 200

// Durability says whether a file survives a crash of the machine.
type Durability bool

// The durabilities.
const (
	// Durable flushes the content to the disk before the file gets its name. Otherwise the name could survive a crash
	// without the content.
	Durable Durability = true
	// Volatile lets the system choose when to flush. Use it for files that can be made again.
	Volatile Durability = false
)

// Write writes a file, or replaces it. If write fails, the draft is removed and nothing has changed. Errors of the
// system name the file, not the draft. The folder must exist.
func Write(name string, how Durability, write func(*os.File) error) (err error) {
	base := filepath.Base(name)
	base = strings.ToValidUTF8(base[:min(len(base), longestBase)], "") // file systems of macOS reject half a character
	draft := filepath.Join(filepath.Dir(name), "."+base+mark+rand.Text())
	file, err := os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return renamed(err, draft, name)
	}
	if err = write(file); err == nil && how == Durable {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = rename(draft, name)
	}
	if err != nil {
		return renamed(errors.Join(err, os.Remove(draft)), draft, name)
	}
	return nil
}

// WriteBytes is Write for content in memory. It makes the folder if it does not exist.
func WriteBytes(name string, how Durability, data []byte) error {
	write := func() error {
		return Write(name, how, func(f *os.File) error {
			_, err := f.Write(data)
			return err
		})
	}
	err := write()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return write()
}

// IsDraft reports whether a base name is the name of a draft. A process that was killed may have left the draft.
func IsDraft(base string) bool {
	return strings.HasPrefix(base, ".") && strings.Contains(base, mark)
}

// rename is os.Rename. Its error names the file only.
func rename(draft, name string) error {
	err := os.Rename(draft, name)
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: link.Op, Path: name, Err: link.Err}
	}
	return err
}

// renamed puts the file's name into errors about its draft.
func renamed(err error, draft, name string) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, part := range joined.Unwrap() {
			_ = renamed(part, draft, name) // changes the part
		}
		return err
	}
	var p *fs.PathError
	if errors.As(err, &p) && p.Path == draft {
		p.Path = name
	}
	return err
}
