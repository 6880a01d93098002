package hdf5

import (
	"sync"

	"varve/readers"
)

// cache caches values by the bytes that they were decoded from. The files of an archive repeat the
// same datatypes and filters, so these are decoded once for all files. Cached values must not be
// changed.
type cache[T any] struct {
	mu   sync.RWMutex
	held map[string]T
}

// Limits of a cache. A full cache is emptied.
const (
	maxCacheEntries = 1 << 12
	maxCacheKey     = 512

	usualOffsets = 8 // size of addresses in most files
)

func (m *cache[T]) get(key []byte) (T, bool) {
	m.mu.RLock()
	v, ok := m.held[string(key)]
	m.mu.RUnlock()
	return v, ok
}

func (m *cache[T]) put(key []byte, v T) {
	if len(key) > maxCacheKey {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil || len(m.held) >= maxCacheEntries {
		m.held = map[string]T{}
	}
	m.held[string(key)] = v
}

var (
	typeCache   [2]cache[*readers.Type] // by message; separate for object headers with a checksum
	filterCache cache[readers.Filter]   // by filter number, name, client data and element size
)
