package grid

import (
	"errors"
	"fmt"
	"iter"
)

// ErrOutOfBounds marks an index or a chunk number outside the axis it was used on.
var ErrOutOfBounds = errors.New("out of bounds")

// Dimension is one axis of an array, cut into chunks. The kinds here are [Fixed],
// [*Varying] and [*Tiled]; all are immutable.
//
// Methods that take a chunk number want one that is less than Cells. They answer 0
// for any other, but for Offset: past the end it answers where the last one ends.
type Dimension interface {
	// Extent is the array's length along the axis.
	Extent() int64
	// Chunks is how many chunks meet the extent.
	Chunks() int64
	// Cells is how many edges are declared, those past the extent included.
	Cells() int64
	// Find is the number of the chunk that holds an index. An index outside
	// 0 … Extent−1 is an ErrOutOfBounds.
	Find(index int64) (chunk int64, err error)
	// Offset is the index at which a chunk begins.
	Offset(chunk int64) int64
	// CodecSize is the length a chunk decodes to.
	CodecSize(chunk int64) int64
	// DataSize is how much of a chunk counts: its edge's data size, clipped to the
	// extent.
	DataSize(chunk int64) int64
	// Span is the stretch of equal edges that a chunk is in.
	Span(chunk int64) Span
	// Runs yields the declared edges run-length encoded, equal neighbours joined. Only
	// a Tiled can have more of them than memory holds.
	Runs() iter.Seq[Run]
	// Unique yields every declared edge that differs from all before it.
	Unique() iter.Seq[Edge]
	// WithExtent binds the same edges to another extent. Edges that do not reach it
	// are an error.
	WithExtent(extent int64) (Dimension, error)
	// Resize is what becomes of the axis when its array is resized. Growth past the
	// declared edges appends the edges named or, with none named, continues as the
	// kind does; a smaller extent keeps the edges.
	Resize(extent int64, edges ...Run) (Dimension, error)
}

// Span is a stretch of chunks with equal edges: those numbered First to
// First+Count−1, the first of which begins at Offset. It is declared, not clipped to
// the extent, and need not be as long as it could be.
type Span struct {
	Edge
	First, Count, Offset int64

	run int // where the Dimension has it, so that the next is found without a search
}

// chunkAt is the chunk of the span that holds an index, if the span does.
func (s *Span) chunkAt(index int64) (chunk int64, ok bool) {
	if s.Count == 0 || index < s.Offset {
		return 0, false
	}
	n := (index - s.Offset) / s.Data
	return s.First + n, n < s.Count
}

// has reports whether a chunk is one of the span's.
func (s *Span) has(chunk int64) bool { return chunk >= s.First && chunk-s.First < s.Count }

// offsetOf is where a chunk of the span begins.
func (s *Span) offsetOf(chunk int64) int64 { return s.Offset + (chunk-s.First)*s.Data }

// advancer is a Dimension that makes a span the one behind it faster than by its
// number. Past the last cell a span is empty.
type advancer interface {
	advance(*Span)
}

// advancing is a Dimension's own advancer, or one that looks every span up.
func advancerOf(d Dimension) advancer {
	if a, ok := d.(advancer); ok {
		return a
	}
	return lookup{d}
}

type lookup struct{ Dimension }

func (l lookup) advance(s *Span) { *s = l.Span(s.First + s.Count) }

// DataSizes yields the data size of every chunk along a dimension, as dask writes
// chunks: (10, 20, 30). It is lazy.
func DataSizes(d Dimension) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for data := range chunkSizes(d) {
			if !yield(data) {
				return
			}
		}
	}
}

// Equal reports whether two dimensions have the same extent and declare the same
// edges, whatever their kinds.
func Equal(a, b Dimension) bool {
	if a.Extent() != b.Extent() || a.Cells() != b.Cells() {
		return false
	}
	if f, ok := a.(Fixed); ok {
		if g, ok := b.(Fixed); ok {
			return f == g
		}
	}
	if s, ok := a.(*Tiled); ok {
		if t, ok := b.(*Tiled); ok {
			return s.equal(t)
		}
	}
	return equalRuns(a.Runs(), b.Runs(), a.Cells())
}

// equalRuns compares the first edges of two encodings. At most one of them comes
// from a Tiled that goes on, so the other bounds the steps.
func equalRuns(a, b iter.Seq[Run], edges int64) bool {
	next, stop := iter.Pull(b)
	defer stop()
	for run := range a {
		other, ok := next()
		if !ok || run.Edge != other.Edge {
			return false
		}
		if edges -= min(run.Count, other.Count); edges <= 0 {
			return true
		}
		if run.Count != other.Count {
			return false
		}
	}
	_, more := next()
	return !more
}

// Canonical drops the cells past the extent, gives the last chunk a full edge, and
// returns a Fixed if all edges that are left are one size. Dimensions of some extent
// that cut it into the same chunks have Equal canonical forms; only a Tiled longer
// than its pattern stays as it is.
//
// It does not decide what is written: a rectilinear axis that happens to be uniform
// stays rectilinear.
func Canonical(d Dimension) Dimension {
	switch d := d.(type) {
	case *Varying:
		return d.canonical()
	case *Tiled:
		return d.canonical()
	}
	return d
}

func outOfBoundsError(index, extent int64) error {
	if extent == 0 {
		return fmt.Errorf("index %d: %w: the extent is 0", index, ErrOutOfBounds)
	}
	return fmt.Errorf("index %d: %w: 0 to %d is allowed", index, ErrOutOfBounds, extent-1)
}

func checkExtent(extent int64) error {
	if extent < 0 {
		return fmt.Errorf("extent %d: must not be negative", extent)
	}
	return nil
}

// Leading counts the leading chunks of a that have the edges of b's chunks from one of these on. It
// takes a step for each run.
func CommonPrefix(a, b Dimension, first int64) (n int64) {
	for most := min(a.Chunks(), b.Chunks()-first); n < most; {
		s, t := a.Span(n), b.Span(first+n)
		if s.Edge != t.Edge {
			return n
		}
		n = min(s.First+s.Count, t.First+t.Count-first, most)
	}
	return n
}
