package scan

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"varve/manifest"
	"varve/readers"
)

// prepared is what was read of a variable before its turn: all that does not depend on the other
// variables of the source.
type prepared struct {
	of         *readers.Variable
	attributes []manifest.Attribute
	chunks     []readers.Ref // of a small index, if all could be read
	whole      bool
	panicked   any // what whoever adds the variable is to panic with
}

const (
	manyVariables = 64  // pay for the goroutines
	readAhead     = 256 // at a time
	smallIndex    = 64  // chunks
)

// addAll adds variables. Where there are many, all cores read what can be read of those that come
// next, unless reading them one by one makes larger requests.
func (r *reading) addAll(list []*readers.Variable) error {
	many := len(list) >= manyVariables && !r.src.Far()
	for first := 0; first < len(list); first += readAhead {
		next := list[first:min(first+readAhead, len(list))]
		found := make([]prepared, len(next))
		if many {
			r.prepare(found, next)
		}
		for i, v := range next {
			r.ahead = &found[i]
			if p := r.ahead.panicked; p != nil {
				panic(p)
			}
			if err := r.add(v); err != nil {
				return fmt.Errorf("%s: %w", v.Path, err)
			}
		}
	}
	return nil
}

func (r *reading) prepare(found []prepared, list []*readers.Variable) {
	var workers sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				r.prepareOne(&found[i], list[i])
			}
		})
	}
	workers.Wait()
}

func (r *reading) prepareOne(found *prepared, v *readers.Variable) {
	defer func() { found.panicked = recover() }()
	found.of, found.attributes = v, r.attributes(v.Attributes)
	if r.indexes && isSmall(v) {
		found.chunks, found.whole = r.readSmall(&v.Storage)
	}
}

// isSmall reports whether a variable has an index of a few chunks.
func isSmall(v *readers.Variable) bool {
	s := &v.Storage
	if s.Layout != readers.Chunked || s.ReadIndex == nil || s.Source != "" || len(s.ChunkShape) != len(v.Shape) {
		return false
	}
	chunks := uint64(1)
	for k, n := range v.Shape {
		size := max(s.ChunkShape[k], 1)
		if chunks *= n/size + 1; chunks > smallIndex {
			return false
		}
	}
	return true
}

// readSmall reads an index, unless it is larger or other than it should be: that is for
// readIndex to see.
func (r *reading) readSmall(s *readers.Storage) (chunks []readers.Ref, whole bool) {
	for ref, err := range s.ReadIndex(r.ctx) {
		if err != nil || ref.Other != nil || len(chunks) >= smallIndex {
			return nil, false
		}
		kept := *ref
		kept.Index = slices.Clone(ref.Index)
		chunks = append(chunks, kept)
	}
	return chunks, true
}

// attributesOf returns the attributes of a variable.
func (r *reading) attributesOf(v *readers.Variable) []manifest.Attribute {
	if r.ahead != nil && r.ahead.of == v {
		return r.ahead.attributes
	}
	return r.attributes(v.Attributes)
}

// refsOf streams the refs of a storage.
func (r *reading) refsOf(s *readers.Storage) iter.Seq2[*readers.Ref, error] {
	if r.ahead == nil || !r.ahead.whole || s != &r.ahead.of.Storage {
		return s.ReadIndex(r.ctx)
	}
	return func(yield func(*readers.Ref, error) bool) {
		for i := range r.ahead.chunks {
			if !yield(&r.ahead.chunks[i], nil) {
				return
			}
		}
	}
}
