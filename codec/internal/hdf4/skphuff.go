package hdf4

import "varve/codec/internal/corrupt"

// SkippingHuffman decodes bytes that a tree for each place of a number was used for. A tree is
// turned towards each byte that it gave (D. W. Jones, "Application of splay trees to data
// compression", 1988; cskphuff.c).
type SkippingHuffman struct {
	Size int // bytes of a number
}

// nodes is how many inner nodes a tree has; the leaf of byte b is node nodes + b.
const nodes = 256

type splayTree struct {
	left, right [nodes]uint16
	up          [2 * nodes]uint8
}

func newSplayTree() *splayTree {
	t := &splayTree{}
	for i := range t.up {
		t.up[i] = uint8(i >> 1)
	}
	for i := range t.left {
		t.left[i], t.right[i] = uint16(2*i), uint16(2*i+1)
	}
	return t
}

// Decode decodes src to the beginning of dst and returns how many bytes it decodes to. It never
// writes beyond dst; what stands in src once that is full does not count.
func (p SkippingHuffman) Decode(dst, src []byte) (int, error) {
	trees := make([]*splayTree, p.Size)
	for i := range trees {
		trees[i] = newSplayTree()
	}
	at := 0 // in bits
	for out := range dst {
		t := trees[out%p.Size]
		node := uint16(0)
		for node < nodes {
			if at == 8*len(src) {
				return 0, corrupt.Errorf("hdf4.skphuff: %d bytes decode to %d, %d are due", len(src), out, len(dst))
			}
			if src[at/8]>>(7-at%8)&1 == 0 {
				node = t.left[node]
			} else {
				node = t.right[node]
			}
			at++
		}
		dst[out] = byte(node - nodes)
		t.splay(node)
	}
	return len(dst), nil
}

// splay moves a leaf up by half of its way to the root.
func (t *splayTree) splay(leaf uint16) {
	for a := leaf; ; {
		parent := t.up[a]
		if parent == 0 {
			return
		}
		above := t.up[parent]
		other := t.left[above]
		if other == uint16(parent) {
			other, t.right[above] = t.right[above], a
		} else {
			t.left[above] = a
		}
		if t.left[parent] == a {
			t.left[parent] = other
		} else {
			t.right[parent] = other
		}
		t.up[a], t.up[other] = above, parent
		if a = uint16(above); a == 0 {
			return
		}
	}
}
