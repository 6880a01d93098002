package hdf5

import (
	"context"
	"math"

	"varve/readers"
	"varve/readers/source"
)

// Record types of v2 B-trees (III.A.2), and limits.
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

// btree2 reads a v2 B-tree (III.A.2), the index of dense links and attributes, of huge objects, and
// of chunks with two or more unlimited dimensions:
//
//	header   "BTHD", version, record type, node size (4), record size (2), depth (2),
//	         split and merge percentage, address of the root, records in the root (2),
//	         all records (size of lengths), checksum (4)
//	leaf     "BTLF", version, record type, records, checksum
//	internal "BTIN", version, record type, records, children, checksum
//	child    address, its records, all records below it (absent if it is a leaf)
//
// The widths of a child's two counts follow from the largest possible numbers of records. For
// example, nodes of 512 bytes with records of 11 bytes hold up to 45 records in a leaf
// ((512-10)/11), so a leaf's count takes one byte.
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
	counted     uint64 // records visited so far
	levels      []btree2Level
	seen        map[uint64]struct{}
	windows     []source.Window // for the nodes from the root down, by level
	visit       func(record []byte) error
	skipDamage  func(error) error // returns nil for a damaged node that is left out
}

// btree2Level holds the capacity of the nodes of a level; leaves are level 0.
type btree2Level struct {
	records  uint64 // maximum in a node
	all      uint64 // maximum in a node and all nodes below it
	allWidth int    // bytes of a count of all
}

// keepError returns every error, so that a damaged node ends the walk.
func keepError(err error) error { return err }

// visitBTree2 calls visit with every record, in order. Errors of nodes below the root are passed to
// skipDamage; if it returns nil, only that node is left out.
func (f *File) visitBTree2(ctx context.Context, addr uint64, kind int, visit func([]byte) error, skipDamage func(error) error) error {
	t, err := f.openBTree2(ctx, addr, kind)
	if err != nil || t.root == undefined {
		return err
	}
	t.visit, t.skipDamage = visit, skipDamage
	// The nodes of chunk indexes are large and read once, so they bypass the cache.
	if kind == recordChunk || kind == recordChunkFiltered {
		t.windows = make([]source.Window, t.depth+1)
		defer closeWindows(t.windows)
	}
	if err := t.visitNode(ctx, t.root, t.rootRecords, t.depth); err != nil {
		return err
	}
	if t.counted != t.total {
		return &readers.Error{Offset: t.at, Err: readers.Corruptf("v2 B-tree: %d records found, the header says %d", t.counted, t.total)}
	}
	return nil
}

// openBTree2 reads the header of a v2 B-tree.
func (f *File) openBTree2(ctx context.Context, addr uint64, kind int) (*btree2, error) {
	c, err := f.cursorAt(ctx, addr, 16+f.super.offsets+2+f.super.lengths+4)
	if err != nil {
		return nil, err
	}
	t := &btree2{f: f, kind: kind, at: c.at}
	c.signature("BTHD")
	c.version("v2 B-tree", 0, 0)
	if got := c.u8(); got != kind {
		c.fail("v2 B-tree: record type is %d (want %d)", got, kind)
	}
	t.nodeSize, t.recordSize, t.depth = c.u32(), c.u16(), c.u16()
	checkPercentages(c)
	t.root, t.rootRecords = c.address(), c.u16()
	t.total = c.length()
	c.checksum("v2 B-tree")
	t.measure(c)
	return t, c.err
}

// checkPercentages reads the split and merge percentages and checks their range.
func checkPercentages(c *cursor) {
	if split, merge := c.u8(), c.u8(); split == 0 || split > 100 || merge == 0 || merge > 100 {
		c.fail("v2 B-tree: split and merge percentages are %d and %d (want 1 to 100)", split, merge)
	}
}

// measure computes the capacity of the nodes of each level.
func (t *btree2) measure(c *cursor) {
	if c.err != nil {
		return
	}
	if t.recordSize == 0 || t.nodeSize < btree2NodeOverhead+t.recordSize || t.nodeSize > maxBTree2NodeSize || t.depth > maxBTree2Depth {
		c.fail("v2 B-tree: node size %d, record size %d or depth %d (limit %d) is out of range", t.nodeSize, t.recordSize, t.depth, maxBTree2Depth)
		return
	}
	leaf := uint64(t.nodeSize-btree2NodeOverhead) / uint64(t.recordSize)
	t.levels = []btree2Level{{records: leaf, all: leaf}}
	for level := 1; level <= t.depth; level++ {
		below := t.levels[level-1]
		// An internal node has one child more than records.
		pointer := t.pointerSize(level)
		n := uint64(max(t.nodeSize-btree2NodeOverhead-pointer, 0)) / uint64(t.recordSize+pointer)
		if n == 0 || below.all > math.MaxUint64/(n+2) {
			c.fail("v2 B-tree: nodes of %d bytes cannot form %d levels", t.nodeSize, t.depth)
			return
		}
		all := (n+1)*below.all + n
		t.levels = append(t.levels, btree2Level{records: n, all: all, allWidth: encodedSize(all)})
	}
}

// pointerSize returns the size in bytes of a child in a node of the given level.
func (t *btree2) pointerSize(level int) int {
	return t.f.super.offsets + t.countWidth() + t.levels[level-1].allWidth
}

func (t *btree2) countWidth() int { return encodedSize(t.levels[0].records) }

func (t *btree2) visitNode(ctx context.Context, addr uint64, n, level int) error {
	if t.depth > 0 { // a tree of one node has no cycles
		if _, again := t.seen[addr]; again {
			return &readers.Error{Offset: int64(addr), Err: readers.Corruptf("v2 B-tree: a node has two parents")}
		}
		if t.seen == nil {
			t.seen = map[uint64]struct{}{}
		}
		t.seen[addr] = struct{}{}
	}
	if uint64(n) > t.levels[level].records {
		return &readers.Error{Offset: int64(addr), Err: readers.Corruptf("v2 B-tree: a node has %d records (limit %d)", n, t.levels[level].records)}
	}
	name, size := "BTLF", btree2NodeOverhead+n*t.recordSize
	if level > 0 {
		name = "BTIN"
		size += (n + 1) * t.pointerSize(level)
	}
	c, err := t.readNode(ctx, addr, size, level)
	if err != nil {
		return err
	}
	c.signature(name)
	c.version("v2 B-tree: node", 0, 0)
	if got := c.u8(); got != t.kind {
		c.fail("v2 B-tree: record type of a node is %d (want %d)", got, t.kind)
	}
	records := c.take(n * t.recordSize)
	children := c.sub((size - btree2NodeOverhead) - n*t.recordSize)
	c.checksum("v2 B-tree: node")
	if c.err != nil {
		return c.err
	}
	// Compared with the total in the header: a lost node must not go unnoticed.
	t.counted += uint64(n)
	if level > 0 {
		t.prefetchChildren(ctx, children, level)
	}
	return t.visitRecords(ctx, records, &children, level)
}

// readNode returns a cursor over a node. The nodes of chunk indexes bypass the cache.
func (t *btree2) readNode(ctx context.Context, addr uint64, size, level int) (*cursor, error) {
	if t.windows == nil {
		return t.f.cursorAt(ctx, addr, size)
	}
	return t.f.cursorOnce(ctx, &t.windows[level], addr, size)
}

// visitRecords visits children and records alternately, in key order.
func (t *btree2) visitRecords(ctx context.Context, records []byte, children *cursor, level int) error {
	for {
		if level > 0 {
			addr, n := children.address(), int(children.uint(t.countWidth()))
			children.skip(t.levels[level-1].allWidth)
			if children.err != nil {
				return children.err
			}
			if err := t.skipDamage(t.visitNode(ctx, addr, n, level-1)); err != nil {
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
