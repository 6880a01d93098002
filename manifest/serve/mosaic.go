package serve

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"varve/grid"
	"varve/manifest/store"
)

// picture is the mosaic of an array: chunks as they lie along its two axes that have most of
// them, by what they are.
type picture struct {
	Width, Height float64
	Across, Down  string // the dimensions
	Cells         []cell
	Seams         []seam
	Note          string
}

// cell is a chunk, or some that are shown as their first.
type cell struct {
	X, Y, W, H float64
	Class      string
	Title      string
}

// seam is where another source begins.
type seam struct {
	X     float64
	Title string
}

// Box is the height with the marks above and some room below.
func (p picture) Box() float64 { return p.Height + 13 }

const (
	pictureWidth = 720.0
	cellHeight   = 22.0
	maxAcross    = 120
	maxDown      = 12
	lookTime     = 3 * time.Second
)

// mosaic looks where chunks are, as many as can be told apart.
func (s *site) mosaic(ctx context.Context, a array) picture {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	across, down := longestAxes(a.Grid())
	p := picture{Width: pictureWidth, Height: cellHeight}
	names := dimensionNames(a)
	if across < 0 {
		p.Note = "one chunk"
	} else {
		p.Across = names[across]
	}
	columns, rows := binsOf(a.Grid(), across, maxAcross), binsOf(a.Grid(), down, maxDown)
	if down >= 0 {
		p.Down = names[down]
	}
	p.Height = cellHeight * float64(len(rows))
	coords := make([]int64, a.Grid().Rank())
	last := int64(-1)
	for i, row := range rows {
		for _, column := range columns {
			if across >= 0 {
				coords[across] = column.first
			}
			if down >= 0 {
				coords[down] = row.first
			}
			loc, err := a.Locate(ctx, coords)
			if err != nil {
				p.Note = "the rest cannot be shown: " + err.Error()
				return p
			}
			c := cell{X: column.at * pictureWidth, W: (column.end - column.at) * pictureWidth, Y: cellHeight * float64(i), H: cellHeight, Class: classOf(&loc)}
			c.Title = s.describe(ctx, a, coords, &loc, column.count*row.count)
			p.Cells = append(p.Cells, c)
			if i == 0 && isStored(&loc) && loc.Source != last {
				last = loc.Source
				p.Seams = append(p.Seams, seam{c.X, s.sourceName(ctx, loc.Source)})
			}
		}
	}
	return p
}

// bin is a run of chunks of one axis that is shown as one, and its place from 0 to 1.
type bin struct {
	first, count int64
	at, end      float64
}

// binsOf divides an axis; none, -1, is one bin.
func binsOf(g *grid.Grid, axis, most int) []bin {
	if axis < 0 {
		return []bin{{0, 1, 0, 1}}
	}
	d := g.Dim(axis)
	n := d.Chunks()
	bins := min(n, int64(most))
	out := make([]bin, bins)
	for i := range bins {
		first, next := i*n/bins, (i+1)*n/bins
		out[i] = bin{first, next - first, part(d, first), part(d, next)}
	}
	return out
}

// part is where a chunk begins, from 0 to 1.
func part(d grid.Dimension, chunk int64) float64 {
	if chunk >= d.Chunks() {
		return 1
	}
	return float64(d.Offset(chunk)) / float64(d.Extent())
}

// longestAxes returns the axes with the most chunks, -1 for those with one.
func longestAxes(g *grid.Grid) (across, down int) {
	across, down = -1, -1
	for axis := range g.Rank() {
		n := g.Dim(axis).Chunks()
		switch {
		case n < 2:
		case across < 0 || n > g.Dim(across).Chunks():
			across, down = axis, across
		case down < 0 || n > g.Dim(down).Chunks():
			down = axis
		}
	}
	return across, down
}

func isStored(loc *store.Location) bool {
	return (loc.Kind == store.Verbatim || loc.Kind == store.Prefix) && loc.Source >= 0
}

func classOf(loc *store.Location) string {
	if loc.Kind == store.Verbatim && loc.Source < 0 {
		return "inline"
	}
	return loc.Kind.String()
}

// describe says of a chunk what and where it is.
func (s *site) describe(ctx context.Context, a array, coords []int64, loc *store.Location, count int64) string {
	c, ok := a.Grid().Chunk(coords)
	if !ok {
		return ""
	}
	var ranges []string
	for axis, name := range dimensionNames(a) {
		ranges = append(ranges, fmt.Sprintf("%s %d:%d", name, c.Origin[axis], c.Region.End(axis)))
	}
	says := fmt.Sprintf("chunk %s, %s: %s", keyOf(coords), strings.Join(ranges, ", "), classOf(loc))
	if isStored(loc) {
		says += fmt.Sprintf(", %d bytes from %d of %s", loc.Size, loc.Offset, s.sourceName(ctx, loc.Source))
	}
	if count > 1 {
		says += fmt.Sprintf(" (the first of %d)", count)
	}
	return says
}

func keyOf(coords []int64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(coords), "[]"), " ", "/")
}

// sourceName is the last part of a source's name.
func (s *site) sourceName(ctx context.Context, row int64) string {
	src, err := s.data.Source(ctx, row)
	if err != nil {
		return fmt.Sprintf("source %d", row)
	}
	return path.Base(src.URL)
}
