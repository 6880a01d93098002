package grid

import (
	"fmt"
	"iter"
	"slices"
)

// Tiled is an axis whose edges repeat a pattern, such as the lengths of months, for as
// long as the extent needs them. It takes the memory of one pattern. It is not a form
// that documents have: what is written are its Runs.
type Tiled struct {
	pattern table // one period
	extent  int64
	chunks  int64
}

// maxTiledRuns bounds what a Tiled may become when it has to be spelt out.
const maxTiledRuns = 1 << 22

// NewTiled returns an axis that repeats the edges of pattern until they reach extent.
func NewTiled(pattern []Run, extent int64) (*Tiled, error) {
	if err := checkExtent(extent); err != nil {
		return nil, err
	}
	if _, _, err := Sum(pattern); err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return tile(makeTable(pattern), extent), nil
}

func tile(pattern table, extent int64) *Tiled {
	t := &Tiled{pattern: pattern, extent: extent}
	if extent > 0 {
		t.chunks = t.chunkAt(extent-1) + 1
	}
	return t
}

// chunkAt never overflows: an edge is at least 1 long, so chunks are no more than
// indices.
func (t *Tiled) chunkAt(index int64) int64 {
	period, in := index/t.pattern.length(), index%t.pattern.length()
	return period*t.pattern.edges() + t.pattern.chunkAt(in)
}

// Extent implements [Dimension].
func (t *Tiled) Extent() int64 { return t.extent }

// Chunks implements [Dimension].
func (t *Tiled) Chunks() int64 { return t.chunks }

// Cells implements [Dimension]: the pattern is declared as far as the extent needs
// it, and for one edge at least, since a list cannot be empty.
func (t *Tiled) Cells() int64 { return max(1, t.chunks) }

// Find implements [Dimension].
func (t *Tiled) Find(index int64) (int64, error) {
	if index < 0 || index >= t.extent {
		return 0, outOfBoundsError(index, t.extent)
	}
	return t.chunkAt(index), nil
}

// Span implements [Dimension].
func (t *Tiled) Span(chunk int64) Span {
	if chunk < 0 || chunk >= t.Cells() {
		return Span{}
	}
	period := chunk / t.pattern.edges()
	return t.shiftToPeriod(t.pattern.span(t.pattern.runAt(chunk%t.pattern.edges())), period)
}

// place moves a span of the pattern to a period and cuts it at the last cell.
func (t *Tiled) shiftToPeriod(s Span, period int64) Span {
	s.First += period * t.pattern.edges()
	s.Offset += period * t.pattern.length()
	s.Count = min(s.Count, t.Cells()-s.First)
	return s
}

func (t *Tiled) advance(s *Span) {
	if s.First+s.Count >= t.Cells() {
		*s = Span{}
		return
	}
	run := s.run + 1
	if run == t.pattern.runs() {
		run = 0
	}
	t.pattern.follow(s, run)
	s.Count = min(s.Count, t.Cells()-s.First)
}

// Offset implements [Dimension]. Past the last chunk it is the extent, as the last
// edge's own end may not fit an int64.
func (t *Tiled) Offset(chunk int64) int64 {
	switch {
	case chunk <= 0:
		return 0
	case chunk >= t.chunks:
		return t.extent
	}
	s := t.Span(chunk)
	return s.offsetOf(chunk)
}

// CodecSize implements [Dimension].
func (t *Tiled) CodecSize(chunk int64) int64 { return t.Span(chunk).Codec }

// DataSize implements [Dimension].
func (t *Tiled) DataSize(chunk int64) int64 {
	s := t.Span(chunk)
	return max(0, min(s.Data, t.extent-s.offsetOf(chunk)))
}

// Runs implements [Dimension]. It goes on for as many periods as the extent holds.
func (t *Tiled) Runs() iter.Seq[Run] {
	if t.pattern.runs() == 1 {
		edge := t.pattern.span(0).Edge
		return slices.Values([]Run{{edge, t.Cells()}})
	}
	return Merge(func(yield func(Run) bool) {
		for s := t.Span(0); s.Count > 0; t.advance(&s) {
			if !yield(Run{s.Edge, s.Count}) {
				return
			}
		}
	})
}

// Unique implements [Dimension].
func (t *Tiled) Unique() iter.Seq[Edge] {
	if t.Cells() >= t.pattern.edges() {
		return t.pattern.unique()
	}
	cut := makeTable(slices.Collect(t.Runs())) // less than one pattern
	return cut.unique()
}

// WithExtent implements [Dimension].
func (t *Tiled) WithExtent(extent int64) (Dimension, error) {
	if err := checkExtent(extent); err != nil {
		return nil, err
	}
	return tile(t.pattern, extent), nil
}

// Resize implements [Dimension]. With no edges named the pattern goes on; naming
// some spells it out as a Varying.
func (t *Tiled) Resize(extent int64, edges ...Run) (Dimension, error) {
	if len(edges) == 0 {
		return t.WithExtent(extent)
	}
	v, err := t.Varying()
	if err != nil {
		return nil, err
	}
	return v.Resize(extent, edges...)
}

// Varying spells the pattern out. More than about four million runs are refused.
func (t *Tiled) Varying() (*Varying, error) {
	periods := t.Cells()/t.pattern.edges() + 1
	if n, fits := mul(periods, int64(t.pattern.runs())); t.pattern.runs() > 1 && (!fits || n > maxTiledRuns) {
		return nil, fmt.Errorf("a pattern of %d runs repeated %d times: spelt out it may have %d runs at most",
			t.pattern.runs(), periods, maxTiledRuns)
	}
	return NewVarying(slices.Collect(t.Runs()), t.extent)
}

// equal compares two patterns without walking the extent: words that repeat with the
// periods p and q and agree on p+q letters agree for ever (Fine and Wilf).
func (t *Tiled) equal(u *Tiled) bool {
	letters, fits := add(t.pattern.edges(), u.pattern.edges())
	if !fits || letters > t.Cells() {
		letters = t.Cells()
	}
	return equalRuns(t.Runs(), u.Runs(), letters)
}

// canonical spells out what is shorter than the pattern. There are no cells to drop.
func (t *Tiled) canonical() Dimension {
	edge := t.pattern.span(0).Edge
	if t.pattern.runs() == 1 && edge.Codec == edge.Data {
		return makeFixed(edge.Codec, t.extent)
	}
	if t.Cells() > t.pattern.edges() {
		return t
	}
	return bind(makeTable(slices.Collect(t.Runs())), t.extent).canonical()
}
