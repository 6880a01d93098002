package sourcetest

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"varve/readers/source"
)

// Memory is storage in memory that records reads.
type Memory struct {
	// Tuned is the result of Tuning.
	Tuned source.Tuning
	// Before, if set, is called before each read; its error fails the read.
	Before func(ctx context.Context, off int64, n int) error

	file *memoryFile
	id   source.Identity

	mu     sync.Mutex
	closed bool
	reads  []source.Range
}

// memoryFile is a file that several Memory values may have open.
type memoryFile struct {
	mu      sync.Mutex
	content []byte
	version int
}

// NewMemory returns storage with the given content.
func NewMemory(content []byte) *Memory { return (&memoryFile{content: content}).open() }

func (f *memoryFile) open() *Memory {
	_, id := f.now()
	return &Memory{file: f, id: id}
}

func (f *memoryFile) now() ([]byte, source.Identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.content, source.Identity{Size: int64(len(f.content)), ETag: fmt.Sprintf(`"%d"`, f.version)}
}

// Reopen opens the current version of the file.
func (m *Memory) Reopen() *Memory { return m.file.open() }

// Change replaces the file by a new version; nil removes it.
func (m *Memory) Change(content []byte) {
	m.file.mu.Lock()
	defer m.file.mu.Unlock()
	m.file.content = content
	m.file.version++
}

// Reads returns the ranges that were read so far.
func (m *Memory) Reads() []source.Range {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.reads)
}

// ReadAt implements source.Ranges.
func (m *Memory) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if m.Before != nil {
		if err := m.Before(ctx, off, len(p)); err != nil {
			return 0, err
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	m.reads = append(m.reads, source.Range{Offset: off, Length: int64(len(p))})
	closed := m.closed
	m.mu.Unlock()
	if closed {
		return 0, fs.ErrClosed
	}
	content, id := m.file.now()
	if content == nil {
		return 0, fs.ErrNotExist
	}
	if err := m.id.Check(id); err != nil {
		return 0, err
	}
	return copy(p, content[min(off, int64(len(content))):]), nil
}

// Identity implements source.Ranges.
func (m *Memory) Identity() source.Identity { return m.id }

// Tuning implements source.Tuner.
func (m *Memory) Tuning() source.Tuning { return m.Tuned }

// Close implements source.Ranges.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
