package zarrstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"varve/codec"
	"varve/readers/source/atomicfile"
)

// replace writes a file at once: readers see the old or the new bytes, never a mixture.
func replace(name string, data []byte, durable bool) error {
	return atomicfile.WriteBytes(name, atomicfile.Durability(durable), data)
}

// readIfThere returns nil if the file does not exist.
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

// stored is a chunk's file. Only the requested ranges of it are read.
type stored struct {
	file *os.File
	size int64
}

// openStored returns nil if the file does not exist.
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
