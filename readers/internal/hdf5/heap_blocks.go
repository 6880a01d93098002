package hdf5

import (
	"context"

	"varve/readers"
	"varve/readers/lookup3"
)

// heapChild is an entry of an indirect block.
type heapChild struct {
	addr uint64
	size uint64 // stored size, for filtered direct blocks
	mask uint32
}

// indirectBlock is a decoded indirect block: a table of rows × width children.
type indirectBlock struct {
	rows     int
	children []heapChild
}

// block returns the direct block that contains an offset of the heap.
func (h *fractalHeap) block(ctx context.Context, offset uint64) (*heapBlock, error) {
	// Consecutive objects usually are in the same block.
	if b := h.lastDirect; b != nil && offset >= b.start && offset-b.start < uint64(len(b.data)) {
		return b, nil
	}
	// Without rows the root is the only direct block.
	if h.rootRows == 0 {
		return h.direct(ctx, heapChild{addr: h.root, size: h.rootSize, mask: h.rootMask}, 0, h.startSize)
	}
	child, rows, start := heapChild{addr: h.root}, h.rootRows, uint64(0)
	for range maxHeapDepth {
		block, err := h.indirectBlock(ctx, child.addr, rows)
		if err != nil {
			return nil, err
		}
		row, column, _ := h.place(offset - start)
		if row >= block.rows || column >= h.width {
			return nil, h.corrupt("fractal heap: offset %d is in row %d of %d", offset, row, block.rows)
		}
		child = block.children[row*h.width+column]
		start += h.rowStart(row) + uint64(column)*h.rowSize(row)
		if child.addr == undefined {
			return nil, h.corrupt("fractal heap: offset %d is in no block", offset)
		}
		if row < h.directRows() {
			return h.direct(ctx, child, start, h.rowSize(row))
		}
		// The child is an indirect block: its size sets its number of rows.
		rows = h.rowsOf(h.rowSize(row))
	}
	return nil, h.corrupt("fractal heap: more than %d levels", maxHeapDepth)
}

// rowStart returns the offset of a row in its indirect block.
func (h *fractalHeap) rowStart(row int) uint64 {
	if row == 0 {
		return 0
	}
	return h.startSize * uint64(h.width) << (row - 1)
}

// rowsOf returns the number of rows of an indirect block that covers size bytes of the heap.
func (h *fractalHeap) rowsOf(size uint64) int {
	rows := 1
	for total := h.startSize * uint64(h.width); total < size && rows < maxHeapDepth; rows++ {
		total *= 2
	}
	return rows
}

func (h *fractalHeap) corrupt(format string, args ...any) error {
	return &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf(format, args...)}
}

// indirectSize returns the size in bytes of an indirect block.
func (h *fractalHeap) indirectSize(rows int) int {
	direct, entry := min(rows, h.directRows()), h.f.super.offsets
	if h.filters != nil {
		entry += h.f.super.lengths + 4
	}
	prefix := 4 + 1 + h.f.super.offsets + h.offsetSize
	return prefix + direct*h.width*entry + (rows-direct)*h.width*h.f.super.offsets + 4
}

func (h *fractalHeap) indirectBlock(ctx context.Context, addr uint64, rows int) (*indirectBlock, error) {
	if b := h.indirect[addr]; b != nil && b.rows == rows {
		return b, nil
	}
	direct := min(rows, h.directRows())
	c, err := h.f.cursorAt(ctx, addr, h.indirectSize(rows))
	if err != nil {
		return nil, err
	}
	c.signature("FHIB")
	c.version("fractal heap: indirect block", 0, 0)
	if c.address() != h.addr {
		c.fail("fractal heap: indirect block belongs to another heap")
	}
	c.skip(h.offsetSize)
	b := &indirectBlock{rows: rows, children: make([]heapChild, rows*h.width)}
	for i := range b.children {
		b.children[i].addr = c.address()
		if h.filters != nil && i < direct*h.width {
			b.children[i].size, b.children[i].mask = c.length(), uint32(c.u32())
		}
	}
	c.checksum("fractal heap: indirect block")
	if h.indirect == nil {
		h.indirect = map[uint64]*indirectBlock{}
	}
	if c.err == nil {
		h.indirect[addr] = b
	}
	return b, c.err
}

// direct reads a direct block and decodes its filters.
func (h *fractalHeap) direct(ctx context.Context, child heapChild, start, size uint64) (*heapBlock, error) {
	if b := h.blocks[start]; b != nil {
		h.lastDirect = b
		return b, nil
	}
	if size > h.maxDirect {
		return nil, h.corrupt("fractal heap: direct block of %d bytes (limit %d)", size, h.maxDirect)
	}
	stored := size
	if h.filters != nil {
		stored = child.size
	}
	if stored > maxHeapBlock {
		return nil, h.corrupt("fractal heap: stored direct block of %d bytes (limit %d)", stored, maxHeapBlock)
	}
	data, err := h.f.view(ctx, child.addr, int(stored))
	if err != nil {
		return nil, err
	}
	if h.filters != nil {
		if data, err = decodeFilters(h.filters, child.mask, data, int(size)); err != nil {
			return nil, h.corrupt("fractal heap: direct block at address %d: %w", child.addr, err)
		}
	}
	b := &heapBlock{start: start, data: data, addr: child.addr}
	if err := h.checkDirect(b); err != nil {
		return nil, err
	}
	h.cacheBlock(b)
	return b, nil
}

const maxCachedBlocks = 4 << 20

// cacheBlock caches a block for the objects that are read next.
func (h *fractalHeap) cacheBlock(b *heapBlock) {
	if h.lastDirect = b; h.rootRows == 0 {
		return // the only block of the heap
	}
	if h.blockBytes += len(b.data); h.blockBytes > maxCachedBlocks || h.blocks == nil {
		h.blocks = map[uint64]*heapBlock{}
		h.blockBytes = len(b.data)
	}
	h.blocks[b.start] = b
}

// checkDirect checks the prefix of a direct block. The checksum covers the block with zeros in the
// checksum's own bytes.
func (h *fractalHeap) checkDirect(b *heapBlock) error {
	c := h.f.newCursor(b.data, b.addr)
	c.signature("FHDB")
	c.version("fractal heap: direct block", 0, 0)
	if c.address() != h.addr {
		c.fail("fractal heap: direct block belongs to another heap")
	}
	if at := c.uint(h.offsetSize); c.err == nil && at != b.start {
		c.fail("fractal heap: offset of a direct block is %d (want %d)", at, b.start)
	}
	if h.flags&heapChecksummed == 0 || c.err != nil {
		return c.err
	}
	end := c.pos
	stored := uint32(c.uint(4))
	var room [4 << 10]byte // on the stack: most blocks fit
	whole := append(room[:0], b.data...)
	clear(whole[min(end, len(whole)):min(end+4, len(whole))])
	if c.err == nil && lookup3.Sum(whole) != stored {
		c.fail("fractal heap: checksum of a direct block is %08x (computed %08x)", stored, lookup3.Sum(whole))
	}
	return c.err
}

// hugeObject is an object that is stored outside the heap's blocks.
type hugeObject struct {
	addr, stored, size uint64
	mask               uint32
}

// hugeObject reads an object whose heap ID holds its address, or a key of the v2 B-tree of huge
// objects if the ID is too short for the address.
func (h *fractalHeap) hugeObject(ctx context.Context, c *cursor) ([]byte, uint64, error) {
	filtered := h.filters != nil
	need := c.offsets + c.lengths
	if filtered {
		need += 4 + c.lengths
	}
	var o hugeObject
	if h.idSize-1 >= need {
		o = readHuge(c, filtered)
	} else {
		key := c.uint(min(8, h.idSize-1))
		// The tree is read once and kept: each lookup would cost a search otherwise.
		if err := h.readHugeTree(ctx); err != nil {
			return nil, 0, err
		}
		var ok bool
		if o, ok = h.huge[key]; !ok {
			c.fail("fractal heap: no huge object %d", key)
		}
	}
	if c.err != nil {
		return nil, 0, c.err
	}
	if o.stored > maxHeapBlock || o.size > maxHeapBlock {
		return nil, 0, h.corrupt("fractal heap: huge object of %d bytes (limit %d)", o.size, maxHeapBlock)
	}
	b, err := h.f.view(ctx, o.addr, int(o.stored))
	if err == nil && filtered {
		b, err = decodeFilters(h.filters, o.mask, b, int(o.size))
	}
	return b, o.addr, err
}

func readHuge(c *cursor, filtered bool) hugeObject {
	o := hugeObject{addr: c.address(), stored: c.length()}
	o.size = o.stored
	if filtered {
		o.mask, o.size = uint32(c.u32()), c.length()
	}
	return o
}

func (h *fractalHeap) readHugeTree(ctx context.Context) error {
	if h.huge != nil {
		return nil
	}
	h.huge = map[uint64]hugeObject{}
	kind := recordHuge
	if h.filters != nil {
		kind = recordHugeFiltered
	}
	return h.f.visitBTree2(ctx, h.hugeTree, kind, func(r []byte) error {
		c := h.f.newCursor(r, h.hugeTree)
		o := readHuge(c, h.filters != nil)
		h.huge[c.length()] = o
		return c.err
	}, keepError)
}
