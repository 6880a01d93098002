package serve

import (
	"context"
	"fmt"
	"html/template"
	"path"
	"strings"
	"time"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/picture"
	"varve/manifest/report"
)

// mosaicLimits limits the number of cells of the picture that shows the kinds of an array's chunks.
var mosaicLimits = picture.Limits{Across: 120, Down: 16}

const mosaicTime = 3 * time.Second

// mostMosaic is the largest number of chunks that are all in a picture. Of more, each cell shows the first of several.
const mostMosaic = 20_000

// mosaic draws the kinds of an array's chunks along the two axes with the most chunks. A cell with re-encoded chunks leads to
// the row of the first of them.
func (s *site) mosaic(ctx context.Context, a array) (svg template.HTML, note string) {
	ctx, cancel := context.WithTimeout(ctx, mosaicTime)
	defer cancel()
	across, down := longestAxes(a.Grid())
	pic := picture.New(a.Grid(), a.Schema().Dims(), across, down, mosaicLimits)
	pic.Titles, pic.Links = make([]string, len(pic.Cells)), make([]string, len(pic.Cells))
	sources := make([]int64, len(pic.Cells))
	isWhole := a.Grid().Chunks() <= mostMosaic
	if isWhole {
		if err := s.addAll(ctx, a, pic); err != nil {
			return template.HTML(pic.SVG()), "The rest cannot be shown: " + err.Error()
		}
	}
	coords := make([]int64, a.Grid().Rank())
	for y := range pic.Down.Len() {
		for x := range pic.Across.Len() {
			count := int64(1)
			if across >= 0 {
				coords[across] = pic.Across.First(x)
				count *= pic.Across.First(x+1) - coords[across]
			}
			if down >= 0 {
				coords[down] = pic.Down.First(y)
				count *= pic.Down.First(y+1) - coords[down]
			}
			loc, err := a.Locate(ctx, coords)
			// A damaged table should not hide the cells drawn so far.
			if err != nil {
				return template.HTML(pic.SVG()), "The rest cannot be shown: " + err.Error()
			}
			cell := y*pic.Across.Len() + x
			if !isWhole {
				pic.Add(coords, loc.Kind)
			}
			if pic.Titles[cell] == "" {
				pic.Titles[cell] = s.describe(ctx, a, coords, &loc, count)
			}
			sources[cell] = sourceOf(&loc)
		}
	}
	pic.Files = filesOf(pic, sources)
	if !isWhole {
		note = fmt.Sprintf("%s of %s chunks are shown.", report.Thousands(int64(len(pic.Cells))), report.Thousands(a.Grid().Chunks()))
	}
	return template.HTML(pic.SVG()), note
}

// addAll adds all chunks of an array to a picture. A cell with re-encoded chunks gets the title of the first of them, and a link to its row.
func (s *site) addAll(ctx context.Context, a array, pic *picture.Picture) error {
	coords := make([]int64, a.Grid().Rank())
	for n := range a.Grid().Chunks() {
		if err := ctx.Err(); err != nil {
			return err
		}
		a.Grid().Coords(n, coords)
		loc, err := a.Locate(ctx, coords)
		if err != nil {
			return err
		}
		if cell := pic.Add(coords, loc.Kind); loc.Kind == manifest.Reencoded && pic.Links[cell] == "" {
			pic.Titles[cell], pic.Links[cell] = s.describe(ctx, a, coords, &loc, 1), fmt.Sprintf("?listed=%d#chunks", n)
		}
	}
	return nil
}

// sourceOf returns the source of a stored chunk, or -1.
func sourceOf(loc *manifest.Location) int64 {
	if isStored(loc) {
		return loc.Source
	}
	return -1
}

// filesOf returns rectangles around adjacent cells of the same source.
func filesOf(pic *picture.Picture, sources []int64) []picture.File {
	if pic.Across.Extent == 0 || pic.Down.Extent == 0 {
		return nil
	}
	width, height := float64(pic.Across.Extent), float64(pic.Down.Extent)
	open := map[[3]int64]int{} // rectangles that extend to the previous row, by first column, end column and source
	var files []picture.File
	for y := range pic.Down.Len() {
		row, below := sources[y*pic.Across.Len():(y+1)*pic.Across.Len()], map[[3]int64]int{}
		bottom := float64(pic.Down.Bins[y+1]) / height
		for from, to := 0, 0; from < len(row); from = to {
			for to = from + 1; to < len(row) && row[to] == row[from]; to++ {
			}
			if row[from] < 0 {
				continue
			}
			key := [3]int64{int64(from), int64(to), row[from]}
			i, found := open[key]
			if !found {
				x, top := float64(pic.Across.Bins[from])/width, float64(pic.Down.Bins[y])/height
				i, files = len(files), append(files, picture.File{X: x, Y: top, Width: float64(pic.Across.Bins[to])/width - x})
			}
			files[i].Height = bottom - files[i].Y
			below[key] = i
		}
		open = below
	}
	return files
}

// longestAxes returns the two axes with the most chunks; -1 if an axis would have only one.
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

func isStored(loc *manifest.Location) bool {
	return (loc.Kind == manifest.Verbatim || loc.Kind == manifest.Prefix) && loc.Source >= 0
}

func classOf(loc *manifest.Location) string {
	if loc.Kind == manifest.Verbatim && loc.Source < 0 {
		return "inline"
	}
	return loc.Kind.String()
}

// describe returns a tooltip: the chunk's key, index ranges, kind and location.
func (s *site) describe(ctx context.Context, a array, coords []int64, loc *manifest.Location, count int64) string {
	c, ok := a.Grid().Chunk(coords)
	if !ok {
		return ""
	}
	var ranges []string
	for axis, name := range a.Schema().Dims() {
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

// sourceName returns the last element of a source's URL.
func (s *site) sourceName(ctx context.Context, row int64) string {
	src, err := s.data.Source(ctx, row)
	if err != nil {
		return fmt.Sprintf("source %d", row)
	}
	return path.Base(src.URL)
}
