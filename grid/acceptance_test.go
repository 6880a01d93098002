package grid_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"varve/grid"
)

// The tests in this file check the results that a correct implementation of regular and
// rectilinear grids returns, one group per test.

func varying(t testing.TB, extent int64, sizes ...int64) *grid.Varying {
	t.Helper()
	d, err := grid.NewVarying(grid.Compress(sizes...), extent)
	check(t, err)
	return d
}

func fixed(t testing.TB, size, extent int64) grid.Fixed {
	t.Helper()
	d, err := grid.NewFixed(size, extent)
	check(t, err)
	return d
}

func newGrid(t testing.TB, shape []int64, sizes ...grid.Sizes) *grid.Grid {
	t.Helper()
	g, err := grid.FromSizes(shape, sizes...)
	check(t, err)
	return g
}

// wantError fails unless an error contains all of some positions and values. Pass no
// sentences, which may be reworded.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that contains %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Fatalf("error %q does not contain %q", err, word)
		}
	}
}

// sizesOf returns the data sizes and codec sizes of the cells. Data sizes are clipped to the
// extent.
func sizesOf(d grid.Dimension) (data, codec []int64) {
	for i := range d.Cells() {
		data, codec = append(data, dataSize(d, i)), append(codec, codecSize(d, i))
	}
	return data, codec
}

func TestAcceptanceFixed(t *testing.T) {
	for _, tt := range []struct {
		name                             string
		size, extent, chunk              int64
		chunks, codec, data, offset, end int64
	}{
		{"start", 10, 100, 0, 10, 10, 10, 0, 10},
		{"middle", 10, 100, 1, 10, 10, 10, 10, 20},
		{"end", 10, 100, 9, 10, 10, 10, 90, 100},
		{"border", 10, 95, 9, 10, 10, 5, 90, 95},
		{"longer than the array", 10, 3, 0, 1, 10, 3, 0, 3},
		{"largest extent", 10, math.MaxInt64, math.MaxInt64 / 10, math.MaxInt64/10 + 1, 10, 7, math.MaxInt64 - 7, math.MaxInt64},
		{"largest size", math.MaxInt64, math.MaxInt64, 0, 1, math.MaxInt64, math.MaxInt64, 0, math.MaxInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := fixed(t, tt.size, tt.extent)
			got := []int64{d.Chunks(), d.Cells(), codecSize(d, tt.chunk), dataSize(d, tt.chunk), offsetOf(d, tt.chunk), offsetOf(d, tt.chunk+1)}
			want := []int64{tt.chunks, tt.chunks, tt.codec, tt.data, tt.offset, tt.end}
			if !slices.Equal(got, want) {
				t.Errorf("chunks, cells, codec, data, offset, end = %v, want %v", got, want)
			}
		})
	}
}

func TestAcceptanceFixedZeros(t *testing.T) {
	for _, size := range []int64{0, 10} {
		if d := fixed(t, size, 0); d.Chunks() != 0 || d.Cells() != 0 {
			t.Errorf("size %d, extent 0: %d chunks, %d cells, want none", size, d.Chunks(), d.Cells())
		}
	}
	_, err := grid.NewFixed(0, 5)
	wantError(t, err, "size 0")
	_, err = grid.NewFixed(-1, 100)
	wantError(t, err, "size -1")
	_, err = grid.NewFixed(10, -1)
	wantError(t, err, "extent -1")
}

func TestAcceptanceIndexBounds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		dim   grid.Dimension
		index int64
		says  string
	}{
		{"fixed, negative", fixed(t, 10, 95), -1, "0 to 94"},
		{"fixed, at the extent", fixed(t, 10, 95), 95, "0 to 94"},
		{"fixed, no extent", fixed(t, 10, 0), 0, "extent is 0"},
		{"varying, at the extent", varying(t, 60, 10, 20, 30), 60, "0 to 59"},
		{"varying, past the extent", varying(t, 60, 10, 20, 30), 100, "0 to 59"},
		{"varying, in a cell past the extent", varying(t, 25, 10, 20, 30), 26, "0 to 24"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.dim.Find(tt.index)
			wantError(t, err, fmt.Sprint(tt.index), tt.says)
			if !errors.Is(err, grid.ErrOutOfBounds) {
				t.Errorf("%v is not an ErrOutOfBounds", err)
			}
		})
	}
}

func TestAcceptanceVarying(t *testing.T) {
	d := varying(t, 60, 10, 20, 30)
	for chunk, offset := range []int64{0, 10, 30, 60} {
		if got := offsetOf(d, int64(chunk)); got != offset {
			t.Errorf("chunk %d begins at %d, want %d", chunk, got, offset)
		}
	}
	for index, want := range map[int64]int64{0: 0, 9: 0, 10: 1, 29: 1, 30: 2, 59: 2} {
		if got, err := d.Find(index); err != nil || got != want {
			t.Errorf("index %d is in chunk %d (%v), want %d", index, got, err, want)
		}
	}
	for _, tt := range []struct {
		name   string
		sizes  []int64
		extent int64
		says   string
	}{
		{"empty", nil, 0, "no edges"},
		{"zero edge", []int64{10, 0, 5}, 15, "run 1: size 0"},
		{"negative edge", []int64{10, -5}, 5, "run 1: size -5"},
		{"too short", []int64{5, 5}, 15, "sum to 10, less than the extent 15"},
		{"zero edge that would reach", []int64{0, 15}, 15, "run 0: size 0"},
		{"negative extent", []int64{10}, -1, "extent -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := grid.FromSizes([]int64{tt.extent}, grid.List(tt.sizes...))
			wantError(t, err, "axis 0", tt.says)
		})
	}
}

func TestAcceptanceBoundary(t *testing.T) {
	for _, tt := range []struct {
		name          string
		extent        int64
		chunks, cells int64
		data, codec   []int64
	}{
		{"last chunk cut", 50, 3, 3, []int64{10, 20, 20}, []int64{10, 20, 30}},
		{"one element in the last", 31, 3, 3, []int64{10, 20, 1}, []int64{10, 20, 30}},
		{"a cell past the extent", 30, 2, 3, []int64{10, 20, 0}, []int64{10, 20, 30}},
		{"inside the first", 5, 1, 3, []int64{5, 0, 0}, []int64{10, 20, 30}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := varying(t, tt.extent, 10, 20, 30)
			data, codec := sizesOf(d)
			if d.Chunks() != tt.chunks || d.Cells() != tt.cells || !slices.Equal(data, tt.data) || !slices.Equal(codec, tt.codec) {
				t.Errorf("%d chunks, %d cells, data %v, codec %v", d.Chunks(), d.Cells(), data, codec)
			}
		})
	}
	if d := varying(t, 0, 10, 20); d.Chunks() != 0 || d.Cells() != 2 {
		t.Errorf("extent 0: %d chunks, %d cells, want 0 and 2", d.Chunks(), d.Cells())
	}
	_, err := varying(t, 60, 10, 20, 30).WithExtent(61)
	wantError(t, err, "60", "extent 61")
	_, err = varying(t, 60, 10, 20, 30).WithExtent(-1)
	wantError(t, err, "extent -1")
}

func TestAcceptanceOverflow(t *testing.T) {
	g := newGrid(t, []int64{50}, grid.List(10, 20, 30, 40))
	if d := g.Dim(0); d.Chunks() != 3 || d.Cells() != 4 {
		t.Errorf("%d chunks, %d cells, want 3 and 4", d.Chunks(), d.Cells())
	}
	if c, ok := g.Chunk([]int64{3}); ok {
		t.Errorf("the cell past the extent is a chunk: %v", c)
	}
	g = newGrid(t, []int64{45, 100}, grid.List(10, 20, 30), grid.List(40, 40, 40))
	for axis, want := range [][]int64{{10, 20, 15}, {40, 40, 20}} {
		if got := slices.Collect(grid.DataSizes(g.Dim(axis))); !slices.Equal(got, want) {
			t.Errorf("axis %d: chunks %v, want %v", axis, got, want)
		}
	}
}

func TestAcceptanceRunLengths(t *testing.T) {
	for _, tt := range []struct {
		name  string
		runs  []grid.Run
		edges []int64
	}{
		{"one run", []grid.Run{grid.Times(10, 3)}, []int64{10, 10, 10}},
		{"two runs", []grid.Run{grid.Times(10, 2), grid.Times(20, 1)}, []int64{10, 10, 20}},
		{"a pair and a number", []grid.Run{grid.Times(1, 3), grid.Times(3, 1)}, []int64{1, 1, 1, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []int64
			for edge := range grid.Expand(slices.Values(tt.runs)) {
				got = append(got, edge.Data)
			}
			if !slices.Equal(got, tt.edges) {
				t.Errorf("expands to %v, want %v", got, tt.edges)
			}
			if back := grid.Compress(got...); !slices.Equal(back, tt.runs) {
				t.Errorf("compresses to %v, want %v", back, tt.runs)
			}
		})
	}
	for _, tt := range []struct {
		name string
		run  grid.Run
		says string
	}{
		{"[0]", grid.Times(0, 1), "size 0"},
		{"[-5]", grid.Times(-5, 1), "size -5"},
		{"[[0,3]]", grid.Times(0, 3), "size 0"},
		{"[[-10,2]]", grid.Times(-10, 2), "size -10"},
		{"[[5,0]]", grid.Times(5, 0), "count 0"},
		{"[[5,-1]]", grid.Times(5, -1), "count -1"},
		{"codec size below data size", grid.Run{Edge: grid.Edge{Codec: 4, Data: 5}, Count: 1}, "codec size 4"},
		{"[[2,9e18]]", grid.Times(2, 9e18), "passes 2^63−1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := grid.NewVarying([]grid.Run{tt.run}, 1)
			wantError(t, err, "run 0", tt.says)
		})
	}
	_, err := grid.NewVarying([]grid.Run{grid.Times(1, 9e18), grid.Times(1, 9e18)}, 1)
	wantError(t, err, "run 1", "2^63−1")
}

// A count of 9·10^18 is one run, so no query may take a step for each edge.
func TestAcceptanceHugeCounts(t *testing.T) {
	const count = 9_000_000_000_000_000_000
	d, err := grid.NewVarying([]grid.Run{grid.Times(1, count)}, count)
	check(t, err)
	if at, err := d.Find(count - 1); err != nil || at != count-1 || offsetOf(d, at) != at || d.Chunks() != count {
		t.Errorf("the last index is in chunk %d (%v) at %d", at, err, offsetOf(d, at))
	}
	if got := slices.Collect(d.Unique()); !slices.Equal(got, []grid.Edge{grid.Full(1)}) {
		t.Errorf("unique edges %v", got)
	}
	grown, err := d.Resize(math.MaxInt64, grid.Repeat())
	check(t, err)
	if got := slices.Collect(grown.Runs()); !slices.Equal(got, []grid.Run{grid.Times(1, math.MaxInt64)}) {
		t.Errorf("grown to %v", got)
	}
	tiled, err := grid.NewTiled([]grid.Run{grid.Times(3, 1), grid.Times(2, 1)}, count)
	check(t, err)
	if !grid.Equal(tiled, tiled) || grid.Equal(tiled, d) {
		t.Error("a long pattern equals itself only")
	}
	_, err = tiled.Varying()
	wantError(t, err, "2 runs")
	fixed := fixed(t, 1, count)
	if !grid.Equal(fixed, d) || !grid.Equal(grid.Canonical(d), fixed) {
		t.Error("equal edges are not Equal")
	}
}

func TestAcceptanceNoAxes(t *testing.T) {
	g := newGrid(t, nil)
	c, ok := g.Chunk([]int64{})
	if n, err := c.Elements(); !ok || g.Chunks() != 1 || !g.IsRegular() || err != nil || n != 1 || len(c.Codec) != 0 {
		t.Errorf("%d chunks, regular %v, the chunk is %v", g.Chunks(), g.IsRegular(), c)
	}
	visits := 0
	for w := g.Walk(); w.Next(); visits++ {
		if len(w.Coords) != 0 {
			t.Errorf("coordinates %v", w.Coords)
		}
	}
	if visits != 1 {
		t.Errorf("%d chunks were visited, want 1", visits)
	}
	if n, ok := g.Number(nil); !ok || n != 0 || !g.Coords(0, nil) || g.Coords(1, nil) {
		t.Error("the chunk has not the number 0 alone")
	}
}

func TestAcceptanceGridShape(t *testing.T) {
	_, err := grid.FromSizes([]int64{10, 10}, grid.Every(5))
	wantError(t, err, "1", "[10 10]")
	_, err = grid.FromSizes([]int64{math.MaxInt64, 2}, grid.Every(5), grid.Every(5))
	wantError(t, err, "axis 1", "2^63−1")
	_, err = grid.FromSizes([]int64{math.MaxInt64, 1, 0}, grid.Every(5), grid.Every(5), grid.Every(5))
	check(t, err)
	g := newGrid(t, []int64{25}, grid.List(10, 10, 5))
	if g.IsRegular() {
		t.Error("edges of two sizes are regular")
	}
	if _, ok := g.ChunkShape(); ok {
		t.Error("a rectilinear grid has one chunk shape")
	}
	if size, ok := grid.SizesOf(g.Dim(0)).RegularSize(); ok {
		t.Errorf("a list is declared as %d that repeats", size)
	}
	g = newGrid(t, []int64{15}, grid.Every(5))
	if size, ok := grid.SizesOf(g.Dim(0)).RegularSize(); !ok || size != 5 || g.Chunks() != 3 || !g.IsRegular() {
		t.Errorf("a number is declared as %d (%v) and has %d chunks", size, ok, g.Chunks())
	}
}

// growthBy appends edges, and repeats without any.
func growthBy(edges []grid.Run) grid.Growth {
	if edges == nil {
		return grid.Repeat()
	}
	return grid.Append(edges...)
}

func TestAcceptanceResize(t *testing.T) {
	for _, tt := range []struct {
		name   string
		extent int64
		edges  []grid.Run
		runs   []grid.Run
		chunks int64
		last   int64 // data size
	}{
		{"60 to 80 appends 20", 80, nil, grid.Compress(10, 20, 30, 30), 4, 20},
		{"60 to 150 repeats the largest edge", 150, nil, grid.Compress(10, 20, 30, 30, 30, 30), 6, 30},
		{"60 to 160 keeps the last edge whole", 160, nil, grid.Compress(10, 20, 30, 30, 30, 30, 30), 7, 10},
		{"60 to 45 keeps the edges", 45, nil, grid.Compress(10, 20, 30), 3, 15},
		{"60 to 30", 30, nil, grid.Compress(10, 20, 30), 2, 20},
		{"60 to 5", 5, nil, grid.Compress(10, 20, 30), 1, 5},
		{"60 to 60", 60, nil, grid.Compress(10, 20, 30), 3, 30},
		{"60 to 0", 0, nil, grid.Compress(10, 20, 30), 0, 0},
		{"given edges", 100, grid.Compress(25, 15), grid.Compress(10, 20, 30, 25, 15), 5, 15},
		{"given edges past the extent", 70, grid.Compress(5, 5, 5), grid.Compress(10, 20, 30, 5, 5, 5), 5, 5},
		{"one named edge that is cut", 70, grid.Compress(25), grid.Compress(10, 20, 30, 25), 4, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := varying(t, 60, 10, 20, 30).Resize(tt.extent, growthBy(tt.edges))
			check(t, err)
			last, _ := d.DataSize(d.Chunks() - 1)
			if got := slices.Collect(d.Runs()); !slices.Equal(got, tt.runs) || d.Chunks() != tt.chunks || last != tt.last {
				t.Errorf("runs %v, %d chunks, the last of %d, want %v, %d, %d", got, d.Chunks(), last, tt.runs, tt.chunks, tt.last)
			}
		})
	}
}

func TestResizeRefuses(t *testing.T) {
	d := varying(t, 60, 10, 20, 30)
	tiled, err := grid.NewTiled(grid.Compress(3, 4), 9)
	check(t, err)
	for _, tt := range []struct {
		name   string
		dim    grid.Dimension
		extent int64
		edges  []grid.Run
		says   string
	}{
		{"negative", d, -1, nil, "extent -1"},
		{"negative, with an edge", d, -1, grid.Compress(3), "extent -1"},
		{"given edge of 0", d, 70, grid.Compress(0), "run 0: size 0"},
		{"given edges too short", d, 100, grid.Compress(30), "10"},
		{"given edges without need", d, 50, grid.Compress(10), "extent 50"},
		{"fixed, given edges too short", fixed(t, 10, 30), 50, grid.Compress(10), "10"},
		{"fixed, negative", fixed(t, 10, 30), -1, nil, "extent -1"},
		{"fixed, edges past an int64", fixed(t, 10, math.MaxInt64), 50, grid.Compress(10), "2^63−1"},
		{"tiled, negative", tiled, -1, nil, "extent -1"},
		{"tiled, given edge of 0", tiled, 20, grid.Compress(0), "run 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.dim.Resize(tt.extent, growthBy(tt.edges))
			wantError(t, err, tt.says)
		})
	}
	g := newGrid(t, []int64{60, 5}, grid.List(10, 20, 30), grid.Every(5))
	_, err = g.ResizeAxis(2, 5, grid.Repeat())
	wantError(t, err, "axis 2", "2")
	_, err = g.ResizeAxis(0, 100, grid.Append(grid.Times(10, 1)))
	wantError(t, err, "axis 0", "30")
	_, err = g.Resize([]int64{60})
	wantError(t, err, "1", "2")
	_, err = g.Resize([]int64{60, -5})
	wantError(t, err, "axis 1", "extent -5")
}

func TestResizeOtherKinds(t *testing.T) {
	months, err := grid.NewTiled(grid.Compress(31, 28), 59)
	check(t, err)
	for _, tt := range []struct {
		name   string
		dim    grid.Dimension
		extent int64
		edges  []grid.Run
		want   grid.Sizes
	}{
		{"fixed stays fixed", fixed(t, 10, 30), 45, nil, grid.Every(10)},
		{"fixed with its own size named", fixed(t, 10, 25), 45, grid.Compress(10, 10), grid.Every(10)},
		{"fixed with another size", fixed(t, 10, 25), 45, grid.Compress(15), grid.List(10, 10, 10, 15)},
		{"fixed chunks, extent unknown", fixed(t, 10, 0), 45, grid.Compress(15, 30), grid.List(15, 30)},
		{"tiled goes on", months, 100, nil, grid.Pattern(grid.Compress(31, 28)...)},
		{"tiled with edges", months, 89, grid.Compress(30), grid.List(31, 28, 30)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.dim.Resize(tt.extent, growthBy(tt.edges))
			check(t, err)
			want, err := tt.want.Bind(tt.extent)
			check(t, err)
			if !grid.Equal(got, want) || fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
				t.Errorf("a %T of %v, want a %T of %v", got, slices.Collect(got.Runs()), want, slices.Collect(want.Runs()))
			}
		})
	}
	padded, err := grid.NewVarying([]grid.Run{{Edge: grid.Edge{Codec: 200, Data: 150}, Count: 1}}, 150)
	check(t, err)
	d, err := padded.Resize(450, grid.Repeat())
	check(t, err)
	want := []grid.Run{{Edge: grid.Edge{Codec: 200, Data: 150}, Count: 1}, grid.Times(200, 2)}
	if got := slices.Collect(d.Runs()); !slices.Equal(got, want) {
		t.Errorf("after a padded edge come %v, want %v", got, want)
	}
}

func TestAcceptanceZarrs(t *testing.T) {
	tens := []grid.Sizes{grid.List(5, 5, 5, 15, 15, 20, 35), grid.Every(10)}
	g := newGrid(t, []int64{100, 100}, tens...)
	coords, within, err := g.Locate([]int64{17, 17})
	if err != nil || !slices.Equal(coords, []int64{3, 1}) || !slices.Equal(within, []int64{2, 7}) {
		t.Errorf("(17, 17) is at %v in chunk %v (%v)", within, coords, err)
	}
	box := grid.Region{Origin: []int64{1, 2}, Shape: []int64{4, 4}}
	covered, err := g.RegionOf(box)
	want := grid.Region{Origin: []int64{5, 20}, Shape: []int64{40, 40}}
	if err != nil || !covered.Equal(want) {
		t.Errorf("the chunks cover %v (%v), want %v", covered, err, want)
	}
	if back, err := g.ChunksOf(covered); err != nil || !back.Equal(box) {
		t.Errorf("the region meets the chunks %v (%v), want %v", back, err, box)
	}
}
