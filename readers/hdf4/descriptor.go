package hdf4

import (
	"context"
	"encoding/binary"

	"varve/readers"
	"varve/readers/source"
)

// The limits of what is read of a file to know what is in it. They are far above what libraries
// write: numbers of elements have 16 bits.
const (
	maxDescriptors = 1 << 20
	maxMetadata    = 64 << 20 // bytes
	maxBlocks      = 1 << 20  // of one element
)

// The tags of elements (appendix A).
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

const undefined = 1<<32 - 1 // as offset and length: nothing was written yet

// key names an element.
type key struct{ tag, ref uint16 }

// descriptor says where an element is.
type descriptor struct {
	key
	special bool
	at      int64 // of the descriptor itself
	offset  int64
	length  int64 // -1 if nothing was written
}

// file is an open file.
type file struct {
	src    *source.Source
	allow  []string
	budget int64 // how many more bytes of metadata are read

	list     []descriptor // in the order of the file
	elements map[key]int  // numbers in list
}

// fail says where in the file an error is.
func (f *file) fail(at int64, err error) error {
	return &readers.Error{Source: f.src.Name(), Offset: at, Err: err}
}

// What is made of metadata counts as so many bytes of it, which it takes in memory.
const (
	blockCost     = 16
	attributeCost = 256
	variableCost  = 1024
)

// spend counts what is made of metadata.
func (f *file) spend(n int64) error {
	if f.budget -= n; f.budget < 0 {
		return f.fail(-1, unsupported("more than %d bytes of metadata", maxMetadata))
	}
	return nil
}

// bytes reads metadata.
func (f *file) bytes(ctx context.Context, offset, length int64, what string) ([]byte, error) {
	switch {
	case length < 0 || offset < 0 || offset > f.src.Size() || length > f.src.Size()-offset:
		return nil, f.fail(offset, readers.Corruptf("%s takes %d bytes, the file ends at %d", what, length, f.src.Size()))
	case length > f.budget:
		return nil, f.fail(offset, unsupported("more than %d bytes of metadata", maxMetadata))
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

// readDescriptors reads all lists of descriptors.
func (f *file) readDescriptors(ctx context.Context) error {
	f.elements = map[key]int{}
	seen := map[int64]bool{}
	for at := int64(len(magic)); ; {
		if seen[at] {
			return f.fail(at, readers.Corruptf("a list of descriptors leads back to itself"))
		}
		seen[at] = true
		head, err := f.bytes(ctx, at, 6, "the head of a list of descriptors")
		if err != nil {
			return err
		}
		n, next := int64(binary.BigEndian.Uint16(head)), int64(binary.BigEndian.Uint32(head[2:]))
		list, err := f.bytes(ctx, at+6, n*12, "a list of descriptors")
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
	if tag&0x8000 == 0 && tag&specialBit != 0 {
		d.tag, d.special = tag&^specialBit, true
	}
	if d.tag == tagNull || d.tag == 0 {
		return nil
	}
	offset, length := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	d.offset, d.length = int64(offset), int64(length)
	if offset == undefined || length == undefined {
		d.offset, d.length = 0, -1
	}
	if _, twice := f.elements[d.key]; twice {
		return f.fail(at, readers.Corruptf("element %d/%d is described twice", d.tag, d.ref))
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

// checkEnd returns an error if an element lies behind the end of the file.
func (f *file) checkEnd() error {
	for _, d := range f.list {
		if d.length > 0 && d.offset+d.length > f.src.Size() {
			return f.fail(d.at, readers.Corruptf("the file is cut off: element %d/%d ends at offset %d, the file at %d", d.tag, d.ref, d.offset+d.length, f.src.Size()))
		}
	}
	return nil
}
