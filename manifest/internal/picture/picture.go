// Package picture draws arrays as mosaics: the positions of files, the chunks, and the way in which
// they are served.
//
//	┌────────┬───────┬────────┬────┐   chunks, to scale, by colour: verbatim, prefix,
//	│        │       │        │    │   re-encoded, missing; if there are too many to
//	└────────┴───────┴────────┴────┘   distinguish, their shares
//	╘════════╧═══════╧═════════════╛   files
package picture

import (
	"context"
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/mosaic"
)

// Picture is an array along one axis or two.
type Picture struct {
	Across, Down Axis // Down has no name if files are placed along one dimension only
	// Cells has the counts of chunks for each bin of Down and Across, row by row.
	Cells []manifest.Counts
	// Titles are texts to show for each cell when the pointer is on it; nil for none.
	Titles []string
	Files  []File

	x, y *binning
}

// Axis is one side of a picture, divided into bins of one chunk or more.
type Axis struct {
	Name   string
	Extent int64
	Bins   []int64 // the start of each bin, and the end of the last
	Chunks int64
}

// File is the position of one file, as fractions of the extents.
type File struct {
	X, Y, Width, Height float64
}

// maxBins and maxFiles limit the bins of an axis and the files of a picture.
const (
	maxBins  = 240
	maxFiles = 600
)

// Limits are the largest numbers of bins along the sides of a picture.
type Limits struct{ Across, Down int }

// New returns the picture of a grid along two of its axes, without any chunks. An axis is -1 for none.
func New(g *grid.Grid, names []string, across, down int, most Limits) *Picture {
	pic := &Picture{}
	pic.Across, pic.x = newAxis(g, names, across, most.Across)
	pic.Down, pic.y = newAxis(g, names, down, most.Down)
	pic.Cells = make([]manifest.Counts, pic.x.n*pic.y.n)
	return pic
}

// Add counts a chunk, and returns the index of its cell.
func (pic *Picture) Add(coords []int64, kind mosaic.Kind) (cell int) {
	cell = pic.y.of(coords)*pic.x.n + pic.x.of(coords)
	addKind(&pic.Cells[cell], kind)
	return cell
}

// First returns the first chunk of a bin.
func (x Axis) First(bin int) int64 {
	n := int64(x.Len())
	return (int64(bin)*x.Chunks + n - 1) / n
}

// Len returns the number of bins.
func (x Axis) Len() int { return len(x.Bins) - 1 }

// Draw returns the picture of an array with all its chunks and files.
func Draw(ctx context.Context, a *manifest.Array, p *manifest.Placement, m *mosaic.Mosaic, refs mosaic.RefReader) (*Picture, error) {
	across, down := axesOf(a, p)
	pic := New(m.Grid(), namesOf(a), across, down, Limits{maxBins, maxBins})
	for at, err := range m.Locations(ctx, refs, grid.Whole(m.Grid().Counts())) {
		if err != nil {
			return nil, err
		}
		pic.Add(at.Coords, at.Kind)
	}
	pic.placeFiles(a, p, across, down)
	return pic, nil
}

// axesOf returns the array's axes to draw: those along which files are placed, the one with most files
// across. An array without files is drawn along its first axis.
func axesOf(a *manifest.Array, p *manifest.Placement) (across, down int) {
	across, down = -1, -1
	cuts := func(axis int) int64 { return int64(len(originsAlong(a, p, axis))) }
	for k := range a.Dims {
		if cuts(k) < 1 {
			continue
		}
		switch {
		case across < 0:
			across = k
		case cuts(k) > cuts(across):
			across, down = k, across
		case down < 0 || cuts(k) > cuts(down):
			down = k
		}
	}
	if across < 0 && len(a.Dims) > 0 {
		across = 0
	}
	// One file along an axis makes nothing visible there.
	if down >= 0 && cuts(down) < 2 {
		down = -1
	}
	return across, down
}

// originsAlong returns the origins of tiles along an axis of the array.
func originsAlong(a *manifest.Array, p *manifest.Placement, axis int) map[int64]bool {
	out := map[int64]bool{}
	for k, dim := range p.Dims {
		if dim != a.Dims[axis] {
			continue
		}
		for i := range p.Tiles {
			out[p.Tiles[i].Origin[k]] = true
		}
	}
	return out
}

// binning maps chunks of an axis to bins.
type binning struct {
	axis   int // -1 for none
	n      int
	chunks int64
}

func (b *binning) of(coords []int64) int {
	if b.axis < 0 || b.chunks == 0 {
		return 0
	}
	return int(coords[b.axis] * int64(b.n) / b.chunks)
}

func newAxis(g *grid.Grid, names []string, k, most int) (Axis, *binning) {
	if k < 0 {
		return Axis{Extent: 1, Bins: []int64{0, 1}, Chunks: 1}, &binning{axis: -1, n: 1}
	}
	d := g.Dim(k)
	b := &binning{axis: k, n: int(max(min(d.Chunks(), int64(most)), 1)), chunks: d.Chunks()}
	x := Axis{Name: names[k], Extent: d.Extent(), Chunks: d.Chunks(), Bins: make([]int64, b.n+1)}
	for i := 1; i < b.n; i++ {
		x.Bins[i], _ = d.Offset(x.First(i))
	}
	x.Bins[b.n] = d.Extent()
	return x, b
}

// namesOf returns the names of an array's dimensions in its schema or, if it has none, in the
// manifest.
func namesOf(a *manifest.Array) []string {
	names := slices.Clone(a.Dims)
	for k, schema := range a.Schema.DimensionNames {
		if schema.Named && k < len(names) {
			names[k] = schema.Name
		}
	}
	return names
}

func addKind(c *manifest.Counts, kind mosaic.Kind) {
	switch kind {
	case mosaic.Verbatim:
		c.Verbatim++
	case mosaic.Prefix:
		c.Prefix++
	case mosaic.Reencoded:
		c.Reencoded++
	default:
		c.Missing++
	}
}

// placeFiles adds the positions of files, unless there are too many to see.
func (pic *Picture) placeFiles(a *manifest.Array, p *manifest.Placement, across, down int) {
	// Their frames would be one dark band.
	if len(p.Tiles) > maxFiles {
		return
	}
	for i := range p.Tiles {
		f := File{Width: 1, Height: 1}
		for k, dim := range p.Dims {
			if across >= 0 && dim == a.Dims[across] && pic.Across.Extent > 0 {
				f.X, f.Width = share(p.Tiles[i].Origin[k], p.Tiles[i].Shape[k], pic.Across.Extent)
			}
			if down >= 0 && dim == a.Dims[down] && pic.Down.Extent > 0 {
				f.Y, f.Height = share(p.Tiles[i].Origin[k], p.Tiles[i].Shape[k], pic.Down.Extent)
			}
		}
		pic.Files = append(pic.Files, f)
	}
}

func share(origin, length, extent int64) (at, size float64) {
	return float64(origin) / float64(extent), float64(length) / float64(extent)
}
