package scan

import (
	"bytes"
	"sync"

	"varve/codec"
	"varve/manifest"
)

// interner keeps one of all that is equal, which is what has the same ID.
type interner struct {
	mu      sync.Mutex
	headers table[manifest.Header]
	group   table[manifest.GroupAttributes]
	values  table[manifest.Values]
	// variables are those of headers that differ in others.
	variables manifest.SharedVariables

	pipelines codec.Pipelines
}

type table[T any] map[string]*T

func newInterner() *interner {
	return &interner{
		headers: table[manifest.Header]{},
		group:   table[manifest.GroupAttributes]{},
		values:  table[manifest.Values]{},

		variables: manifest.SharedVariables{},
	}
}

func (x *interner) header(h *manifest.Header) *manifest.Header {
	h.SetID()
	return intern(x, x.headers, h.ID, h, func() {
		for i := range h.Variables {
			v := h.Variables[i]
			v.Fill.Value = bytes.Clone(v.Fill.Value)
			own(v.Attributes)
		}
		x.variables.Share(h)
	})
}

// groups keeps the attributes alone, and nothing that they are a part of.
func (x *interner) groups(list []manifest.Group) *manifest.GroupAttributes {
	g := &manifest.GroupAttributes{Groups: list}
	g.SetID()
	return intern(x, x.group, g.ID, g, func() {
		for i := range g.Groups {
			own(g.Groups[i].Attributes)
		}
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

func (x *interner) value(v *manifest.Values) *manifest.Values {
	v.SetID()
	return intern(x, x.values, v.ID, v, func() {})
}

// intern returns the one that has an ID, which is v if there was none. Then keep is called to
// get v ready.
func intern[T any](x *interner, known table[T], id string, v *T, keep func()) *T {
	x.mu.Lock()
	defer x.mu.Unlock()
	if same := known[id]; same != nil {
		return same
	}
	keep()
	known[id] = v
	return v
}
