package mosaic

// sheet is a box of chunks whose places differ in nothing but the row of the ref, or the
// offset behind that of the ref, and there by the same from each chunk to the next along an
// axis.
//
//	tile       ├──┬──┬──┬──┬─┤            the last stored chunk is not what the schema declares
//	schema       ├──┼──┼──┼──┼─┼┤
//	           └──sheet────┴─┘            one sheet here, and another
type sheet struct {
	Place       // of its first chunk
	axes  []run // how it goes on, by axes
}

// run is some chunks that follow one another.
type run struct {
	chunks int64
	rows   int64 // from one to the next
	bytes  int64
}

// sheet finds the place of a chunk, and how many others are placed alike.
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
	case s.covered:
		s.extend(c)
	}
	return s, nil
}

// extendNone extends a sheet of chunks in no tile, or in one of a source without the
// variable, over what is left of its cell. A tile whose variable ends before the chunk has
// none of those behind it either.
func (l *Locator) extendNone(c *cursor) {
	if l.last.Kind != Missing || !l.one {
		return
	}
	for k := range l.last.axes {
		end := c.grid.Shape()[k]
		if j := l.m.placed[k]; j >= 0 {
			if cuts := l.m.layout.cuts[j]; l.lo[j]+1 < len(cuts) {
				end = min(end, cuts[l.lo[j]+1])
			}
		}
		l.last.axes[k].chunks = c.before(k, end)
	}
}

// extend extends a sheet of chunks that one tile covers.
func (s *sheet) extend(c *cursor) {
	f := s.fit
	if s.Row < 0 && f.HasRefs() {
		return // several refs are of each chunk, of the next perhaps one
	}
	for k := range s.axes {
		if c.coords[k]+1 == c.box.End(k) {
			continue
		}
		_, end := f.extent(s.Tile, k)
		r := &s.axes[k]
		r.chunks = c.before(k, end)
		switch {
		case r.chunks == 1 || s.Row < 0 || f.axes[k].axis < 0:
		case f.isRun():
			s.extendRun(c, k, r)
		default:
			s.extendChunks(c, k, r)
		}
	}
}

// extendRun has a sheet end where chunks would reach behind the bytes.
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

// extendChunks has a sheet go along with stored chunks of the same size, or within one.
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
	if s.fit.Variable.Storage.RawEdges { // the chunk that reaches over the border is another
		left = max(min(left, (a.length-at)/size), 1)
	}
	r.chunks, r.rows = min(r.chunks, left), a.rows
}
