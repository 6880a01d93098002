package hdf5

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
)

// pathNode is a node of a v1 B-tree of chunks; it has one key more than children.
type pathNode struct {
	keys     [][]uint64 // rank numbers and the tail
	children []*pathNode
}

// encode returns keys and children as stored.
func (n *pathNode) encode() []byte {
	var b []byte
	for i, key := range n.keys {
		if i > 0 {
			b = binary.LittleEndian.AppendUint64(b, 0)
		}
		b = binary.LittleEndian.AppendUint64(b, 0)
		for _, x := range key {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
	}
	return b
}

func (n *pathNode) entries() int { return len(n.keys) - 1 }

// find is H5B_find: it returns the leaf and the entry at which a search ends, or nil.
func (n *pathNode) find(k []uint64) (*pathNode, int) {
	low, high := 0, n.entries()
	for low < high {
		i := (low + high) / 2
		looked := len(k) // numbers of the left key that are compared; the tail is not, for chunks of one dimension
		if looked == 2 {
			looked = 1
		}
		switch {
		case slices.Compare(k, n.keys[i+1]) >= 0:
			low = i + 1
		case slices.Compare(k[:looked], n.keys[i][:looked]) < 0:
			high = i
		case n.children == nil:
			return n, i
		default:
			return n.children[i].find(k)
		}
	}
	return nil, 0
}

func randomNode(r *rand.Rand, rank, level int, from uint64) *pathNode {
	n := &pathNode{}
	for i := range 2 + r.IntN(4) {
		key := make([]uint64, rank+1)
		for d := range rank {
			key[d] = from/3 + r.Uint64N(3)
		}
		key[rank-1] += 2 * uint64(i)
		key[rank] = r.Uint64N(12) / 11
		n.keys = append(n.keys, key)
	}
	if r.IntN(2) == 0 {
		slices.SortFunc(n.keys, slices.Compare)
	}
	for i := 0; level > 0 && i < n.entries(); i++ {
		n.children = append(n.children, randomNode(r, rank, level-1, 2*uint64(i)))
	}
	return n
}

// TestBTree1Path compares the chunks that btree1Path finds with those that a search from the root
// finds.
func TestBTree1Path(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	found, missed := 0, 0
	for range 3000 {
		rank := 1 + r.IntN(2)
		root := randomNode(r, rank, r.IntN(3), 0)
		p := &btree1Path{rank: rank, entry: 8 + 8*(rank+1) + 8}
		var walk func(n *pathNode)
		walk = func(n *pathNode) {
			p.enter(n.encode(), n.entries())
			defer p.leave()
			for i, c := range n.children {
				p.setChild(i)
				walk(c)
			}
			if n.children != nil {
				return
			}
			all := p.findsAll()
			for i := range n.entries() {
				k := append(slices.Clone(n.keys[i][:rank]), 0)
				leaf, at := root.find(k)
				want := leaf == n && at == i
				if got := p.finds(i); got != want || all && !want {
					t.Fatalf("chunk %v of %v: found %v, all %v, want %v", k, n.keys, got, all, want)
				}
				if want {
					found++
				} else {
					missed++
				}
			}
		}
		walk(root)
	}
	if found < 1000 || missed < 1000 {
		t.Errorf("%d chunks found, %d not found, want at least 1000 of each", found, missed)
	}
}
