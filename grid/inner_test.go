package grid_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/grid"
)

func TestAcceptanceShardsDivide(t *testing.T) {
	g := newGrid(t, []int64{120, 100}, grid.List(60, 40, 20), grid.List(50, 50))
	check(t, g.CheckDivisible([]int64{10, 10}))
	g = newGrid(t, []int64{120, 100}, grid.List(60, 45, 15), grid.List(50, 50))
	wantError(t, g.CheckDivisible([]int64{10, 10}), "axis 0", "10", "45")
	wantError(t, g.CheckDivisible([]int64{10}), "1", "2")
	wantError(t, g.CheckDivisible([]int64{10, 0}), "axis 1", "0")
	huge := newGrid(t, []int64{9e18}, grid.RunLength(grid.Times(6, 1.5e18)))
	check(t, huge.CheckDivisible([]int64{3}))
	wantError(t, huge.CheckDivisible([]int64{4}), "6")
}

func TestAcceptanceInnerGrids(t *testing.T) {
	g, err := grid.Inner([]int64{40, 50}, []int64{10, 10})
	check(t, err)
	if shape, ok := g.ChunkShape(); !ok || !slices.Equal(shape, []int64{10, 10}) || g.Chunks() != 20 {
		t.Errorf("inner chunks of %v, %d of them", shape, g.Chunks())
	}
	_, err = grid.Inner([]int64{45}, []int64{10})
	wantError(t, err, "axis 0", "length 10", "edge 45")
	_, err = grid.InnerClipped([]int64{45}, []int64{0})
	wantError(t, err, "axis 0", "length 0")
	g, err = grid.InnerClipped([]int64{8, 6}, []int64{3, 6})
	check(t, err)
	if _, codec := sizesOf(g.Dim(0)); !slices.Equal(codec, []int64{3, 3, 2}) || g.Chunks() != 3 {
		t.Errorf("axis 0 has inner chunks of %v", codec)
	}
	if _, ok := g.Dim(1).(grid.Fixed); !ok {
		t.Errorf("an axis that divides became a %T", g.Dim(1))
	}
	g, err = grid.InnerClipped([]int64{5}, []int64{8})
	check(t, err)
	if c, ok := g.Chunk([]int64{0}); !ok || c.Codec[0] != 5 {
		t.Errorf("an inner chunk longer than its shard is %v", c)
	}
}

func TestAcceptanceClippedEdges(t *testing.T) {
	shards := func(extent int64, s grid.Sizes) grid.Dimension {
		d, err := s.Bind(extent)
		check(t, err)
		return d
	}
	for _, tt := range []struct {
		name  string
		dim   grid.Dimension
		sizes []int64
		want  []int64
	}{
		{"shape 10, shard 5, sub 3", shards(10, grid.Every(5)), []int64{3}, []int64{3, 2, 3, 2}},
		{"shards 6 and 9, sub 4", shards(15, grid.List(6, 9)), []int64{4}, []int64{4, 2, 4, 4, 1}},
		{"axis 0 of the nested", shards(20, grid.Every(8)), []int64{3, 2}, slices.Repeat([]int64{2, 1, 2, 1, 2}, 3)},
		{"axis 1 of the nested", shards(17, grid.Every(6)), []int64{4, 3}, slices.Repeat([]int64{3, 1, 2}, 3)},
		{"divides", shards(20, grid.Every(10)), []int64{5}, []int64{5, 5, 5, 5}},
		{"no inner chunks", shards(20, grid.Every(10)), nil, []int64{10, 10}},
		{"longer than the shard", shards(10, grid.Every(5)), []int64{8}, []int64{5, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs, err := grid.InnerEdges(tt.dim, tt.sizes...)
			check(t, err)
			var got []int64
			for edge := range grid.Expand(runs) {
				got = append(got, edge.Codec)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("inner edges %v, want %v", got, tt.want)
			}
		})
	}
	_, err := grid.InnerEdges(fixed(t, 10, 10), 5, 0)
	wantError(t, err, "level 1", "length 0")
}

// A run of 10^18 shards that inner chunks divide is one run of inner chunks. If they do not
// divide it, the first inner chunks are yielded without expanding the rest.
func TestInnerEdgesAreLazy(t *testing.T) {
	d := fixed(t, 9, 9e18)
	runs, err := grid.InnerEdges(d, 3)
	check(t, err)
	if got := slices.Collect(runs); !slices.Equal(got, []grid.Run{grid.Times(3, 3e18)}) {
		t.Errorf("inner runs %v", got)
	}
	runs, err = grid.InnerEdges(d, 2)
	check(t, err)
	var got []grid.Run
	for run := range runs {
		if got = append(got, run); len(got) == 3 {
			break
		}
	}
	if want := []grid.Run{grid.Times(2, 4), grid.Times(1, 1), grid.Times(2, 4)}; !slices.Equal(got, want) {
		t.Errorf("inner runs begin %v, want %v", got, want)
	}
}

func TestReadSizes(t *testing.T) {
	padded, err := grid.NewVarying([]grid.Run{{Edge: grid.Edge{Codec: 8, Data: 5}, Count: 2}}, 9)
	check(t, err)
	for _, tt := range []struct {
		name  string
		dim   grid.Dimension
		sizes []int64
		want  []int64
	}{
		{"regular", fixed(t, 10, 25), nil, []int64{10, 10, 5}},
		{"sharded", fixed(t, 10, 25), []int64{4}, []int64{4, 4, 2, 4, 4, 2, 4, 1}},
		{"rectilinear", varying(t, 45, 10, 20, 30), nil, []int64{10, 20, 15}},
		{"no extent", varying(t, 0, 10, 20, 30), []int64{5}, nil},
		{"padded", padded, []int64{4}, []int64{4, 1, 4}},
		{"nested", fixed(t, 8, 10), []int64{4, 3}, []int64{3, 1, 3, 1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sizes, err := grid.ReadSizes(tt.dim, tt.sizes...)
			check(t, err)
			if got := slices.Collect(sizes); !slices.Equal(got, tt.want) {
				t.Errorf("read sizes %v, want %v", got, tt.want)
			}
			checkReadRuns(t, tt.dim, tt.sizes)
		})
	}
	_, err = grid.ReadSizes(padded, -1)
	wantError(t, err, "length -1")
}

// checkReadRuns compares ReadRuns with ReadSizes.
func checkReadRuns(t *testing.T, d grid.Dimension, inner []int64) {
	t.Helper()
	sizes, err := grid.ReadSizes(d, inner...)
	check(t, err)
	runs, err := grid.ReadRuns(d, inner...)
	check(t, err)
	want, got := grid.Compress(slices.Collect(sizes)...), slices.Collect(runs)
	if !slices.Equal(got, want) {
		t.Errorf("read runs %v, want %v", got, want)
	}
}

func TestReadRuns(t *testing.T) {
	rounds(t, 500, func(t *testing.T, r *rand.Rand) {
		d, _ := randomAxis(t, r)
		var inner []int64
		for range r.IntN(3) {
			inner = append(inner, 1+r.Int64N(9))
		}
		checkReadRuns(t, d, inner)
	})
	// Equal chunks take one step, whatever their number.
	runs, err := grid.ReadRuns(fixed(t, 10, 9e18+5), 5)
	check(t, err)
	if got := slices.Collect(runs); !slices.Equal(got, []grid.Run{grid.Times(5, 18e17+1)}) {
		t.Errorf("read runs %v", got)
	}
}

// clippedEdges returns the pieces that an edge is split into, level by level.
func clippedEdges(edge int64, sizes []int64) []int64 {
	if len(sizes) == 0 {
		return []int64{edge}
	}
	var out []int64
	for ; edge > 0; edge -= sizes[0] {
		out = append(out, clippedEdges(min(edge, sizes[0]), sizes[1:])...)
	}
	return out
}

func TestInnerEdgesAgainstBruteForce(t *testing.T) {
	rounds(t, 200, func(t *testing.T, r *rand.Rand) {
		d, m := randomAxis(t, r)
		var sizes, want []int64
		for range r.IntN(4) {
			sizes = append(sizes, 1+r.Int64N(5))
		}
		for _, e := range m.edges {
			want = append(want, clippedEdges(e.Codec, sizes)...)
		}
		runs, err := grid.InnerEdges(d, sizes...)
		check(t, err)
		var got []int64
		for edge := range grid.Expand(runs) {
			got = append(got, edge.Codec)
		}
		if !slices.Equal(got, want) {
			t.Errorf("edges %v by %v: %v, want %v", fmt.Sprint(m.edges), sizes, got, want)
		}
	})
}

// Shards of 60, 40 and 20 by 50 and 50 have inner chunks of 10 by 10. A read of
// 50:70 × 40:60 needs inner chunks of four shards.
func TestAcceptanceShardedRead(t *testing.T) {
	g := newGrid(t, []int64{120, 100}, grid.List(60, 40, 20), grid.List(50, 50))
	read := func(selectors ...grid.Selector) map[string][]string {
		x, err := grid.Basic(g, selectors...)
		check(t, err)
		got := map[string][]string{}
		for c := x.Project(); c.Next(); {
			inner, err := grid.Inner(c.Codec, []int64{10, 10})
			check(t, err)
			bounds := grid.MakeRegion(2)
			c.Bounds(bounds)
			w, err := inner.WalkRegion(bounds)
			check(t, err)
			for w.Next() {
				got[fmt.Sprint(c.Coords)] = append(got[fmt.Sprint(c.Coords)], fmt.Sprint(w.Coords))
			}
		}
		return got
	}
	got := read(grid.Range(50, 70), grid.Range(40, 60))
	want := map[string][]string{
		"[0 0]": {"[5 4]"}, "[0 1]": {"[5 0]"},
		"[1 0]": {"[0 4]"}, "[1 1]": {"[0 0]"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("50:70 × 40:60 reads %v, want %v", got, want)
	}
	all := read()
	for shard, n := range map[string]int{"[0 0]": 30, "[1 1]": 20, "[2 0]": 10} {
		if len(all[shard]) != n {
			t.Errorf("all of shard %s reads %d inner chunks, want %d", shard, len(all[shard]), n)
		}
	}
}
