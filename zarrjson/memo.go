package zarrjson

import "sync"

// memo keeps what was made of some text. The arrays of a hierarchy say the same things over
// and over; what one of them was found to say of its codecs holds for all.
type memo struct {
	mu   sync.RWMutex
	held map[string][]byte
}

// The limits of a memo, which then begins anew.
const (
	maxMemo    = 1 << 10
	maxMemoKey = 512
)

func (m *memo) get(key []byte) ([]byte, bool) {
	m.mu.RLock()
	v, ok := m.held[string(key)]
	m.mu.RUnlock()
	return v, ok
}

func (m *memo) put(key, v []byte) {
	if len(key) > maxMemoKey {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil || len(m.held) >= maxMemo {
		m.held = map[string][]byte{}
	}
	m.held[string(key)] = v
}
