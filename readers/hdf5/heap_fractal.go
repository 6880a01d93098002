package hdf5

import (
	"context"
	"math/bits"

	"varve/readers"
)

// fractalHeap holds links, attributes and shared messages (III.G):
//
//	header "FRHP": identifiers' size, filters, the table's shape, root's address, checksum
//	direct block "FHDB": header's address, offset in the heap, checksum, objects
//	indirect block "FHIB": header's address, offset in the heap, children, checksum
//
// The heap is an address space of its own. An indirect block divides it into rows of
// width blocks each; the first two rows hold blocks of the starting size, and each row
// after them blocks of twice the size of the row before. Rows up to the largest direct
// block hold direct blocks, the others indirect ones:
//
//	row 0   s  s  s  s
//	row 1   s  s  s  s
//	row 2   2s 2s 2s 2s
//	row 3   4s 4s 4s 4s …
//
// An identifier of an object is an offset and a length in that space (managed), a key of
// a v2 B-tree or an address (huge), or the object itself (tiny).
type fractalHeap struct {
	f          *File
	addr       uint64
	idSize     int
	flags      int
	maxManaged uint64
	hugeTree   uint64
	width      int
	start      uint64
	maxDirect  uint64
	heapBits   int
	root       uint64
	rootRows   int
	rootSize   uint64 // of a root that is a filtered direct block
	rootMask   uint32
	filters    []readers.Filter
	offsetSize int
	lengthSize int
	blocks     map[uint64]*heapBlock // direct blocks by offset in the heap
	held       int                   // bytes of blocks
	huge       map[uint64]hugeObject
	indirect   map[uint64]*indirectBlock
	lastDirect *heapBlock
}

// heapBlock is a direct block, header and all.
type heapBlock struct {
	start uint64 // in the heap
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

// fractalHeap returns the heap at an address, whose header is read once.
func (f *File) fractalHeap(ctx context.Context, addr uint64) (*fractalHeap, error) {
	h := &fractalHeap{f: f, addr: addr}
	head := 22 + 12*f.super.lengths + 3*f.super.offsets
	c, err := f.at(ctx, addr, f.available(addr, head+4))
	if err != nil {
		return nil, err
	}
	filtersSize := h.readHead(c)
	if filtersSize > 0 && c.err == nil {
		at := c.pos
		if c, err = f.at(ctx, addr, f.available(addr, head+f.super.lengths+4+filtersSize+4)); err != nil {
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
	c.checksum("a fractal heap")
	h.check(c)
	return h, c.err
}

func (h *fractalHeap) readHead(c *cursor) (filtersSize int) {
	c.signature("FRHP")
	c.version("a fractal heap", 0, 0)
	h.idSize, filtersSize = c.u16(), c.u16()
	h.flags = c.u8()
	h.maxManaged = uint64(c.u32())
	c.length() // next huge identifier
	h.hugeTree = c.address()
	c.length()
	c.address()
	c.skip(8 * c.lengths)
	h.width = c.u16()
	h.start, h.maxDirect = c.length(), c.length()
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
	case h.width == 0 || !power(uint64(h.width)) || !power(h.start) || !power(h.maxDirect):
		c.fail("fractal heap of width %d with blocks of %d to %d bytes", h.width, h.start, h.maxDirect)
		return
	case h.maxDirect < h.start || h.maxDirect > maxHeapBlock || h.heapBits == 0 || h.heapBits > 64 || h.idSize < 1:
		c.fail("fractal heap of 2^%d bytes with blocks of %d to %d bytes", h.heapBits, h.start, h.maxDirect)
		return
	case h.rootRows > maxHeapDepth+2:
		c.fail("root of a fractal heap has %d rows", h.rootRows)
		return
	}
	h.offsetSize = (h.heapBits + 7) / 8
	h.lengthSize = min((bits.Len64(h.maxDirect-1)+7)/8, encodedSize(h.maxManaged))
	h.lengthSize = max(h.lengthSize, 1)
}

// object returns the object with an identifier, and its address where it has one.
func (h *fractalHeap) object(ctx context.Context, id []byte) ([]byte, uint64, error) {
	c := &cursor{b: id, at: int64(h.addr), offsets: h.f.super.offsets, lengths: h.f.super.lengths}
	head := c.u8()
	if c.err == nil && head>>6 != 0 {
		c.fail("version of a heap identifier is %d, not 0", head>>6)
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
	c.fail("type of a heap identifier is 3")
	return nil, 0, c.err
}

// tiny objects stand in the identifier, with their length less one in front.
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
		c.fail("object of %d bytes in a fractal heap for up to %d", length, h.maxManaged)
		return nil, 0, c.err
	}
	b, err := h.block(ctx, offset)
	if err != nil {
		return nil, 0, err
	}
	at := offset - b.start
	if at < uint64(h.blockPrefix()) || at+length > uint64(len(b.data)) {
		c.fail("object at %d of %d bytes in a heap block of %d", at, length, len(b.data))
		return nil, 0, c.err
	}
	return b.data[at : at+length : at+length], b.addr + at, nil
}

// blockPrefix is the size of what stands in front of a direct block's objects.
func (h *fractalHeap) blockPrefix() int {
	n := 4 + 1 + h.f.super.offsets + h.offsetSize
	if h.flags&heapChecksummed != 0 {
		n += 4
	}
	return n
}

// rowSize is the size of the blocks of a row.
func (h *fractalHeap) rowSize(row int) uint64 {
	if row == 0 {
		return h.start
	}
	return h.start << (row - 1)
}

// directRows is how many rows hold direct blocks.
func (h *fractalHeap) directRows() int {
	return bits.Len64(h.maxDirect) - bits.Len64(h.start) + 2
}

// place finds the row and column of an offset within an indirect block, and where in the
// block that is there the rest of the offset begins.
func (h *fractalHeap) place(offset uint64) (row, column int, within uint64) {
	first := h.start * uint64(h.width)
	if offset < first {
		return 0, int(offset / h.start), offset % h.start
	}
	row = bits.Len64(offset / first) // row r begins at first<<(r-1)
	rest := offset - first<<(row-1)
	size := h.rowSize(row)
	return row, int(rest / size), rest % size
}
