package grid_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve/grid"
)

// projections formats the projections of an indexer by axes, one line per chunk: its
// coordinates, then for each axis the indices in the chunk and the positions in the
// output.
func projections(x *grid.Indexer) []string {
	var lines []string
	for c := x.Project(); c.Next(); {
		line := fmt.Sprint(c.Coords)
		for k := range c.Axes {
			a := &c.Axes[k]
			in, to := []int64{}, []int64{}
			for i := range a.Count {
				in, to = append(in, a.In(i)), append(to, a.To(i))
			}
			line += fmt.Sprint(" ", in)
			if !a.Dropped {
				line += fmt.Sprint("→", to)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

type indexCase struct {
	name      string
	selectors []grid.Selector
	shape     []int64
	want      []string
}

func runIndexCases(t *testing.T, g *grid.Grid, index func(*grid.Grid, ...grid.Selector) (*grid.Indexer, error), cases []indexCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			x, err := index(g, tt.selectors...)
			check(t, err)
			if !slices.Equal(x.Shape(), tt.shape) {
				t.Errorf("shape %v, want %v", x.Shape(), tt.shape)
			}
			if got := projections(x); !slices.Equal(got, tt.want) {
				t.Errorf("projections\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func one(s ...grid.Selector) []grid.Selector { return s }

func TestAcceptanceBasic(t *testing.T) {
	g := newGrid(t, []int64{30}, grid.List(5, 10, 15))
	runIndexCases(t, g, grid.Basic, []indexCase{
		{"0", one(grid.At(0)), []int64{}, []string{"[0] [0]"}},
		{"4", one(grid.At(4)), []int64{}, []string{"[0] [4]"}},
		{"5", one(grid.At(5)), []int64{}, []string{"[1] [0]"}},
		{"14", one(grid.At(14)), []int64{}, []string{"[1] [9]"}},
		{"15", one(grid.At(15)), []int64{}, []string{"[2] [0]"}},
		{"29", one(grid.At(29)), []int64{}, []string{"[2] [14]"}},
		{"-1", one(grid.At(-1)), []int64{}, []string{"[2] [14]"}},
		{":", one(grid.All()), []int64{30}, []string{
			"[0] [0 1 2 3 4]→[0 1 2 3 4]",
			"[1] [0 1 2 3 4 5 6 7 8 9]→[5 6 7 8 9 10 11 12 13 14]",
			"[2] [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14]→[15 16 17 18 19 20 21 22 23 24 25 26 27 28 29]",
		}},
		{"3:18", one(grid.Range(3, 18)), []int64{15}, []string{
			"[0] [3 4]→[0 1]",
			"[1] [0 1 2 3 4 5 6 7 8 9]→[2 3 4 5 6 7 8 9 10 11]",
			"[2] [0 1 2]→[12 13 14]",
		}},
		{"0:0", one(grid.Range(0, 0)), []int64{0}, nil},
		{"::2", one(grid.All().By(2)), []int64{15}, []string{
			"[0] [0 2 4]→[0 1 2]", "[1] [1 3 5 7 9]→[3 4 5 6 7]", "[2] [1 3 5 7 9 11 13]→[8 9 10 11 12 13 14]",
		}},
		{"1:25:3", one(grid.Range(1, 25).By(3)), []int64{8}, []string{
			"[0] [1 4]→[0 1]", "[1] [2 5 8]→[2 3 4]", "[2] [1 4 7]→[5 6 7]",
		}},
		{"::7", one(grid.All().By(7)), []int64{5}, []string{"[0] [0]→[0]", "[1] [2 9]→[1 2]", "[2] [6 13]→[3 4]"}},
		{"::20 passes over a chunk", one(grid.All().By(20)), []int64{2}, []string{"[0] [0]→[0]", "[2] [5]→[1]"}},
		{"-3:", one(grid.From(-3)), []int64{3}, []string{"[2] [12 13 14]→[0 1 2]"}},
		{":2", one(grid.To(2)), []int64{2}, []string{"[0] [0 1]→[0 1]"}},
		{"28:99 is clamped", one(grid.Range(28, 99)), []int64{2}, []string{"[2] [13 14]→[0 1]"}},
		{"20:10 is empty", one(grid.Range(20, 10)), []int64{0}, nil},
		{"an ellipsis for no axis", one(grid.Ellipsis(), grid.At(5)), []int64{}, []string{"[1] [0]"}},
		{"nothing named", nil, []int64{30}, projectionsOf(t, g, grid.All())},
	})
}

func projectionsOf(t *testing.T, g *grid.Grid, s ...grid.Selector) []string {
	t.Helper()
	x, err := grid.Basic(g, s...)
	check(t, err)
	return projections(x)
}

func TestAcceptanceBasic2D(t *testing.T) {
	g := newGrid(t, []int64{60, 100}, grid.List(10, 20, 30), grid.List(25, 25, 25, 25))
	runIndexCases(t, g, grid.Basic, []indexCase{
		{"steps on both axes", one(grid.Range(5, 35).By(10), grid.Range(20, 60).By(20)), []int64{3, 2}, []string{
			"[0 0] [5]→[0] [20]→[0]", "[0 1] [5]→[0] [15]→[1]",
			"[1 0] [5 15]→[1 2] [20]→[0]", "[1 1] [5 15]→[1 2] [15]→[1]",
		}},
		{"an empty slice", one(grid.Range(5, 5), grid.All()), []int64{0, 100}, nil},
		{"an empty slice inside", one(grid.All(), grid.Range(7, 3)), []int64{60, 0}, nil},
		{"an index and a slice", one(grid.At(10), grid.Range(24, 26)), []int64{2}, []string{
			"[1 0] [0] [24]→[0]", "[1 1] [0] [0]→[1]",
		}},
		{"an ellipsis before", one(grid.Ellipsis(), grid.At(99)), []int64{60}, []string{
			"[0 3] " + upToText(10, 0) + " [24]", "[1 3] " + upToText(20, 10) + " [24]", "[2 3] " + upToText(30, 30) + " [24]",
		}},
		{"two indices", one(grid.At(-60), grid.At(-1)), []int64{}, []string{"[0 3] [0] [24]"}},
	})
}

// upToText formats the first n indices of a chunk and their positions.
func upToText(n, place int64) string {
	in, to := upTo(n), upTo(n)
	for i := range to {
		to[i] += place
	}
	return fmt.Sprint(in, "→", to)
}

func TestAcceptanceOrthogonal(t *testing.T) {
	g := newGrid(t, []int64{6, 6}, grid.List(1, 2, 3), grid.Every(4))
	mask := []bool{true, false, true, true, false, false}
	runIndexCases(t, g, grid.Orthogonal, []indexCase{
		{"lists", one(grid.Indices(0, 4), grid.Indices(1, 5)), []int64{2, 2}, []string{
			"[0 0] [0]→[0] [1]→[0]", "[0 1] [0]→[0] [1]→[1]", "[2 0] [1]→[1] [1]→[0]", "[2 1] [1]→[1] [1]→[1]",
		}},
		{"a mask", one(grid.Where(mask), grid.At(0)), []int64{3}, []string{
			"[0 0] [0]→[0] [0]", "[1 0] [1]→[1] [0]", "[2 0] [0]→[2] [0]",
		}},
		{"negative, unsorted, repeated", one(grid.Indices(-1, 0, 3, -1), grid.Range(0, 1)), []int64{4, 1}, []string{
			"[0 0] [0]→[1] [0]→[0]", "[2 0] [2 0 2]→[0 2 3] [0]→[0]",
		}},
		{"an index and a slice", one(grid.At(2), grid.Range(3, 5)), []int64{2}, []string{
			"[1 0] [1] [3]→[0]", "[1 1] [1] [0]→[1]",
		}},
		{"a list and a slice with a step", one(grid.Indices(5), grid.All().By(3)), []int64{1, 2}, []string{
			"[2 0] [2]→[0] [0 3]→[0 1]",
		}},
		{"an empty list", one(grid.Indices(), grid.All()), []int64{0, 6}, nil},
		{"an empty mask", one(grid.Where(make([]bool, 6))), []int64{0, 6}, nil},
	})
}

func TestAcceptanceBlock(t *testing.T) {
	g := newGrid(t, []int64{55}, grid.List(10, 20, 30, 5))
	whole := func(chunk, n, place int64) string { return fmt.Sprintf("[%d] %s", chunk, upToText(n, place)) }
	runIndexCases(t, g, grid.Block, []indexCase{
		{"0", one(grid.At(0)), []int64{10}, []string{whole(0, 10, 0)}},
		{"-1 is the last that meets the extent", one(grid.At(-1)), []int64{25}, []string{whole(2, 25, 0)}},
		{"0:2", one(grid.Range(0, 2)), []int64{30}, []string{whole(0, 10, 0), whole(1, 20, 10)}},
		{"0:99 is clamped", one(grid.Range(0, 99)), []int64{55}, []string{whole(0, 10, 0), whole(1, 20, 10), whole(2, 25, 30)}},
		{"-2:-1", one(grid.Range(-2, -1)), []int64{20}, []string{whole(1, 20, 0)}},
		{"-9:1 is clamped", one(grid.Range(-9, 1)), []int64{10}, []string{whole(0, 10, 0)}},
		{"2:1 is empty", one(grid.Range(2, 1)), []int64{0}, nil},
		{":", nil, []int64{55}, []string{whole(0, 10, 0), whole(1, 20, 10), whole(2, 25, 30)}},
	})
	empty := newGrid(t, []int64{0}, grid.Every(5))
	runIndexCases(t, empty, grid.Block, []indexCase{{"all of nothing", one(grid.All()), []int64{0}, nil}})
}

func TestIndexersRefuse(t *testing.T) {
	g := newGrid(t, []int64{60, 4}, grid.List(10, 20, 30), grid.Every(2))
	type make_ = func() (*grid.Indexer, error)
	basic := func(s ...grid.Selector) make_ { return func() (*grid.Indexer, error) { return grid.Basic(g, s...) } }
	orthogonal := func(s ...grid.Selector) make_ {
		return func() (*grid.Indexer, error) { return grid.Orthogonal(g, s...) }
	}
	block := func(s ...grid.Selector) make_ { return func() (*grid.Indexer, error) { return grid.Block(g, s...) } }
	coordinate := func(a ...grid.Array) make_ {
		return func() (*grid.Indexer, error) { return grid.Coordinate(g, a...) }
	}
	for _, tt := range []struct {
		name string
		make make_
		is   error
		says []string
	}{
		{"index at the extent", basic(grid.At(60)), grid.ErrOutOfBounds, []string{"axis 0", "index 60", "-60 to 59"}},
		{"index before the start", basic(grid.All(), grid.At(-5)), grid.ErrOutOfBounds, []string{"axis 1", "index -5", "-4 to 3"}},
		{"too many selectors", basic(grid.At(0), grid.At(0), grid.At(0)), nil, []string{"3", "2"}},
		{"two ellipses", basic(grid.Ellipsis(), grid.Ellipsis()), nil, []string{"0 and 1"}},
		{"new axis", basic(grid.NewAxis()), errors.ErrUnsupported, []string{"selector 0"}},
		{"negative step", basic(grid.All().By(-1)), errors.ErrUnsupported, []string{"axis 0", "step -1"}},
		{"zero step", basic(grid.All().By(0)), nil, []string{"axis 0", "step 0"}},
		{"list in basic", basic(grid.Indices(1)), nil, []string{"axis 0"}},
		{"mask in basic", basic(grid.All(), grid.Where(make([]bool, 4))), nil, []string{"axis 1"}},
		{"list out of range", orthogonal(grid.Indices(0, 60)), grid.ErrOutOfBounds, []string{"axis 0", "entry 1", "index 60"}},
		{"mask too short", orthogonal(grid.All(), grid.Where(make([]bool, 3))), nil, []string{"axis 1", "3", "4"}},
		{"block out of range", block(grid.At(3)), grid.ErrOutOfBounds, []string{"axis 0", "index 3", "-3 to 2"}},
		{"block slice that begins past the chunks", block(grid.From(3)), grid.ErrOutOfBounds, []string{"axis 0", "index 3"}},
		{"block before the first", block(grid.At(-4)), grid.ErrOutOfBounds, []string{"axis 0", "index -4", "-3 to 2"}},
		{"block with a step", block(grid.All().By(2)), nil, []string{"axis 0", "step 2"}},
		{"block with a list", block(grid.Indices(1)), nil, []string{"axis 0"}},
		{"coordinates for one axis", coordinate(grid.Line(1)), nil, []string{"1", "2"}},
		{"coordinate out of range", coordinate(grid.Line(1, 2), grid.Line(0, 4)), grid.ErrOutOfBounds, []string{"axis 1", "entry 1", "index 4"}},
		{"coordinates that do not broadcast", coordinate(grid.Line(1, 2), grid.Line(0, 1, 2)), nil, []string{"axis 1", "[3]", "[2]"}},
		{"coordinates of another shape", coordinate(grid.Array{Shape: []int64{3}, Values: []int64{1}}, grid.Line(0)), nil, []string{"axis 0", "1", "[3]"}},
		{"coordinates of a negative shape", coordinate(grid.Array{Shape: []int64{-3}}, grid.Line(0)), nil, []string{"axis 0", "-3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.make()
			wantError(t, err, tt.says...)
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
		})
	}
	_, err := grid.Mask(g, make([]bool, 239))
	wantError(t, err, "239", "[60 4]", "240")
	wide := newGrid(t, []int64{1 << 20, 1 << 20}, grid.Every(1), grid.Every(1))
	column, row := grid.Array{Shape: []int64{8192, 1}, Values: make([]int64, 8192)}, grid.Line(make([]int64, 8192)...)
	_, err = grid.Coordinate(wide, column, row)
	wantError(t, err, "16384", "67108864")
	many := grid.Indices(make([]int64, 1<<17)...)
	cube := newGrid(t, []int64{2, 2, 2, 2}, grid.Every(1), grid.Every(1), grid.Every(1), grid.Every(1))
	_, err = grid.Orthogonal(cube, many, many, many, many)
	wantError(t, err, "output", "2^63−1")
}

// gatherNumbers gathers from an array whose elements are their own C-order positions.
func gatherNumbers(t *testing.T, g *grid.Grid, x *grid.Indexer) []int32 {
	t.Helper()
	out := make([]int32, product(x.Shape()))
	for c := x.Project(); c.Next(); {
		data := make([]int32, product(c.Codec))
		each(c.Shape, func(index []int64) {
			at := slices.Clone(index)
			for k := range at {
				at[k] += c.Origin[k]
			}
			data[flatten(c.Codec, index)] = int32(flatten(g.Shape(), at))
		})
		check(t, grid.Gather(&c.Projection, out, grid.Window[int32]{Data: data, Region: grid.Whole(c.Codec)}, 1))
	}
	return out
}

// The edges 3, 3, 4, 5, 5, 5 and 5 have equal neighbours, for which a search in prefix
// sums easily returns the wrong chunk.
func TestAcceptanceCoordinate(t *testing.T) {
	g := newGrid(t, []int64{30}, grid.List(3, 3, 4, 5, 5, 5, 5))
	g2 := newGrid(t, []int64{30, 6}, grid.List(3, 3, 4, 5, 5, 5, 5), grid.List(1, 5))
	for _, tt := range []struct {
		name   string
		grid   *grid.Grid
		arrays []grid.Array
		shape  []int64
		want   []int32
	}{
		{"a line", g, []grid.Array{grid.Line(0, 2, 3, 5, 6, 9, 10, 29)}, []int64{8}, []int32{0, 2, 3, 5, 6, 9, 10, 29}},
		{"repeated and unsorted", g, []grid.Array{grid.Line(29, 3, 3, 0, 29, 10)}, []int64{6}, []int32{29, 3, 3, 0, 29, 10}},
		{"negative", g, []grid.Array{grid.Line(-1, -30)}, []int64{2}, []int32{29, 0}},
		{"a square", g, []grid.Array{{Shape: []int64{2, 2}, Values: []int64{1, 4, 9, 16}}}, []int64{2, 2}, []int32{1, 4, 9, 16}},
		{"one index", g, []grid.Array{{Values: []int64{7}}}, []int64{}, []int32{7}},
		{"none", g, []grid.Array{grid.Line()}, []int64{0}, []int32{}},
		{"pairs", g2, []grid.Array{grid.Line(0, 29, 5), grid.Line(5, 0, 1)}, []int64{3}, []int32{5, 174, 31}},
		{"a column and a line", g2, []grid.Array{{Shape: []int64{2, 1}, Values: []int64{1, 20}}, grid.Line(0, 5)}, []int64{2, 2}, []int32{6, 11, 120, 125}},
		{"a line and one index", g2, []grid.Array{grid.Line(1, 2), {Values: []int64{3}}}, []int64{2}, []int32{9, 15}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, err := grid.Coordinate(tt.grid, tt.arrays...)
			check(t, err)
			if got := gatherNumbers(t, tt.grid, x); !slices.Equal(x.Shape(), tt.shape) || !slices.Equal(got, tt.want) {
				t.Errorf("%v of shape %v, want %v of %v", got, x.Shape(), tt.want, tt.shape)
			}
		})
	}
}

func TestAcceptanceMask(t *testing.T) {
	g := newGrid(t, []int64{30, 6}, grid.List(3, 3, 4, 5, 5, 5, 5), grid.List(1, 5))
	mask := make([]bool, 180)
	want := []int32{0, 1, 5, 6, 17, 18, 100, 101, 102, 103, 179}
	for _, i := range want {
		mask[i] = true
	}
	x, err := grid.Mask(g, mask)
	check(t, err)
	if got := gatherNumbers(t, g, x); !slices.Equal(got, want) || !slices.Equal(x.Shape(), []int64{11}) {
		t.Errorf("%v of shape %v, want %v", got, x.Shape(), want)
	}
	x, err = grid.Mask(g, make([]bool, 180))
	check(t, err)
	for c := x.Project(); c.Next(); {
		t.Errorf("a mask of nothing touches chunk %v", c.Coords)
	}
}
