package grid_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve/grid"
)

func randomRegion(r *rand.Rand, rank int) grid.Region {
	region := grid.MakeRegion(rank)
	for k := range rank {
		region.Origin[k], region.Shape[k] = r.Int64N(4), r.Int64N(6)
	}
	return region
}

// fillWindow returns a window of a region with random bytes.
func fillWindow(r *rand.Rand, region grid.Region, unit int64) grid.Window[byte] {
	w := grid.Window[byte]{Data: make([]byte, product(region.Shape)*unit), Region: region}
	for i := range w.Data {
		w.Data[i] = byte(r.Uint32())
	}
	return w
}

func TestCopySharedAgainstIndexing(t *testing.T) {
	rounds(t, 400, func(t *testing.T, r *rand.Rand) {
		rank, unit := r.IntN(5), []int64{1, 2, 3, 4, 5, 8, 12, 16, 32}[r.IntN(9)]
		dst := fillWindow(r, randomRegion(r, rank), unit)
		src := fillWindow(r, randomRegion(r, rank), unit)
		want, shared := slices.Clone(dst.Data), false
		each(dst.Region.Shape, func(index []int64) {
			in := make([]int64, rank)
			for k, i := range index {
				in[k] = i + dst.Region.Origin[k] - src.Region.Origin[k]
				if in[k] < 0 || in[k] >= src.Region.Shape[k] {
					return
				}
			}
			shared = true
			to, from := flatten(dst.Region.Shape, index)*unit, flatten(src.Region.Shape, in)*unit
			copy(want[to:to+unit], src.Data[from:from+unit])
		})
		some, err := grid.CopyShared(dst, src, unit)
		if err != nil || some != shared || !bytes.Equal(dst.Data, want) {
			t.Fatalf("%v from %v, unit %d: some %v (%v), want %v", dst.Region, src.Region, unit, some, err, shared)
		}
	})
}

func TestCopyItems(t *testing.T) {
	src := grid.Window[string]{Data: strings.Split("a b c d e f", " "), Region: grid.Whole([]int64{2, 3})}
	dst := grid.Window[string]{Data: make([]string, 4), Region: grid.Region{Origin: []int64{0, 1}, Shape: []int64{2, 2}}}
	check(t, grid.Copy(dst, src, dst.Region, 1))
	if got := strings.Join(dst.Data, " "); got != "b c e f" {
		t.Errorf("copied %q", got)
	}
}

func TestCopyRefuses(t *testing.T) {
	window := func(n int, origin, shape []int64) grid.Window[byte] {
		return grid.Window[byte]{Data: make([]byte, n), Region: grid.Region{Origin: origin, Shape: shape}}
	}
	square := window(16, []int64{0, 0}, []int64{4, 4})
	inner := grid.Region{Origin: []int64{1, 1}, Shape: []int64{2, 2}}
	for _, tt := range []struct {
		name     string
		dst, src grid.Window[byte]
		unit     int64
		says     string
	}{
		{"outside the destination", window(16, []int64{0, 2}, []int64{4, 4}), square, 1, "destination: region [1:3, 1:3] is not inside [0:4, 2:6]"},
		{"outside the source", square, window(16, []int64{0, 2}, []int64{4, 4}), 1, "source: region"},
		{"short destination", window(15, square.Region.Origin, square.Region.Shape), square, 1, "destination: 15 items for 16 elements of 1"},
		{"short source", square, window(15, square.Region.Origin, square.Region.Shape), 1, "source: 15 items"},
		{"elements too large", square, square, 2, "16 items for 16 elements of 2"},
		{"elements of nothing", square, square, 0, "elements of 0 items"},
		{"too far for an int64", window(16, []int64{math.MinInt64, 0}, []int64{4, 4}), square, 1, "destination: region"},
		{"no lengths", square, window(16, []int64{0, 0}, nil), 1, "not inside [origin [0 0], shape []]"},
		{"another rank", window(4, []int64{0}, []int64{4}), square, 1, "destination: region"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, grid.Copy(tt.dst, tt.src, inner, tt.unit), tt.says)
		})
	}
	_, err := grid.CopyShared(square, window(4, []int64{0}, []int64{4}), 1)
	wantError(t, err, "2 and 1")
	_, err = grid.CopyShared(square, window(4, []int64{0, 0}, []int64{4}), 1)
	wantError(t, err, "[origin [0 0], shape [4]]", "1", "2")
}

func TestGatherRefuses(t *testing.T) {
	g := newGrid(t, []int64{10}, grid.Every(5))
	x, err := grid.Basic(g, grid.Range(2, 4))
	check(t, err)
	c := x.Project()
	c.Next()
	window := func(n int, from, length int64) grid.Window[byte] {
		return grid.Window[byte]{Data: make([]byte, n), Region: grid.Region{Origin: []int64{from}, Shape: []int64{length}}}
	}
	check(t, grid.Gather(&c.Projection, make([]byte, 2), window(5, 0, 5), 1))
	check(t, grid.Gather(&c.Projection, make([]byte, 2), window(2, 2, 2), 1))
	wantError(t, grid.Gather(&c.Projection, make([]byte, 1), window(5, 0, 5), 1), "output", "1", "2")
	wantError(t, grid.Gather(&c.Projection, make([]byte, 2), window(4, 0, 5), 1), "chunk", "4", "5")
	wantError(t, grid.Gather(&c.Projection, make([]byte, 2), window(1, 3, 1), 1), "chunk [0]", "[3:4]", "[2:4]")
	wantError(t, grid.Scatter(&c.Projection, window(2, 3, 2), make([]byte, 2), 1), "chunk [0]")
	wantError(t, grid.Scatter(&c.Projection, grid.Window[byte]{}, make([]byte, 2), 1), "chunk")
}

func TestRows(t *testing.T) {
	g := newGrid(t, []int64{4, 6}, grid.Every(4), grid.Every(6))
	for _, tt := range []struct {
		name      string
		selectors []grid.Selector
		want      []grid.Row
	}{
		{"a whole chunk is one row", nil, []grid.Row{{N: 24, DstStep: 1, SrcStep: 1}}},
		{"whole lines are one row", one(grid.Range(1, 3)), []grid.Row{{Src: 6, N: 12, DstStep: 1, SrcStep: 1}}},
		{"parts of lines", one(grid.Range(1, 3), grid.Range(2, 4)), []grid.Row{
			{Src: 8, N: 2, DstStep: 1, SrcStep: 1}, {Dst: 2, Src: 14, N: 2, DstStep: 1, SrcStep: 1},
		}},
		{"a column", one(grid.All(), grid.At(5)), []grid.Row{{Src: 5, N: 4, DstStep: 1, SrcStep: 6}}},
		{"a step", one(grid.At(0), grid.All().By(2)), []grid.Row{{N: 3, DstStep: 1, SrcStep: 2}}},
		{"neighbours in a list", one(grid.At(0), grid.Indices(1, 2, 3, 0)), []grid.Row{
			{Src: 1, N: 3, DstStep: 1, SrcStep: 1}, {Dst: 3, N: 1, DstStep: 1, SrcStep: 1},
		}},
		{"a list of whole lines", one(grid.Indices(2, 0)), []grid.Row{
			{Src: 12, N: 6, DstStep: 1, SrcStep: 1}, {Dst: 6, N: 6, DstStep: 1, SrcStep: 1},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, err := grid.Orthogonal(g, tt.selectors...)
			check(t, err)
			c := x.Project()
			c.Next()
			var got []grid.Row
			c.Rows(grid.Whole(c.Codec), func(r grid.Row) { got = append(got, r) })
			if !slices.Equal(got, tt.want) {
				t.Errorf("rows %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRegion(t *testing.T) {
	r := grid.Region{Origin: []int64{2, 0}, Shape: []int64{3, 4}}
	if r.String() != "[2:5, 0:4]" || r.Rank() != 2 || r.End(0) != 5 || r.IsEmpty() {
		t.Errorf("%v of rank %d ends at %d", r, r.Rank(), r.End(0))
	}
	inside := grid.Region{Origin: []int64{3, 1}, Shape: []int64{2, 3}}
	outside := grid.Region{Origin: []int64{3, 1}, Shape: []int64{3, 3}}
	if !r.Contains(inside) || r.Contains(outside) || r.Contains(grid.Whole([]int64{1})) {
		t.Error("Contains is wrong")
	}
	next := []int64{2, 0}
	for _, want := range []string{"[2 1]", "[2 2]", "[2 3]", "[3 0]"} {
		if !r.Next(next) || fmt.Sprint(next) != want {
			t.Errorf("next is %v, not %s", next, want)
		}
	}
	if next = []int64{4, 3}; r.Next(next) || fmt.Sprint(next) != "[2 0]" {
		t.Errorf("after the last element comes %v", next)
	}
	moved := outside.Clone()
	moved.Shift([]int64{2, 1})
	if moved.String() != "[1:4, 0:3]" || outside.String() != "[3:6, 1:4]" {
		t.Errorf("%v shifted is %v", outside, moved)
	}
	shared := grid.MakeRegion(2)
	if !shared.Intersect(r, outside) || !shared.Equal(inside) {
		t.Errorf("%v and %v share %v", r, outside, shared)
	}
	if shared.Intersect(r, grid.Region{Origin: []int64{5, 0}, Shape: []int64{1, 1}}) || !shared.IsEmpty() {
		t.Errorf("neighbours share %v", shared)
	}
	for _, tt := range []struct {
		name  string
		shape []int64
		want  int64
		says  string
	}{
		{"none", nil, 1, ""},
		{"some", []int64{2, 3}, 6, ""},
		{"empty beside large", []int64{1 << 40, 0, 1 << 20}, 0, ""},
		{"too many", []int64{1 << 40, 1 << 40}, 0, "2^63−1"},
		{"too many beside empty", []int64{1 << 40, 0, 1 << 40}, 0, "2^63−1"},
		{"negative", []int64{2, -3}, 0, "axis 1: length -3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := grid.Elements(tt.shape)
			if tt.says != "" {
				wantError(t, err, tt.says)
			} else if err != nil || n != tt.want {
				t.Errorf("%d elements (%v), want %d", n, err, tt.want)
			}
		})
	}
}

func TestGridRefuses(t *testing.T) {
	g := newGrid(t, []int64{60, 10}, grid.List(10, 20, 30), grid.Every(5))
	for _, coords := range [][]int64{{3, 0}, {0, 2}, {-1, 0}, {0}, {0, 0, 0}} {
		if c, ok := g.Chunk(coords); ok {
			t.Errorf("chunk %v is %v", coords, c)
		}
		if n, ok := g.Number(coords); ok {
			t.Errorf("chunk %v has the number %d", coords, n)
		}
	}
	for _, n := range []int64{-1, 6} {
		if g.Coords(n, make([]int64, 2)) {
			t.Errorf("there is a chunk %d", n)
		}
	}
	_, _, err := g.Locate([]int64{0})
	wantError(t, err, "1", "2")
	_, _, err = g.Locate([]int64{0, 10})
	wantError(t, err, "axis 1", "index 10", "0 to 9")
	if !errors.Is(err, grid.ErrOutOfBounds) {
		t.Errorf("%v is not an ErrOutOfBounds", err)
	}
	_, err = g.RegionOf(grid.Region{Origin: []int64{0, 0}, Shape: []int64{4, 1}})
	wantError(t, err, "axis 0", "4", "3")
	other := newGrid(t, []int64{60, 10}, grid.List(10, 20, 30), grid.List(5, 5))
	if !g.Equal(other) || g.Equal(newGrid(t, []int64{60, 10}, grid.Every(10), grid.Every(5))) {
		t.Error("Equal is wrong")
	}
}
