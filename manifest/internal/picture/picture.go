// Package picture draws an array's chunks, to scale, with the kind of each chunk as a colour, and the
// positions of its files.
//
//	┌────────┬───────┬────────┬────┐   chunks: verbatim, prefix, re-encoded, missing; if
//	│        │       │        │    │   there are too many to draw, a bin of chunks shows
//	└────────┴───────┴────────┴────┘   how many of them are of each kind
//	╘════════╧═══════╧═════════════╛   files
package picture

import (
	"context"
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/mosaic"
)

// Picture shows an array along one axis or two.
type Picture struct {
	Across, Down Axis // Down has no name if files are placed along one dimension only
	// Cells has the numbers of chunks of each kind for each bin of Down and Across, row by row.
	Cells []manifest.Counts
	// Titles are texts to show for each cell when the pointer is on it; nil for none.
	Titles []string
	// Links are the addresses to which cells lead; nil for none, and empty for a cell without one.
	Links []string
	Files []File

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

// New returns the picture of a grid along two of its axes, to which Add adds chunks. across or down is -1
// for no axis.
func New(g *grid.Grid, names []string, across, down int, most Limits) *Picture {
	pic := &Picture{}
	pic.Across, pic.x = newAxis(g, names, across, most.Across)
	pic.Down, pic.y = newAxis(g, names, down, most.Down)
	pic.Cells = make([]manifest.Counts, pic.x.n*pic.y.n)
	return pic
}

// Add counts a chunk, and returns the index of its cell.
func (pic *Picture) Add(coords []int64, kind manifest.ChunkKind) (cell int) {
	cell = pic.y.of(coords)*pic.x.n + pic.x.of(coords)
	pic.Cells[cell].Add(&manifest.Run{Location: manifest.Location{Kind: kind}, Chunks: 1})
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

// axesOf returns the two axes of the array along which most files are placed, the one with more files
// across. An array without files is drawn along its first axis.
func axesOf(a *manifest.Array, p *manifest.Placement) (across, down int) {
	across, down = -1, -1
	files := func(axis int) int { return len(originsAlong(a, p, axis)) }
	for k := range a.Dims {
		if files(k) < 1 {
			continue
		}
		switch {
		case across < 0:
			across = k
		case files(k) > files(across):
			across, down = k, across
		case down < 0 || files(k) > files(down):
			down = k
		}
	}
	if across < 0 && len(a.Dims) > 0 {
		across = 0
	}
	// If all files have the same position along an axis, drawing it shows nothing about them.
	if down >= 0 && files(down) < 2 {
		down = -1
	}
	return across, down
}

// originsAlong returns the different origins of tiles along an axis of the array.
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
	n      int // number of bins
	chunks int64
}

// of returns the bin of a chunk.
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

// placeFiles adds the positions of files, unless there are too many to distinguish.
func (pic *Picture) placeFiles(a *manifest.Array, p *manifest.Placement, across, down int) {
	// The frames of so many files would touch and hide the chunks.
	if len(p.Tiles) > maxFiles {
		return
	}
	for i := range p.Tiles {
		f := File{Width: 1, Height: 1}
		for k, dim := range p.Dims {
			if across >= 0 && dim == a.Dims[across] && pic.Across.Extent > 0 {
				f.X, f.Width = fractions(p.Tiles[i].Origin[k], p.Tiles[i].Shape[k], pic.Across.Extent)
			}
			if down >= 0 && dim == a.Dims[down] && pic.Down.Extent > 0 {
				f.Y, f.Height = fractions(p.Tiles[i].Origin[k], p.Tiles[i].Shape[k], pic.Down.Extent)
			}
		}
		pic.Files = append(pic.Files, f)
	}
}

// fractions returns a position and a length as fractions of an extent.
func fractions(origin, length, extent int64) (at, size float64) {
	return float64(origin) / float64(extent), float64(length) / float64(extent)
}
