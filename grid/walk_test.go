package grid_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/grid"
)

func TestWalk(t *testing.T) {
	irregular := newGrid(t, []int64{60, 100}, grid.List(10, 20, 30), grid.List(50, 50))
	regular := newGrid(t, []int64{30, 40}, grid.Every(10), grid.Every(20))
	box := func(origin, shape []int64) grid.Region { return grid.Region{Origin: origin, Shape: shape} }
	for _, tt := range []struct {
		name   string
		grid   *grid.Grid
		chunks grid.Region
		want   string
	}{
		{"all", irregular, box([]int64{0, 0}, []int64{3, 2}), "[[0 0] [0 1] [1 0] [1 1] [2 0] [2 1]]"},
		{"from an origin", irregular, box([]int64{1, 0}, []int64{2, 2}), "[[1 0] [1 1] [2 0] [2 1]]"},
		{"of a shape", irregular, box([]int64{0, 0}, []int64{2, 1}), "[[0 0] [1 0]]"},
		{"both", irregular, box([]int64{1, 1}, []int64{2, 1}), "[[1 1] [2 1]]"},
		{"the last chunk", regular, box([]int64{2, 1}, []int64{1, 1}), "[[2 1]]"},
		{"none", regular, box([]int64{0, 0}, []int64{0, 0}), "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := tt.grid.WalkChunks(tt.chunks)
			check(t, err)
			got := [][]int64{}
			for w.Next() {
				got = append(got, slices.Clone(w.Coords))
			}
			if fmt.Sprint(got) != tt.want || w.Next() {
				t.Errorf("visits %v, want %v", got, tt.want)
			}
		})
	}
	_, err := irregular.WalkChunks(box([]int64{2, 0}, []int64{2, 2}))
	wantError(t, err, "axis 0", "2", "3")
	_, err = irregular.WalkRegion(box([]int64{0, 0}, []int64{60, 101}))
	wantError(t, err, "axis 1", "101", "100")
	_, err = irregular.WalkRegion(box([]int64{0}, []int64{60}))
	wantError(t, err, "1", "2")
	w, err := irregular.WalkRegion(box([]int64{60, 100}, []int64{0, 0}))
	check(t, err)
	if w.Next() {
		t.Error("an empty region has chunks")
	}
}

func TestWalkAgainstChunk(t *testing.T) {
	rounds(t, 200, func(t *testing.T, r *rand.Rand) {
		a := randomArray(t, r)
		region := grid.MakeRegion(len(a.shape))
		for k, n := range a.shape {
			region.Origin[k] = r.Int64N(n + 1)
			region.Shape[k] = r.Int64N(n - region.Origin[k] + 1)
		}
		w, err := a.grid.WalkRegion(region)
		check(t, err)
		checkWalk(t, a, w, region)
		checkWalk(t, a, a.grid.Walk(), grid.Whole(a.shape))
	})
}

// checkWalk compares a walker with all chunks that intersect a region.
func checkWalk(t *testing.T, a *arrayModel, w *grid.Walker, region grid.Region) {
	t.Helper()
	coords, shared := make([]int64, len(a.shape)), grid.MakeRegion(len(a.shape))
	for n := range a.grid.Chunks() {
		if !a.grid.Coords(n, coords) {
			t.Fatalf("chunk %d has no coordinates", n)
		}
		if back, ok := a.grid.Number(coords); !ok || back != n {
			t.Fatalf("chunk %v has the number %d, want %d", coords, back, n)
		}
		c, ok := a.grid.Chunk(coords)
		if !ok {
			t.Fatalf("chunk %v does not exist", coords)
		}
		if !shared.Intersect(c.Region, region) {
			continue
		}
		if !w.Next() {
			t.Fatalf("the walk ends before chunk %v", coords)
		}
		if !slices.Equal(w.Coords, coords) || !w.Region.Equal(c.Region) || !slices.Equal(w.Codec, c.Codec) {
			t.Fatalf("the walk is at %v %v %v, want %v %v %v", w.Coords, w.Region, w.Codec, coords, c.Region, c.Codec)
		}
	}
	if w.Next() {
		t.Fatalf("the walk goes on to %v", w.Coords)
	}
}

// A step of a walker or a cursor does not allocate; nor does copying.
func TestNothingAllocatesAStep(t *testing.T) {
	g := newGrid(t, []int64{300, 310}, grid.List(slices.Repeat([]int64{1, 2}, 100)...), grid.Pattern(grid.Compress(31, 28, 3)...))
	mask := make([]bool, 300*310)
	for i := range mask {
		mask[i] = i%3 > 0
	}
	list, place := []int64{5, 2, 299, 7, 7}, make([]int64, 1000)
	for i := range place {
		place[i] = int64(i * 13 % 300)
	}
	indexer := func(x *grid.Indexer, err error) *grid.Indexer {
		check(t, err)
		return x
	}
	for _, tt := range []struct {
		name string
		x    *grid.Indexer
	}{
		{"basic", indexer(grid.Basic(g, grid.All(), grid.All().By(2)))},
		{"orthogonal", indexer(grid.Orthogonal(g, grid.Indices(place...), grid.Indices(list...)))},
		{"block", indexer(grid.Block(g))},
		{"coordinate", indexer(grid.Coordinate(g, grid.Line(place...), grid.Line(place...)))},
		{"mask", indexer(grid.Mask(g, mask))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := make([]byte, 4*product(tt.x.Shape()))
			w := grid.Window[byte]{Data: make([]byte, 4*2*31), Region: grid.Whole([]int64{2, 31})}
			c := tt.x.Project()
			bounds := grid.MakeRegion(2)
			if n := testing.AllocsPerRun(100, func() {
				if !c.Next() {
					t.Fatal("too few chunks for this test")
				}
				copy(w.Region.Shape, c.Codec)
				c.Bounds(bounds)
				if grid.Gather(&c.Projection, out, w, 4) != nil || grid.Scatter(&c.Projection, w, out, 4) != nil {
					t.Fatal("copying failed")
				}
			}); n != 0 {
				t.Errorf("%v allocations a chunk", n)
			}
		})
	}
	w := g.Walk()
	if n := testing.AllocsPerRun(1000, func() {
		if !w.Next() {
			t.Fatal("too few chunks for this test")
		}
	}); n != 0 {
		t.Errorf("a walk: %v allocations a chunk", n)
	}
}
