package home

import (
	"io/fs"
	"sync"

	"varve/readers/source/atomicfile"
)

// spool is a draft of an object: a temporary local file.
type spool struct {
	mu          sync.Mutex
	file        *atomicfile.Temporary
	size        int64
	users       int  // the draft itself and its open readers
	isDiscarded bool // Discard was called
}

func newSpool() (*spool, error) {
	f, err := atomicfile.NewTemporary("")
	if err != nil {
		return nil, err
	}
	return &spool{file: f, users: 1}, nil
}

func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.mu.Lock()
	s.size += int64(n)
	s.mu.Unlock()
	if err != nil {
		err = atomicfile.TemporaryError(err)
	}
	return n, err
}

func (s *spool) Open() (File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDiscarded {
		return nil, &fs.PathError{Op: "open", Path: s.file.Name(), Err: fs.ErrClosed}
	}
	s.users++
	return &spoolReader{s, s.size, sync.OnceValue(s.leave)}, nil
}

func (s *spool) Discard() error {
	s.mu.Lock()
	over := s.isDiscarded
	s.isDiscarded = true
	s.mu.Unlock()
	if over {
		return nil
	}
	return s.leave()
}

// leave ends one use of the file. The last one closes the file.
func (s *spool) leave() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	return s.file.Close()
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
