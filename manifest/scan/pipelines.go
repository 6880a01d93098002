package scan

import (
	"encoding/binary"
	"sync"

	"varve/codec"
)

// pipelines keeps what decodes chunks: the files of an archive need the same few over and
// over, and making one costs more than a small chunk.
type pipelines struct {
	mu   sync.RWMutex
	held map[string]*codec.Pipeline
}

const maxPipelines = 1 << 10

// of returns the pipeline of some codecs for chunks of a form.
func (x *pipelines) of(specs []codec.Spec, form codec.Form) (*codec.Pipeline, error) {
	if len(form.Type.Fields) > 0 {
		return codec.New(specs, form)
	}
	var room [256]byte
	key := appendKey(room[:0], specs, form)
	x.mu.RLock()
	p := x.held[string(key)]
	x.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	p, err := codec.New(specs, form)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held == nil || len(x.held) >= maxPipelines {
		x.held = map[string]*codec.Pipeline{}
	}
	x.held[string(key)] = p
	return p, nil
}

// appendKey appends all that a pipeline depends on.
func appendKey(key []byte, specs []codec.Spec, form codec.Form) []byte {
	text := func(s string) {
		key = append(binary.AppendUvarint(key, uint64(len(s))), s...)
	}
	for _, s := range specs {
		text(s.Name)
		text(string(s.Config))
	}
	t := form.Type
	text(t.Unit)
	key = append(key, byte(t.Kind))
	key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(t.Size)), uint64(t.Ticks))
	text(string(form.Fill))
	for _, n := range form.Shape {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return key
}
