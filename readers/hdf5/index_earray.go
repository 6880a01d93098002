package hdf5

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"varve/readers"
)

// extensibleArray is III.F.2:
//
//	header "EAHD": client, shape of the array, statistics, index block's address, checksum
//	index block "EAIB": the first elements, addresses of data blocks, of super blocks
//	super block "EASB": bitmaps of pages in use, addresses of data blocks
//	data block "EADB": elements and a checksum, or pages, each with a checksum
//
// Data blocks grow: super block u holds 2^(u/2) blocks of min·2^((u+1)/2) elements. The
// data blocks of the first super blocks stand in the index block directly.
type extensibleArray struct {
	element
	client     int
	addr       uint64
	maxBits    int    // of a slot's number
	inIndex    int    // elements in the index block
	minBlock   uint64 // elements in the smallest data block
	minPtrs    int    // data blocks of the smallest super block that exists
	pageBits   int
	set        uint64 // the number after the last slot that was ever set: libhdf5 looks no further
	indexBlock uint64
	offsetSize int
}

func (x *chunkIndex) readExtensibleArray(ctx context.Context) error {
	first := slices.Index(x.maxShape, readers.Unlimited)
	if first < 0 {
		return readers.Corruptf("an extensible array needs an unlimited dimension")
	}
	size := 12 + 6*x.f.super.lengths + x.f.super.offsets + 4
	c, err := x.f.at(ctx, x.addr, size)
	if err != nil {
		return err
	}
	a := &extensibleArray{addr: x.addr}
	a.read(x, c)
	if c.err != nil || a.indexBlock == undefined {
		return c.err
	}
	s := newSlots(x.maxShape, x.shape, x.chunk, first)
	s.left = a.set
	if slices.Contains(s.grid[1:], 0) {
		return nil
	}
	return x.earrayIndex(ctx, a, s)
}

func (a *extensibleArray) read(x *chunkIndex, c *cursor) {
	c.signature("EAHD")
	c.version("an extensible array", 0, 0)
	a.client = c.u8()
	a.element = x.element(c, c.u8(), a.client)
	a.maxBits, a.inIndex = c.u8(), c.u8()
	a.minBlock, a.minPtrs = uint64(c.u8()), c.u8()
	a.pageBits = c.u8()
	c.skip(4 * c.lengths)
	a.set = c.length()
	c.skip(c.lengths)
	a.indexBlock = c.address()
	c.checksum("an extensible array")
	power := func(n uint64) bool { return n != 0 && n&(n-1) == 0 }
	if c.err == nil && (a.maxBits == 0 || a.maxBits > 64 || !power(a.minBlock) || !power(uint64(a.minPtrs)) || a.minPtrs < 2 || a.pageBits == 0 || a.pageBits > 32 || a.maxBits < bits.Len64(a.minBlock)-1) {
		c.fail("extensible array of 2^%d elements, blocks of %d, %d pointers, pages of 2^%d", a.maxBits, a.minBlock, a.minPtrs, a.pageBits)
	}
	a.offsetSize = (a.maxBits + 7) / 8
}

// superBlocks is how many super blocks there can be.
func (a *extensibleArray) superBlocks() int { return 1 + a.maxBits - (bits.Len64(a.minBlock) - 1) }

// blocks and blockSize tell the data blocks of super block u.
func (a *extensibleArray) blocks(u int) uint64    { return 1 << (u / 2) }
func (a *extensibleArray) blockSize(u int) uint64 { return a.minBlock << ((u + 1) / 2) }

func (x *chunkIndex) earrayHead(c *cursor, a *extensibleArray, name string) {
	c.signature(name)
	c.version("a block of an extensible array", 0, 0)
	if client, owner := c.u8(), c.address(); c.err == nil && (client != a.client || owner != a.addr) {
		c.fail("a block belongs to another extensible array")
	}
}

func (x *chunkIndex) earrayIndex(ctx context.Context, a *extensibleArray, s *slots) error {
	direct := 2 * (bits.Len(uint(a.minPtrs)) - 1) // super blocks whose blocks stand here
	dataBlocks := 2 * (a.minPtrs - 1)
	supers := max(a.superBlocks()-direct, 0)
	head := 6 + a.offsets
	size := head + a.inIndex*a.size + (dataBlocks+supers)*a.offsets
	c, err := x.f.at(ctx, a.indexBlock, size+4)
	if err != nil {
		return err
	}
	x.earrayHead(c, a, "EAIB")
	elements := c.take(a.inIndex * a.size)
	blocks := c.sub(dataBlocks * a.offsets)
	rest := c.sub(supers * a.offsets)
	c.checksum("an extensible array's index block")
	if c.err != nil {
		return c.err
	}
	if err := x.emitAll(ctx, a.element, elements, s); err != nil {
		return err
	}
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
		if hi, lo := bits.Mul64(n, elements); hi == 0 {
			s.skip(lo)
		}
		return nil
	}
	pages := uint64(0)
	if elements > 1<<a.pageBits {
		pages = elements >> a.pageBits
	}
	bitmap := (pages + 7) / 8
	head := uint64(6 + a.offsets + a.offsetSize)
	if n*(bitmap+uint64(a.offsets)) > math.MaxInt32 {
		return readers.Corruptf("super block of %d blocks of %d elements", n, elements)
	}
	c, err := x.f.at(ctx, addr, int(head+n*bitmap+n*uint64(a.offsets)+4))
	if err != nil {
		return err
	}
	x.earrayHead(c, a, "EASB")
	c.skip(a.offsetSize)
	bitmaps := c.take(int(n * bitmap))
	blocks := c.sub(int(n) * a.offsets)
	c.checksum("an extensible array's super block")
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

// dataBlock is a data block of an extensible array; those of the index block are not paged.
type dataBlock struct {
	addr     uint64
	elements uint64
	used     []byte // where it is paged: bitmap of the pages in use of the whole super block
	first    uint64 // the bit of the block's first page: the pages of all blocks follow each other
}

func (x *chunkIndex) earrayData(ctx context.Context, a *extensibleArray, b dataBlock, s *slots) error {
	if b.addr == undefined {
		s.skip(b.elements)
		return nil
	}
	head := 6 + a.offsets + a.offsetSize
	if len(b.used) > 0 {
		return x.earrayPages(ctx, a, b, head, s)
	}
	if b.elements > math.MaxInt32/uint64(a.size) {
		return readers.Corruptf("data block of %d elements", b.elements)
	}
	c, err := x.f.scan(ctx, &x.window, b.addr, head+int(b.elements)*a.size+4)
	if err != nil {
		return err
	}
	x.earrayHead(c, a, "EADB")
	c.skip(a.offsetSize)
	elements := c.take(int(b.elements) * a.size)
	c.checksum("an extensible array's data block")
	if c.err != nil {
		return c.err
	}
	return x.emitAll(ctx, a.element, elements, s)
}

func (x *chunkIndex) earrayPages(ctx context.Context, a *extensibleArray, b dataBlock, head int, s *slots) error {
	c, err := x.f.at(ctx, b.addr, head+4)
	if err != nil {
		return err
	}
	x.earrayHead(c, a, "EADB")
	c.skip(a.offsetSize)
	c.checksum("an extensible array's data block")
	if c.err != nil {
		return c.err
	}
	page := uint64(1) << a.pageBits
	addr := b.addr + uint64(head) + 4
	for i := range b.elements / page {
		if bit := b.first + i; b.used[bit/8]&(0x80>>(bit%8)) == 0 {
			s.skip(page)
		} else if err := x.page(ctx, a.element, span{addr, page}, s); err != nil {
			return err
		}
		addr += page*uint64(a.size) + 4
	}
	return nil
}
