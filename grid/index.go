package grid

import (
	"fmt"
	"slices"
)

// Indexer is a selection, checked against a grid: it maps elements of chunks to positions
// in an output. It is immutable, and several cursors may use it concurrently.
type Indexer struct {
	grid   *Grid
	shape  []int64 // of the output
	axes   []axisIndex
	points *points
	mask   *bitmap
}

// Shape returns the output's shape. The caller must not change it.
func (x *Indexer) Shape() []int64 { return x.shape }

// Grid returns the grid that the indexer selects from.
func (x *Indexer) Grid() *Grid { return x.grid }

// Projection is the part of a selection that is in one chunk, with its positions in the
// output. The next step of the cursor overwrites it; Clone returns a copy.
type Projection struct {
	Coords []int64 // the chunk's coordinates
	Chunk          // its region in the array and its codec shape

	// Axes is the selection along each axis for the indexers that select by axes: Basic,
	// Orthogonal and Block. It is nil for Coordinate and Mask.
	Axes []AxisProjection

	index    *Indexer
	from, to int64 // Coordinate: the chunk's range of points
	count    int64 // Mask: the number of selected elements
}

// Cursor streams an indexer's projections in C order of the chunks. A step does not
// allocate:
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

// Project returns a cursor before the first chunk that the selection touches.
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

// nextAxes steps through the combinations of the axes' chunks, the last axis fastest.
func (c *Cursor) nextAxes() bool {
	if c.state == walkDone {
		return false
	}
	k := 0
	if c.state == walkAtChunk {
		for k = len(c.axes) - 1; k >= 0 && !c.axes[k].next(&c.Projection, k); k-- {
			c.axes[k].rewind()
		}
		// Axis k moved on, or none did (k is −1). The axes after it have been rewound and
		// take their first chunk below.
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

// enter sets the projection's chunk along axis k and returns the chunk's offset.
func (p *Projection) enter(k int, s Span, chunk int64) int64 {
	offset := s.offsetOf(chunk)
	p.Coords[k], p.Codec[k] = chunk, s.Codec
	p.Origin[k], p.Shape[k] = offset, min(s.Data, p.index.grid.shape[k]-offset)
	return offset
}

// Clone returns a copy that the cursor does not overwrite.
func (p *Projection) Clone() *Projection {
	c := *p
	c.Coords, c.Codec = slices.Clone(p.Coords), slices.Clone(p.Codec)
	c.Region, c.Axes = p.Region.Clone(), slices.Clone(p.Axes)
	return &c
}

// Count returns the number of selected elements; an element selected twice counts twice.
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

// Bounds sets into to the smallest region that contains the selected elements, in the
// chunk's coordinates. A partial read has to decode this region.
func (p *Projection) Bounds(into Region) {
	switch {
	case p.index.points != nil:
		p.index.points.bounds(p, into)
	case p.index.mask != nil:
		// The exact bounds of a mask cost as much as reading it, so use the whole chunk.
		copy(into.Shape, p.Shape)
		clear(into.Origin)
	}
	for k := range p.Axes {
		into.Origin[k], into.Shape[k] = p.Axes[k].bounds()
	}
}

// IsWhole reports whether the selection is known to cover all data elements of the chunk,
// so that a write does not need the chunk's old elements. It is always false for
// Coordinate.
func (p *Projection) IsWhole() bool {
	switch {
	case p.index.points != nil:
		// Points may repeat an element, so their number says nothing about coverage.
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

// pickAxes converts one selector for each axis with the picker of its kind.
func pickAxes(g *Grid, method string, picks map[selectorKind]picker, selectors []Selector) (*Indexer, error) {
	selectors, err := expandSelectors(selectors, g.Rank())
	if err != nil {
		return nil, err
	}
	axes := make([]axisIndex, len(selectors))
	for k, s := range selectors {
		p, ok := picks[s.kind]
		if !ok {
			return nil, fmt.Errorf("axis %d: %s does not accept %s", k, method, s.kind)
		}
		if axes[k], err = p(g.dims[k], s); err != nil {
			return nil, fmt.Errorf("axis %d: %w", k, err)
		}
	}
	return newAxes(g, axes)
}

// picker converts a selector to the axis index of a dimension.
type picker func(Dimension, Selector) (axisIndex, error)

// Basic selects by one index or slice for each axis; axes without a selector are selected
// whole. An index drops its axis from the output, as in NumPy.
func Basic(g *Grid, selectors ...Selector) (*Indexer, error) {
	return pickAxes(g, "basic indexing", map[selectorKind]picker{
		selectIndex: pickIndex,
		selectSlice: pickSlice,
	}, selectors)
}

// Orthogonal selects by one index, slice, list of indices or mask for each axis. The
// output has every combination of them: unlike in NumPy, lists are not paired.
func Orthogonal(g *Grid, selectors ...Selector) (*Indexer, error) {
	return pickAxes(g, "orthogonal indexing", map[selectorKind]picker{
		selectIndex:   pickIndex,
		selectSlice:   pickSlice,
		selectIndices: pickIndices,
		selectMask:    pickMask,
	}, selectors)
}

// Block selects whole chunks by their numbers along each axis. A number keeps its axis. A
// slice has step 1; it may end past the last chunk or begin before the first, but not
// begin past the last.
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
		return axisIndex{}, fmt.Errorf("step %d: a selection of whole chunks needs step 1", s.step)
	}
	n := d.Chunks()
	// Unlike an end past the last chunk, a start there is an error.
	if !s.openStart && n > 0 && s.start >= n {
		_, err := wrap(s.start, n)
		return axisIndex{}, fmt.Errorf("chunk %w", err)
	}
	from, to := s.ends(n)
	return chunkRange(d, from, to), nil
}

// chunkRange returns the axis index of the elements of the chunks from … to−1.
func chunkRange(d Dimension, from, to int64) axisIndex {
	start, stop := chunkEnds(d, from, to)
	return axisIndex{dim: d, start: start, step: 1, count: max(0, stop-start)}
}
