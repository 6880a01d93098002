package grid

import (
	"fmt"
	"slices"
)

// Grid is the chunk grid of one array: a Dimension for each axis. It is immutable. A grid
// without axes has one chunk, with empty chunk coordinates.
type Grid struct {
	dims    []Dimension
	shape   []int64
	counts  []int64
	chunks  int64
	regular bool
}

// Chunk is one chunk of a Grid.
type Chunk struct {
	Region         // the chunk's data elements, in the array's coordinates
	Codec  []int64 // the shape that the codec decodes
}

// New returns the grid of the given dimensions. An array of more than 2^63−1 elements is
// an error; an extent of 0 counts as 1 for this check.
func New(dims ...Dimension) (*Grid, error) {
	g := &Grid{dims: slices.Clone(dims), shape: make([]int64, len(dims)), counts: make([]int64, len(dims)),
		chunks: 1, regular: true}
	elements, fits := int64(1), true
	for axis, d := range dims {
		g.shape[axis], g.counts[axis] = d.Extent(), d.Chunks()
		// Count an extent of 0 as 1: otherwise one empty axis would hide that the others
		// overflow as soon as the array is resized.
		if elements, fits = mul(elements, max(1, d.Extent())); !fits {
			return nil, fmt.Errorf("axis %d: extent %d: the array would have more than 2^63−1 elements", axis, d.Extent())
		}
		g.chunks *= g.counts[axis] // there are no more chunks than elements
		_, regular := d.IsRegular()
		g.regular = g.regular && regular
	}
	return g, nil
}

// Rank returns the number of axes.
func (g *Grid) Rank() int { return len(g.dims) }

// Dim returns the dimension of one axis.
func (g *Grid) Dim(axis int) Dimension { return g.dims[axis] }

// Shape returns the array's shape. The caller must not change it.
func (g *Grid) Shape() []int64 { return g.shape }

// Counts returns the number of chunks along each axis. The caller must not change it.
func (g *Grid) Counts() []int64 { return g.counts }

// Chunks returns the number of chunks.
func (g *Grid) Chunks() int64 { return g.chunks }

// IsRegular reports whether all declared edges of every axis have one size and no
// padding: see [Dimension]. A rectilinear grid may be regular in this sense.
func (g *Grid) IsRegular() bool { return g.regular }

// ChunkShape returns the shape that every chunk of a regular grid decodes to; ok is false
// if the grid is not regular.
func (g *Grid) ChunkShape() (shape []int64, ok bool) {
	if !g.regular {
		return nil, false
	}
	shape = make([]int64, len(g.dims))
	for axis, d := range g.dims {
		shape[axis], _ = d.IsRegular()
	}
	return shape, true
}

// ChunkAt returns the chunk at the given chunk coordinates. Coordinates of another rank
// are an error, and coordinates without a chunk an ErrOutOfBounds. A cell past the extent is not a
// chunk.
func (g *Grid) ChunkAt(coords []int64) (Chunk, error) {
	if len(coords) != len(g.dims) {
		return Chunk{}, fmt.Errorf("chunk %v: %d numbers for %d axes", coords, len(coords), len(g.dims))
	}
	c, ok := g.Chunk(coords)
	if !ok {
		return Chunk{}, fmt.Errorf("chunk %v: %w: the numbers of chunks are %v", coords, ErrOutOfBounds, g.counts)
	}
	return c, nil
}

// Chunk is ChunkAt for callers who need no error: ok is false if there is no such chunk.
func (g *Grid) Chunk(coords []int64) (c Chunk, ok bool) {
	if !g.has(coords) {
		return Chunk{}, false
	}
	n := len(coords)
	c = Chunk{MakeRegion(n), make([]int64, n)}
	for axis, at := range coords {
		s := g.dims[axis].Span(at)
		offset := s.offsetOf(at)
		c.Origin[axis] = offset
		c.Shape[axis] = min(s.Data, g.shape[axis]-offset)
		c.Codec[axis] = s.Codec
	}
	return c, true
}

func (g *Grid) has(coords []int64) bool {
	if len(coords) != len(g.dims) {
		return false
	}
	for axis, at := range coords {
		if at < 0 || at >= g.counts[axis] {
			return false
		}
	}
	return true
}

// Locate returns the chunk that contains an element and the element's index in that
// chunk.
func (g *Grid) Locate(index []int64) (coords, within []int64, err error) {
	if len(index) != len(g.dims) {
		return nil, nil, fmt.Errorf("index %v: %d numbers for %d axes", index, len(index), len(g.dims))
	}
	coords, within = make([]int64, len(index)), make([]int64, len(index))
	for axis, d := range g.dims {
		if coords[axis], err = d.Find(index[axis]); err != nil {
			return nil, nil, fmt.Errorf("axis %d: %w", axis, err)
		}
		s := d.Span(coords[axis])
		within[axis] = index[axis] - s.offsetOf(coords[axis])
	}
	return coords, within, nil
}

// Number returns the position of a chunk among all chunks in C order; ok is false if
// there is no such chunk.
func (g *Grid) Number(coords []int64) (n int64, ok bool) {
	if !g.has(coords) {
		return 0, false
	}
	for axis, at := range coords {
		n = n*g.counts[axis] + at
	}
	return n, true
}

// Coords writes the chunk coordinates of the chunk with the given number into coords,
// which has Rank entries. It reports whether there is such a chunk.
func (g *Grid) Coords(number int64, coords []int64) bool {
	if number < 0 || number >= g.chunks || len(coords) != len(g.dims) {
		return false
	}
	for axis := len(coords) - 1; axis >= 0; axis-- {
		coords[axis] = number % g.counts[axis]
		number /= g.counts[axis]
	}
	return true
}

// ChunksOf returns the box of chunk coordinates whose chunks intersect a region of the
// array.
func (g *Grid) ChunksOf(r Region) (chunks Region, err error) {
	if err := g.checkRegion(r, g.shape, "element"); err != nil {
		return Region{}, err
	}
	chunks = MakeRegion(len(g.dims))
	if r.IsEmpty() {
		return chunks, nil
	}
	for axis, d := range g.dims {
		first, err := d.Find(r.Origin[axis])
		if err != nil {
			return Region{}, fmt.Errorf("axis %d: %w", axis, err)
		}
		last, err := d.Find(r.End(axis) - 1)
		if err != nil {
			return Region{}, fmt.Errorf("axis %d: %w", axis, err)
		}
		chunks.Origin[axis], chunks.Shape[axis] = first, last-first+1
	}
	return chunks, nil
}

// RegionOf returns the region of the array that a box of chunk coordinates covers.
func (g *Grid) RegionOf(chunks Region) (Region, error) {
	if err := g.checkRegion(chunks, g.counts, "chunk"); err != nil {
		return Region{}, err
	}
	r := MakeRegion(len(g.dims))
	for axis, d := range g.dims {
		from, to := chunkEnds(d, chunks.Origin[axis], chunks.End(axis))
		r.Origin[axis], r.Shape[axis] = from, to-from
	}
	return r, nil
}

// chunkEnds returns the range of indices that the chunks from … to−1 cover. Both numbers
// are valid for Offset.
func chunkEnds(d Dimension, from, to int64) (start, stop int64) {
	start, _ = d.Offset(from)
	stop, _ = d.Offset(to)
	return min(start, d.Extent()), min(stop, d.Extent())
}

// checkRegion returns an error if a box of elements or chunks exceeds the limits.
func (g *Grid) checkRegion(r Region, limit []int64, noun string) error {
	if len(r.Origin) != len(limit) || len(r.Shape) != len(limit) {
		return fmt.Errorf("region %v has %d axes, the grid %d", r, len(r.Origin), len(limit))
	}
	for axis, n := range limit {
		from, length := r.Origin[axis], r.Shape[axis]
		// Compare length with n-from: from+length may overflow.
		if from < 0 || length < 0 || from > n || length > n-from {
			return fmt.Errorf("axis %d: %d %ss from %d on: %w: there are %d", axis, length, noun, from, ErrOutOfBounds, n)
		}
	}
	return nil
}

// Resize returns the grid of the array resized to a shape. The policies belong to the
// first axes; the other axes grow by [Repeat].
func (g *Grid) Resize(shape []int64, growth ...Growth) (*Grid, error) {
	if len(shape) != len(g.dims) {
		return nil, fmt.Errorf("shape %v: %d extents for %d axes", shape, len(shape), len(g.dims))
	}
	if len(growth) > len(g.dims) {
		return nil, fmt.Errorf("%d growth policies for %d axes", len(growth), len(g.dims))
	}
	policies := make([]Growth, len(g.dims))
	copy(policies, growth)
	dims := make([]Dimension, len(shape))
	for axis, d := range g.dims {
		var err error
		if dims[axis], err = d.Resize(shape[axis], policies[axis]); err != nil {
			return nil, fmt.Errorf("axis %d: %w", axis, err)
		}
	}
	return New(dims...)
}

// ResizeAxis returns the grid with one axis resized.
func (g *Grid) ResizeAxis(axis int, extent int64, growth Growth) (*Grid, error) {
	if axis < 0 || axis >= len(g.dims) {
		return nil, fmt.Errorf("axis %d: %w: there are %d axes", axis, ErrOutOfBounds, len(g.dims))
	}
	d, err := g.dims[axis].Resize(extent, growth)
	if err != nil {
		return nil, fmt.Errorf("axis %d: %w", axis, err)
	}
	dims := slices.Clone(g.dims)
	dims[axis] = d
	return New(dims...)
}

// Equal reports whether two grids have Equal dimensions.
func (g *Grid) Equal(h *Grid) bool {
	return slices.EqualFunc(g.dims, h.dims, Equal)
}
