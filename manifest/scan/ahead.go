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

// prepared is the part of a variable that can be read before its turn, because it does not depend on the
// other variables of the source.
type prepared struct {
	attributes []manifest.Attribute
	chunks     []readers.Ref // of a small index, if it was read completely
	whole      bool
	panicked   any // panic value to raise when the variable is added
}

const (
	manyVariables = 64  // number of variables from which goroutines are faster
	readAhead     = 256 // number of variables that are read ahead at a time
	smallIndex    = 64  // maximum number of chunks
)

// addAll adds variables. If there are many, all cores read ahead while earlier variables are added. Remote
// sources are read in order, because that allows larger requests.
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
	defer func() { next.workers.Wait() }() // the caller closes the source, so no goroutine may still read it
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

// coming is a batch of variables that are read ahead.
type coming struct {
	list    []*readers.Variable
	found   []prepared
	workers sync.WaitGroup // done when everything is read
}

// prepare starts to read ahead the first variables of a list.
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
		// Raise a reader's panic in the goroutine that reports it as an error of this source.
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

// isSmall reports whether the index of a variable has at most about smallIndex chunks.
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

// readSmall reads an index. It gives up if the index is larger than expected or damaged; then readIndex reads
// it again and reports the error.
func (r *reading) readSmall(s *readers.Storage) (chunks []readers.Ref, whole bool) {
	for ref, err := range s.ReadIndex(r.ctx) {
		if err != nil || ref.Other != nil || len(chunks) >= smallIndex {
			return nil, false
		}
		// The reader reuses ref.Index.
		kept := *ref
		kept.Index = slices.Clone(ref.Index)
		chunks = append(chunks, kept)
	}
	return chunks, true
}
