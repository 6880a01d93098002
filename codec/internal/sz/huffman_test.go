package sz

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/fixtures/soak"
)

// shape returns a tree of n leaves, with parents before children. split chooses the number of leaves on the left.
func shape(n int, split func(n int) int) []node {
	nodes := []node{{}}
	leaves := []int{n}
	for i := 0; i < len(nodes); i++ {
		if leaves[i] == 1 {
			nodes[i].symbol = int32(7*i + 1)
			continue
		}
		left := split(leaves[i])
		nodes[i].left, nodes[i].right = int32(len(nodes)), int32(len(nodes)+1)
		nodes = append(nodes, node{}, node{})
		leaves = append(leaves, left, leaves[i]-left)
	}
	return nodes
}

// store encodes a tree as in a stream.
func store(nodes []node) []byte {
	size := pointerSize(len(nodes))
	b := []byte{0}
	pointers := func(of func(node) int32) {
		for _, n := range nodes {
			b = append(b, binary.LittleEndian.AppendUint32(nil, uint32(of(n)))[:size]...)
		}
	}
	pointers(func(n node) int32 { return n.left })
	pointers(func(n node) int32 { return n.right })
	for _, n := range nodes {
		b = binary.LittleEndian.AppendUint32(b, uint32(n.symbol))
	}
	for _, n := range nodes {
		leaf := byte(0)
		if n.left == 0 {
			leaf = 1
		}
		b = append(b, leaf)
	}
	return b
}

// wander appends the code of a random leaf, and returns its symbol.
func wander(nodes []node, rng *rand.Rand, bits []bool) ([]bool, int32) {
	n := nodes[0]
	for n.left != 0 {
		right := rng.IntN(2) == 1
		bits = append(bits, right)
		if right {
			n = nodes[n.right]
		} else {
			n = nodes[n.left]
		}
	}
	return bits, n.symbol
}

func TestTree(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		name   string
		leaves int
		split  func(n int) int
	}{
		{"one leaf", 1, nil},
		{"two leaves", 2, func(int) int { return 1 }},
		{"small", 100, func(n int) int { return 1 + rng.IntN(n-1) }},
		{"u8 pointers, deep", 128, func(n int) int { return n - 1 }},
		{"u16 pointers", 129, func(n int) int { return n / 2 }},
		{"u16 pointers, deep", 3000, func(n int) int { return 1 + rng.IntN(min(3, n-1)) }},
		{"u32 pointers", 40000, func(n int) int { return n / 2 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes := shape(c.leaves, c.split)
			var bits []bool
			want := make([]int32, 500)
			for i := range want {
				bits, want[i] = wander(nodes, rng, bits)
			}
			codes := make([]byte, (len(bits)+7)/8)
			for i, one := range bits {
				if one {
					codes[i>>3] |= 0x80 >> (i & 7)
				}
			}
			var tr tree
			stored := store(nodes)
			if err := tr.read(stored, len(nodes), len(want)); err != nil {
				t.Fatal(err)
			}
			got := make([]int32, len(want))
			if err := tr.decode(got, codes); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("symbol %d is %d, want %d", i, got[i], want[i])
				}
			}
			if err := tr.read(stored[:len(stored)-1], len(nodes), len(want)); !errors.Is(err, corrupt.Err) {
				t.Errorf("tree without its last byte: %v, want corrupt", err)
			}
			if len(codes) == 0 {
				return
			}
			if err := tr.decode(got, codes[:len(codes)-1]); !errors.Is(err, corrupt.Err) {
				t.Errorf("codes without their last byte: %v, want corrupt", err)
			}
		})
	}
}

func TestTreeRefusesLoops(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []node
	}{
		{"to itself", []node{{left: 1, right: 2}, {left: 1, right: 2}, {}}},
		{"to its parent", []node{{left: 1, right: 2}, {left: 2, right: 3}, {left: 1, right: 3}, {}}},
		{"beyond the end", []node{{left: 1, right: 3}, {}, {}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tr tree
			if err := tr.read(store(c.nodes), len(c.nodes), 10); !errors.Is(err, corrupt.Err) {
				t.Errorf("%v, want corrupt", err)
			}
		})
	}
}
