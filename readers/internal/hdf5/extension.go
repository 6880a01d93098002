package hdf5

import (
	"context"

	"varve/readers"
)

// readExtension reads the superblock extension (II.C): an object header with messages about the
// file.
func (f *File) readExtension(ctx context.Context) error {
	h, err := f.readHeader(ctx, f.super.extension)
	if err != nil {
		return err
	}
	for _, m := range h.messages {
		if m.kind == msgFileSpace && m.flags&flagWasUnknown != 0 {
			continue // the file was changed by a library that did not know this message, so it is out of date
		}
		c := f.newCursor(m.data, m.addr-f.super.base)
		switch m.kind {
		case msgSharedTable:
			err = f.readSharedTable(ctx, c)
		case msgDriverInfo:
			c.version("driver information", 0, 0)
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

// checkFileSpace rejects page sizes that no library writes.
func (f *File) checkFileSpace(c *cursor) error {
	if c.version("file space information", 0, 1) == 0 {
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
		c.fail("file space information: page size is %d (want 512 to 1 GiB)", page)
	}
	return c.err
}

// imageEntry is a piece of metadata that the metadata cache image holds in place of the file at its
// address.
type imageEntry struct {
	addr uint64
	data []byte
}

const maxImage = 64 << 20

// readCacheImage reads a metadata cache image (III.L): a block in which the library stored its
// cached metadata when it closed the file. If the block is outside the file, the file is rejected.
// If the block is damaged, f.imageErr is set and no object can be read.
func (f *File) readCacheImage(ctx context.Context, c *cursor) error {
	c.version("metadata cache image", 0, 0)
	addr, size := c.address(), c.length()
	if c.err != nil || addr == undefined || size == 0 {
		return c.err
	}
	if size > maxImage || f.available(addr, int(size)) < int(size) {
		return readers.Corruptf("metadata cache image: %d bytes at address %d are beyond the end of the file (%d)", size, addr, f.end)
	}
	// As in libhdf5, the file opens, and each of its objects reports the error.
	f.imageErr = f.readImage(ctx, addr, size)
	return nil
}

func (f *File) readImage(ctx context.Context, addr, size uint64) error {
	b, err := f.cursorAt(ctx, addr, int(size))
	if err != nil {
		return err
	}
	b.signature("MDCI")
	b.version("metadata cache image", 0, 0)
	if flags := b.u8(); flags&1 != 0 {
		b.fail("metadata cache image: flags are %#x (bit 0 is reserved)", flags)
	}
	if n := b.length(); b.err == nil && n != size {
		b.fail("metadata cache image: size is %d (want %d)", n, size)
	}
	n := b.fits(b.uint(4), "metadata cache image: number of entries")
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
		c.fail("metadata cache image: ring of an entry is %d (limit 5)", ring)
	}
	c.skip(1 + 2 + 2)
	parents := c.u16()
	c.skip(4)
	e := imageEntry{addr: c.address()}
	size := c.length()
	c.skip(parents * c.offsets)
	e.data = c.take(c.fits(size, "metadata cache image: size of an entry"))
	return e
}

// imageBytes returns n bytes at an address if the metadata cache image has them, else nil.
func (f *File) imageBytes(addr uint64, n int) []byte {
	for _, e := range f.image {
		if addr >= e.addr && addr-e.addr < uint64(len(e.data)) && uint64(n) <= uint64(len(e.data))-(addr-e.addr) {
			return e.data[addr-e.addr:][:n]
		}
	}
	return nil
}
