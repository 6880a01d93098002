package mosaic

import (
	"fmt"

	"varve/grid"
)

// cursor is the current chunk of a walk through a box of chunk coordinates, in C order. One step can
// skip any number of chunks.
type cursor struct {
	grid   *grid.Grid
	box    grid.Region
	coords []int64
	chunk  grid.Chunk
	spans  []grid.Span // the spans of equal chunks that contain the chunk
}

// newCursor returns a cursor at the first chunk of a box, or nil if the box is empty.
func newCursor(g *grid.Grid, box grid.Region) (*cursor, error) {
	if !grid.Whole(g.Counts()).Contains(box) {
		return nil, fmt.Errorf("chunks %v: %w: the numbers of chunks are %v", box, grid.ErrOutOfBounds, g.Counts())
	}
	if box.IsEmpty() {
		return nil, nil
	}
	n := g.Rank()
	c := &cursor{grid: g, box: box, coords: make([]int64, n), spans: make([]grid.Span, n), chunk: grid.Chunk{Region: grid.MakeRegion(n), Codec: make([]int64, n)}}
	for k, at := range box.Origin {
		c.set(k, at)
	}
	return c, nil
}

func (c *cursor) set(axis int, coord int64) {
	s := &c.spans[axis]
	// Look up the span only when the cursor leaves it: a span can cover millions of chunks.
	if coord < s.First || coord-s.First >= s.Count {
		*s = c.grid.Dim(axis).Span(coord)
	}
	c.coords[axis] = coord
	at := s.Offset + (coord-s.First)*s.Data
	c.chunk.Origin[axis], c.chunk.Codec[axis] = at, s.Codec
	c.chunk.Shape[axis] = min(s.Data, c.grid.Shape()[axis]-at)
}

// advance moves the cursor forward by n chunks, and reports whether it is still in the box.
func (c *cursor) advance(n int64) bool {
	// Like an odometer: the last axis moves fastest and carries into the one before.
	for k := len(c.coords) - 1; k >= 0 && n > 0; k-- {
		first, length := c.box.Origin[k], c.box.Shape[k]
		at := c.coords[k] - first + n
		if n = 0; at >= length {
			at, n = at%length, at/length
		}
		if coord := first + at; coord != c.coords[k] {
			c.set(k, coord)
		}
	}
	return n == 0
}

// countBefore returns how many chunks with equal edges follow one another along an axis and end at or
// before an index. It counts from the current chunk, and returns at least 1.
func (c *cursor) countBefore(axis int, end int64) int64 {
	s := &c.spans[axis]
	n := min(c.box.End(axis), s.First+s.Count) - c.coords[axis]
	if end < c.grid.Shape()[axis] {
		n = min(n, (end-c.chunk.Origin[axis])/s.Data)
	}
	return max(n, 1)
}
