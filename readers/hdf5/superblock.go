package hdf5

import (
	"context"

	"varve/readers"
	"varve/readers/source"
)

const signature = "\x89HDF\r\n\x1a\n"

// superblock is section II.A of the specification:
//
//	versions 0, 1                            versions 2, 3
//	signature, 8 bytes                       signature, 8 bytes
//	version, 3 other versions, sizes         version, sizes, flags
//	K values, flags                          base address
//	base, free space, end, driver info       extension's address
//	root group's symbol table entry          end of file
//	                                         root group's header, checksum
type superblock struct {
	version   int
	offsets   int
	lengths   int
	flags     int
	base      uint64
	stored    uint64 // the end of the file, as it is stored
	extension uint64
	driver    uint64
	root      uint64
}

var errNoSignature = readers.Corruptf("no HDF5 signature at 0, 512, 1024 and so on")

// findSignature looks for the signature at 0 and at every power of two from 512 on.
func findSignature(ctx context.Context, src *source.Source) (uint64, error) {
	for at := int64(0); at <= src.Size()-8; at = max(512, 2*at) {
		b, err := src.View(ctx, at, 8)
		if err != nil {
			return 0, err
		}
		if string(b) == signature {
			return uint64(at), nil
		}
		if at > 1<<61 {
			break
		}
	}
	return 0, errNoSignature
}

func (f *File) readSuperblock(ctx context.Context) error {
	start, err := findSignature(ctx, f.src)
	if err != nil {
		return err
	}
	f.super.base, f.end = start, f.src.Size()
	c, err := f.at(ctx, 0, f.available(0, 128))
	if err != nil {
		return err
	}
	c.skip(len(signature))
	f.super.version = c.version("the superblock", 0, 3)
	if f.super.version < 2 {
		f.oldSuperblock(c)
	} else {
		f.newSuperblock(c)
	}
	if c.err != nil {
		return c.err
	}
	return f.checkEnd(ctx, start)
}

func (f *File) sizes(c *cursor, offsets, lengths int) {
	for _, n := range []int{offsets, lengths} {
		if n != 2 && n != 4 && n != 8 {
			c.fail("size of addresses or lengths is %d, not 2, 4 or 8", n)
		}
	}
	c.offsets, c.lengths = offsets, lengths
	f.super.offsets, f.super.lengths = offsets, lengths
}

// statusFlags keeps the flags of the file: open for writing, consistent, open for writing while
// others read.
func (f *File) statusFlags(c *cursor, flags int) {
	if flags&^7 != 0 {
		c.fail("flags of the superblock are %#x", flags)
	}
	f.super.flags = flags
}

func (f *File) oldSuperblock(c *cursor) {
	if v := c.u8(); v != 0 {
		c.fail("version of the free space is %d, not 0", v)
	}
	if v := c.u8(); v != 0 {
		c.fail("version of the root group's entry is %d, not 0", v)
	}
	c.skip(1)
	if v := c.u8(); v != 0 {
		c.fail("version of the shared header messages is %d, not 0", v)
	}
	offsets := c.u8()
	f.sizes(c, offsets, c.u8())
	c.skip(1 + 2 + 2)
	f.statusFlags(c, c.u32())
	if f.super.version == 1 {
		c.skip(4)
	}
	f.super.base = c.address()
	if free := c.address(); free != undefined {
		c.fail("address of the free space is %d, where none is kept", free)
	}
	f.super.stored = c.address()
	f.super.driver = c.address()
	c.skip(c.lengths) // name of the root's entry
	f.super.root = c.address()
	f.super.extension = undefined
}

func (f *File) newSuperblock(c *cursor) {
	offsets := c.u8()
	f.sizes(c, offsets, c.u8())
	f.statusFlags(c, c.u8())
	f.super.base = c.address()
	f.super.extension = c.address()
	f.super.stored = c.address()
	f.super.root = c.address()
	f.super.driver = undefined
	c.checksum("the superblock")
}

// checkEnd compares the end of the file with what is stored. A user block may have been
// put in front or taken away since the file was written: the base address is where the
// superblock is, whatever is stored.
func (f *File) checkEnd(ctx context.Context, start uint64) error {
	if f.super.stored == undefined || f.super.root == undefined {
		return readers.Corruptf("the superblock has no end of file or no root group")
	}
	f.super.stored += start - f.super.base
	f.super.base = start
	if f.super.driver != undefined {
		if err := f.checkDriver(ctx); err != nil {
			return err
		}
	}
	if f.super.stored > uint64(f.src.Size()) {
		return readers.Corruptf("truncated file: %d bytes of %d", f.src.Size(), f.super.stored)
	}
	f.end = int64(f.super.stored)
	return nil
}

// checkDriver refuses files that are only one part of several (II.B). Beyond the end of a file
// libhdf5 sees zeros there, which name no driver.
func (f *File) checkDriver(ctx context.Context) error {
	if f.available(f.super.driver, 16) < 16 {
		return nil
	}
	c, err := f.at(ctx, f.super.driver, 16)
	if err != nil {
		return err
	}
	c.version("the driver information", 0, 0)
	c.skip(7)
	name := c.take(8)
	if c.err != nil {
		return c.err
	}
	return refuseDriver(name)
}

func refuseDriver(name []byte) error {
	switch string(name) {
	case "NCSAfami":
		return unsupported("the file is one member of a family: join the members into one file (h5repart)")
	case "NCSAmult":
		return unsupported("the file is one part of a multi-file set: copy it into one file (h5repack)")
	}
	return nil
}

// OpenForWriting reports whether the file says that a writer had it open, which happens
// when a writer dies. Its metadata may be incomplete.
func (f *File) OpenForWriting() bool { return f.super.version == 3 && f.super.flags&5 != 0 }

// Superblock returns the version of the superblock, the size of the user block, the
// sizes of addresses and lengths, and the end of the file.
func (f *File) Superblock() Superblock {
	s := Superblock{
		Version:   f.super.version,
		UserBlock: f.super.base,
		Addresses: f.super.offsets,
		Lengths:   f.super.lengths,
		End:       uint64(f.src.Size()),
	}
	if f.OpenForWriting() {
		s.End = f.super.stored // what lies behind it, a writer was about to give up or to add
	}
	return s
}

// Superblock tells how a file is laid out.
type Superblock struct {
	Version   int
	UserBlock uint64 // bytes in front of what is HDF5
	Addresses int    // size of addresses
	Lengths   int    // size of lengths
	End       uint64 // of the file, from byte 0
}
