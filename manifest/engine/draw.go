package engine

import (
	"context"
	"fmt"

	"varve/grid"
	"varve/manifest/internal/picture"
	"varve/manifest/store"
)

// drawn limits the size of the picture of an array. If it has more chunks, a square shows the first of several.
var drawn = picture.Limits{Across: 120, Down: 16}

// draw answers with a picture of where the chunks of an array are, and how they are served.
func (s *Server) draw(ctx context.Context, l *link, b *body, done func()) error {
	handle, number := b.u32(), b.u32()
	err := b.end()
	var svg string
	if err == nil {
		svg, err = s.picture(ctx, handle, number)
	}
	done()
	if err != nil {
		return s.fail(l, err)
	}
	return l.answer(statusDone, []byte(svg))
}

func (s *Server) picture(ctx context.Context, handle, number uint32) (string, error) {
	at, err := s.datasets.get(ctx, handle)
	if err != nil {
		return "", err
	}
	defer s.datasets.release(at)
	arrays := at.store.Arrays()
	if int64(number) >= int64(len(arrays)) {
		return "", fmt.Errorf("%w: no array %d", errRequest, number)
	}
	return svgOf(ctx, arrays[number])
}

func svgOf(ctx context.Context, a *store.Array) (string, error) {
	across, down := longestAxes(a.Grid())
	pic := picture.New(a.Grid(), a.Schema().Dims(), across, down, drawn)
	coords := make([]int64, a.Grid().Rank())
	for y := range pic.Down.Len() {
		for x := range pic.Across.Len() {
			if across >= 0 {
				coords[across] = pic.Across.First(x)
			}
			if down >= 0 {
				coords[down] = pic.Down.First(y)
			}
			where, err := a.Locate(ctx, coords)
			if err != nil {
				return "", err
			}
			pic.Add(coords, where.Kind)
		}
	}
	return "<style>" + picture.Style + "</style>" + pic.SVG(), nil
}

// longestAxes returns the two axes with the most chunks. An axis with only one chunk does not count; then the
// result is -1.
func longestAxes(g *grid.Grid) (across, down int) {
	across, down = -1, -1
	for axis := range g.Rank() {
		switch n := g.Dim(axis).Chunks(); {
		case n < 2:
		case across < 0 || n > g.Dim(across).Chunks():
			across, down = axis, across
		case down < 0 || n > g.Dim(down).Chunks():
			down = axis
		}
	}
	return across, down
}
