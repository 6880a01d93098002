package grid

import (
	"fmt"
	"iter"
)

// Fixed is a dimension whose chunks have one size, as in a regular grid. The last chunk
// has the full codec size; it has fewer data elements if the extent cuts it.
type Fixed struct {
	size, extent, chunks int64
}

// NewFixed returns a dimension of chunks of one size. Size 0 is allowed only with extent
// 0, since older documents have chunks of size 0 there.
func NewFixed(size, extent int64) (Fixed, error) {
	if err := checkExtent(extent); err != nil {
		return Fixed{}, err
	}
	if size < 0 || size == 0 && extent > 0 {
		return Fixed{}, fmt.Errorf("size %d: must be at least 1", size)
	}
	return makeFixed(size, extent), nil
}

// makeFixed returns a Fixed from numbers that are known to be valid.
func makeFixed(size, extent int64) Fixed {
	f := Fixed{size: size, extent: extent}
	if size > 0 {
		f.chunks = ceilDiv(extent, size)
	}
	return f
}

// Size returns the length of every chunk.
func (f Fixed) Size() int64 { return f.size }

// Extent implements [Dimension].
func (f Fixed) Extent() int64 { return f.extent }

// Chunks implements [Dimension].
func (f Fixed) Chunks() int64 { return f.chunks }

// Cells implements [Dimension]. A Fixed declares as many cells as it has chunks.
func (f Fixed) Cells() int64 { return f.chunks }

// Find implements [Dimension].
func (f Fixed) Find(index int64) (int64, error) {
	if index < 0 || index >= f.extent {
		return 0, outOfBoundsError(index, f.extent)
	}
	return index / f.size, nil
}

// Offset implements [Dimension]. The end is the extent, since the end of the last edge
// may overflow an int64.
func (f Fixed) Offset(chunk int64) (int64, bool) {
	switch {
	case chunk < 0 || chunk > f.chunks:
		return 0, false
	case chunk == f.chunks:
		return f.extent, true
	}
	return chunk * f.size, true
}

// CodecSize implements [Dimension].
func (f Fixed) CodecSize(chunk int64) (int64, bool) {
	if chunk < 0 || chunk >= f.chunks {
		return 0, false
	}
	return f.size, true
}

// DataSize implements [Dimension].
func (f Fixed) DataSize(chunk int64) (int64, bool) {
	if chunk < 0 || chunk >= f.chunks {
		return 0, false
	}
	return min(f.size, f.extent-chunk*f.size), true
}

// IsRegular implements [Dimension]: a Fixed always is.
func (f Fixed) IsRegular() (int64, bool) { return f.size, true }

// Span implements [Dimension]: a Fixed is one span.
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

// Resize implements [Dimension]. The result is a Fixed unless an edge of another size is
// given.
func (f Fixed) Resize(extent int64, growth Growth) (Dimension, error) {
	if growth.policy == growRepeat {
		return f.WithExtent(extent)
	}
	// The last edge may be cut by the extent, so growth is measured from the end of the
	// full edge, which may be past 2^63−1.
	declared, fits := mul(f.chunks, f.size)
	if !fits && growth.policy == growList {
		return nil, fmt.Errorf("edges after %d edges of %d: the sum passes 2^63−1", f.chunks, f.size)
	}
	if !fits {
		return f.WithExtent(extent)
	}
	return growth.grow(f, declared, extent)
}

// checkGrowth returns an error unless an extent needs the given edges and is reached by
// them.
func checkGrowth(declared, namedLength, extent int64) error {
	if extent <= declared {
		return fmt.Errorf("extent %d: the declared edges reach %d, so no edges may be given", extent, declared)
	}
	if extent-declared > namedLength {
		return fmt.Errorf("extent %d: the declared edges reach %d and the given ones add %d: %d are missing",
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
