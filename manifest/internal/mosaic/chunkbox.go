package mosaic

import "varve/manifest"

// chunkBox is a box of chunks whose candidates differ only in the row of the ref, or in the offset that is
// added to the ref's offset. Both change by a constant along each axis.
//
//	tile       ├──┬──┬──┬──┬─┤            the last chunk extends beyond the tile,
//	schema     ├──┼──┼──┼──┼──┤           so there are two boxes
//	boxes      └────────────┴──┘
//
// Listing boxes instead of chunks makes the time depend on the number of boxes, and not of chunks.
type chunkBox struct {
	candidate          // of the first chunk
	axes      []series // the chunks along each axis
}

// series is a number of chunks that follow one another.
type series struct {
	chunks int64
	rows   int64 // rows of refs from one chunk to the next
	bytes  int64 // bytes from one chunk to the next, if one ref locates all
}

// chunkBox returns the box of chunks that starts at the cursor's chunk.
func (l *locator) chunkBox(c *cursor) (*chunkBox, error) {
	s := &l.last
	if s.axes == nil {
		s.axes = make([]series, c.grid.Rank())
	}
	for k := range s.axes {
		s.axes[k] = series{chunks: 1}
	}
	var err error
	if s.candidate, err = l.candidate(&c.chunk); err != nil {
		return nil, err
	}
	switch {
	case s.tile == none:
		l.extendNone(c)
	case s.isCovered:
		s.extend(c)
	}
	return s, nil
}

// extendNone extends a box of missing chunks over the rest of the cell. Either the cell has no tile, or
// the tile's source lacks the variable, or the variable ends before these chunks.
func (l *locator) extendNone(c *cursor) {
	// A variable that is shorter than its tile and read backwards lacks the first elements of the cell.
	if l.last.kind != manifest.Missing || !l.isOneCell || l.m.layout.hasReversed && len(l.found) > 0 {
		return
	}
	for k := range l.last.axes {
		end := c.grid.Shape()[k]
		if j := l.m.layoutAxes[k]; j >= 0 {
			if cuts := l.m.layout.cuts[j]; l.lo[j]+1 < cuts.Len() {
				end = min(end, cuts.At(l.lo[j]+1))
			}
		}
		l.last.axes[k].chunks = c.countBefore(k, end)
	}
}

// extend extends a box of chunks inside one tile.
func (s *chunkBox) extend(c *cursor) {
	f := s.fit
	if s.row < 0 && f.HasRefs() {
		return // this chunk consists of several stored chunks, but the next may be in one
	}
	for k := range s.axes {
		// This is the last chunk to list along the axis.
		if c.coords[k]+1 == c.box.End(k) {
			continue
		}
		_, end := f.coveredRange(s.tile, k)
		r := &s.axes[k]
		r.chunks = c.countBefore(k, end)
		switch {
		case r.chunks == 1 || s.row < 0 || f.axes[k].axis < 0:
		case f.isContiguous():
			s.extendContiguous(c, k, r)
		default:
			s.extendChunks(c, k, r)
		}
	}
}

// extendContiguous extends a box along one axis, up to the end of the variable.
func (s *chunkBox) extendContiguous(c *cursor, k int, r *series) {
	if s.kind == manifest.Reencoded {
		return
	}
	a, size := &s.fit.axes[k], c.spans[k].Data
	if size != c.spans[k].Codec {
		r.chunks = 1
		return
	}
	r.chunks = min(r.chunks, (a.length-s.fit.variableIndex(s.tile, k, c.chunk.Origin[k]))/size)
	r.bytes = size * a.bytes
}

// extendChunks extends a box along one axis: over stored chunks of the same size, or within one stored
// chunk.
func (s *chunkBox) extendChunks(c *cursor, k int, r *series) {
	a, schema := &s.fit.axes[k], &c.spans[k]
	at := s.fit.variableIndex(s.tile, k, c.chunk.Origin[k])
	n, offset, size := a.find(at)
	if offset != at || schema.Codec != size || schema.Data != size {
		within := (offset + size - at) / schema.Data
		if s.kind != manifest.Reencoded || within < 1 {
			within = 1
		}
		r.chunks = min(r.chunks, within)
		return
	}
	left := r.chunks
	if a.size == 0 {
		span := a.dim.Span(n)
		left = span.First + span.Count - n
	}
	// The last, padded chunk is stored without filters, so its candidate differs.
	if s.fit.Variable.Storage.RawEdges {
		left = max(min(left, (a.length-at)/size), 1)
	}
	r.chunks, r.rows = min(r.chunks, left), a.rows
}
