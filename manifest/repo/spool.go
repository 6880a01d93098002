package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// spool is a draft of an object: a temporary local file. It has no name, except on Windows, so that
// nothing remains when the process is killed.
type spool struct {
	mu          sync.Mutex
	file        *os.File
	size        int64
	users       int  // the draft itself and its open readers
	isDiscarded bool // discard was called
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "varve-draft-")
	if err != nil {
		return nil, spoolError(err)
	}
	// This fails on Windows, which cannot remove an open file. There, leave removes the file.
	_ = os.Remove(f.Name())
	return &spool{file: f, users: 1}, nil
}

func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.mu.Lock()
	s.size += int64(n)
	s.mu.Unlock()
	if err != nil {
		err = spoolError(err)
	}
	return n, err
}

// spoolError adds to an error which temporary file failed and how to choose its folder. It hides an
// fs.ErrNotExist, which callers would take for a missing source.
func spoolError(err error) error {
	what := "temporary file for an upload (set TMPDIR, or TMP on Windows, to use another folder)"
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %v", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (s *spool) open() (blob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDiscarded {
		return nil, &fs.PathError{Op: "open", Path: s.file.Name(), Err: fs.ErrClosed}
	}
	s.users++
	return &spoolReader{s, s.size, sync.OnceValue(s.leave)}, nil
}

func (s *spool) discard() error {
	s.mu.Lock()
	over := s.isDiscarded
	s.isDiscarded = true
	s.mu.Unlock()
	if over {
		return nil
	}
	return s.leave()
}

// leave ends one use of the file. After the last one it closes and removes the file.
func (s *spool) leave() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	err := s.file.Close()
	if removed := os.Remove(s.file.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// spoolReader reads a draft.
type spoolReader struct {
	*spool
	size  int64
	close func() error
}

func (b *spoolReader) Size() int64 { return b.size }

func (b *spoolReader) ReadAt(p []byte, off int64) (int, error) { return b.file.ReadAt(p, off) }

func (b *spoolReader) Close() error { return b.close() }
