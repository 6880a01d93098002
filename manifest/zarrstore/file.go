package zarrstore

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"varve/codec"
)

const draftMark = ".draft-"

// replace writes a file that readers see as it was or as it is. The last step of it is a
// rename, before which a failure leaves everything as it was.
func replace(name string, data []byte, durable bool) error {
	f, err := createDraft(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// createDraft makes the folder of a file if it is not there.
func createDraft(name string) (*os.File, error) {
	folder, base := filepath.Split(name)
	draft := filepath.Join(folder, "."+base+draftMark+rand.Text()[:8])
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := os.OpenFile(draft, flags, 0o666)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	return os.OpenFile(draft, flags, 0o666)
}

// isDraft reports whether a file is one that a stopped process may have left.
func isDraft(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, draftMark)
}

// readIfThere returns nil for a file that is not there.
func readIfThere(name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// stored is a chunk's file, of which no more is read than is needed.
type stored struct {
	file *os.File
	size int64
}

// openStored returns nil for a file that is not there.
func openStored(name string) (*stored, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &stored{f, info.Size()}, nil
}

// Size implements codec.Reader.
func (s *stored) Size() int64 { return s.size }

// ReadRanges implements codec.Reader.
func (s *stored) ReadRanges(ctx context.Context, ranges []codec.Range, out [][]byte) error {
	for i, r := range ranges {
		if err := ctx.Err(); err != nil {
			return err
		}
		out[i] = make([]byte, r.Length) // no longer than the file
		if _, err := s.file.ReadAt(out[i], r.Offset); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

func (s *stored) close() error { return s.file.Close() }
