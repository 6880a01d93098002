package hdf4

import (
	"context"
	"encoding/binary"

	"varve/readers"
	"varve/readers/source"
)

// Limits of the metadata of a file. They are far above the library's limits: its reference
// numbers have 16 bits.
const (
	maxDescriptors = 1 << 20
	maxMetadata    = 64 << 20 // bytes
	maxBlocks      = 1 << 20  // blocks of one element
)

// Tags of elements (appendix A of the specification).
const (
	tagNull            = 1
	tagLinked          = 20
	tagCompressed      = 40
	tagChunk           = 61
	tagLabel           = 104
	tagRemark          = 105
	tagNumberType      = 106
	tagRI8             = 202
	tagCI8             = 203
	tagII8             = 204
	tagImage           = 302
	tagCompressedImage = 303
	tagRIG             = 306
	tagSDG             = 700
	tagSDD             = 701
	tagSD              = 702
	tagScales          = 703
	tagLabels          = 704
	tagUnits           = 705
	tagFormats         = 706
	tagRange           = 707
	tagCoordSys        = 708
	tagLinkSDG         = 710
	tagNDG             = 720
	tagCal             = 731
	tagVdata           = 1962
	tagVdataRows       = 1963
	tagVgroup          = 1965

	specialBit = 0x4000
)

const undefined = 1<<32 - 1 // offset and length of an element that was not written yet

// key identifies an element by its tag and reference number.
type key struct{ tag, ref uint16 }

// descriptor is the position of an element.
type descriptor struct {
	key
	isSpecial bool  // the tag has the special bit
	at        int64 // offset of the descriptor itself
	offset    int64
	length    int64 // -1 if nothing was written
}

// file is an open HDF4 file.
type file struct {
	src    *source.Source
	allow  []string
	opener *source.Opener // opens external files; nil means the default
	budget int64          // bytes of metadata that may still be read

	list     []descriptor // in the order of the file
	elements map[key]int  // index in list
}

// fail adds the position to an error.
func (f *file) fail(at int64, err error) error {
	return &readers.Error{Source: f.src.Name(), Offset: at, Err: err}
}

// Costs of objects made from metadata, in bytes of the budget: about the memory that they take.
const (
	blockCost     = 16
	attributeCost = 256
	variableCost  = 1024
)

// spend subtracts a cost from the budget.
func (f *file) spend(n int64) error {
	if f.budget -= n; f.budget < 0 {
		return f.fail(-1, unsupported("metadata take more than %d bytes", maxMetadata))
	}
	return nil
}

// bytes reads metadata and subtracts them from the budget.
func (f *file) bytes(ctx context.Context, offset, length int64, what string) ([]byte, error) {
	switch {
	case length < 0 || offset < 0 || offset > f.src.Size() || length > f.src.Size()-offset:
		return nil, f.fail(offset, readers.Corruptf("%s has %d bytes, but the file ends at %d", what, length, f.src.Size()))
	case length > f.budget:
		return nil, f.fail(offset, unsupported("metadata take more than %d bytes", maxMetadata))
	case length == 0:
		return nil, ctx.Err()
	}
	f.budget -= length
	b, err := f.src.View(ctx, offset, int(length))
	if err == nil {
		err = ctx.Err()
	}
	return b, err
}

// readDescriptors reads all descriptor lists.
func (f *file) readDescriptors(ctx context.Context) error {
	f.elements = map[key]int{}
	seen := map[int64]bool{}
	// Descriptor lists are linked in the order in which the library needed more of them.
	for at := int64(len(magic)); ; {
		if seen[at] {
			return f.fail(at, readers.Corruptf("descriptor lists form a cycle"))
		}
		seen[at] = true
		head, err := f.bytes(ctx, at, 6, "header of a descriptor list")
		if err != nil {
			return err
		}
		n, next := int64(binary.BigEndian.Uint16(head)), int64(binary.BigEndian.Uint32(head[2:]))
		list, err := f.bytes(ctx, at+6, n*12, "descriptor list")
		if err != nil {
			return err
		}
		for i := range n {
			if err := f.addDescriptor(list[12*i:], at+6+12*i); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		at = next
	}
}

func (f *file) addDescriptor(b []byte, at int64) error {
	tag := binary.BigEndian.Uint16(b)
	d := descriptor{key: key{tag, binary.BigEndian.Uint16(b[2:])}, at: at}
	// Tags with the highest bit belong to users and are never special.
	if tag&0x8000 == 0 && tag&specialBit != 0 {
		d.tag, d.isSpecial = tag&^specialBit, true
	}
	// Unused descriptors of a list have the null tag.
	if d.tag == tagNull || d.tag == 0 {
		return nil
	}
	offset, length := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	d.offset, d.length = int64(offset), int64(length)
	// A descriptor is reserved before its element is written.
	if offset == undefined || length == undefined {
		d.offset, d.length = 0, -1
	}
	if _, twice := f.elements[d.key]; twice {
		return f.fail(at, readers.Corruptf("element %d/%d has two descriptors", d.tag, d.ref))
	}
	if len(f.list) == maxDescriptors {
		return f.fail(at, unsupported("more than %d elements", maxDescriptors))
	}
	f.elements[d.key] = len(f.list)
	f.list = append(f.list, d)
	return nil
}

// find returns the descriptor of an element.
func (f *file) find(tag, ref uint16) (descriptor, bool) {
	i, ok := f.elements[key{tag, ref}]
	if !ok {
		return descriptor{}, false
	}
	return f.list[i], true
}

// checkEnd returns an error if an element ends after the file.
func (f *file) checkEnd() error {
	for _, d := range f.list {
		if d.length > 0 && d.offset+d.length > f.src.Size() {
			return f.fail(d.at, readers.Corruptf("file is truncated: element %d/%d ends at offset %d, but the file at %d; fetch it again", d.tag, d.ref, d.offset+d.length, f.src.Size()))
		}
	}
	return nil
}
