package grid

import (
	"fmt"
	"iter"
	"slices"
)

// Tiled is a dimension whose edges repeat a pattern, such as the lengths of months, until
// they reach the extent. It takes the memory of one pattern. Documents have no such form:
// its Runs are written.
type Tiled struct {
	pattern table // one period
	extent  int64
	chunks  int64
}

// maxTiledRuns is the largest number of runs that a Tiled is expanded to.
const maxTiledRuns = 1 << 22

// NewTiled returns a dimension that repeats the edges of pattern until they reach extent.
func NewTiled(pattern []Run, extent int64) (*Tiled, error) {
	if err := checkExtent(extent); err != nil {
		return nil, err
	}
	if _, _, err := Sum(pattern); err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return tile(makeTable(pattern), extent), nil
}

// tile returns a Tiled from a valid pattern and extent.
func tile(pattern table, extent int64) *Tiled {
	t := &Tiled{pattern: pattern, extent: extent}
	if extent > 0 {
		t.chunks = t.chunkAt(extent-1) + 1
	}
	return t
}

// chunkAt returns the chunk that contains an index. It never overflows: an edge is at
// least 1 long, so a chunk number is at most the index.
func (t *Tiled) chunkAt(index int64) int64 {
	period, in := index/t.pattern.length(), index%t.pattern.length()
	return period*t.pattern.edges() + t.pattern.chunkAt(in)
}

// Extent implements [Dimension].
func (t *Tiled) Extent() int64 { return t.extent }

// Chunks implements [Dimension].
func (t *Tiled) Chunks() int64 { return t.chunks }

// Cells implements [Dimension]: the pattern is declared as far as the extent needs it,
// and at least one edge, since a list in a document cannot be empty.
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

// shiftToPeriod moves a span of the pattern to a period and cuts it at the last cell.
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

// Offset implements [Dimension]. The end is the extent, since the end of the last edge
// may overflow an int64.
func (t *Tiled) Offset(chunk int64) (int64, bool) {
	switch {
	case chunk < 0 || chunk > t.Cells():
		return 0, false
	case chunk >= t.chunks: // also the only cell of an axis without chunks
		return t.extent, true
	}
	s := t.Span(chunk)
	return s.offsetOf(chunk), true
}

// CodecSize implements [Dimension].
func (t *Tiled) CodecSize(chunk int64) (int64, bool) {
	s := t.Span(chunk)
	return s.Codec, s.Count > 0
}

// DataSize implements [Dimension].
func (t *Tiled) DataSize(chunk int64) (int64, bool) {
	s := t.Span(chunk)
	return max(0, min(s.Data, t.extent-s.offsetOf(chunk))), s.Count > 0
}

// IsRegular implements [Dimension].
func (t *Tiled) IsRegular() (int64, bool) {
	s := t.pattern.span(0)
	return s.Codec, s.Codec == s.Data && (t.pattern.runs() == 1 || t.Cells() <= s.Count)
}

// Runs implements [Dimension]. It yields the runs of as many periods as the extent needs.
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
	shorter := makeTable(slices.Collect(t.Runs())) // less than one period
	return shorter.unique()
}

// WithExtent implements [Dimension].
func (t *Tiled) WithExtent(extent int64) (Dimension, error) {
	if err := checkExtent(extent); err != nil {
		return nil, err
	}
	return tile(t.pattern, extent), nil
}

// Resize implements [Dimension]. The result of a policy that does not continue the
// pattern is a Varying, from the whole last edge of the pattern on.
func (t *Tiled) Resize(extent int64, growth Growth) (Dimension, error) {
	samePattern := func() bool {
		return slices.Equal(slices.Collect(t.pattern.all()), slices.Collect(Merge(slices.Values(growth.runs))))
	}
	if growth.policy == growRepeat || growth.policy == growCycle && samePattern() {
		return t.WithExtent(extent)
	}
	v, err := t.Varying()
	if err != nil {
		return nil, err
	}
	return v.Resize(extent, growth)
}

// Varying returns the edges as a Varying. More than maxTiledRuns runs are an error.
func (t *Tiled) Varying() (*Varying, error) {
	periods := t.Cells()/t.pattern.edges() + 1
	if n, fits := mul(periods, int64(t.pattern.runs())); t.pattern.runs() > 1 && (!fits || n > maxTiledRuns) {
		return nil, fmt.Errorf("a pattern of %d runs repeated %d times: must have at most %d runs to be listed",
			t.pattern.runs(), periods, maxTiledRuns)
	}
	return NewVarying(slices.Collect(t.Runs()), t.extent)
}

// equal compares two patterns without walking the extent: sequences that repeat with
// periods p and q and agree on their first p+q elements are equal (Fine and Wilf).
func (t *Tiled) equal(u *Tiled) bool {
	letters, fits := add(t.pattern.edges(), u.pattern.edges())
	if !fits || letters > t.Cells() {
		letters = t.Cells()
	}
	return equalRuns(t.Runs(), u.Runs(), letters)
}

// canonical implements [Canonical]: a Tiled of at most one period becomes a Varying or a
// Fixed. There are no cells past the extent to drop.
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
