package mosaic

import (
	"math"

	"varve/grid"
	"varve/manifest"
)

// place is the place of a chunk that meets one tile, which may cover it.
func (f *Fit) place(t int32, c *grid.Chunk, covered bool) Place {
	p := Place{Kind: Reencoded, Tile: t, Row: -1, fit: f, size: -1, covered: covered}
	switch {
	case !f.HasRefs():
		if f.sameFill {
			p.Kind = Missing
		}
	case !covered:
	case f.isRun():
		f.placeRun(&p, c)
	default:
		f.placeChunk(&p, c)
	}
	return p
}

// isRun reports whether each element's place follows from its index and one ref.
func (f *Fit) isRun() bool { return f.raw && f.Variable.Storage.Layout != manifest.Chunked }

// isPlain reports whether decoded elements are the schema's, in the array's order.
func (f *Fit) isPlain() bool { return f.straight && f.Conversion.Identity() }

// first is the row of the first of the refs of the variable in a tile's source.
func (f *Fit) first(t int32) int64 { return f.m.files.Row(f.m.layout.file(t)) + f.skip }

// placeChunk compares a declared chunk with the stored one that holds its first element.
func (f *Fit) placeChunk(p *Place, c *grid.Chunk) {
	row, begins, whole, leads, long := int64(0), true, true, true, false
	for k := range f.axes {
		a := &f.axes[k]
		size := int64(1)
		if a.axis >= 0 {
			at := f.within(p.Tile, k, c.Origin[k])
			n, offset, stored := a.find(at)
			if offset < 0 || c.Shape[k] > offset+stored-at {
				return
			}
			row, size = row+n*a.rows, stored
			begins = begins && offset == at
			p.reaches = p.reaches || stored > a.length-offset
		}
		// In C order a part leads if, behind the first axis that is longer than 1 in it, it
		// is all of the stored chunk.
		leads = leads && c.Codec[k] <= size && (!long || c.Codec[k] == size)
		long = long || c.Codec[k] > 1
		whole = whole && c.Codec[k] == size
	}
	p.Row = f.first(p.Tile) + row
	if !begins || !f.isPlain() || !whole && (!leads || !f.raw) {
		return
	}
	p.same = f.isSame(c.Codec, f.mask(0, p.reaches))
	if !p.same && f.Variable.Storage.Filters <= 0 { // else a mask could make them the same
		return
	}
	p.Kind = Verbatim
	if !whole {
		p.Kind, p.size = Prefix, f.bytesOf(c.Codec)
	}
}

// find returns the number, the offset and the codec size of the stored chunk that holds an
// index of the variable.
func (a *storedAxis) find(at int64) (n, offset, size int64) {
	if a.size > 0 {
		n = at / a.size
		return n, n * a.size, a.size
	}
	n, err := a.dim.Find(at)
	if err != nil {
		return 0, -1, 0
	}
	return n, a.dim.Offset(n), a.dim.CodecSize(n)
}

// placeRun finds a declared chunk in a variable of which each element's place follows from
// its index, if the chunk is one run of bytes there, and nothing of it lies outside.
func (f *Fit) placeRun(p *Place, c *grid.Chunk) {
	p.Row = f.first(p.Tile)
	if !f.isPlain() {
		return
	}
	offset, long, rows := int64(0), false, false
	for k := range f.axes {
		a, at := &f.axes[k], f.within(p.Tile, k, c.Origin[k])
		if c.Codec[k] > a.length-at || long && c.Codec[k] != a.length {
			return
		}
		long = long || c.Codec[k] > 1
		offset += at * a.bytes
		rows = rows || a.axis == 0 && c.Codec[k] > 1
	}
	if rows && f.row != f.stride || !f.isSame(c.Codec, 0) {
		return
	}
	p.Kind, p.same = Verbatim, true
	p.offset, p.size = offset, f.bytesOf(c.Codec)
}

// bytesOf is how many bytes the elements of a shape take, which a pipeline's form was
// checked for or will be.
func (f *Fit) bytesOf(shape []int64) int64 {
	n, err := grid.Elements(shape)
	if err != nil || n > math.MaxInt64/f.element {
		return -1
	}
	return n * f.element
}
