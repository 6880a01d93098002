package grid

import (
	"fmt"
	"slices"
)

// Indexer is a selection, checked against a grid: which elements of which chunks go
// where in an output. It is immutable, and can be gone through by many at a time.
type Indexer struct {
	grid   *Grid
	shape  []int64 // of the output
	axes   []axisIndex
	points *points
	mask   *bitmap
}

// Shape is the output's shape. It must not be changed.
func (x *Indexer) Shape() []int64 { return x.shape }

// Grid is the grid that is indexed.
func (x *Indexer) Grid() *Grid { return x.grid }

// Projection is what an indexer takes of one chunk and where it goes. Its fields are
// in memory that the cursor's next step overwrites; Clone keeps them.
type Projection struct {
	Coords []int64 // the chunk's coordinates
	Chunk          // its region in the array and its codec shape

	// Axes says what is taken along each axis, for the indexers that select by axes:
	// Basic, Orthogonal and Block. It is nil for Coordinate and Mask.
	Axes []AxisProjection

	index    *Indexer
	from, to int64 // Coordinate: the chunk's points
	count    int64 // Mask: the chunk's elements
}

// Cursor streams an indexer's projections in C order of the chunks. It allocates
// nothing a step:
//
//	for c := x.Project(); c.Next(); {
//		use(&c.Projection)
//	}
type Cursor struct {
	Projection

	axes   []axisCursor
	walker *Walker
	at     int // Coordinate: the next part
	state  walkState
}

// Project starts a cursor before the first chunk that the selection touches.
func (x *Indexer) Project() *Cursor {
	n := x.grid.Rank()
	c := &Cursor{Projection: Projection{Coords: make([]int64, n), Chunk: Chunk{MakeRegion(n), make([]int64, n)}, index: x}}
	switch {
	case x.points != nil:
	case x.mask != nil:
		c.walker = x.mask.walk(x.grid)
		c.Coords, c.Chunk = c.walker.Coords, c.walker.Chunk
	default:
		c.startAxes()
	}
	return c
}

func (c *Cursor) startAxes() {
	x := c.index
	c.Axes = make([]AxisProjection, len(x.axes))
	c.axes = make([]axisCursor, len(x.axes))
	for k := range x.axes {
		c.axes[k] = x.axes[k].cursor()
		c.Axes[k].Dropped = x.axes[k].drop
		if x.axes[k].count == 0 {
			c.state = walkDone
		}
	}
}

// Next steps to the next chunk and reports whether there is one.
func (c *Cursor) Next() bool {
	switch {
	case c.index.points != nil:
		return c.nextPoints()
	case c.walker != nil:
		return c.nextMasked()
	}
	return c.nextAxes()
}

// nextAxes counts through the chunks of all axes like an odometer.
func (c *Cursor) nextAxes() bool {
	if c.state == walkDone {
		return false
	}
	k := 0
	if c.state == walkAtChunk {
		for k = len(c.axes) - 1; k >= 0 && !c.axes[k].next(&c.Projection, k); k-- {
			c.axes[k].rewind()
		}
		if k++; k == 0 {
			c.state = walkDone
			return false
		}
	}
	for ; k < len(c.axes); k++ {
		c.axes[k].next(&c.Projection, k)
	}
	c.state = walkAtChunk
	return true
}

// enter describes the projection's chunk along an axis, and returns its offset.
func (p *Projection) enter(k int, s Span, chunk int64) int64 {
	offset := s.offsetOf(chunk)
	p.Coords[k], p.Codec[k] = chunk, s.Codec
	p.Origin[k], p.Shape[k] = offset, min(s.Data, p.index.grid.shape[k]-offset)
	return offset
}

// Clone is a copy that outlives the cursor's next step.
func (p *Projection) Clone() *Projection {
	c := *p
	c.Coords, c.Codec = slices.Clone(p.Coords), slices.Clone(p.Codec)
	c.Region, c.Axes = p.Region.Clone(), slices.Clone(p.Axes)
	return &c
}

// Count is how many elements are selected, those selected twice counted twice.
func (p *Projection) Count() int64 {
	switch {
	case p.index.points != nil:
		return p.to - p.from
	case p.index.mask != nil:
		return p.count
	}
	n := int64(1)
	for k := range p.Axes {
		n *= p.Axes[k].Count
	}
	return n
}

// Bounds makes into the smallest region in the chunk, counted from its first
// element, that holds all that is selected: what a partial read has to decode.
func (p *Projection) Bounds(into Region) {
	switch {
	case p.index.points != nil:
		p.index.points.bounds(p, into)
	case p.index.mask != nil:
		copy(into.Shape, p.Shape)
		clear(into.Origin)
	}
	for k := range p.Axes {
		into.Origin[k], into.Shape[k] = p.Axes[k].bounds()
	}
}

// IsWhole reports whether the selection is known to cover all of the chunk that
// counts, so that a write needs nothing of what the chunk held. It is never true for
// a selection by coordinates.
func (p *Projection) IsWhole() bool {
	switch {
	case p.index.points != nil:
		return false
	case p.index.mask != nil:
		n, err := p.Elements()
		return err == nil && n == p.count
	}
	for k := range p.Axes {
		if !p.Axes[k].covers(p.Shape[k]) {
			return false
		}
	}
	return true
}

// newAxes returns the indexer of one axis index for each axis.
func newAxes(g *Grid, axes []axisIndex) (*Indexer, error) {
	x := &Indexer{grid: g, axes: axes, shape: []int64{}}
	for k := range axes {
		if !axes[k].drop {
			x.shape = append(x.shape, axes[k].count)
		}
	}
	if _, err := Elements(x.shape); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return x, nil
}

// pick makes an axis index for each axis with the function that its selector's kind
// has in picks.
func pickAxes(g *Grid, method string, picks map[selectorKind]picker, selectors []Selector) (*Indexer, error) {
	selectors, err := expandSelectors(selectors, g.Rank())
	if err != nil {
		return nil, err
	}
	axes := make([]axisIndex, len(selectors))
	for k, s := range selectors {
		p, ok := picks[s.kind]
		if !ok {
			return nil, fmt.Errorf("axis %d: %s: %s does not take it", k, s.kind, method)
		}
		if axes[k], err = p(g.dims[k], s); err != nil {
			return nil, fmt.Errorf("axis %d: %w", k, err)
		}
	}
	return newAxes(g, axes)
}

type picker func(Dimension, Selector) (axisIndex, error)

// Basic selects by one index or slice for each axis; axes that are not named are taken
// whole. An index drops its axis from the output, as in NumPy.
func Basic(g *Grid, selectors ...Selector) (*Indexer, error) {
	return pickAxes(g, "basic indexing", map[selectorKind]picker{
		selectIndex: pickIndex,
		selectSlice: pickSlice,
	}, selectors)
}

// Orthogonal selects by one index, slice, list of indices or mask for each axis. The
// output has every combination of them: unlike NumPy, lists are not paired.
func Orthogonal(g *Grid, selectors ...Selector) (*Indexer, error) {
	return pickAxes(g, "orthogonal indexing", map[selectorKind]picker{
		selectIndex:   pickIndex,
		selectSlice:   pickSlice,
		selectIndices: pickIndices,
		selectMask:    pickMask,
	}, selectors)
}

// Block selects whole chunks by their numbers along each axis. A number keeps its
// axis; a slice may end past the last chunk or begin before the first, but not begin past
// the last, and has step 1.
func Block(g *Grid, selectors ...Selector) (*Indexer, error) {
	return pickAxes(g, "block indexing", map[selectorKind]picker{
		selectIndex: pickChunk,
		selectSlice: pickChunks,
	}, selectors)
}

func pickChunk(d Dimension, s Selector) (axisIndex, error) {
	chunk, err := s.index(d.Chunks())
	if err != nil {
		return axisIndex{}, fmt.Errorf("chunk %w", err)
	}
	return chunkRange(d, chunk, chunk+1), nil
}

func pickChunks(d Dimension, s Selector) (axisIndex, error) {
	if s.step != 1 {
		return axisIndex{}, fmt.Errorf("step %d: a slice of chunks has step 1", s.step)
	}
	n := d.Chunks()
	if !s.openStart && n > 0 && s.start >= n {
		_, err := wrap(s.start, n)
		return axisIndex{}, fmt.Errorf("chunk %w", err)
	}
	from, to := s.ends(n)
	return chunkRange(d, from, to), nil
}

// chunkRange is the elements of the chunks from … to−1.
func chunkRange(d Dimension, from, to int64) axisIndex {
	start := min(d.Offset(from), d.Extent())
	end := min(d.Offset(to), d.Extent())
	return axisIndex{dim: d, start: start, step: 1, count: max(0, end-start)}
}
