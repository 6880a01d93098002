package hdf5

import (
	"context"

	"varve/readers"
	"varve/readers/source"
)

// Node types of v1 B-trees (III.A.1).
const (
	nodeGroup = 0
	nodeChunk = 1
)

// btree1 reads the nodes of a v1 B-tree (III.A.1), the index of old groups and of chunks in files
// of HDF5 1.8 and earlier:
//
//	0   "TREE"
//	4   node type (1 byte: 0 group, 1 chunks)
//	5   level (1 byte: 0 for leaves)
//	6   number of entries n (2 bytes)
//	8   address of the left sibling  (size of offsets)
//	    address of the right sibling (size of offsets)
//	    key 0, child 0, key 1, child 1, … key n
//
// A child is an address. The children of leaves are symbol table nodes (groups) or stored chunks.
// For example, a chunk index with two chunks of 100 bytes is "TREE" 01 00 0200, two undefined
// siblings, then (100, mask 0, offsets of chunk 0) its address, (100, 0, offsets of chunk 1) its
// address, and a last key that bounds the tree.
//
// The walk goes down from the root and visits each node once; siblings are not followed.
type btree1 struct {
	f          *File
	kind       int
	keySize    int
	check      func(key []byte) error // checks a key of a chunk
	skipDamage func(error) error      // for groups: returns nil for damage that leaves out only one node
	seen       map[uint64]struct{}
	guess      int         // size of the largest node so far, in bytes
	path       *btree1Path // for chunks: nodes from the root to the current one
	root       source.Window
	windows    []source.Window // for the nodes below the root, by level
}

// usualNode is the size of the first read of a node. It is the size of the only node in an index of
// a dozen chunks, so that one read returns such an index.
const usualNode = 1 << 10

// visitLeaves calls visit for every node of level 0, with a cursor at its n keys and children.
func (t *btree1) visitLeaves(ctx context.Context, addr uint64, visit func(c *cursor, n int) error) error {
	t.seen = map[uint64]struct{}{}
	defer func() {
		closeWindows(t.windows)
		t.root.Close()
	}()
	return t.visitNode(ctx, addr, -1, visit)
}

func closeWindows(windows []source.Window) {
	for i := range windows {
		windows[i].Close()
	}
}

func (t *btree1) visitNode(ctx context.Context, addr uint64, level int, visit func(*cursor, int) error) error {
	// A damaged address could make the walk endless.
	if _, again := t.seen[addr]; again {
		return &readers.Error{Offset: int64(addr), Err: readers.Corruptf("v1 B-tree: a node has two parents")}
	}
	t.seen[addr] = struct{}{}
	c, got, n, err := t.readNode(ctx, addr, level)
	if err != nil {
		return err
	}
	if t.path != nil {
		t.path.enter(c.b, n)
		defer t.path.leave()
	}
	if got == 0 {
		return visit(c, n)
	}
	// On a remote source the children would otherwise cost a request each.
	t.prefetchChildren(ctx, *c, n)
	// The root sets the depth; only then the number of windows is known.
	if level < 0 {
		t.windows = make([]source.Window, got)
	}
	for i := range n {
		if t.path != nil {
			t.path.setChild(i)
		}
		c.skip(t.keySize)
		err := t.visitNode(ctx, c.address(), got-1, visit)
		if t.skipDamage != nil {
			err = t.skipDamage(err)
		}
		if err != nil {
			return err
		}
	}
	return c.err
}

// readNode returns a cursor over the n entries of a node. A negative level accepts any level.
func (t *btree1) readNode(ctx context.Context, addr uint64, level int) (c *cursor, got, n int, err error) {
	head := 8 + 2*t.f.super.offsets
	buf := &t.root
	if level >= 0 {
		buf = &t.windows[level]
	}
	if c, err = t.f.cursorOnce(ctx, buf, addr, max(head, t.f.available(addr, t.guess))); err != nil {
		return nil, 0, 0, err
	}
	c.signature("TREE")
	if kind := c.u8(); kind != t.kind {
		c.fail("v1 B-tree: node type is %d (want %d)", kind, t.kind)
	}
	got, n = c.u8(), c.u16()
	if level >= 0 && got != level {
		c.fail("v1 B-tree: level of a node is %d (want %d)", got, level)
	}
	if c.err != nil {
		return nil, 0, 0, c.err
	}
	size := n*(t.keySize+t.f.super.offsets) + t.keySize
	// An empty node has no last key.
	if n == 0 {
		size = 0
	}
	// The node is larger than the guess: read it again, and read its siblings at this size.
	if head+size > len(c.b) {
		t.guess = head + size
		if c, err = t.f.cursorOnce(ctx, buf, addr, head+size); err != nil {
			return nil, 0, 0, err
		}
	}
	c.at, c.b, c.pos = c.at+int64(head), c.b[head:head+size], 0
	if got > 0 {
		err = t.checkKeys(c)
	}
	return c, got, n, err
}

// checkKeys checks all keys of a node above the leaves.
func (t *btree1) checkKeys(c *cursor) error {
	if t.check == nil {
		return nil
	}
	for b := c.b; len(b) >= t.keySize; b = b[min(t.keySize+t.f.super.offsets, len(b)):] {
		if err := t.check(b[:t.keySize]); err != nil {
			return &readers.Error{Offset: c.at, Err: err}
		}
	}
	return nil
}
