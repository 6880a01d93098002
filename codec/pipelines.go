package codec

import (
	"encoding/binary"
	"slices"
	"sync"
)

// Pipelines caches pipelines: the files of an archive use few distinct ones, and making
// one costs more than decoding a small chunk. The zero value is ready to use. It may be
// used concurrently.
type Pipelines struct {
	mu      sync.RWMutex
	entries map[string]*Pipeline
}

// maxPipelines is the number of pipelines at which the cache is emptied.
const maxPipelines = 1 << 10

// New is like the function New, but returns the same pipeline for equal specs and forms.
func (x *Pipelines) New(specs []Spec, form Form) (*Pipeline, error) {
	// The key does not contain fields; structs are rare.
	if len(form.Type.Fields) > 0 {
		return New(specs, form)
	}
	var room [256]byte
	key := appendKey(room[:0], specs, form)
	x.mu.RLock()
	p := x.entries[string(key)]
	x.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	form.Shape, form.Fill = slices.Clone(form.Shape), slices.Clone(form.Fill) // the caller may change them later
	p, err := New(specs, form)
	if err != nil {
		return nil, err
	}
	// Two goroutines may make the same pipeline at once. That is harmless: either one is
	// kept.
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.entries == nil || len(x.entries) >= maxPipelines {
		x.entries = map[string]*Pipeline{}
	}
	x.entries[string(key)] = p
	return p, nil
}

// appendKey appends everything that a pipeline depends on.
func appendKey(key []byte, specs []Spec, form Form) []byte {
	text := func(s string) {
		key = append(binary.AppendUvarint(key, uint64(len(s))), s...)
	}
	key = binary.AppendUvarint(key, uint64(len(specs)))
	for _, s := range specs {
		text(s.Name)
		text(string(s.Config))
		flags := byte(0)
		if s.Clip {
			flags = 1
		}
		key = append(key, flags, byte(s.depth))
	}
	t := form.Type
	text(t.Unit)
	key = append(key, byte(t.Kind))
	key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(t.Size)), uint64(t.Ticks))
	// Nil means zeros, whereas an empty fill value is an empty text.
	if form.Fill != nil {
		key = append(key, 1)
	}
	text(string(form.Fill))
	for _, n := range form.Shape {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return key
}
