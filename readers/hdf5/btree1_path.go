package hdf5

import "encoding/binary"

// btree1Path is where a walk over a v1 B-tree of chunks is. It tells whether libhdf5 would get
// to the same place when it searches for a chunk, which halves the keys of each node. In an
// index whose keys are in order it always does; in a damaged one it may not, and then reads
// fill although the chunk is listed.
type btree1Path struct {
	rank  int // of chunks; keys have one number more
	entry int // bytes of a key and a child
	steps []btree1Step
}

// btree1Step is one node of the path.
type btree1Step struct {
	keys    []byte // and children
	n       int
	at      int  // the child that the path goes on with
	ordered bool // each key is less than the next
}

func (p *btree1Path) enter(keys []byte, n int) {
	s := btree1Step{keys: keys, n: n, ordered: true}
	for i := 0; i < n && s.ordered; i++ {
		s.ordered = p.tail(keys, i) == 0 && p.compare(keys, i, keys, i+1) < 0
	}
	p.steps = append(p.steps, s)
}

func (p *btree1Path) leave() { p.steps = p.steps[:len(p.steps)-1] }

// at notes the child that the walk goes down to.
func (p *btree1Path) at(child int) { p.steps[len(p.steps)-1].at = child }

// number returns the d-th number of a key: where the chunk begins along dimension d.
func (p *btree1Path) number(keys []byte, i, d int) uint64 {
	return binary.LittleEndian.Uint64(keys[i*p.entry+8+8*d:])
}

// tail is the number that a key has for the inside of an element. A search is for 0.
func (p *btree1Path) tail(keys []byte, i int) uint64 { return p.number(keys, i, p.rank) }

// compare compares the i-th key as it is searched for, that is with a tail of 0, with another.
func (p *btree1Path) compare(keys []byte, i int, others []byte, j int) int {
	for d := range p.rank + 1 {
		a, b := uint64(0), p.number(others, j, d)
		if d < p.rank {
			a = p.number(keys, i, d)
		}
		if a < b {
			return -1
		}
		if a > b {
			return 1
		}
	}
	return 0
}

// comesBefore reports whether the i-th key as it is searched for is less than the one to the left of
// a child. libhdf5 does not look at the tail of that where chunks have one dimension.
func (p *btree1Path) comesBefore(keys []byte, i int, others []byte, j int) bool {
	if p.rank == 1 {
		return p.number(keys, i, 0) < p.number(others, j, 0)
	}
	return p.compare(keys, i, others, j) < 0
}

// findsAll reports whether a search finds all chunks of the last node, because all is in order
// and lies between the keys above it.
func (p *btree1Path) findsAll() bool {
	leaf := &p.steps[len(p.steps)-1]
	if leaf.n == 0 {
		return true
	}
	for i := range p.steps {
		s := &p.steps[i]
		if !s.ordered {
			return false
		}
		if s != leaf && (p.compare(leaf.keys, 0, s.keys, s.at) < 0 || p.compare(leaf.keys, leaf.n-1, s.keys, s.at+1) >= 0) {
			return false
		}
	}
	return true
}

// finds reports whether a search for the i-th chunk of the last node gets there.
func (p *btree1Path) finds(i int) bool {
	leaf := &p.steps[len(p.steps)-1]
	leaf.at = i
	for k := range p.steps {
		if s := &p.steps[k]; p.search(s, leaf.keys, i) != s.at {
			return false
		}
	}
	return true
}

// search returns the child that a search for the i-th of some keys takes (H5B_find), or -1.
func (p *btree1Path) search(s *btree1Step, keys []byte, i int) int {
	low, high := 0, s.n
	for low < high {
		middle := (low + high) / 2
		switch {
		case p.compare(keys, i, s.keys, middle+1) >= 0:
			low = middle + 1
		case p.comesBefore(keys, i, s.keys, middle):
			high = middle
		default:
			return middle
		}
	}
	return -1
}
