package scan

import (
	"fmt"
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
// next, also while others are added, unless reading them one by one makes larger requests.
func (r *reading) addAll(list []*readers.Variable) error {
	if len(list) < manyVariables || r.src.Far() {
		for _, v := range list {
			if err := r.add(v, r.opened, nil); err != nil {
				return fmt.Errorf("%s: %w", v.Path, err)
			}
		}
		return nil
	}
	next := r.prepare(list)
	defer func() { next.workers.Wait() }() // nobody reads from a source that its owner takes for done
	for len(next.list) > 0 {
		now := next
		now.workers.Wait()
		list = list[len(now.list):]
		next = r.prepare(list)
		if err := r.addPrepared(now); err != nil {
			return err
		}
	}
	return nil
}

// coming are variables of which is read what can be read before their turn.
type coming struct {
	list    []*readers.Variable
	found   []prepared
	workers sync.WaitGroup // are done when all is read
}

// prepare begins to read of the first variables of a list.
func (r *reading) prepare(list []*readers.Variable) *coming {
	list = list[:min(len(list), readAhead)]
	s := &coming{list: list, found: make([]prepared, len(list))}
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		s.workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				r.prepareOne(&s.found[i], list[i])
			}
		})
	}
	return s
}

func (r *reading) addPrepared(s *coming) error {
	for i, v := range s.list {
		if p := s.found[i].panicked; p != nil {
			panic(p)
		}
		if err := r.add(v, r.opened, &s.found[i]); err != nil {
			return fmt.Errorf("%s: %w", v.Path, err)
		}
	}
	return nil
}

func (r *reading) prepareOne(found *prepared, v *readers.Variable) {
	defer func() { found.panicked = recover() }()
	found.attributes = attributes(v.Attributes)
	if r.asked.indexes && isSmall(v) {
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
