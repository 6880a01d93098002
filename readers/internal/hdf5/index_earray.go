package hdf5

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"varve/readers"
)

// extensibleArray is the index of datasets with one unlimited dimension (extensible array, VII.D):
//
//	header      "EAHD", version, client (1), size of elements (1), bits of a slot number (1),
//	            elements in the index block (1), elements of the smallest data block (1),
//	            pointers in the smallest super block (1), page bits (1),
//	            6 statistics (size of lengths), address of the index block, checksum (4)
//	index block "EAIB", version, client, address of the header, first elements,
//	            addresses of data blocks, addresses of super blocks, checksum (4)
//	super block "EASB", version, client, address of the header, offset in the array,
//	            bitmaps of pages in use, addresses of data blocks, checksum (4)
//	data block  "EADB", version, client, address of the header, offset in the array,
//	            elements, checksum (4), or checksum (4) and pages with a checksum each
//
// Data blocks grow: super block u has 2^(u/2) data blocks of min·2^((u+1)/2) elements (integer
// division). The index block holds the addresses of the first super blocks' data blocks itself. For
// example, with 4 elements in the index block and min = 16, slots 0 to 3 are in the index block,
// slots 4 to 19 in the data block of super block 0, and slots 20 to 51 in the data block of super
// block 1.
type extensibleArray struct {
	element
	client     int
	addr       uint64
	maxBits    int    // bits of a slot number
	inIndex    int    // elements in the index block
	minBlock   uint64 // elements in the smallest data block
	minPtrs    int    // data blocks of the smallest super block
	pageBits   int
	usedSlots  uint64 // number of slots up to the last one that was ever set: libhdf5 reads no further
	indexBlock uint64
	offsetSize int
}

func (x *chunkIndex) readExtensibleArray(ctx context.Context) error {
	first := slices.Index(x.maxShape, readers.Unlimited)
	if first < 0 {
		return readers.Corruptf("extensible array: the dataset has no unlimited dimension")
	}
	a, err := x.earrayHeader(ctx)
	if err != nil || a.indexBlock == undefined {
		return err
	}
	s := newSlots(x.maxShape, x.shape, x.chunk, first)
	// libhdf5 ignores slots after this one, even if they hold an address.
	s.left = a.usedSlots
	// A grid with a length of 0 in another dimension has no slots, and skip would divide by 0.
	if slices.Contains(s.grid[1:], 0) {
		return nil
	}
	return x.earrayIndex(ctx, a, s)
}

// earrayHeader reads the header of the array.
func (x *chunkIndex) earrayHeader(ctx context.Context) (*extensibleArray, error) {
	c, err := x.f.cursorAt(ctx, x.addr, 12+6*x.f.super.lengths+x.f.super.offsets+4)
	if err != nil {
		return nil, err
	}
	a := &extensibleArray{addr: x.addr}
	a.read(x, c)
	return a, c.err
}

func (a *extensibleArray) read(x *chunkIndex, c *cursor) {
	c.signature("EAHD")
	c.version("extensible array", 0, 0)
	a.client = c.u8()
	a.element = x.element(c, c.u8(), a.client)
	a.maxBits, a.inIndex = c.u8(), c.u8()
	a.minBlock, a.minPtrs = uint64(c.u8()), c.u8()
	a.pageBits = c.u8()
	c.skip(4 * c.lengths)
	a.usedSlots = c.length()
	c.skip(c.lengths)
	a.indexBlock = c.address()
	c.checksum("extensible array")
	power := func(n uint64) bool { return n != 0 && n&(n-1) == 0 }
	if c.err == nil && (a.maxBits == 0 || a.maxBits > 64 || !power(a.minBlock) || !power(uint64(a.minPtrs)) || a.minPtrs < 2 || a.pageBits == 0 || a.pageBits > 32 || a.maxBits < bits.Len64(a.minBlock)-1) {
		c.fail("extensible array: 2^%d elements, blocks of %d, %d pointers, pages of 2^%d are out of range", a.maxBits, a.minBlock, a.minPtrs, a.pageBits)
	}
	a.offsetSize = (a.maxBits + 7) / 8
}

// superBlocks returns the largest possible number of super blocks.
func (a *extensibleArray) superBlocks() int { return 1 + a.maxBits - (bits.Len64(a.minBlock) - 1) }

// blocks and blockSize return the number and the size in elements of the data blocks of super block
// u.
func (a *extensibleArray) blocks(u int) uint64    { return 1 << (u / 2) }
func (a *extensibleArray) blockSize(u int) uint64 { return a.minBlock << ((u + 1) / 2) }

func (x *chunkIndex) earrayHead(c *cursor, a *extensibleArray, name string) {
	c.signature(name)
	c.version("extensible array: block", 0, 0)
	if client, owner := c.u8(), c.address(); c.err == nil && (client != a.client || owner != a.addr) {
		c.fail("extensible array: block belongs to another array")
	}
}

// direct returns the number of super blocks whose data blocks the index block lists.
func (a *extensibleArray) direct() int { return 2 * (bits.Len(uint(a.minPtrs)) - 1) }

// indexParts returns the numbers of data blocks and super blocks that the index block lists, and its size in bytes.
func (a *extensibleArray) indexParts() (blocks, supers, size int) {
	blocks, supers = 2*(a.minPtrs-1), max(a.superBlocks()-a.direct(), 0)
	return blocks, supers, 6 + a.offsets + a.inIndex*a.size + (blocks+supers)*a.offsets + 4
}

// dataSize returns the size in bytes of a data block without pages.
func (a *extensibleArray) dataSize(elements uint64) uint64 {
	return uint64(6+a.offsets+a.offsetSize) + elements*uint64(a.size) + 4
}

// earrayParts reads the index block: its elements, and the addresses of its data blocks and super blocks.
func (x *chunkIndex) earrayParts(ctx context.Context, a *extensibleArray) (elements []byte, blocks, supers cursor, err error) {
	b, u, size := a.indexParts()
	c, err := x.f.cursorAt(ctx, a.indexBlock, size)
	if err != nil {
		return nil, blocks, supers, err
	}
	x.earrayHead(c, a, "EAIB")
	elements = c.take(a.inIndex * a.size)
	blocks, supers = c.sub(b*a.offsets), c.sub(u*a.offsets)
	c.checksum("extensible array: index block")
	return elements, blocks, supers, c.err
}

func (x *chunkIndex) earrayIndex(ctx context.Context, a *extensibleArray, s *slots) error {
	elements, blocks, rest, err := x.earrayParts(ctx, a)
	if err != nil {
		return err
	}
	if err := x.emitAll(ctx, a.element, elements, s); err != nil {
		return err
	}
	direct := a.direct()
	for u := range min(direct, a.superBlocks()) {
		for range a.blocks(u) {
			if err := x.earrayData(ctx, a, dataBlock{blocks.address(), a.blockSize(u), nil, 0}, s); err != nil {
				return err
			}
		}
	}
	for u := direct; u < a.superBlocks(); u++ {
		if err := x.earraySuper(ctx, a, u, rest.address(), s); err != nil {
			return err
		}
	}
	return nil
}

func (x *chunkIndex) earraySuper(ctx context.Context, a *extensibleArray, u int, addr uint64, s *slots) error {
	n, elements := a.blocks(u), a.blockSize(u)
	if addr == undefined {
		// On overflow nothing is skipped: the walk ends at the next super block anyway.
		if hi, lo := bits.Mul64(n, elements); hi == 0 {
			s.skip(lo)
		}
		return nil
	}
	pages := uint64(0)
	// Small data blocks have no pages.
	if elements > 1<<a.pageBits {
		pages = elements >> a.pageBits
	}
	bitmap := (pages + 7) / 8
	head := uint64(6 + a.offsets + a.offsetSize)
	if n*(bitmap+uint64(a.offsets)) > math.MaxInt32 {
		return readers.Corruptf("extensible array: super block of %d blocks of %d elements is too large", n, elements)
	}
	c, err := x.f.cursorAt(ctx, addr, int(head+n*bitmap+n*uint64(a.offsets)+4))
	if err != nil {
		return err
	}
	x.earrayHead(c, a, "EASB")
	c.skip(a.offsetSize)
	bitmaps := c.take(int(n * bitmap))
	blocks := c.sub(int(n) * a.offsets)
	c.checksum("extensible array: super block")
	if c.err != nil {
		return c.err
	}
	for i := range n {
		b := dataBlock{blocks.address(), elements, bitmaps, i * pages}
		if err := x.earrayData(ctx, a, b, s); err != nil {
			return err
		}
	}
	return nil
}

// dataBlock is a data block of an extensible array. The data blocks listed in the index block have
// no pages.
type dataBlock struct {
	addr       uint64
	elements   uint64
	pagesInUse []byte // with pages: bitmap of the pages in use of the whole super block
	first      uint64 // bit of the block's first page: the bits of all blocks are consecutive
}

func (x *chunkIndex) earrayData(ctx context.Context, a *extensibleArray, b dataBlock, s *slots) error {
	if b.addr == undefined {
		s.skip(b.elements)
		return nil
	}
	head := 6 + a.offsets + a.offsetSize
	if len(b.pagesInUse) > 0 {
		return x.earrayPages(ctx, a, b, head, s)
	}
	if b.elements > math.MaxInt32/uint64(a.size) {
		return readers.Corruptf("extensible array: data block of %d elements is too large", b.elements)
	}
	c, err := x.f.cursorOnce(ctx, &x.window, b.addr, int(a.dataSize(b.elements)))
	if err != nil {
		return err
	}
	x.earrayHead(c, a, "EADB")
	c.skip(a.offsetSize)
	elements := c.take(int(b.elements) * a.size)
	c.checksum("extensible array: data block")
	if c.err != nil {
		return c.err
	}
	return x.emitAll(ctx, a.element, elements, s)
}

func (x *chunkIndex) earrayPages(ctx context.Context, a *extensibleArray, b dataBlock, head int, s *slots) error {
	c, err := x.f.cursorAt(ctx, b.addr, head+4)
	if err != nil {
		return err
	}
	x.earrayHead(c, a, "EADB")
	c.skip(a.offsetSize)
	c.checksum("extensible array: data block")
	if c.err != nil {
		return c.err
	}
	page := uint64(1) << a.pageBits
	addr := b.addr + uint64(head) + 4
	for i := range b.elements / page {
		if bit := b.first + i; b.pagesInUse[bit/8]&(0x80>>(bit%8)) == 0 {
			s.skip(page)
		} else if err := x.page(ctx, a.element, span{addr, page}, s); err != nil {
			return err
		}
		addr += page*uint64(a.size) + 4
	}
	return nil
}
