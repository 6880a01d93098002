package home

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"varve/readers/source"
)

// wholeBytes is the size up to which an object is read with one request.
const wholeBytes = 1 << 20

// Open returns a reader of an object that never changes. It reads small objects as a whole, and ranges of large ones through a
// cache.
func (p *Prefix) Open(ctx context.Context, key string, size int64) (File, error) {
	// A file of unknown size is a document, which the caller needs as a whole.
	if size < 0 {
		data, err := p.Read(ctx, key, maxDocument)
		if err != nil {
			return nil, err
		}
		return memory{bytes.NewReader(data)}, nil
	}
	if size > wholeBytes {
		src, err := p.Place.Open(key, size)
		if err != nil {
			return nil, err
		}
		return &farFile{p, src}, nil
	}
	return p.small.get(key, size, func() ([]byte, error) {
		// Accept more bytes than expected, so that the error can say how long the object is.
		data, err := p.Read(p.life, key, max(2*size, wholeBytes))
		if n := int64(len(data)); err == nil && n != size {
			err = &SizeError{Name: p.Name(key), Size: n, Want: size}
		}
		return data, err
	}), nil
}

// OpenSource opens an object of known size that never changes, as a source.
func (p *Prefix) OpenSource(key string, size int64) (*source.Source, error) {
	return p.Place.Open(key, size)
}

// SizeError says that a file has not the size that it should have.
type SizeError struct {
	Name       string
	Size, Want int64
}

// Error has both sizes.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s: it has %d bytes instead of %d", e.Name, e.Size, e.Want)
}

// maxSmallBytes limits the total size of small files that are remembered.
const maxSmallBytes = 64 << 20

// smallFiles remembers small files that were read as a whole, so that they are not read again.
type smallFiles struct {
	mu    sync.Mutex
	files map[string]*wholeFile
	bytes int64 // total size
}

// get returns a small file, which is read on the first use and then remembered.
func (s *smallFiles) get(key string, size int64, read func() ([]byte, error)) *wholeFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.files[key]; b != nil && b.size == size {
		return b
	}
	// Forget all files when the limit is reached: that is simpler than evicting the least recently used.
	if s.bytes += size; s.bytes > maxSmallBytes || s.files == nil {
		s.files, s.bytes = map[string]*wholeFile{}, size
	}
	b := &wholeFile{size: size}
	b.load = sync.OnceValues(func() (memory, error) {
		data, err := read()
		if err != nil { // the next attempt may succeed, so do not remember the error
			s.forget(key, b)
		}
		return memory{bytes.NewReader(data)}, err
	})
	s.files[key] = b
	return b
}

func (s *smallFiles) forget(key string, b *wholeFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[key] == b {
		delete(s.files, key)
		s.bytes -= b.size
	}
}

// memory is a file whose content is in memory.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// wholeFile is a file that is downloaded as a whole on the first read.
type wholeFile struct {
	size int64
	load func() (memory, error)
}

func (b *wholeFile) Size() int64  { return b.size }
func (b *wholeFile) Close() error { return nil }

func (b *wholeFile) ReadAt(p []byte, off int64) (int, error) {
	data, err := b.load()
	if err != nil {
		return 0, err
	}
	return data.ReadAt(p, off)
}

// farFile is a file whose ranges are read on demand.
type farFile struct {
	home *Prefix
	*source.Source
}

func (b *farFile) ReadAt(p []byte, off int64) (int, error) {
	n := min(int64(len(p)), b.Size()-off)
	if off < 0 || n < 0 {
		return 0, fmt.Errorf("%s: offset %d of %d bytes: %w", b.Name(), off, b.Size(), io.EOF)
	}
	data, err := b.View(b.home.life, off, int(n))
	if err != nil {
		return 0, err
	}
	if copy(p, data) < len(p) {
		return len(data), io.EOF
	}
	return len(data), nil
}
