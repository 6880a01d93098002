package hdf5

import (
	"context"
	"encoding/binary"
	"math"

	"varve/readers"
)

// element decodes the elements of fixed and extensible arrays: the address of a chunk, and with
// filters also its stored size and its filter mask.
//
//	address (size of offsets), stored size (1 to 8 bytes), filter mask (4 bytes)
//
// For example, with offsets of 8 bytes and stored sizes of 2, a chunk of 300 bytes at 4096 to which all
// filters were applied is 00100000 00000000 │ 2c01 │ 00000000.
type element struct {
	size    int // size of an element in bytes
	offsets int
	width   int // width of the stored size; 0 without filters
}

func (x *chunkIndex) element(c *cursor, size, client int) element {
	e := element{size: size, offsets: x.f.super.offsets}
	if x.isFiltered {
		e.width = x.sizeWidth()
	}
	want := e.offsets
	if e.width > 0 {
		want += e.width + 4
	}
	if c.err == nil && (size != want || client != 0 && client != 1 || (client == 1) != x.isFiltered) {
		c.fail("chunk index: elements of %d bytes for client %d (want %d)", size, client, want)
	}
	return e
}

// emitAll yields the chunks of consecutive slots.
func (x *chunkIndex) emitAll(ctx context.Context, e element, b []byte, s *slots) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := x.spend(uint64(len(b) / e.size)); err != nil {
		return err
	}
	// An undefined address means that the chunk is not stored.
	for ; len(b) >= e.size && s.left > 0; b = b[e.size:] {
		addr := littleAddress(b[:e.offsets])
		if addr != undefined {
			size, mask := x.bytes, uint32(0)
			if e.width > 0 {
				size = littleSize(b[e.offsets : e.offsets+e.width])
				mask = binary.LittleEndian.Uint32(b[e.offsets+e.width:])
			}
			s.writePosition(x.out.ref.Index)
			if err := x.out.emit(addr, size, mask); err != nil {
				return err
			}
		}
		s.next()
	}
	return nil
}

// fixedArray is the index of datasets without unlimited dimensions (fixed array, VII.C):
//
//	header     "FAHD", version, client (1), size of elements (1), page bits (1),
//	           number of elements (size of lengths), address of the data block, checksum (4)
//	data block "FADB", version, client (1), address of the header, then
//	           elements, checksum (4)                               without pages
//	           bitmap of pages in use, checksum (4), pages          with pages
//	page       2^(page bits) elements (the last page may have fewer), checksum (4)
//
// An array has pages if it has more elements than fit in one. For example, 2500 chunks with page
// bits 10 take three pages of 1024, 1024 and 452 elements, and a bitmap of one byte (0xE0 if all
// pages are in use).
type fixedArray struct {
	element
	client   int
	pageBits int
	count    uint64
	block    uint64
	addr     uint64
}

func (x *chunkIndex) readFixedArray(ctx context.Context) error {
	c, err := x.f.cursorAt(ctx, x.addr, 8+x.f.super.lengths+x.f.super.offsets+4)
	if err != nil {
		return err
	}
	a := fixedArray{addr: x.addr}
	c.signature("FAHD")
	c.version("fixed array", 0, 0)
	a.client = c.u8()
	a.element = x.element(c, c.u8(), a.client)
	a.pageBits = c.u8()
	a.count, a.block = c.length(), c.address()
	c.checksum("fixed array")
	if c.err == nil && (a.pageBits == 0 || a.pageBits > 32 || a.count > uint64(x.f.end)) {
		c.fail("fixed array: %d elements in pages of 2^%d are out of range", a.count, a.pageBits)
	}
	if c.err != nil || a.block == undefined {
		return c.err
	}
	s := newSlots(x.maxShape, x.shape, x.chunk, -1)
	// With another number of slots every chunk would get a wrong position.
	if n, ok := product(s.grid); !ok || a.count != n {
		c.fail("fixed array: %d elements for %d chunks", a.count, n)
		return c.err
	}
	// A data block has pages only if it has more elements than one page.
	if a.count > 1<<a.pageBits {
		return x.fixedPages(ctx, a, s)
	}
	return x.fixedBlock(ctx, a, s)
}

// blockHead returns the size of a data block's prefix.
func (a *fixedArray) blockHead() int { return 6 + a.offsets }

func (x *chunkIndex) fixedHead(c *cursor, a fixedArray) {
	c.signature("FADB")
	c.version("fixed array: data block", 0, 0)
	if client, owner := c.u8(), c.address(); c.err == nil && (client != a.client || owner != a.addr) {
		c.fail("fixed array: data block belongs to another array")
	}
}

func (x *chunkIndex) fixedBlock(ctx context.Context, a fixedArray, s *slots) error {
	size := a.blockHead() + int(a.count)*a.size
	c, err := x.f.cursorOnce(ctx, &x.window, a.block, size+4)
	if err != nil {
		return err
	}
	x.fixedHead(c, a)
	elements := c.take(int(a.count) * a.size)
	c.checksum("fixed array: data block")
	if c.err != nil {
		return c.err
	}
	return x.emitAll(ctx, a.element, elements, s)
}

func (x *chunkIndex) fixedPages(ctx context.Context, a fixedArray, s *slots) error {
	page := uint64(1) << a.pageBits
	pages := (a.count + page - 1) / page
	head := uint64(a.blockHead()) + (pages+7)/8
	if head > math.MaxInt32 {
		return readers.Corruptf("fixed array: %d pages are too many", pages)
	}
	c, err := x.f.cursorAt(ctx, a.block, int(head)+4)
	if err != nil {
		return err
	}
	x.fixedHead(c, a)
	used := c.take(int(pages+7) / 8)
	c.checksum("fixed array: data block")
	if c.err != nil {
		return c.err
	}
	addr := a.block + head + 4
	for i := range pages {
		n := min(page, a.count-i*page)
		// The bitmap starts at the highest bit of each byte. An unused page still takes space.
		if used[i/8]&(0x80>>(i%8)) == 0 {
			s.skip(n)
		} else if err := x.page(ctx, a.element, span{addr, n}, s); err != nil {
			return err
		}
		addr += page*uint64(a.size) + 4
	}
	return nil
}

// page yields the elements of the page at p.addr, which has p.size elements.
func (x *chunkIndex) page(ctx context.Context, e element, p span, s *slots) error {
	if p.size > math.MaxInt32/uint64(e.size) {
		return readers.Corruptf("chunk index: page of %d elements is too large", p.size)
	}
	n := int(p.size) * e.size
	c, err := x.f.cursorOnce(ctx, &x.window, p.addr, n+4)
	if err != nil {
		return err
	}
	elements := c.take(n)
	c.checksum("chunk index: page")
	if c.err != nil {
		return c.err
	}
	return x.emitAll(ctx, e, elements, s)
}
