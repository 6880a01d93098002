package hdf5

import (
	"context"
	"math"
	"math/bits"

	"varve/readers"
)

// Flags of the mappings of a virtual dataset, from version 1 of the heap block on.
const (
	mappingFileShared    = 1 // the file name is that of an earlier mapping
	mappingDatasetShared = 2
	mappingSameFile      = 4
)

const maxMappings = 1 << 20

// readVirtual reads the mappings of a virtual dataset from the global heap (IV.A.2.i, virtual
// storage):
//
//	version (1), number of mappings (size of lengths)
//	mappings: flags (1, version 1), source file, source dataset,
//	          source selection, virtual selection
//	checksum (4)
func (d *Dataset) readVirtual(ctx context.Context) error {
	if d.layout.addr == undefined {
		return nil
	}
	b, err := d.f.heapObject(ctx, d.layout.addr, d.layout.heapIndex)
	if err != nil {
		return err
	}
	c := d.f.newCursor(b, d.layout.addr)
	version := c.version("virtual dataset: mappings", 0, 1)
	n := c.length()
	if n > maxMappings || n > uint64(c.left()) {
		c.fail("virtual dataset: %d mappings do not fit in %d bytes", n, c.left())
		return c.err
	}
	for range n {
		m := d.readMapping(c, version)
		if c.err != nil {
			return c.err
		}
		d.Mappings = append(d.Mappings, m)
	}
	c.checksum("virtual dataset: mappings")
	for i := range d.Mappings {
		d.checkExtent(c, d.Mappings[i].To)
	}
	return c.err
}

// checkExtent rejects a selection that extends beyond the dataset. Unlimited selections are
// accepted.
func (d *Dataset) checkExtent(c *cursor, to readers.Selection) {
	if d.Space == Null || to.Kind == readers.SelectAll || to.Kind == readers.SelectNone {
		return
	}
	if to.Rank != len(d.Shape) {
		c.fail("virtual dataset: a mapping has %d dimensions (the dataset has %d)", to.Rank, len(d.Shape))
		return
	}
	for i, at := range to.Cells {
		if dim := i % to.Rank; at >= d.Shape[dim] {
			c.fail("virtual dataset: a mapping extends to index %d in dimension %d of length %d", at, dim, d.Shape[dim])
			return
		}
	}
	for dim, count := range to.Count {
		block := to.Block[dim]
		if count == 0 || block == 0 || count == readers.Unlimited || block == readers.Unlimited {
			continue
		}
		// The last index is start + (count-1)·stride + block-1; any overflow is out of range.
		more, last := bits.Mul64(count-1, to.Stride[dim])
		last, carry := bits.Add64(last, to.Start[dim], 0)
		last, again := bits.Add64(last, block-1, 0)
		if more+carry+again != 0 || last >= d.Shape[dim] {
			c.fail("virtual dataset: a mapping extends to index %d in dimension %d of length %d", last, dim, d.Shape[dim])
			return
		}
	}
}

func (d *Dataset) readMapping(c *cursor, version int) readers.Mapping {
	flags := 0
	if version >= 1 {
		flags = c.u8()
	}
	var m readers.Mapping
	switch {
	case flags&^7 != 0:
		c.fail("virtual dataset: flags of a mapping are %#x (only bits 0 to 2 are defined)", flags)
	case flags&mappingSameFile != 0:
		m.File = "."
	case flags&mappingFileShared != 0:
		m.File = d.readEarlier(c).File
	default:
		m.File = c.text("virtual dataset: source file name")
	}
	if flags&mappingDatasetShared != 0 {
		m.Dataset = d.readEarlier(c).Dataset
	} else {
		m.Dataset = c.text("virtual dataset: source dataset name")
	}
	m.From = readSelection(c)
	m.To = readSelection(c)
	return m
}

// readEarlier reads the number of an earlier mapping and returns that mapping.
func (d *Dataset) readEarlier(c *cursor) readers.Mapping {
	i := c.length()
	if i >= uint64(len(d.Mappings)) {
		c.fail("virtual dataset: a mapping shares a name with mapping %d of %d", i, len(d.Mappings))
		return readers.Mapping{}
	}
	return d.Mappings[i]
}

// readSelection decodes a dataspace selection (VIII): type (4), version (4), then by type and
// version the rank, counts and coordinates.
func readSelection(c *cursor) readers.Selection {
	kind, version := c.u32(), c.u32()
	switch kind {
	case 0:
		c.skip(8)
		return readers.Selection{Kind: readers.SelectNone}
	case 3:
		c.skip(8)
		return readers.Selection{Kind: readers.SelectAll}
	case 1:
		return readPoints(c, version)
	case 2:
		return readHyperslab(c, version)
	}
	c.fail("selection: type is %d (want 0 to 3)", kind)
	return readers.Selection{}
}

func selectionRank(c *cursor) int {
	rank := c.u32()
	if c.err == nil && (rank == 0 || rank > maxRank) {
		c.fail("selection: rank is %d (want 1 to %d)", rank, maxRank)
	}
	return rank
}

func selectionWidth(c *cursor) int {
	width := c.u8()
	if c.err == nil && width != 2 && width != 4 && width != 8 {
		c.fail("selection: numbers have %d bytes (want 2, 4 or 8)", width)
	}
	return width
}

func readPoints(c *cursor, version int) readers.Selection {
	width := 4
	switch version {
	case 1:
		c.skip(8)
	case 2:
		width = selectionWidth(c)
	default:
		c.fail("selection: version is %d (want 1 or 2)", version)
	}
	rank := selectionRank(c)
	s := readers.Selection{Kind: readers.SelectPoints, Rank: rank}
	s.Cells = readCells(c, width, rank)
	return s
}

// readCells reads a count, and then count groups of n numbers.
func readCells(c *cursor, width, n int) []uint64 {
	count := c.uint(width)
	if c.err == nil && count > uint64(c.left())/uint64(n*width) {
		c.fail("selection: %d parts do not fit in %d bytes", count, c.left())
	}
	if c.err != nil {
		return nil
	}
	cells := make([]uint64, int(count)*n)
	for i := range cells {
		cells[i] = c.uint(width)
	}
	return cells
}

func readHyperslab(c *cursor, version int) readers.Selection {
	flags, width := 0, 4
	switch version {
	case 1:
		c.skip(8)
	case 2:
		flags, width = c.u8(), 8
		c.skip(4)
	case 3:
		flags = c.u8()
		width = selectionWidth(c)
	default:
		c.fail("selection: version is %d (want 1 to 3)", version)
	}
	rank := selectionRank(c)
	if c.err != nil {
		return readers.Selection{}
	}
	if flags&1 != 0 {
		return readRegular(c, width, rank)
	}
	s := readers.Selection{Kind: readers.SelectBlocks, Rank: rank, Cells: readCells(c, width, 2*rank)}
	// Other code handles regular selections faster than lists of blocks.
	if len(s.Cells) == 2*rank {
		return oneBlock(s)
	}
	return s
}

func readRegular(c *cursor, width, rank int) readers.Selection {
	s := readers.Selection{Kind: readers.SelectRegular, Rank: rank}
	for range rank {
		start, stride := c.uint(width), c.uint(width)
		count, block := c.uint(width), c.uint(width)
		s.Start, s.Stride = append(s.Start, start), append(s.Stride, stride)
		s.Count, s.Block = append(s.Count, unlimitedIfAllOnes(count, width)), append(s.Block, unlimitedIfAllOnes(block, width))
	}
	return s
}

func unlimitedIfAllOnes(n uint64, width int) uint64 {
	if width < 8 && n == 1<<(8*width)-1 {
		return math.MaxUint64
	}
	return n
}

// oneBlock converts a selection of a single block to a regular one.
func oneBlock(s readers.Selection) readers.Selection {
	r := readers.Selection{Kind: readers.SelectRegular, Rank: s.Rank}
	for d := range s.Rank {
		first, last := s.Cells[d], s.Cells[s.Rank+d]
		r.Start, r.Stride = append(r.Start, first), append(r.Stride, 1)
		r.Count, r.Block = append(r.Count, 1), append(r.Block, last-first+1)
	}
	return r
}
