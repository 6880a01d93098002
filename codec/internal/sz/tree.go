package sz

// Tree is a Huffman code as SZ has always stored it, which SZ 3 stores too. It may be used
// again.
type Tree struct{ tree tree }

// Read reads a tree of count nodes, to decode so many symbols, from the start of src, and
// returns how many bytes it takes.
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

// Constant says whether there is but one symbol, whose code takes no bits.
func (t *Tree) Constant() bool { return t.tree.nodes[0].left == 0 }

// Decode fills dst with the symbols of the codes in src.
func (t *Tree) Decode(dst []int32, src []byte) error { return t.tree.decode(dst, src) }
