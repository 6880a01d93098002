package grid_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/grid"
)

// randomGrowth returns a policy that gives the same chunks in two steps as in one.
func randomGrowth(r *rand.Rand) grid.Growth {
	switch r.IntN(3) {
	case 0:
		return grid.Repeat()
	case 1:
		return grid.RepeatSize(1 + r.Int64N(9))
	}
	return grid.Cycle(randomRuns(r)...)
}

// Growing in two steps gives the same chunks as growing in one.
func TestGrowthInSteps(t *testing.T) {
	rounds(t, 500, func(t *testing.T, r *rand.Rand) {
		d, _ := randomAxis(t, r)
		growth := randomGrowth(r)
		first := d.Extent() + r.Int64N(50)
		second := first + r.Int64N(50)
		once, err := d.Resize(second, growth)
		check(t, err)
		twice, err := d.Resize(first, growth)
		check(t, err)
		twice, err = twice.Resize(second, growth)
		check(t, err)
		if a, b := slices.Collect(grid.DataSizes(once)), slices.Collect(grid.DataSizes(twice)); !slices.Equal(a, b) {
			t.Fatalf("%d to %d to %d: chunks %v, in one step %v", d.Extent(), first, second, b, a)
		}
		for chunk := range once.Chunks() {
			if codecSize(once, chunk) != codecSize(twice, chunk) {
				t.Fatalf("chunk %d decodes to %d, in one step to %d", chunk, codecSize(twice, chunk), codecSize(once, chunk))
			}
		}
	})
}

// Edges that exist keep their size, whatever the policy.
func TestGrowthKeepsEdges(t *testing.T) {
	rounds(t, 500, func(t *testing.T, r *rand.Rand) {
		d, _ := randomAxis(t, r)
		for _, growth := range []grid.Growth{randomGrowth(r), grid.OneChunk()} {
			grown, err := d.Resize(d.Extent()+r.Int64N(60), growth)
			check(t, err)
			for chunk := range d.Chunks() {
				if codecSize(grown, chunk) != codecSize(d, chunk) || offsetOf(grown, chunk) != offsetOf(d, chunk) {
					t.Fatalf("chunk %d changed", chunk)
				}
			}
			checkEnds(t, grown)
		}
	})
}

// The pattern of a long growth takes the memory of one period.
func TestGrowthByPattern(t *testing.T) {
	months := grid.Compress(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
	d, err := varying(t, 90, 31, 28, 31).Resize(365*1_000_000_000, grid.Cycle(months...))
	check(t, err)
	if _, ok := d.(*grid.Tiled); !ok || d.Chunks() != 12_000_000_000 || codecSize(d, 12*999_999_999+1) != 28 {
		t.Errorf("%T of %d chunks", d, d.Chunks())
	}
	again, err := d.Resize(365*2_000_000_000, grid.Cycle(months...))
	check(t, err)
	if again.Chunks() != 24_000_000_000 {
		t.Errorf("%d chunks", again.Chunks())
	}
	_, err = varying(t, 90, 31, 28, 32).Resize(365*1_000_000_000, grid.Cycle(months...))
	wantError(t, err, "pattern", "runs")
}

func TestGrowthRefuses(t *testing.T) {
	d := varying(t, 60, 10, 20, 30)
	for _, tt := range []struct {
		name   string
		dim    grid.Dimension
		extent int64
		growth grid.Growth
		says   string
	}{
		{"size 0", d, 70, grid.RepeatSize(0), "size 0"},
		{"no pattern", d, 70, grid.Cycle(), "no edges"},
		{"pattern with an edge of 0", d, 70, grid.Cycle(grid.Compress(3, 0)...), "run 1"},
		{"one chunk, negative extent", d, -1, grid.OneChunk(), "extent -1"},
		{"no more edges", d, 70, grid.Append(), "70"},
		{"no more edges after one size", fixed(t, 10, 60), 70, grid.Append(), "70"},
	} {
		_, err := tt.dim.Resize(tt.extent, tt.growth)
		if tt.growth.Check() == nil && tt.extent > 0 && !errors.Is(err, grid.ErrNoMoreEdges) {
			t.Errorf("%s: %v", tt.name, err)
		}
		wantError(t, err, tt.says)
	}
	if _, err := d.Resize(60, grid.Append()); err != nil {
		t.Errorf("no growth: %v", err)
	}
	g := newGrid(t, []int64{60}, grid.List(10, 20, 30))
	_, err := g.Resize([]int64{70}, grid.Repeat(), grid.Repeat())
	wantError(t, err, "2", "1")
	grown, err := g.Resize([]int64{70}, grid.OneChunk())
	check(t, err)
	if grown.Chunks() != 4 {
		t.Errorf("%d chunks", grown.Chunks())
	}
}

// Growth to the largest extent cuts the last edge instead of overflowing.
func TestGrowthToTheLargestExtent(t *testing.T) {
	for _, d := range []grid.Dimension{fixed(t, 10, 30), varying(t, 60, 10, 20, 30), varying(t, 60, 60)} {
		for _, growth := range []grid.Growth{grid.Repeat(), grid.RepeatSize(7), grid.OneChunk()} {
			grown, err := d.Resize(math.MaxInt64, growth)
			check(t, err)
			if grown.Extent() != math.MaxInt64 {
				t.Errorf("extent %d", grown.Extent())
			}
			checkEnds(t, grown)
		}
	}
}

func TestPolicy(t *testing.T) {
	for _, tt := range []struct {
		growth grid.Growth
		want   string
	}{
		{grid.Repeat(), "repeat 0 []"},
		{grid.RepeatSize(5), "repeat 5 []"},
		{grid.OneChunk(), "one_chunk 0 []"},
		{grid.Append(grid.Times(3, 2)), "list 0 [{{3 3} 2}]"},
		{grid.Cycle(grid.Times(3, 2)), "pattern 0 [{{3 3} 2}]"},
	} {
		name, size, runs := tt.growth.Policy()
		if got := fmt.Sprintf("%s %d %v", name, size, runs); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
		if tt.growth.IsDefault() != (tt.want == "repeat 0 []") {
			t.Errorf("%s: default %v", tt.want, tt.growth.IsDefault())
		}
	}
}

func TestIsRegular(t *testing.T) {
	padded := []grid.Run{{Edge: grid.Edge{Codec: 50, Data: 40}, Count: 3}}
	for _, tt := range []struct {
		name  string
		sizes grid.Sizes
		size  int64 // 0 if not regular
	}{
		{"one size", grid.Every(10), 10},
		{"a list of equal edges", grid.List(40, 40, 40), 40},
		{"runs that could be joined", grid.RunLength(grid.Times(40, 1), grid.Times(40, 2)), 40},
		{"one edge", grid.List(120), 120},
		{"edges past the extent", grid.List(60, 60, 60), 60},
		{"two sizes", grid.List(60, 40, 20), 0},
		{"another size past the extent", grid.List(60, 60, 40), 0},
		{"padded", grid.RunLength(padded...), 0},
		{"a pattern of one size", grid.Pattern(grid.Times(20, 1), grid.Times(20, 3)), 20},
		{"a pattern of two sizes", grid.Pattern(grid.Times(20, 1), grid.Times(10, 3)), 0},
		{"the beginning of a pattern", grid.Pattern(grid.Times(60, 2), grid.Times(10, 3)), 60},
		{"a padded pattern", grid.Pattern(padded...), 0},
	} {
		g := newGrid(t, []int64{120}, tt.sizes)
		size, ok := g.Dim(0).IsRegular()
		if shape, has := g.ChunkShape(); ok != (tt.size > 0) || g.IsRegular() != ok || has != ok || ok && (size != tt.size || shape[0] != size) {
			t.Errorf("%s: regular %v of %d, chunk shape %v", tt.name, ok, size, shape)
		}
	}
}

func TestChunkAt(t *testing.T) {
	g := newGrid(t, []int64{60, 5}, grid.List(10, 20, 30), grid.Every(5))
	c, err := g.ChunkAt([]int64{2, 0})
	check(t, err)
	if want, _ := g.Chunk([]int64{2, 0}); !c.Region.Equal(want.Region) || !slices.Equal(c.Codec, []int64{30, 5}) {
		t.Errorf("chunk %v", c)
	}
	for _, coords := range [][]int64{{3, 0}, {0, 1}, {-1, 0}, {0, math.MaxInt64}} {
		if _, err := g.ChunkAt(coords); !errors.Is(err, grid.ErrOutOfBounds) {
			t.Errorf("%v: %v", coords, err)
		}
	}
	for _, coords := range [][]int64{nil, {0}, {0, 0, 0}} {
		if _, err := g.ChunkAt(coords); err == nil || errors.Is(err, grid.ErrOutOfBounds) {
			t.Errorf("%v: %v", coords, err)
		}
	}
}
