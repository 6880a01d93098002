package serve

import (
	"context"
	"fmt"
	"html/template"
	"path"
	"strings"
	"time"

	"varve/grid"
	"varve/manifest/picture"
	"varve/manifest/store"
)

// look bounds the picture of an array's mosaic: the chunks that are looked at, and for how
// long.
var look = picture.Limits{Across: 120, Down: 16}

const lookTime = 3 * time.Second

// mosaic draws where chunks are, along the two axes that have most of them; where there are
// too many to tell apart, the first of some stands for them.
func (s *site) mosaic(ctx context.Context, a array) (svg template.HTML, note string) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	across, down := longestAxes(a.Grid())
	pic := picture.New(a.Grid(), a.Schema().Dims(), across, down, look)
	pic.Titles = make([]string, len(pic.Cells))
	sources := make([]int64, len(pic.Cells))
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
			if err != nil {
				return template.HTML(pic.SVG()), "The rest cannot be shown: " + err.Error()
			}
			cell := pic.Add(coords, loc.Kind)
			pic.Titles[cell] = s.describe(ctx, a, coords, &loc, count)
			sources[cell] = sourceOf(&loc)
		}
	}
	pic.Files = filesOf(pic, sources)
	return template.HTML(pic.SVG()), ""
}

// sourceOf is the source of a stored chunk, or -1.
func sourceOf(loc *store.Location) int64 {
	if isStored(loc) {
		return loc.Source
	}
	return -1
}

// filesOf frames the cells of one source that lie side by side.
func filesOf(pic *picture.Picture, sources []int64) []picture.File {
	if pic.Across.Extent == 0 || pic.Down.Extent == 0 {
		return nil
	}
	width, height := float64(pic.Across.Extent), float64(pic.Down.Extent)
	open := map[[3]int64]int{} // files of the row above, by where they begin, end, and source
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

// sourceName is the last part of a source's name.
func (s *site) sourceName(ctx context.Context, row int64) string {
	src, err := s.data.Source(ctx, row)
	if err != nil {
		return fmt.Sprintf("source %d", row)
	}
	return path.Base(src.URL)
}
