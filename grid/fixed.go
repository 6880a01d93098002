package grid

import (
	"fmt"
	"iter"
	"slices"
)

// Fixed is an axis of chunks of one size, as in a regular grid. The chunk on the
// border has the full codec size; it holds less data where the extent cuts it.
type Fixed struct {
	size, extent, chunks int64
}

// NewFixed returns an axis of chunks of a size. Old documents give an axis of no
// extent chunks of size 0, and that alone is what size 0 is allowed for.
func NewFixed(size, extent int64) (Fixed, error) {
	if err := checkExtent(extent); err != nil {
		return Fixed{}, err
	}
	if size < 0 || size == 0 && extent > 0 {
		return Fixed{}, fmt.Errorf("size %d: must be at least 1", size)
	}
	return makeFixed(size, extent), nil
}

// fix is a Fixed of numbers that are known to be allowed.
func makeFixed(size, extent int64) Fixed {
	f := Fixed{size: size, extent: extent}
	if size > 0 {
		f.chunks = ceilDiv(extent, size)
	}
	return f
}

// Size is the length of every chunk.
func (f Fixed) Size() int64 { return f.size }

// Extent implements [Dimension].
func (f Fixed) Extent() int64 { return f.extent }

// Chunks implements [Dimension].
func (f Fixed) Chunks() int64 { return f.chunks }

// Cells implements [Dimension]. A Fixed axis declares no more cells than chunks.
func (f Fixed) Cells() int64 { return f.chunks }

// Find implements [Dimension].
func (f Fixed) Find(index int64) (int64, error) {
	if index < 0 || index >= f.extent {
		return 0, outOfBoundsError(index, f.extent)
	}
	return index / f.size, nil
}

// Offset implements [Dimension]. Past the last chunk it is the extent, as the last
// edge's own end may not fit an int64.
func (f Fixed) Offset(chunk int64) int64 {
	switch {
	case chunk <= 0:
		return 0
	case chunk >= f.chunks:
		return f.extent
	}
	return chunk * f.size
}

// CodecSize implements [Dimension].
func (f Fixed) CodecSize(chunk int64) int64 {
	if chunk < 0 || chunk >= f.chunks {
		return 0
	}
	return f.size
}

// DataSize implements [Dimension].
func (f Fixed) DataSize(chunk int64) int64 {
	if chunk < 0 || chunk >= f.chunks {
		return 0
	}
	return min(f.size, f.extent-chunk*f.size)
}

// Span implements [Dimension]: all of a Fixed axis is one.
func (f Fixed) Span(chunk int64) Span {
	if chunk < 0 || chunk >= f.chunks {
		return Span{}
	}
	return Span{Edge: Full(f.size), Count: f.chunks}
}

func (f Fixed) advance(s *Span) { *s = Span{} }

// Runs implements [Dimension].
func (f Fixed) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		if n := f.chunks; n > 0 {
			yield(Times(f.size, n))
		}
	}
}

// Unique implements [Dimension].
func (f Fixed) Unique() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		if f.size > 0 {
			yield(Full(f.size))
		}
	}
}

// WithExtent implements [Dimension].
func (f Fixed) WithExtent(extent int64) (Dimension, error) {
	g, err := NewFixed(f.size, extent)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Resize implements [Dimension]. It stays a Fixed unless edges of another size are
// named.
func (f Fixed) Resize(extent int64, edges ...Run) (Dimension, error) {
	hasOtherSize := func(r Run) bool { return r.Edge != Full(f.size) }
	if len(edges) == 0 {
		return f.WithExtent(extent)
	}
	_, namedLength, err := Sum(edges)
	if err != nil {
		return nil, fmt.Errorf("named edges: %w", err)
	}
	declared, fits := mul(f.chunks, f.size)
	if !fits {
		return nil, fmt.Errorf("edges cannot be named behind %d of %d: their sum passes 2^63−1", f.chunks, f.size)
	}
	if err := checkGrowth(declared, namedLength, extent); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(edges, hasOtherSize) {
		return f.WithExtent(extent)
	}
	return NewVarying(slices.Collect(chain(f.Runs(), slices.Values(edges))), extent)
}

// checkGrowth holds an extent against the edges there are and those named to follow.
func checkGrowth(declared, namedLength, extent int64) error {
	if extent <= declared {
		return fmt.Errorf("extent %d: the declared edges reach %d, so no edge may be named", extent, declared)
	}
	if extent-declared > namedLength {
		return fmt.Errorf("extent %d: the declared edges reach %d and the named ones add %d: %d are missing",
			extent, declared, namedLength, extent-declared-namedLength)
	}
	return nil
}

func chain(seqs ...iter.Seq[Run]) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for _, seq := range seqs {
			for run := range seq {
				if !yield(run) {
					return
				}
			}
		}
	}
}
