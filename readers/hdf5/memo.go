package hdf5

import (
	"sync"

	"varve/readers"
)

// memo keeps what was made of some bytes. The files of an archive say the same things over
// and over; what they say of types and filters is made once for all files, and never changed.
type memo[T any] struct {
	mu   sync.RWMutex
	held map[string]T
}

// The limits of a memo, which then begins anew.
const (
	maxMemo    = 1 << 12
	maxMemoKey = 512

	usualOffsets = 8 // size of addresses
)

func (m *memo[T]) get(key []byte) (T, bool) {
	m.mu.RLock()
	v, ok := m.held[string(key)]
	m.mu.RUnlock()
	return v, ok
}

func (m *memo[T]) put(key []byte, v T) {
	if len(key) > maxMemoKey {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil || len(m.held) >= maxMemo {
		m.held = map[string]T{}
	}
	m.held[string(key)] = v
}

var (
	knownTypes   [2]memo[*readers.Type] // by message; those of headers with a checksum apart
	knownFilters memo[readers.Filter]   // by number, name, client values and size of elements
)
