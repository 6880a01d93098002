package hdf5

import (
	"context"
	"math/bits"

	"varve/readers"
)

// fractalHeap holds dense links, dense attributes and shared messages (III.G):
//
//	header         "FRHP", version, size of heap IDs (2), size of filters (2), flags (1),
//	               maximum size of managed objects (4), …, table parameters, address of
//	               the root block, filters, checksum (4)
//	direct block   "FHDB", version, address of the header, offset in the heap,
//	               checksum (4, optional), objects
//	indirect block "FHIB", version, address of the header, offset in the heap,
//	               children, checksum (4)
//
// The heap is an address space of its own. An indirect block divides it into rows of width blocks
// each. Rows 0 and 1 hold blocks of the starting size s; the blocks of each later row have twice
// the size of those in the row before. Rows whose blocks are at most as large as the largest direct
// block hold direct blocks; later rows hold indirect blocks:
//
//	row 0   s  s  s  s
//	row 1   s  s  s  s
//	row 2   2s 2s 2s 2s
//	row 3   4s 4s 4s 4s …
//
// For example, with s = 512 and width 4, offset 5000 is in row 2 (offsets 4096 to 8191), column 0
// (blocks of 1024 bytes), 904 bytes into its block.
//
// A heap ID is an offset and a length in that space (managed object), a key of a v2 B-tree or an
// address (huge object), or the object itself (tiny object).
type fractalHeap struct {
	f          *File
	addr       uint64
	idSize     int
	flags      int
	maxManaged uint64
	hugeTree   uint64
	width      int
	startSize  uint64
	maxDirect  uint64
	heapBits   int
	root       uint64
	rootRows   int
	rootSize   uint64 // if the root is a filtered direct block
	rootMask   uint32
	filters    []readers.Filter
	offsetSize int
	lengthSize int
	blocks     map[uint64]*heapBlock // direct blocks by offset in the heap
	blockBytes int                   // bytes in blocks
	huge       map[uint64]hugeObject
	indirect   map[uint64]*indirectBlock
	lastDirect *heapBlock // the block of the last object
}

// heapBlock is a direct block with its prefix.
type heapBlock struct {
	start uint64 // offset in the heap
	data  []byte
	addr  uint64
}

const (
	heapIDManaged = 0
	heapIDHuge    = 1
	heapIDTiny    = 2

	heapChecksummed = 2 // flag: direct blocks have checksums
	maxHeapBlock    = 1 << 26
	maxHeapDepth    = 64
)

// fractalHeap reads the header of the heap at an address.
func (f *File) fractalHeap(ctx context.Context, addr uint64) (*fractalHeap, error) {
	h := &fractalHeap{f: f, addr: addr}
	head := 22 + 12*f.super.lengths + 3*f.super.offsets
	c, err := f.cursorAt(ctx, addr, f.available(addr, head+4))
	if err != nil {
		return nil, err
	}
	filtersSize := h.readHead(c)
	// The filters make the header longer, so it is read again at its size.
	if filtersSize > 0 && c.err == nil {
		at := c.pos
		if c, err = f.cursorAt(ctx, addr, f.available(addr, head+f.super.lengths+4+filtersSize+4)); err != nil {
			return nil, err
		}
		c.pos = at
		h.rootSize, h.rootMask = c.length(), uint32(c.u32())
		sub := c.sub(filtersSize)
		h.filters = readFilters(&sub)
		if c.err == nil {
			c.err = sub.err
		}
		resolveFilters(h.filters, nil)
	}
	c.checksum("fractal heap")
	h.check(c)
	return h, c.err
}

func (h *fractalHeap) readHead(c *cursor) (filtersSize int) {
	c.signature("FRHP")
	c.version("fractal heap", 0, 0)
	h.idSize, filtersSize = c.u16(), c.u16()
	h.flags = c.u8()
	h.maxManaged = uint64(c.u32())
	c.length() // next huge identifier
	h.hugeTree = c.address()
	c.length()
	c.address()
	c.skip(8 * c.lengths)
	h.width = c.u16()
	h.startSize, h.maxDirect = c.length(), c.length()
	h.heapBits = c.u16()
	c.u16() // starting rows
	h.root = c.address()
	h.rootRows = c.u16()
	return filtersSize
}

func (h *fractalHeap) check(c *cursor) {
	power := func(n uint64) bool { return n != 0 && n&(n-1) == 0 }
	switch {
	case c.err != nil:
		return
	case h.width == 0 || !power(uint64(h.width)) || !power(h.startSize) || !power(h.maxDirect):
		c.fail("fractal heap: width %d or block sizes %d to %d are not powers of 2", h.width, h.startSize, h.maxDirect)
		return
	case h.maxDirect < h.startSize || h.maxDirect > maxHeapBlock || h.heapBits == 0 || h.heapBits > 64 || h.idSize < 1:
		c.fail("fractal heap: 2^%d bytes with blocks of %d to %d bytes are out of range", h.heapBits, h.startSize, h.maxDirect)
		return
	case h.rootRows > maxHeapDepth+2:
		c.fail("fractal heap: root has %d rows (limit %d)", h.rootRows, maxHeapDepth+2)
		return
	}
	// IDs hold offsets and lengths in as few bytes as the largest possible ones need.
	h.offsetSize = (h.heapBits + 7) / 8
	h.lengthSize = min((bits.Len64(h.maxDirect-1)+7)/8, encodedSize(h.maxManaged))
	h.lengthSize = max(h.lengthSize, 1)
}

// object returns the object with a heap ID and its address in the file. Tiny objects are in the
// ID itself; they get the address of the heap.
func (h *fractalHeap) object(ctx context.Context, id []byte) ([]byte, uint64, error) {
	c := &cursor{b: id, at: int64(h.addr), offsets: h.f.super.offsets, lengths: h.f.super.lengths}
	head := c.u8()
	if c.err == nil && head>>6 != 0 {
		c.fail("fractal heap: version of an ID is %d (want 0)", head>>6)
	}
	if c.err != nil {
		return nil, 0, c.err
	}
	switch head >> 4 & 3 {
	case heapIDManaged:
		return h.managed(ctx, c)
	case heapIDHuge:
		return h.hugeObject(ctx, c)
	case heapIDTiny:
		return h.tiny(c, head)
	}
	c.fail("fractal heap: type of an ID is 3 (want 0 to 2)")
	return nil, 0, c.err
}

// tiny returns an object that is stored in its heap ID. The ID starts with the object's length
// minus 1.
func (h *fractalHeap) tiny(c *cursor, head int) ([]byte, uint64, error) {
	n := head & 15
	if h.idSize-1 > 17 {
		n = n<<8 | c.u8()
	}
	b := c.take(n + 1)
	return b, h.addr, c.err
}

func (h *fractalHeap) managed(ctx context.Context, c *cursor) ([]byte, uint64, error) {
	offset, length := c.uint(h.offsetSize), c.uint(h.lengthSize)
	if c.err != nil {
		return nil, 0, c.err
	}
	if length == 0 || length > h.maxManaged {
		c.fail("fractal heap: managed object of %d bytes (limit %d)", length, h.maxManaged)
		return nil, 0, c.err
	}
	b, err := h.block(ctx, offset)
	if err != nil {
		return nil, 0, err
	}
	// Managed offsets count the block's prefix too.
	at := offset - b.start
	if at < uint64(h.blockPrefix()) || at+length > uint64(len(b.data)) {
		c.fail("fractal heap: object at %d of %d bytes is outside its block of %d bytes", at, length, len(b.data))
		return nil, 0, c.err
	}
	return b.data[at : at+length : at+length], b.addr + at, nil
}

// blockPrefix returns the number of bytes before the objects of a direct block.
func (h *fractalHeap) blockPrefix() int {
	n := 4 + 1 + h.f.super.offsets + h.offsetSize
	if h.flags&heapChecksummed != 0 {
		n += 4
	}
	return n
}

// rowSize returns the size of the blocks of a row.
func (h *fractalHeap) rowSize(row int) uint64 {
	if row == 0 {
		return h.startSize
	}
	return h.startSize << (row - 1)
}

// directRows returns the number of rows that hold direct blocks.
func (h *fractalHeap) directRows() int {
	return bits.Len64(h.maxDirect) - bits.Len64(h.startSize) + 2
}

// place returns the row and column of an offset in an indirect block, and the offset within the
// block at that position.
func (h *fractalHeap) place(offset uint64) (row, column int, within uint64) {
	first := h.startSize * uint64(h.width)
	if offset < first {
		return 0, int(offset / h.startSize), offset % h.startSize
	}
	row = bits.Len64(offset / first) // row r begins at first<<(r-1)
	rest := offset - first<<(row-1)
	size := h.rowSize(row)
	return row, int(rest / size), rest % size
}
