package scan

import (
	"sync"

	"varve/manifest"
)

// interner keeps one of all that is equal. Things are looked up by their keys, which is
// cheaper than by a hash of these; the hash is made once for each.
type interner struct {
	mu      sync.Mutex
	headers table[manifest.Header]
	group   table[manifest.GroupAttributes]
	values  table[manifest.Values]
	keys    sync.Pool // of *[]byte
}

type table[T any] map[string]*T

func newInterner() *interner {
	return &interner{
		headers: table[manifest.Header]{},
		group:   table[manifest.GroupAttributes]{},
		values:  table[manifest.Values]{},
		keys:    sync.Pool{New: func() any { return new([]byte) }},
	}
}

func (x *interner) header(h *manifest.Header) *manifest.Header {
	return intern(x, x.headers, h, h.AppendKey, h.SetID)
}

func (x *interner) groups(g *manifest.GroupAttributes) *manifest.GroupAttributes {
	return intern(x, x.group, g, g.AppendKey, g.SetID)
}

func (x *interner) value(v *manifest.Values) *manifest.Values {
	return intern(x, x.values, v, v.AppendKey, v.SetID)
}

// intern returns the one that is equal to v, which is v if there was none.
func intern[T any](x *interner, known table[T], v *T, appendKey func([]byte) []byte, setID func()) *T {
	buf := x.keys.Get().(*[]byte)
	defer x.keys.Put(buf)
	*buf = appendKey((*buf)[:0])
	x.mu.Lock()
	same := known[string(*buf)]
	x.mu.Unlock()
	if same != nil {
		return same
	}
	setID()
	x.mu.Lock()
	defer x.mu.Unlock()
	if same := known[string(*buf)]; same != nil {
		return same
	}
	known[string(*buf)] = v
	return v
}
