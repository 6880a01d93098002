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

// indexKind is a kind of chunk index, as version 4 of the layout message numbers them.
type indexKind uint8

const (
	indexBTree1 indexKind = iota
	indexSingle
	indexImplicit
	indexFixedArray
	indexExtensibleArray
	indexBTree2
)

// String names the kind of index.
func (k indexKind) String() string {
	return [...]string{"btree1", "single", "implicit", "farray", "earray", "btree2"}[min(k, indexBTree2)]
}

// Flags of chunked layouts of version 4 and 5.
const (
	flagRawEdges     = 1 // chunks that reach over the edge are not filtered
	flagSingleFilter = 2 // the one chunk is filtered
)

// layout says where an object's elements are.
type layout struct {
	version int
	class   int
	addr    uint64 // of contiguous data, of the chunk index, of a virtual layout's heap
	size    uint64 // of contiguous data, if sized
	sized   bool
	compact []byte

	chunk     []uint64 // the shape of chunks
	element   uint64   // what the message takes for the size of an element
	wide      bool     // lengths are in more bytes than they need, which libhdf5 never writes
	index     indexKind
	flags     int
	oneSize   uint64 // of the single chunk, if filtered
	oneMask   uint32
	heapIndex int // in the global heap, of a virtual layout
}

func readLayout(c *cursor) layout {
	l := layout{version: c.version("a layout", 1, 5), addr: undefined}
	if l.version < 3 {
		l.readOld(c)
		return l
	}
	l.class = c.u8()
	switch l.class {
	case classCompact:
		l.compact = c.take(c.u16())
	case classContiguous:
		l.addr, l.size, l.sized = c.address(), c.length(), true
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
			c.fail("a layout of version 3 is virtual")
		}
		l.addr = c.address()
		l.heapIndex = c.u32()
	default:
		c.fail("class of a layout is %d, not from 0 to 3", l.class)
	}
	return l
}

// readOld reads versions 1 and 2, in which the dimensions follow the address.
func (l *layout) readOld(c *cursor) {
	n := c.u8()
	l.class = c.u8()
	c.skip(5)
	if n < 1 || n > maxRank+1 {
		c.fail("a layout has %d dimensions, not 1 to %d", n, maxRank+1)
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
		c.fail("class of a layout is %d, not from 0 to 2", l.class)
	}
}

// readChunk reads the shape of chunks, which the size of an element follows.
func (l *layout) readChunk(c *cursor, n, width int) {
	if n < 2 || n > maxRank+1 {
		c.fail("a chunk has %d dimensions, not 2 to %d", n, maxRank+1)
		return
	}
	l.chunk = make([]uint64, n)
	for i := range l.chunk {
		l.chunk[i] = c.uint(width)
	}
	if c.err == nil && slices.Contains(l.chunk, 0) {
		c.fail("a chunk is of shape %v", l.chunk)
		return
	}
	l.element = l.chunk[n-1]
	l.chunk = l.chunk[:n-1]
}

// readChunked reads chunked layouts of version 4 and 5.
func (l *layout) readChunked(c *cursor) {
	l.flags = c.u8()
	n, width := c.u8(), c.u8()
	if l.flags&^(flagRawEdges|flagSingleFilter) != 0 || width == 0 || width > 8 {
		c.fail("a chunked layout has flags %#x and lengths of %d bytes", l.flags, width)
		return
	}
	l.readChunk(c, n, width)
	if c.err == nil {
		l.wide = width > (bits.Len64(max(slices.Max(l.chunk), l.element))+7)/8
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
		c.fail("kind of a chunk index is %d, not from 1 to 5", kind)
	}
	l.addr = c.address()
}

// nonzero reads parameters that the index repeats.
func (l *layout) nonzero(c *cursor, n int) {
	if slices.Contains(c.take(n), 0) {
		c.fail("a parameter of the chunk index is zero")
	}
}

// chunkBytes is the size of a chunk before filters, or false if it is out of range.
func (l *layout) chunkBytes(element int) (uint64, bool) {
	n, ok := product(l.chunk)
	hi, lo := bits.Mul64(n, uint64(element))
	return lo, ok && hi == 0 && lo < 1<<40
}

// externalSlot is one run of bytes of another file.
type externalSlot struct {
	nameOffset   uint64 // in a local heap
	offset, size uint64
}

type externalFiles struct {
	heap  uint64
	slots []externalSlot
}

// readExternal decodes the external file list (IV.A.2.h).
func readExternal(c *cursor) externalFiles {
	c.version("an external file list", 1, 1)
	c.skip(3)
	allocated, used := c.u16(), c.u16()
	e := externalFiles{heap: c.address()}
	if c.err == nil && (used == 0 || used > allocated || used*3*c.lengths > c.left()) {
		c.fail("an external file list has %d entries of %d in use", used, allocated)
		return e
	}
	for range used {
		s := externalSlot{nameOffset: c.length(), offset: c.length(), size: c.length()}
		if c.lengths < 8 && s.size == 1<<(8*c.lengths)-1 {
			s.size = undefined
		}
		e.slots = append(e.slots, s)
	}
	return e
}
