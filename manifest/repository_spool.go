package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// spool is a draft on its way to an object store: a temporary file without a name, so that
// nothing is left of it when its process is killed.
type spool struct {
	mu    sync.Mutex
	file  *os.File
	size  int64
	users int // the draft, and those who read it
	over  bool
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "varve-draft-")
	if err != nil {
		return nil, spoolError(err)
	}
	// Where files that are open cannot be removed it is done at the end.
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

// spoolError says which file it is that nobody has named. That its folder is missing says nothing
// about a source.
func spoolError(err error) error {
	what := "a temporary file for what is to be stored (" + TemporaryVariable() + " names another folder)"
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %v", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (s *spool) open() (blob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, &fs.PathError{Op: "open", Path: s.file.Name(), Err: fs.ErrClosed}
	}
	s.users++
	return &spooled{s, s.size, sync.OnceValue(s.leave)}, nil
}

func (s *spool) discard() error {
	s.mu.Lock()
	over := s.over
	s.over = true
	s.mu.Unlock()
	if over {
		return nil
	}
	return s.leave()
}

// leave closes the file behind its last user.
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

// spooled is a draft that is read.
type spooled struct {
	*spool
	size  int64
	close func() error
}

func (b *spooled) Size() int64 { return b.size }

func (b *spooled) ReadAt(p []byte, off int64) (int, error) { return b.file.ReadAt(p, off) }

func (b *spooled) Close() error { return b.close() }
