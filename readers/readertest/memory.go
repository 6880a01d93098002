package readertest

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"varve/readers/source"
)

// Memory is a source.Ranges over bytes in memory. It records reads outside these bytes.
type Memory struct {
	Data      []byte
	failAfter int // number of the first read that fails; 0: none

	mu      sync.Mutex
	reads   int
	outside []string
}

// ReadAt fills p from offset off.
func (m *Memory) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.failAfter > 0 && m.reads >= m.failAfter {
		return 0, errStorage
	}
	if off < 0 || off+int64(len(p)) > int64(len(m.Data)) {
		m.outside = append(m.outside, fmt.Sprintf("%d bytes at offset %d, of %d", len(p), off, len(m.Data)))
		return 0, io.ErrUnexpectedEOF
	}
	return copy(p, m.Data[off:]), nil
}

// Identity returns the size.
func (m *Memory) Identity() source.Identity { return source.Identity{Size: int64(len(m.Data))} }

// Close does nothing.
func (m *Memory) Close() error { return nil }

func (m *Memory) hasFailed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failAfter > 0 && m.reads >= m.failAfter
}

// report fails the test if there was a read outside the bytes.
func (m *Memory) report(t *testing.T, at int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.outside {
		t.Errorf("change at byte %d: read outside of the source: %s", at, w)
	}
}
