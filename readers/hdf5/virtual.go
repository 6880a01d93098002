package hdf5

import (
	"context"
	"math"
	"math/bits"

	"varve/readers"
)

// Flags of the mappings of a virtual dataset, from version 1 of its heap block on.
const (
	mappingFileShared    = 1 // the name is that of an earlier mapping
	mappingDatasetShared = 2
	mappingSameFile      = 4
)

const maxMappings = 1 << 20

// readVirtual reads the mappings of a virtual dataset from the global heap:
//
//	version, number of mappings
//	mappings: flags from version 1 on, file, dataset, source and virtual selections
//	checksum
func (d *Dataset) readVirtual(ctx context.Context) error {
	if d.layout.addr == undefined {
		return nil
	}
	b, err := d.f.heapObject(ctx, d.layout.addr, d.layout.heapIndex)
	if err != nil {
		return err
	}
	c := d.f.over(b, d.layout.addr)
	version := c.version("the mappings of a virtual dataset", 0, 1)
	n := c.length()
	if n > maxMappings || n > uint64(c.left()) {
		c.fail("a virtual dataset has %d mappings in %d bytes", n, c.left())
		return c.err
	}
	for range n {
		m := d.readMapping(c, version)
		if c.err != nil {
			return c.err
		}
		d.Mappings = append(d.Mappings, m)
	}
	c.checksum("the mappings of a virtual dataset")
	for i := range d.Mappings {
		d.checkReach(c, d.Mappings[i].To)
	}
	return c.err
}

// checkReach fails where a selection goes beyond the dataset, but for where it has no end.
func (d *Dataset) checkReach(c *cursor, to readers.Selection) {
	if d.Space == Null || to.Kind == readers.SelectAll || to.Kind == readers.SelectNone {
		return
	}
	if to.Rank != len(d.Shape) {
		c.fail("a mapping fills %d dimensions of %d", to.Rank, len(d.Shape))
		return
	}
	for i, at := range to.Cells {
		if dim := i % to.Rank; at >= d.Shape[dim] {
			c.fail("a mapping reaches place %d of dimension %d, which has %d", at, dim, d.Shape[dim])
			return
		}
	}
	for dim, count := range to.Count {
		block := to.Block[dim]
		if count == 0 || block == 0 || count == readers.Unlimited || block == readers.Unlimited {
			continue
		}
		more, last := bits.Mul64(count-1, to.Stride[dim])
		last, carry := bits.Add64(last, to.Start[dim], 0)
		last, again := bits.Add64(last, block-1, 0)
		if more+carry+again != 0 || last >= d.Shape[dim] {
			c.fail("a mapping reaches place %d of dimension %d, which has %d", last, dim, d.Shape[dim])
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
		c.fail("flags of a mapping are %#x", flags)
	case flags&mappingSameFile != 0:
		m.File = "."
	case flags&mappingFileShared != 0:
		m.File = d.earlier(c).File
	default:
		m.File = c.text("name of a source file")
	}
	if flags&mappingDatasetShared != 0 {
		m.Dataset = d.earlier(c).Dataset
	} else {
		m.Dataset = c.text("name of a source dataset")
	}
	m.From = readSelection(c)
	m.To = readSelection(c)
	return m
}

// earlier reads the number of a mapping before this one.
func (d *Dataset) earlier(c *cursor) readers.Mapping {
	i := c.length()
	if i >= uint64(len(d.Mappings)) {
		c.fail("a mapping shares a name with mapping %d of %d", i, len(d.Mappings))
		return readers.Mapping{}
	}
	return d.Mappings[i]
}

// readSelection decodes a selection (III.I, "dataspace selection").
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
	c.fail("type of a selection is %d, not from 0 to 3", kind)
	return readers.Selection{}
}

func selectionRank(c *cursor) int {
	rank := c.u32()
	if c.err == nil && (rank == 0 || rank > maxRank) {
		c.fail("rank of a selection is %d, not 1 to %d", rank, maxRank)
	}
	return rank
}

func selectionWidth(c *cursor) int {
	width := c.u8()
	if c.err == nil && width != 2 && width != 4 && width != 8 {
		c.fail("numbers of a selection are of %d bytes", width)
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
		c.fail("version of a selection is %d, not 1 or 2", version)
	}
	rank := selectionRank(c)
	s := readers.Selection{Kind: readers.SelectPoints, Rank: rank}
	s.Cells = readCells(c, width, rank)
	return s
}

// readCells reads how many groups of n numbers there are, and these.
func readCells(c *cursor, width, n int) []uint64 {
	count := c.uint(width)
	if c.err == nil && count > uint64(c.left())/uint64(n*width) {
		c.fail("a selection of %d parts in %d bytes", count, c.left())
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
		c.fail("version of a selection is %d, not from 1 to 3", version)
	}
	rank := selectionRank(c)
	if c.err != nil {
		return readers.Selection{}
	}
	if flags&1 != 0 {
		return readRegular(c, width, rank)
	}
	s := readers.Selection{Kind: readers.SelectBlocks, Rank: rank, Cells: readCells(c, width, 2*rank)}
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
		s.Count, s.Block = append(s.Count, unlimitedIf(count, width)), append(s.Block, unlimitedIf(block, width))
	}
	return s
}

func unlimitedIf(n uint64, width int) uint64 {
	if width < 8 && n == 1<<(8*width)-1 {
		return math.MaxUint64
	}
	return n
}

// oneBlock says of a single block that it is regular.
func oneBlock(s readers.Selection) readers.Selection {
	r := readers.Selection{Kind: readers.SelectRegular, Rank: s.Rank}
	for d := range s.Rank {
		first, last := s.Cells[d], s.Cells[s.Rank+d]
		r.Start, r.Stride = append(r.Start, first), append(r.Stride, 1)
		r.Count, r.Block = append(r.Count, 1), append(r.Block, last-first+1)
	}
	return r
}
