package sz

// Tree is a Huffman code in the stored form of SZ 2, which SZ 3 uses too. It can be reused.
type Tree struct{ tree tree }

// Read reads a tree of count nodes from the beginning of src and returns its length in bytes. symbols is
// the number of symbols to decode with it.
func (t *Tree) Read(src []byte, count, symbols int) (int, error) {
	if err := t.tree.read(src, count, symbols); err != nil {
		return 0, err
	}
	return treeSize(count), nil
}

// Shift adds offset to every symbol.
func (t *Tree) Shift(offset int32) {
	for i := range t.tree.nodes {
		t.tree.nodes[i].symbol += offset
	}
}

// IsConstant reports whether the tree has only one symbol, whose code has no bits.
func (t *Tree) IsConstant() bool { return t.tree.nodes[0].left == 0 }

// Decode fills dst with the symbols of the codes in src.
func (t *Tree) Decode(dst []int32, src []byte) error { return t.tree.decode(dst, src) }
