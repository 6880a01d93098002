package hdf5

import (
	"context"

	"varve/readers"
)

// readExtension reads the superblock extension (II.C): an object header whose messages
// are about the file.
func (f *File) readExtension(ctx context.Context) error {
	h, err := f.readHeader(ctx, f.super.extension)
	if err != nil {
		return err
	}
	for _, m := range h.messages {
		if m.kind == msgFileSpace && m.flags&flagWasUnknown != 0 {
			continue // a library that did not know it has changed the file: it holds no longer
		}
		c := f.over(m.data, m.addr-f.super.base)
		switch m.kind {
		case msgSharedTable:
			err = f.readSharedTable(ctx, c)
		case msgDriverInfo:
			c.version("the driver information", 0, 0)
			if name := c.take(8); c.err == nil {
				err = refuseDriver(name)
			}
		case msgFileSpace:
			err = f.checkFileSpace(c)
		case msgCacheImage:
			err = f.readCacheImage(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkFileSpace refuses page sizes that no library writes.
func (f *File) checkFileSpace(c *cursor) error {
	if c.version("the file space information", 0, 1) == 0 {
		const allPersist, freeLists = 1, 6
		strategy := c.u8()
		c.length()
		if strategy == allPersist {
			c.skip(freeLists * c.offsets)
		}
		return c.err
	}
	c.skip(1 + 1 + c.lengths)
	if page := c.length(); c.err == nil && (page < 512 || page > 1<<30) {
		c.fail("page size is %d, not from 512 to 1 GiB", page)
	}
	return c.err
}

// imageEntry is a piece of metadata that stands in the metadata cache image instead of
// at its address.
type imageEntry struct {
	addr uint64
	data []byte
}

const maxImage = 64 << 20

// readCacheImage reads a metadata cache image (III.L): a block into which a closing library
// put the metadata that it had in memory. A file of which the block is not a part is refused;
// if the block is damaged, every object is.
func (f *File) readCacheImage(ctx context.Context, c *cursor) error {
	c.version("the cache image", 0, 0)
	addr, size := c.address(), c.length()
	if c.err != nil || addr == undefined || size == 0 {
		return c.err
	}
	if size > maxImage || f.available(addr, int(size)) < int(size) {
		return readers.Corruptf("metadata cache image of %d bytes at address %d, the file has %d", size, addr, f.end)
	}
	f.imageErr = f.readImage(ctx, addr, size)
	return nil
}

func (f *File) readImage(ctx context.Context, addr, size uint64) error {
	b, err := f.at(ctx, addr, int(size))
	if err != nil {
		return err
	}
	b.signature("MDCI")
	b.version("the cache image", 0, 0)
	if flags := b.u8(); flags&1 != 0 {
		b.fail("flags of the cache image are %#x", flags)
	}
	if n := b.length(); b.err == nil && n != size {
		b.fail("cache image is of %d bytes, not %d", n, size)
	}
	n := b.fits(b.uint(4), "number of entries of the cache image")
	for range n {
		f.image = append(f.image, readImageEntry(b))
	}
	if b.err != nil {
		f.image = nil
	}
	return b.err
}

func readImageEntry(c *cursor) imageEntry {
	c.skip(1 + 1)
	if ring := c.u8(); ring >= 6 {
		c.fail("ring of an entry is %d", ring)
	}
	c.skip(1 + 2 + 2)
	parents := c.u16()
	c.skip(4)
	e := imageEntry{addr: c.address()}
	size := c.length()
	c.skip(parents * c.offsets)
	e.data = c.take(c.fits(size, "entry of the cache image"))
	return e
}

// imaged returns n bytes at an address if the cache image has them.
func (f *File) imaged(addr uint64, n int) []byte {
	for _, e := range f.image {
		if addr >= e.addr && addr-e.addr < uint64(len(e.data)) && uint64(n) <= uint64(len(e.data))-(addr-e.addr) {
			return e.data[addr-e.addr:][:n]
		}
	}
	return nil
}
