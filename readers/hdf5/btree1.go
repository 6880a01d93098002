package hdf5

import (
	"context"

	"varve/readers"
	"varve/readers/source"
)

// Types of nodes of v1 B-trees.
const (
	nodeGroup = 0
	nodeChunk = 1
)

// btree1 reads the nodes of a v1 B-tree (III.A.1):
//
//	"TREE", type, level, entries, left sibling, right sibling
//	key 0, child 0, key 1, child 1, … key n
//
// It goes down from the root only, level by level, and to each node once.
type btree1 struct {
	f       *File
	kind    int
	keySize int
	check   func(key []byte) error // of chunks
	lose    func(error) error      // of groups: nil for what is damaged, which the rest does without
	seen    map[uint64]struct{}
	guess   int         // size of the nodes so far
	path    *btree1Path // nodes on the way down, of chunks
	root    source.Window
	windows []source.Window // of the nodes on the way down, by level
}

// usualNode is what the only node of an index of a dozen chunks takes, so that it is read at once.
const usualNode = 1 << 10

// leaves calls visit with the entries of every node of level 0: keys and children.
func (t *btree1) leaves(ctx context.Context, addr uint64, visit func(c *cursor, n int) error) error {
	t.seen = map[uint64]struct{}{}
	defer func() {
		closeWindows(t.windows)
		t.root.Close()
	}()
	return t.node(ctx, addr, -1, visit)
}

func closeWindows(windows []source.Window) {
	for i := range windows {
		windows[i].Close()
	}
}

func (t *btree1) node(ctx context.Context, addr uint64, level int, visit func(*cursor, int) error) error {
	if _, again := t.seen[addr]; again {
		return &readers.Error{Offset: int64(addr), Err: readers.Corruptf("a node of a B-tree is met twice")}
	}
	t.seen[addr] = struct{}{}
	c, got, n, err := t.read(ctx, addr, level)
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
	t.announce(ctx, *c, n)
	if level < 0 {
		t.windows = make([]source.Window, got)
	}
	for i := range n {
		if t.path != nil {
			t.path.at(i)
		}
		c.skip(t.keySize)
		err := t.node(ctx, c.address(), got-1, visit)
		if t.lose != nil {
			err = t.lose(err)
		}
		if err != nil {
			return err
		}
	}
	return c.err
}

// read returns a cursor over the n entries of a node of a level, any if that is less than 0.
func (t *btree1) read(ctx context.Context, addr uint64, level int) (c *cursor, got, n int, err error) {
	head := 8 + 2*t.f.super.offsets
	buf := &t.root
	if level >= 0 {
		buf = &t.windows[level]
	}
	if c, err = t.f.scan(ctx, buf, addr, max(head, t.f.available(addr, t.guess))); err != nil {
		return nil, 0, 0, err
	}
	c.signature("TREE")
	if kind := c.u8(); kind != t.kind {
		c.fail("type of a B-tree's node is %d, not %d", kind, t.kind)
	}
	got, n = c.u8(), c.u16()
	if level >= 0 && got != level {
		c.fail("level of a B-tree's node is %d, not %d", got, level)
	}
	if c.err != nil {
		return nil, 0, 0, c.err
	}
	size := n*(t.keySize+t.f.super.offsets) + t.keySize
	if n == 0 {
		size = 0
	}
	if head+size > len(c.b) {
		t.guess = head + size
		if c, err = t.f.scan(ctx, buf, addr, head+size); err != nil {
			return nil, 0, 0, err
		}
	}
	c.at, c.b, c.pos = c.at+int64(head), c.b[head:head+size], 0
	if got > 0 {
		err = t.checkKeys(c)
	}
	return c, got, n, err
}

// checkKeys checks the keys of a node above the leaves.
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
