package zarrjson

import "sync"

// memo caches results by their input text. The arrays of a hierarchy repeat the same
// codecs, so the check of one is reused for all. A memo may be used concurrently.
type memo struct {
	mu      sync.RWMutex
	entries map[string][]byte
}

// The limits of a memo: the number of entries and the length of a key. A full memo is
// emptied, which is simpler than evicting single entries.
const (
	maxMemo    = 1 << 10
	maxMemoKey = 512
)

func (m *memo) get(key []byte) ([]byte, bool) {
	m.mu.RLock()
	v, ok := m.entries[string(key)]
	m.mu.RUnlock()
	return v, ok
}

func (m *memo) put(key, v []byte) {
	if len(key) > maxMemoKey {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil || len(m.entries) >= maxMemo {
		m.entries = map[string][]byte{}
	}
	m.entries[string(key)] = v
}
