package hdf5

import (
	"context"
	"encoding/binary"
	"math"

	"varve/readers"
)

// element reads the elements of fixed and extensible arrays: the address of a chunk, and
// its size and mask if there are filters.
type element struct {
	size    int // bytes of an element
	offsets int
	width   int // of the size; 0 without filters
}

func (x *chunkIndex) element(c *cursor, size, client int) element {
	e := element{size: size, offsets: x.f.super.offsets}
	if x.filtered {
		e.width = x.sizeWidth()
	}
	want := e.offsets
	if e.width > 0 {
		want += e.width + 4
	}
	if c.err == nil && (size != want || client != 0 && client != 1 || (client == 1) != x.filtered) {
		c.fail("elements of a chunk index are of %d bytes (client %d), not %d", size, client, want)
	}
	return e
}

// emitAll hands on the chunks of consecutive slots.
func (x *chunkIndex) emitAll(ctx context.Context, e element, b []byte, s *slots) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := x.spend(uint64(len(b) / e.size)); err != nil {
		return err
	}
	for ; len(b) >= e.size && s.left > 0; b = b[e.size:] {
		addr := littleAddress(b[:e.offsets])
		if addr != undefined {
			size, mask := x.bytes, uint32(0)
			if e.width > 0 {
				size = littleSize(b[e.offsets : e.offsets+e.width])
				mask = binary.LittleEndian.Uint32(b[e.offsets+e.width:])
			}
			s.place(x.out.ref.Index)
			if err := x.out.emit(addr, size, mask); err != nil {
				return err
			}
		}
		s.next()
	}
	return nil
}

// fixedArray is III.F.1:
//
//	header "FAHD": client, element's size, page bits, number of elements, block's address
//	block "FADB": client, header's address, then either all elements and a checksum, or a
//	bitmap of pages in use, a checksum, and pages, each with a checksum
type fixedArray struct {
	element
	client   int
	pageBits int
	count    uint64
	block    uint64
	addr     uint64
}

func (x *chunkIndex) readFixedArray(ctx context.Context) error {
	c, err := x.f.at(ctx, x.addr, 8+x.f.super.lengths+x.f.super.offsets+4)
	if err != nil {
		return err
	}
	a := fixedArray{addr: x.addr}
	c.signature("FAHD")
	c.version("a fixed array", 0, 0)
	a.client = c.u8()
	a.element = x.element(c, c.u8(), a.client)
	a.pageBits = c.u8()
	a.count, a.block = c.length(), c.address()
	c.checksum("a fixed array")
	if c.err == nil && (a.pageBits == 0 || a.pageBits > 32 || a.count > uint64(x.f.end)) {
		c.fail("fixed array of %d elements in pages of 2^%d", a.count, a.pageBits)
	}
	if c.err != nil || a.block == undefined {
		return c.err
	}
	s := newSlots(x.maxShape, x.shape, x.chunk, -1)
	if n, ok := product(s.grid); !ok || a.count != n {
		c.fail("fixed array of %d elements for %d chunks", a.count, n)
		return c.err
	}
	if a.count > 1<<a.pageBits {
		return x.fixedPages(ctx, a, s)
	}
	return x.fixedBlock(ctx, a, s)
}

// blockHead is the size of what a data block begins with.
func (a *fixedArray) blockHead() int { return 6 + a.offsets }

func (x *chunkIndex) fixedHead(c *cursor, a fixedArray) {
	c.signature("FADB")
	c.version("a fixed array's block", 0, 0)
	if client, owner := c.u8(), c.address(); c.err == nil && (client != a.client || owner != a.addr) {
		c.fail("a fixed array's block belongs to another array")
	}
}

func (x *chunkIndex) fixedBlock(ctx context.Context, a fixedArray, s *slots) error {
	size := a.blockHead() + int(a.count)*a.size
	c, err := x.f.scan(ctx, &x.window, a.block, size+4)
	if err != nil {
		return err
	}
	x.fixedHead(c, a)
	elements := c.take(int(a.count) * a.size)
	c.checksum("a fixed array's block")
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
		return readers.Corruptf("fixed array of %d pages", pages)
	}
	c, err := x.f.at(ctx, a.block, int(head)+4)
	if err != nil {
		return err
	}
	x.fixedHead(c, a)
	used := c.take(int(pages+7) / 8)
	c.checksum("a fixed array's block")
	if c.err != nil {
		return c.err
	}
	addr := a.block + head + 4
	for i := range pages {
		n := min(page, a.count-i*page)
		if used[i/8]&(0x80>>(i%8)) == 0 {
			s.skip(n)
		} else if err := x.page(ctx, a.element, span{addr, n}, s); err != nil {
			return err
		}
		addr += page*uint64(a.size) + 4
	}
	return nil
}

// page hands on the elements of one page, of the given number of them.
func (x *chunkIndex) page(ctx context.Context, e element, p span, s *slots) error {
	if p.size > math.MaxInt32/uint64(e.size) {
		return readers.Corruptf("page of %d elements", p.size)
	}
	n := int(p.size) * e.size
	c, err := x.f.scan(ctx, &x.window, p.addr, n+4)
	if err != nil {
		return err
	}
	elements := c.take(n)
	c.checksum("a page of a chunk index")
	if c.err != nil {
		return c.err
	}
	return x.emitAll(ctx, e, elements, s)
}
