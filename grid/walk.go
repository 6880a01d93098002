package grid

// Walker visits chunks in C order without allocating. After each Next that returned true
// its fields describe one chunk, in memory that the next call of Next overwrites:
//
//	for w := g.Walk(); w.Next(); {
//		use(w.Coords, w.Region, w.Codec)
//	}
type Walker struct {
	Coords []int64
	Chunk  // Region and Codec

	axes  []walkAxis
	state walkState
}

// walkState says whether a Walker or a Cursor is at a chunk.
type walkState uint8

const (
	walkNotStarted walkState = iota
	walkAtChunk
	walkDone
)

// walkAxis is the position of a walker along one axis. While the chunk number is below
// spanEnd, a step is one addition.
type walkAxis struct {
	spans     advancer
	extent    int64
	from, to  int64 // the chunks to visit, to excluded
	firstSpan Span  // the span of chunk from, to rewind to
	span      Span
	spanEnd   int64
}

// Walk returns a walker over every chunk.
func (g *Grid) Walk() *Walker {
	return g.walk(Whole(g.counts))
}

// WalkChunks returns a walker over the chunks in a box of chunk coordinates.
func (g *Grid) WalkChunks(chunks Region) (*Walker, error) {
	if err := g.checkRegion(chunks, g.counts, "chunk"); err != nil {
		return nil, err
	}
	return g.walk(chunks), nil
}

// WalkRegion returns a walker over the chunks that intersect a region of the array. The
// walker's Region is the whole chunk, also where the region cuts it.
func (g *Grid) WalkRegion(r Region) (*Walker, error) {
	chunks, err := g.ChunksOf(r)
	if err != nil {
		return nil, err
	}
	if r.IsEmpty() {
		return &Walker{state: walkDone}, nil
	}
	return g.walk(chunks), nil
}

func (g *Grid) walk(chunks Region) *Walker {
	n := len(g.dims)
	w := &Walker{Coords: make([]int64, n), Chunk: Chunk{MakeRegion(n), make([]int64, n)}, axes: make([]walkAxis, n)}
	if chunks.IsEmpty() {
		w.state = walkDone
		return w
	}
	for k, d := range g.dims {
		from := chunks.Origin[k]
		w.axes[k] = walkAxis{spans: advancerOf(d), extent: g.shape[k], from: from, to: chunks.End(k), firstSpan: d.Span(from)}
	}
	return w
}

// Next steps to the next chunk and reports whether there is one.
func (w *Walker) Next() bool {
	if w.state != walkAtChunk {
		return w.begin()
	}
	for k := len(w.axes) - 1; k >= 0; k-- {
		if w.step(k) {
			return true
		}
		w.rewind(k)
	}
	w.state = walkDone
	return false
}

func (w *Walker) begin() bool {
	if w.state == walkDone {
		return false
	}
	w.state = walkAtChunk
	for k := range w.axes {
		w.rewind(k)
	}
	return true
}

// rewind moves axis k to its first chunk.
func (w *Walker) rewind(k int) {
	a := &w.axes[k]
	a.span = a.firstSpan
	w.Coords[k] = a.from
	w.enter(k, a.span.offsetOf(a.from))
}

// enter sets axis k to the first visited chunk of a span, which begins at offset.
func (w *Walker) enter(k int, offset int64) {
	a := &w.axes[k]
	a.spanEnd = min(a.to, a.span.First+a.span.Count)
	w.Codec[k] = a.span.Codec
	w.setOrigin(k, offset)
}

func (w *Walker) setOrigin(k int, offset int64) {
	a := &w.axes[k]
	w.Origin[k] = offset
	w.Region.Shape[k] = min(a.span.Data, a.extent-offset)
}

// step moves axis k to the next chunk, if there is one.
func (w *Walker) step(k int) bool {
	a := &w.axes[k]
	chunk := w.Coords[k] + 1
	if chunk < a.spanEnd {
		w.Coords[k] = chunk
		w.setOrigin(k, w.Origin[k]+a.span.Data)
		return true
	}
	if chunk >= a.to {
		return false
	}
	a.spans.advance(&a.span)
	w.Coords[k] = chunk
	w.enter(k, a.span.Offset)
	return true
}
