package hdf5

import (
	"context"

	"varve/readers"
	"varve/readers/source"
)

const signature = "\x89HDF\r\n\x1a\n"

// superblock is a decoded superblock (II.A):
//
//	versions 0, 1                            versions 2, 3
//	signature (8)                            signature (8)
//	version, 3 other versions, sizes         version, sizes, flags
//	K values, flags (4)                      base address
//	base address, free space,                address of the extension
//	end of file, driver information          end of file
//	symbol table entry of the root group     address of the root group's header
//	                                         checksum (4)
//
// For example, a file of version 2 starts with 89 "HDF" 0D0A1A0A, 02, sizes 08 08, flags 00, and
// the base address 0.
type superblock struct {
	version   int
	offsets   int
	lengths   int
	flags     int
	base      uint64
	stored    uint64 // end of the file, as stored
	extension uint64
	driver    uint64
	root      uint64
}

var errNoSignature = readers.Corruptf("no HDF5 signature at offset 0, 512, 1024, …: this is not an HDF5 file, or its start is missing")

// maxFarBase is the last offset at which the signature is looked for in files on servers, where each look is a request.
const maxFarBase = 16 << 20

// findSignature returns the offset of the signature: 0, or a power of two from 512 on.
func findSignature(ctx context.Context, src *source.Source) (uint64, error) {
	last := src.Size() - 8
	if src.Far() {
		last = min(last, maxFarBase)
	}
	for at := int64(0); at <= last; at = max(512, 2*at) {
		// Not View, which would take this for reading forward, and read ahead.
		var b [len(signature)]byte
		if _, err := src.ReadAt(ctx, b[:], at); err != nil {
			return 0, err
		}
		if string(b[:]) == signature {
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
	c, err := f.cursorAt(ctx, 0, f.available(0, 128))
	if err != nil {
		return err
	}
	c.skip(len(signature))
	f.super.version = c.version("superblock", 0, 3)
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
			c.fail("superblock: size of addresses or lengths is %d (want 2, 4 or 8)", n)
		}
	}
	c.offsets, c.lengths = offsets, lengths
	f.super.offsets, f.super.lengths = offsets, lengths
}

// statusFlags stores the consistency flags: open for writing (1), consistent (2), open for writing
// with concurrent readers (4).
func (f *File) statusFlags(c *cursor, flags int) {
	if flags&^7 != 0 {
		c.fail("superblock: flags are %#x (only bits 0 to 2 are defined)", flags)
	}
	f.super.flags = flags
}

func (f *File) oldSuperblock(c *cursor) {
	if v := c.u8(); v != 0 {
		c.fail("superblock: free space version is %d (want 0)", v)
	}
	if v := c.u8(); v != 0 {
		c.fail("superblock: version of the root group's entry is %d (want 0)", v)
	}
	c.skip(1)
	if v := c.u8(); v != 0 {
		c.fail("superblock: shared header message version is %d (want 0)", v)
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
		c.fail("superblock: free space address is %d (want undefined)", free)
	}
	f.super.stored = c.address()
	f.super.driver = c.address()
	c.skip(c.lengths) // name of the root group's entry
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
	c.checksum("superblock")
}

// checkEnd compares the stored end of the file with the actual one. It sets the base address to the
// position of the superblock: a user block may have been added or removed since the file was
// written.
func (f *File) checkEnd(ctx context.Context, start uint64) error {
	if f.super.stored == undefined || f.super.root == undefined {
		return readers.Corruptf("superblock: no end of file or no root group")
	}
	// The stored end counts from the stored base address.
	f.super.stored += start - f.super.base
	f.super.base = start
	if f.super.driver != undefined {
		if err := f.checkDriver(ctx); err != nil {
			return err
		}
	}
	if f.super.stored > uint64(f.src.Size()) {
		return readers.Corruptf("file is truncated: it has %d of %d bytes; fetch it again", f.src.Size(), f.super.stored)
	}
	f.end = int64(f.super.stored)
	return nil
}

// checkDriver rejects files that are one part of several (II.B). After the end of a file libhdf5
// reads zeros here, which name no driver.
func (f *File) checkDriver(ctx context.Context) error {
	if f.available(f.super.driver, 16) < 16 {
		return nil
	}
	c, err := f.cursorAt(ctx, f.super.driver, 16)
	if err != nil {
		return err
	}
	c.version("driver information", 0, 0)
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
		return unsupported("the file is one member of a family; join the members into one file (h5repart)")
	case "NCSAmult":
		return unsupported("the file is one part of a multi-file set; copy the set into one file (h5repack)")
	}
	return nil
}

// OpenForWriting reports whether the file is marked as open for writing. A writer that crashes
// leaves the mark; metadata may then be incomplete.
func (f *File) OpenForWriting() bool { return f.super.version == 3 && f.super.flags&5 != 0 }

// Superblock returns the version of the superblock, the size of the user block, the sizes of
// addresses and lengths, and the end of the file.
func (f *File) Superblock() Superblock {
	s := Superblock{
		Version:   f.super.version,
		UserBlock: f.super.base,
		Addresses: f.super.offsets,
		Lengths:   f.super.lengths,
		End:       uint64(f.src.Size()),
	}
	if f.OpenForWriting() {
		s.End = f.super.stored // bytes after it belong to space that the writer was about to free or add
	}
	return s
}

// Superblock holds the main fields of a file's superblock.
type Superblock struct {
	Version   int
	UserBlock uint64 // bytes before the superblock
	Addresses int    // size of addresses in bytes
	Lengths   int    // size of lengths in bytes
	End       uint64 // end of the file, from the start of the source
}
