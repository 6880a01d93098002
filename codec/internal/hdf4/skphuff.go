package hdf4

import "varve/codec/internal/corrupt"

// SkippingHuffman decodes adaptive Huffman codes. There is one code tree for each byte position of a
// number. After each byte, its tree is splayed, so that frequent bytes get shorter codes (D. W. Jones,
// "Application of splay trees to data compression", 1988; cskphuff.c of libhdf4).
type SkippingHuffman struct {
	Size int // bytes per number
}

// nodes is the number of inner nodes of a tree. The leaf of byte b is node nodes + b.
const nodes = 256

// splayTree is a code tree. Its root is node 0.
type splayTree struct {
	left, right [nodes]uint16
	up          [2 * nodes]uint8
}

// newSplayTree returns the balanced tree with which encoder and decoder start.
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

// Decode fills dst and returns its length. Bytes of src after the last code are ignored.
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
				return 0, corrupt.Errorf("hdf4.skphuff: truncated at byte %d, after %d of %d decoded bytes", len(src), out, len(dst))
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

// splay moves a leaf about half of its way up to the root.
func (t *splayTree) splay(leaf uint16) {
	for a := leaf; ; {
		// Exchange a with its parent's sibling, then go on two levels above. This semi-splay step
		// must be the encoder's exactly, or the trees differ.
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
