package scan

import (
	"bytes"
	"sync"

	"varve/codec"
	"varve/manifest"
)

// interner deduplicates headers, groups and values. It is safe for concurrent use.
type interner struct {
	mu     sync.Mutex
	shared *manifest.Shared

	pipelines codec.Pipelines
}

func newInterner() *interner { return &interner{shared: manifest.NewShared()} }

func (x *interner) header(h *manifest.Header) *manifest.FileHeader {
	h.SetID()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shared.Header(h, func() {
		for _, v := range h.Variables {
			v.Fill.Value = bytes.Clone(v.Fill.Value)
			own(v.Attributes)
		}
	})
}

// groups stores attributes. It copies their bytes: see own.
func (x *interner) groups(list []manifest.Group) *manifest.FileGroups {
	g := &manifest.GroupAttributes{Groups: list}
	g.SetID()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shared.Groups(g, func() {
		for i := range g.Groups {
			own(g.Groups[i].Attributes)
		}
	})
}

// own copies the bytes of attributes. Readers may return parts of a source in memory, which would stay in
// memory as a whole, or be used again for another source.
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
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shared.Values(v)
}
