package hdf5

import (
	"math/bits"
	"slices"
)

// Layout classes (IV.A.2.i).
const (
	classCompact = iota
	classContiguous
	classChunked
	classVirtual
)

// indexKind is a kind of chunk index, by its number in layout messages of version 4.
type indexKind uint8

const (
	indexBTree1 indexKind = iota
	indexSingle
	indexImplicit
	indexFixedArray
	indexExtensibleArray
	indexBTree2
)

// String returns the short name of the index kind.
func (k indexKind) String() string {
	return [...]string{"btree1", "single", "implicit", "farray", "earray", "btree2"}[min(k, indexBTree2)]
}

// Flags of chunked layouts of versions 4 and 5.
const (
	flagRawEdges     = 1 // partial edge chunks are not filtered
	flagSingleFilter = 2 // the single chunk is filtered
)

// layout is a decoded data layout message (IV.A.2.i). Version 4, chunked:
//
//	0   version 4 (1 byte), class 2 (1), flags (1), dimensions + 1 (1),
//	    width of lengths (1)
//	5   chunk shape and element size (width bytes each)
//	    index type (1), its parameters, address of the index (size of offsets)
//
// For example, 04 02 00 03 01 0A 14 04 03 0A … is a dataset with chunks of 10 × 20 elements of 4
// bytes and a fixed array (type 3) with page bits 10. Version 3 has 4-byte lengths and always a v1
// B-tree; versions 1 and 2 put the address before the dimensions.
type layout struct {
	version int
	class   int
	addr    uint64 // of contiguous data, of the chunk index, or of a virtual layout's heap
	size    uint64 // of contiguous data, if sized
	hasSize bool
	compact []byte

	chunk          []uint64 // shape of a chunk
	element        uint64   // element size according to the message
	hasWideLengths bool     // lengths have more bytes than they need, which libhdf5 never writes
	index          indexKind
	flags          int
	oneSize        uint64 // stored size of the single chunk, if filtered
	oneMask        uint32
	heapIndex      int // index in the global heap, of a virtual layout
}

func readLayout(c *cursor) layout {
	l := layout{version: c.version("data layout", 1, 5), addr: undefined}
	if l.version < 3 {
		l.readOld(c)
		return l
	}
	l.class = c.u8()
	switch l.class {
	case classCompact:
		l.compact = c.take(c.u16())
	case classContiguous:
		l.addr, l.size, l.hasSize = c.address(), c.length(), true
	case classChunked:
		if l.version == 3 {
			n := c.u8()
			l.addr = c.address()
			l.readChunk(c, n, 4)
		} else {
			l.readChunked(c)
		}
	case classVirtual:
		if l.version == 3 {
			c.fail("data layout: version 3 cannot be virtual")
		}
		l.addr = c.address()
		l.heapIndex = c.u32()
	default:
		c.fail("data layout: class is %d (want 0 to 3)", l.class)
	}
	return l
}

// readOld reads versions 1 and 2, where the dimensions follow the address.
func (l *layout) readOld(c *cursor) {
	n := c.u8()
	l.class = c.u8()
	c.skip(5)
	if n < 1 || n > maxRank+1 {
		c.fail("data layout: %d dimensions (want 1 to %d)", n, maxRank+1)
		return
	}
	switch l.class {
	case classContiguous:
		l.addr = c.address()
		c.skip(4 * n)
	case classChunked:
		l.addr = c.address()
		l.readChunk(c, n, 4)
	case classCompact:
		c.skip(4 * n)
		l.compact = c.take(c.u32())
	default:
		c.fail("data layout: class is %d (want 0 to 2)", l.class)
	}
}

// readChunk reads the shape of chunks and the element size after it.
func (l *layout) readChunk(c *cursor, n, width int) {
	if n < 2 || n > maxRank+1 {
		c.fail("data layout: chunks have %d dimensions (want 2 to %d)", n, maxRank+1)
		return
	}
	l.chunk = make([]uint64, n)
	for i := range l.chunk {
		l.chunk[i] = c.uint(width)
	}
	if c.err == nil && slices.Contains(l.chunk, 0) {
		c.fail("data layout: chunk shape %v has a length of 0", l.chunk)
		return
	}
	l.element = l.chunk[n-1]
	l.chunk = l.chunk[:n-1]
}

// readChunked reads chunked layouts of versions 4 and 5.
func (l *layout) readChunked(c *cursor) {
	l.flags = c.u8()
	n, width := c.u8(), c.u8()
	if l.flags&^(flagRawEdges|flagSingleFilter) != 0 || width == 0 || width > 8 {
		c.fail("data layout: flags %#x or lengths of %d bytes are out of range", l.flags, width)
		return
	}
	l.readChunk(c, n, width)
	if c.err == nil {
		// PureHDF writes wide lengths; libhdf5 never does.
		l.hasWideLengths = width > (bits.Len64(max(slices.Max(l.chunk), l.element))+7)/8
	}
	kind := c.u8()
	l.index = indexKind(kind)
	switch {
	case c.err != nil:
	case l.index == indexSingle:
		if l.flags&flagSingleFilter != 0 {
			l.oneSize, l.oneMask = c.length(), uint32(c.u32())
		}
	case l.index == indexImplicit:
	case l.index == indexFixedArray:
		l.nonzero(c, 1)
	case l.index == indexExtensibleArray:
		l.nonzero(c, 5)
	case l.index == indexBTree2:
		c.skip(4)
		checkPercentages(c)
	default:
		c.fail("data layout: chunk index type is %d (want 1 to 5)", kind)
	}
	l.addr = c.address()
}

// nonzero skips n parameters, which the index header repeats, and rejects zeros.
func (l *layout) nonzero(c *cursor, n int) {
	if slices.Contains(c.take(n), 0) {
		c.fail("data layout: a chunk index parameter is 0")
	}
}

// chunkBytes returns the size of a chunk before filters, or false if it is out of range.
func (l *layout) chunkBytes(element int) (uint64, bool) {
	n, ok := product(l.chunk)
	hi, lo := bits.Mul64(n, uint64(element))
	return lo, ok && hi == 0 && lo < 1<<40
}

// externalSlot is one block of bytes of another file.
type externalSlot struct {
	nameOffset   uint64 // in a local heap
	offset, size uint64
}

type externalFiles struct {
	heap  uint64
	slots []externalSlot
}

// readExternal decodes the external data files message (IV.A.2.h).
func readExternal(c *cursor) externalFiles {
	c.version("external file list", 1, 1)
	c.skip(3)
	allocated, used := c.u16(), c.u16()
	e := externalFiles{heap: c.address()}
	if c.err == nil && (used == 0 || used > allocated || used*3*c.lengths > c.left()) {
		c.fail("external file list: %d of %d entries in use is out of range", used, allocated)
		return e
	}
	for range used {
		s := externalSlot{nameOffset: c.length(), offset: c.length(), size: c.length()}
		// "To the end of the file" is all ones in the size of lengths.
		if c.lengths < 8 && s.size == 1<<(8*c.lengths)-1 {
			s.size = undefined
		}
		e.slots = append(e.slots, s)
	}
	return e
}
