package hdf5

import "encoding/binary"

// btree1Path is the path from the root of a v1 B-tree of chunks to the current node. It reports
// whether libhdf5 would reach the same node when it searches for a chunk. The search bisects the
// keys of each node. In an index with sorted keys it always succeeds; in a damaged one it may fail,
// and then libhdf5 reads fill values although the index lists the chunk.
type btree1Path struct {
	rank  int // of chunks; keys have rank+1 numbers
	entry int // size of a key and a child in bytes
	steps []btree1Step
}

// btree1Step is one node of the path.
type btree1Step struct {
	keys      []byte // with the children between them
	n         int
	at        int  // index of the child on the path
	isOrdered bool // each key is less than the next
}

func (p *btree1Path) enter(keys []byte, n int) {
	s := btree1Step{keys: keys, n: n, isOrdered: true}
	for i := 0; i < n && s.isOrdered; i++ {
		// A search uses a tail of 0, so a key with another tail is not found by itself.
		s.isOrdered = p.tail(keys, i) == 0 && p.compare(keys, i, keys, i+1) < 0
	}
	p.steps = append(p.steps, s)
}

func (p *btree1Path) leave() { p.steps = p.steps[:len(p.steps)-1] }

// setChild records the child that the walk goes down to.
func (p *btree1Path) setChild(child int) { p.steps[len(p.steps)-1].at = child }

// number returns number d of key i: the offset of the chunk in dimension d.
func (p *btree1Path) number(keys []byte, i, d int) uint64 {
	return binary.LittleEndian.Uint64(keys[i*p.entry+8+8*d:])
}

// tail returns the last number of a key, the offset inside an element. A search uses 0.
func (p *btree1Path) tail(keys []byte, i int) uint64 { return p.number(keys, i, p.rank) }

// compare compares key i as a search uses it, with a tail of 0, with key j of others.
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

// comesBefore reports whether key i as a search uses it is less than key j to the left of a child.
// For chunks of one dimension libhdf5 ignores the tail of that key.
func (p *btree1Path) comesBefore(keys []byte, i int, others []byte, j int) bool {
	if p.rank == 1 {
		return p.number(keys, i, 0) < p.number(others, j, 0)
	}
	return p.compare(keys, i, others, j) < 0
}

// findsAll reports whether a search finds all chunks of the leaf, because all keys are sorted and
// lie within the bounds of the nodes above. It saves one search per chunk.
func (p *btree1Path) findsAll() bool {
	leaf := &p.steps[len(p.steps)-1]
	if leaf.n == 0 {
		return true
	}
	for i := range p.steps {
		s := &p.steps[i]
		if !s.isOrdered {
			return false
		}
		if s != leaf && (p.compare(leaf.keys, 0, s.keys, s.at) < 0 || p.compare(leaf.keys, leaf.n-1, s.keys, s.at+1) >= 0) {
			return false
		}
	}
	return true
}

// finds reports whether a search for chunk i of the leaf reaches it.
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

// search returns the child that a search for key i takes in a node (H5B_find), or -1. It must
// bisect as libhdf5 does: in an unsorted node the result depends on it.
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
