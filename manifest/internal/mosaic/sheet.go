package mosaic

// sheet is a box of chunks whose places differ only in the row of the ref, or in the offset after the
// ref's offset. That difference is constant along each axis.
//
//	tile       ├──┬──┬──┬──┬─┤            the last stored chunk does not match the schema
//	schema       ├──┼──┼──┼──┼─┼┤
//	           └──sheet────┴─┘            so there are two sheets
type sheet struct {
	Place       // of the sheet's first chunk
	axes  []run // the extent along each axis
}

// run is a number of consecutive chunks.
type run struct {
	chunks int64
	rows   int64 // difference from one to the next
	bytes  int64 // difference from one to the next
}

// sheet returns the place of the cursor's chunk, and the box of chunks with the same place.
func (l *Locator) sheet(c *cursor) (*sheet, error) {
	s := &l.last
	if s.axes == nil {
		s.axes = make([]run, c.grid.Rank())
	}
	for k := range s.axes {
		s.axes[k] = run{chunks: 1}
	}
	var err error
	if s.Place, err = l.Place(&c.chunk); err != nil {
		return nil, err
	}
	switch {
	case s.Tile == none:
		l.extendNone(c)
	case s.isCovered:
		s.extend(c)
	}
	return s, nil
}

// extendNone extends a sheet of chunks that have no tile, or a tile whose source lacks the variable,
// over the rest of the cell. If a tile's variable ends before a chunk, it also lacks the chunks after
// it.
func (l *Locator) extendNone(c *cursor) {
	if l.last.Kind != Missing || !l.isOneCell {
		return
	}
	for k := range l.last.axes {
		end := c.grid.Shape()[k]
		if j := l.m.layoutAxes[k]; j >= 0 {
			if cuts := l.m.layout.cuts[j]; l.lo[j]+1 < len(cuts) {
				end = min(end, cuts[l.lo[j]+1])
			}
		}
		l.last.axes[k].chunks = c.countBefore(k, end)
	}
}

// extend extends a sheet of chunks that one tile contains.
func (s *sheet) extend(c *cursor) {
	f := s.fit
	if s.Row < 0 && f.HasRefs() {
		return // each chunk has several refs, but the next may have only one
	}
	for k := range s.axes {
		// The box ends here: nothing to extend.
		if c.coords[k]+1 == c.box.End(k) {
			continue
		}
		_, end := f.extent(s.Tile, k)
		r := &s.axes[k]
		r.chunks = c.countBefore(k, end)
		switch {
		case r.chunks == 1 || s.Row < 0 || f.axes[k].axis < 0:
		case f.isRun():
			s.extendRun(c, k, r)
		default:
			s.extendChunks(c, k, r)
		}
	}
}

// extendRun ends a sheet where chunks would extend beyond the variable.
func (s *sheet) extendRun(c *cursor, k int, r *run) {
	if s.Kind == Reencoded {
		return
	}
	a, size := &s.fit.axes[k], c.spans[k].Data
	if size != c.spans[k].Codec {
		r.chunks = 1
		return
	}
	r.chunks = min(r.chunks, (a.length-s.fit.within(s.Tile, k, c.chunk.Origin[k]))/size)
	r.bytes = size * a.bytes
}

// extendChunks extends a sheet along stored chunks of the same size, or within one stored chunk.
func (s *sheet) extendChunks(c *cursor, k int, r *run) {
	a, schema := &s.fit.axes[k], &c.spans[k]
	at := s.fit.within(s.Tile, k, c.chunk.Origin[k])
	n, offset, size := a.find(at)
	if offset != at || schema.Codec != size || schema.Data != size {
		within := (offset + size - at) / schema.Data
		if s.Kind != Reencoded || within < 1 {
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
	// The chunk beyond the border is stored without filters, so it differs.
	if s.fit.Variable.Storage.RawEdges {
		left = max(min(left, (a.length-at)/size), 1)
	}
	r.chunks, r.rows = min(r.chunks, left), a.rows
}
