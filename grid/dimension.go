package grid

import (
	"errors"
	"fmt"
	"iter"
)

// ErrOutOfBounds marks an index or a chunk number that is outside its axis.
var ErrOutOfBounds = errors.New("out of bounds")

// Dimension is one dimension of an array, cut into chunks. The implementations here are
// [Fixed], [*Varying] and [*Tiled]; all are immutable.
//
// Chunks are numbered as cells are, 0 … Cells−1. For any other number ok is false, and a
// Span is empty.
type Dimension interface {
	// Extent returns the array's length along the axis.
	Extent() int64
	// Chunks returns the number of chunks that intersect the extent.
	Chunks() int64
	// Cells returns the number of declared edges, including those past the extent.
	Cells() int64
	// Find returns the number of the chunk that contains an index. An index outside 0 …
	// Extent−1 is an ErrOutOfBounds.
	Find(index int64) (chunk int64, err error)
	// Offset returns the index at which a chunk begins. The number Cells is allowed too:
	// its offset is the end of the chunks, which is the extent or, for a Varying, the end
	// of the last edge.
	Offset(chunk int64) (offset int64, ok bool)
	// CodecSize returns the length that a chunk decodes to.
	CodecSize(chunk int64) (size int64, ok bool)
	// DataSize returns the number of a chunk's decoded elements that belong to the array:
	// its edge's data size, clipped to the extent. It is 0 for a cell past the extent.
	DataSize(chunk int64) (size int64, ok bool)
	// IsRegular reports whether all declared edges have one size and no padding, and
	// returns that size. It takes constant time. Whether a document calls the grid regular
	// is another question.
	IsRegular() (size int64, ok bool)
	// Span returns the run of equal edges that contains a chunk.
	Span(chunk int64) Span
	// Runs yields the declared edges, run-length encoded, with equal neighbours merged.
	// Only a Tiled can have more runs than memory holds.
	Runs() iter.Seq[Run]
	// Unique yields each distinct declared edge once, in order of first occurrence.
	Unique() iter.Seq[Edge]
	// WithExtent returns the same edges with another extent. It is an error if the edges
	// do not reach the extent.
	WithExtent(extent int64) (Dimension, error)
	// Resize returns the dimension after a resize of its array. The policy decides the
	// edges that growth past the declared ones adds; a smaller extent keeps the edges.
	Resize(extent int64, growth Growth) (Dimension, error)
}

// Bounds returns the range of indices that a chunk covers, from … to−1, clipped to the
// extent.
func Bounds(d Dimension, chunk int64) (from, to int64, ok bool) {
	s := d.Span(chunk)
	if s.Count == 0 {
		return 0, 0, false
	}
	from = min(s.offsetOf(chunk), d.Extent())
	return from, from + min(s.Data, d.Extent()-from), true
}

// Span is a run of chunks with equal edges, numbered First … First+Count−1. The first one
// begins at Offset. A span is not clipped to the extent, and an adjacent span may have
// the same edge.
type Span struct {
	Edge
	First, Count, Offset int64

	run int // the run's index in its Dimension, so that the next span is found without a search
}

// chunkAt returns the chunk of the span that contains an index, and whether there is one.
func (s *Span) chunkAt(index int64) (chunk int64, ok bool) {
	if s.Count == 0 || index < s.Offset {
		return 0, false
	}
	n := (index - s.Offset) / s.Data
	return s.First + n, n < s.Count
}

// has reports whether the span contains a chunk.
func (s *Span) has(chunk int64) bool { return chunk >= s.First && chunk-s.First < s.Count }

// offsetOf returns the index at which a chunk of the span begins.
func (s *Span) offsetOf(chunk int64) int64 { return s.Offset + (chunk-s.First)*s.Data }

// advancer is a Dimension that replaces a span by the next one faster than a look-up by
// number does. The span after the last cell is empty.
type advancer interface {
	advance(*Span)
}

// advancerOf returns a Dimension's own advancer, or one that looks up every span.
func advancerOf(d Dimension) advancer {
	if a, ok := d.(advancer); ok {
		return a
	}
	return lookup{d}
}

// lookup is the advancer of Dimensions that have none of their own.
type lookup struct{ Dimension }

func (l lookup) advance(s *Span) { *s = l.Span(s.First + s.Count) }

// DataSizes yields the data size of every chunk along a dimension, as dask writes chunks:
// (10, 20, 30). It is lazy.
func DataSizes(d Dimension) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for data := range chunkSizes(d) {
			if !yield(data) {
				return
			}
		}
	}
}

// Equal reports whether two dimensions have the same extent and declare the same edges,
// whatever their types.
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

// equalRuns reports whether two encodings begin with the same edges. It compares that
// many edges. At most one of the encodings comes from a long Tiled, so the other bounds
// the steps.
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
		// Both encodings are merged, so the edge after the shorter run differs from
		// run.Edge.
		if run.Count != other.Count {
			return false
		}
	}
	_, more := next()
	return !more
}

// Canonical returns the shortest dimension with the same chunks: it drops the cells past
// the extent, gives the last chunk a full edge, and returns a Fixed if all remaining
// edges have one size. Two dimensions with one extent and the same chunks have Equal
// canonical forms, except a Tiled longer than its pattern, which is returned unchanged.
//
// Canonical does not decide how a grid is written: a rectilinear dimension whose edges
// happen to be equal stays rectilinear in a document.
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

// CommonPrefix returns the number of leading chunks of a whose edges equal those of b
// from chunk first on. It takes one step for each run.
func CommonPrefix(a, b Dimension, first int64) (n int64) {
	for most := min(a.Chunks(), b.Chunks()-first); n < most; {
		s, t := a.Span(n), b.Span(first+n)
		if s.Edge != t.Edge {
			return n
		}
		// Within both spans the edges are equal; skip to the end of the shorter one.
		n = min(s.First+s.Count, t.First+t.Count-first, most)
	}
	return n
}
