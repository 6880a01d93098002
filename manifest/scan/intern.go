package scan

import (
	"bytes"
	"sync"

	"varve/codec"
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

	pipelines codec.Pipelines
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
	return intern(x, x.headers, h, h.AppendKey, func(key []byte) {
		for i := range h.Variables {
			v := &h.Variables[i]
			v.Fill.Value = bytes.Clone(v.Fill.Value)
			own(v.Attributes)
		}
		h.ID = manifest.IDOf(key)
	})
}

func (x *interner) groups(g *manifest.GroupAttributes) *manifest.GroupAttributes {
	return intern(x, x.group, g, g.AppendKey, func(key []byte) {
		for i := range g.Groups {
			own(g.Groups[i].Attributes)
		}
		g.ID = manifest.IDOf(key)
	})
}

// own makes the bytes of attributes those of nobody else: what a reader gives may be a part of
// a source in memory.
func own(list []manifest.Attribute) {
	size := 0
	for i := range list {
		size += len(list[i].Data)
	}
	all := make([]byte, 0, size)
	for i := range list {
		if data := list[i].Data; data != nil {
			at := len(all)
			all = append(all, data...)
			list[i].Data = all[at:len(all):len(all)]
		}
	}
}

// value is known by its hash only: values can be large, and a key would be a copy.
func (x *interner) value(v *manifest.Values) *manifest.Values {
	v.SetID()
	x.mu.Lock()
	defer x.mu.Unlock()
	if same := x.values[v.ID]; same != nil {
		return same
	}
	x.values[v.ID] = v
	return v
}

// intern returns the one that is equal to v, which is v if there was none. Then keep is called
// with its key to get v ready.
func intern[T any](x *interner, known table[T], v *T, appendKey func([]byte) []byte, keep func(key []byte)) *T {
	buf := x.keys.Get().(*[]byte)
	defer x.keys.Put(buf)
	*buf = appendKey((*buf)[:0])
	x.mu.Lock()
	defer x.mu.Unlock()
	if same := known[string(*buf)]; same != nil {
		return same
	}
	keep(*buf)
	known[string(*buf)] = v
	return v
}
