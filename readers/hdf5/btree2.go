package hdf5

import (
	"context"
	"math"

	"varve/readers"
	"varve/readers/source"
)

// Types of records of v2 B-trees (III.A.2).
const (
	recordHuge            = 1
	recordHugeFiltered    = 2
	recordLinkName        = 5
	recordAttributeName   = 8
	recordChunk           = 10
	recordChunkFiltered   = 11
	btree2NodePrefix      = 6 // signature, version, type
	btree2NodeOverhead    = btree2NodePrefix + 4
	maxBTree2Depth        = 32
	maxBTree2NodeSize     = 1 << 24
	maxBTree2ChunkRecords = math.MaxInt64
)

// btree2 is a v2 B-tree:
//
//	header   "BTHD", version, type, node size, record size, depth, split, merge,
//	         root's address, root's records, all records, checksum
//	leaf     "BTLF", version, type, records, checksum
//	internal "BTIN", version, type, records, children, checksum
//	child    address, its records, all records below it (but not where it is a leaf)
//
// The widths of a child's two numbers follow from how many records there can be.
type btree2 struct {
	f           *File
	kind        int
	at          int64 // offset of the header
	nodeSize    int
	recordSize  int
	depth       int
	root        uint64
	rootRecords int
	total       uint64
	counted     uint64
	levels      []btree2Level
	seen        map[uint64]struct{}
	windows     []source.Window // of the nodes on the way down, by level
	visit       func(record []byte) error
	lose        func(error) error // nil for a damaged node that the rest does without
}

// btree2Level says what fits into the nodes of a level; leaves are level 0.
type btree2Level struct {
	records  uint64 // at most in a node
	all      uint64 // at most in and below it
	allWidth int
}

// none loses no node.
func none(err error) error { return err }

// btree2 calls visit with every record, in order. What lose does not return of the errors of a node
// below the root leaves out that node only.
func (f *File) btree2(ctx context.Context, addr uint64, kind int, visit func([]byte) error, lose func(error) error) error {
	t, err := f.openBTree2(ctx, addr, kind)
	if err != nil || t.root == undefined {
		return err
	}
	t.visit, t.lose = visit, lose
	if kind == recordChunk || kind == recordChunkFiltered {
		t.windows = make([]source.Window, t.depth+1)
		defer closeWindows(t.windows)
	}
	if err := t.node(ctx, t.root, t.rootRecords, t.depth); err != nil {
		return err
	}
	if t.counted != t.total {
		return &readers.Error{Offset: t.at, Err: readers.Corruptf("v2 B-tree has %d records and says %d", t.counted, t.total)}
	}
	return nil
}

// openBTree2 reads the header of a tree.
func (f *File) openBTree2(ctx context.Context, addr uint64, kind int) (*btree2, error) {
	c, err := f.at(ctx, addr, 16+f.super.offsets+2+f.super.lengths+4)
	if err != nil {
		return nil, err
	}
	t := &btree2{f: f, kind: kind, at: c.at}
	c.signature("BTHD")
	c.version("a v2 B-tree", 0, 0)
	if got := c.u8(); got != kind {
		c.fail("type of a v2 B-tree is %d, not %d", got, kind)
	}
	t.nodeSize, t.recordSize, t.depth = c.u32(), c.u16(), c.u16()
	checkPercentages(c)
	t.root, t.rootRecords = c.address(), c.u16()
	t.total = c.length()
	c.checksum("a v2 B-tree")
	t.measure(c)
	return t, c.err
}

// checkPercentages reads how full nodes are that are split, and that are merged.
func checkPercentages(c *cursor) {
	if split, merge := c.u8(), c.u8(); split == 0 || split > 100 || merge == 0 || merge > 100 {
		c.fail("percentages of a v2 B-tree are %d and %d", split, merge)
	}
}

// measure computes what fits into the nodes of each level.
func (t *btree2) measure(c *cursor) {
	if c.err != nil {
		return
	}
	if t.recordSize == 0 || t.nodeSize < btree2NodeOverhead+t.recordSize || t.nodeSize > maxBTree2NodeSize || t.depth > maxBTree2Depth {
		c.fail("v2 B-tree with nodes of %d bytes, records of %d, depth %d", t.nodeSize, t.recordSize, t.depth)
		return
	}
	leaf := uint64(t.nodeSize-btree2NodeOverhead) / uint64(t.recordSize)
	t.levels = []btree2Level{{records: leaf, all: leaf}}
	for level := 1; level <= t.depth; level++ {
		below := t.levels[level-1]
		pointer := t.pointerSize(level)
		n := uint64(max(t.nodeSize-btree2NodeOverhead-pointer, 0)) / uint64(t.recordSize+pointer)
		if n == 0 || below.all > math.MaxUint64/(n+2) {
			c.fail("v2 B-tree with nodes of %d bytes cannot be %d deep", t.nodeSize, t.depth)
			return
		}
		all := (n+1)*below.all + n
		t.levels = append(t.levels, btree2Level{records: n, all: all, allWidth: encodedSize(all)})
	}
}

// pointerSize is the size of a child in a node of the given level.
func (t *btree2) pointerSize(level int) int {
	return t.f.super.offsets + t.countWidth() + t.levels[level-1].allWidth
}

func (t *btree2) countWidth() int { return encodedSize(t.levels[0].records) }

func (t *btree2) node(ctx context.Context, addr uint64, n, level int) error {
	if t.depth > 0 { // or there is one node
		if _, again := t.seen[addr]; again {
			return &readers.Error{Offset: int64(addr), Err: readers.Corruptf("a node of a v2 B-tree is met twice")}
		}
		if t.seen == nil {
			t.seen = map[uint64]struct{}{}
		}
		t.seen[addr] = struct{}{}
	}
	if uint64(n) > t.levels[level].records {
		return &readers.Error{Offset: int64(addr), Err: readers.Corruptf("a node of a v2 B-tree has %d records, not up to %d", n, t.levels[level].records)}
	}
	name, size := "BTLF", btree2NodeOverhead+n*t.recordSize
	if level > 0 {
		name = "BTIN"
		size += (n + 1) * t.pointerSize(level)
	}
	c, err := t.read(ctx, addr, size, level)
	if err != nil {
		return err
	}
	c.signature(name)
	c.version("a node of a v2 B-tree", 0, 0)
	if got := c.u8(); got != t.kind {
		c.fail("type of a node of a v2 B-tree is %d, not %d", got, t.kind)
	}
	records := c.take(n * t.recordSize)
	children := c.sub((size - btree2NodeOverhead) - n*t.recordSize)
	c.checksum("a node of a v2 B-tree")
	if c.err != nil {
		return c.err
	}
	t.counted += uint64(n)
	if level > 0 {
		t.announce(ctx, children, level)
	}
	return t.walk(ctx, records, &children, level)
}

// read returns a node. Those of chunk indexes, which are large, go past the cache.
func (t *btree2) read(ctx context.Context, addr uint64, size, level int) (*cursor, error) {
	if t.windows == nil {
		return t.f.at(ctx, addr, size)
	}
	return t.f.scan(ctx, &t.windows[level], addr, size)
}

// walk visits records and children in turn.
func (t *btree2) walk(ctx context.Context, records []byte, children *cursor, level int) error {
	for {
		if level > 0 {
			addr, n := children.address(), int(children.uint(t.countWidth()))
			children.skip(t.levels[level-1].allWidth)
			if children.err != nil {
				return children.err
			}
			if err := t.lose(t.node(ctx, addr, n, level-1)); err != nil {
				return err
			}
		}
		if len(records) == 0 {
			return nil
		}
		if err := t.visit(records[:t.recordSize:t.recordSize]); err != nil {
			return err
		}
		records = records[t.recordSize:]
	}
}
