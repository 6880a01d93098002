package mosaic

import (
	"math"

	"varve/grid"
	"varve/manifest"
)

// candidate returns the candidate of a chunk with elements in one tile only. covered says that the tile contains
// the whole chunk.
func (f *Fit) candidate(t int32, c *grid.Chunk, covered bool) candidate {
	p := candidate{kind: manifest.Reencoded, tile: t, row: -1, fit: f, size: -1, isCovered: covered}
	switch {
	case !f.HasRefs():
		if f.hasSameFill {
			p.kind = manifest.Missing
		}
	case !covered: // fill values have to be added
	case f.reversed(t) != nil: // elements have another order
	case f.isContiguous():
		f.findContiguous(&p, c)
	default:
		f.findChunk(&p, c)
	}
	return p
}

// isContiguous reports whether one ref locates all elements, and the offset of each follows from its
// index.
func (f *Fit) isContiguous() bool { return f.isRaw && f.Variable.Storage.Layout != manifest.Chunked }

// isPlain reports whether decoded elements need no conversion and have the array's order of axes.
func (f *Fit) isPlain() bool { return f.isStraight && f.Conversion.Identity() }

// firstRow returns the row of the variable's first ref in a tile's source.
func (f *Fit) firstRow(t int32) int64 { return f.m.files.Row(f.m.layout.file(t)) + f.rowsBefore }

// findChunk compares a declared chunk with the stored chunk that contains its first element. The
// declared chunk begins there if both have the same first element. It is whole if both also have the same
// shape, and leads if its bytes are the first bytes of the stored chunk.
func (f *Fit) findChunk(p *candidate, c *grid.Chunk) {
	row, begins, whole, leads, long := int64(0), true, true, true, false
	for k := range f.axes {
		a := &f.axes[k]
		size := int64(1)
		if a.axis >= 0 {
			at := f.variableIndex(p.tile, k, c.Origin[k])
			n, offset, stored := a.find(at)
			if offset < 0 || c.Shape[k] > offset+stored-at {
				// The chunk spans several stored chunks: no single ref has its bytes.
				return
			}
			row, size = row+n*a.rows, stored
			begins = begins && offset == at
			p.isPadded = p.isPadded || stored > a.length-offset
		}
		// In C order, a part of a chunk occupies its first bytes if it has the full length along every
		// axis after the first axis along which it is longer than 1.
		leads = leads && c.Codec[k] <= size && (!long || c.Codec[k] == size)
		long = long || c.Codec[k] > 1
		whole = whole && c.Codec[k] == size
	}
	p.row = f.firstRow(p.tile) + row
	if !begins || !f.isPlain() || !whole && (!leads || !f.isRaw) {
		return
	}
	p.isMatch = f.matchesSchema(c.Codec, f.skippedFilters(0, p.isPadded))
	// With filters, the mask of the ref decides. It may skip the filter that differs.
	if !p.isMatch && f.Variable.Storage.Filters <= 0 {
		return
	}
	p.kind = manifest.Verbatim
	if !whole {
		p.kind, p.size = manifest.Prefix, f.bytesOf(c.Codec)
	}
}

// find returns the number, offset and codec size of the stored chunk that contains an index of the
// variable. offset is -1 if no chunk contains it.
func (a *storedAxis) find(at int64) (n, offset, size int64) {
	if a.size > 0 {
		n = at / a.size
		return n, n * a.size, a.size
	}
	n, err := a.dim.Find(at)
	if err != nil {
		return 0, -1, 0
	}
	offset, _ = a.dim.Offset(n)
	size, _ = a.dim.CodecSize(n)
	return n, offset, size
}

// findContiguous finds the bytes of a declared chunk in a raw variable. The chunk must be inside the
// variable and contiguous there.
func (f *Fit) findContiguous(p *candidate, c *grid.Chunk) {
	p.row = f.firstRow(p.tile)
	if !f.isPlain() {
		return
	}
	offset, long, hasRows := int64(0), false, false
	for k := range f.axes {
		a, at := &f.axes[k], f.variableIndex(p.tile, k, c.Origin[k])
		// Its elements follow one another only if it has full rows after the first axis longer than 1.
		if c.Codec[k] > a.length-at || long && c.Codec[k] != a.length {
			return
		}
		long = long || c.Codec[k] > 1
		offset += at * a.bytes
		hasRows = hasRows || a.axis == 0 && c.Codec[k] > 1
	}
	// A gap between two rows of the chunk is not part of it.
	if hasRows && f.row != f.stride || !f.matchesSchema(c.Codec, 0) {
		return
	}
	p.kind, p.isMatch = manifest.Verbatim, true
	p.offset, p.size = offset, f.bytesOf(c.Codec)
}

// bytesOf returns the size of the elements of a shape in bytes, or -1 if it overflows.
func (f *Fit) bytesOf(shape []int64) int64 {
	n, err := grid.Elements(shape)
	if err != nil || n > math.MaxInt64/f.element {
		return -1
	}
	return n * f.element
}
