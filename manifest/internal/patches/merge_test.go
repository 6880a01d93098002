package patches

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// TestMerge checks which edges are merged, also for very many of them.
func TestMerge(t *testing.T) {
	full := func(pairs ...int64) (runs []grid.Run) {
		for i := 0; i < len(pairs); i += 2 {
			runs = append(runs, grid.Run{Edge: grid.Full(pairs[i]), Count: pairs[i+1]})
		}
		return runs
	}
	const most = 1 << 50
	for _, test := range []struct {
		name   string
		extent int64
		edges  []grid.Run
		length int64
		want   []grid.Run // nil: nothing is merged
	}{
		{"single steps", 1000, full(1, 1000), 100, full(100, 10)},
		{"single steps with a remainder", 250, full(1, 250), 100, full(100, 2, 50, 1)},
		{"as long as the limit", 300, full(100, 3), 100, nil},
		{"longer than the limit", 300, full(150, 2), 100, nil},
		{"two are too long", 180, full(60, 3), 100, nil},
		{"two are too long, very many", 60 * most, full(60, most), 100, nil},
		{"very many", most, full(1, most), 1 << 10, full(1<<10, most>>10)},
		{"short edges after long ones", 205, full(100, 2, 1, 5), 100, full(100, 2, 5, 1)},
		{"a long edge between short ones", 106, full(1, 3, 100, 1, 1, 3), 100, full(3, 1, 100, 1, 3, 1)},
		{"months", 120, full(31, 1, 28, 1, 31, 1, 30, 1), 90, full(90, 1, 30, 1)},
		{"a single edge is left", 21, full(10, 2, 1, 1), 20, full(20, 1, 1, 1)},
		{"the end cuts a chunk", 25, full(10, 3), 20, full(20, 1, 10, 1)},
		{"the end cuts a merged chunk", 25, full(10, 3), 30, full(25, 1)},
		{"edges beyond the extent", 25, full(10, 1, 20, 5), 30, full(25, 1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := merger{length: test.length}
			for _, r := range test.edges {
				m.add(r, test.extent)
			}
			m.flush()
			if m.hasMerged != (test.want != nil) || test.want != nil && !slices.Equal(m.out, test.want) {
				t.Errorf("got %v (%v), want %v", m.out, m.hasMerged, test.want)
			}
		})
	}
}

// TestMergeRandom compares Merge with merging one edge at a time.
func TestMergeRandom(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		var runs []grid.Run
		var edges []int64
		sum := int64(0)
		for range 1 + r.IntN(5) {
			run := grid.Run{Edge: grid.Full(1 + r.Int64N(12)), Count: 1 + r.Int64N(9)}
			runs = append(runs, run)
			for range run.Count {
				edges = append(edges, run.Data)
				sum += run.Data
			}
		}
		length, extent := 1+r.Int64N(30), sum-r.Int64N(edges[len(edges)-1])
		m := merger{length: length}
		for _, run := range runs {
			m.add(run, extent)
		}
		m.flush()
		var got []int64
		for _, run := range m.out {
			got = append(got, slices.Repeat([]int64{run.Data}, int(run.Count))...)
		}
		if want := oneByOne(edges, extent, length); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v up to %d by %d: got %v, want %v", seed, runs, extent, length, got, want)
		}
	}
}

// oneByOne merges edges one at a time.
func oneByOne(edges []int64, extent, length int64) (out []int64) {
	at, pending, many := int64(0), int64(0), 0
	only := int64(0)
	flush := func() {
		if many == 1 {
			pending = only
		}
		if many > 0 {
			out = append(out, pending)
		}
		pending, many = 0, 0
	}
	for _, e := range edges {
		data := min(e, extent-at)
		at += data
		if e >= length || pending+data > length {
			flush()
		}
		pending += data
		many++
		only = e
	}
	flush()
	return out
}

// TestMergeSchema checks that compacted chunks before the first merged chunk are kept.
func TestMergeSchema(t *testing.T) {
	bytes, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Uint, Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	a := manifest.Array{Path: "/v", Placement: "p", Dims: []string{"/g/time", "/x"}, Schema: &zarrjson.Array{
		DataType: bytes, Fill: []byte{0}, Codecs: []codec.Spec{{Name: "bytes"}},
		Shape: []int64{46, 30}, ChunkGrid: zarrjson.RectilinearGrid(
			grid.RunLength(grid.Run{Edge: grid.Full(10), Count: 4}, grid.Run{Edge: grid.Full(1), Count: 6}),
			grid.RunLength(grid.Run{Edge: grid.Full(15), Count: 2}))},
		Patches: []manifest.Patched{
			{Table: "old", Counts: []int64{4, 2}, Shift: []int64{0, 0}, Limit: []int64{4, 2}},
			{Table: "new", Counts: []int64{10, 2}, Shift: []int64{0, 0}, Limit: []int64{10, 2}},
		},
	}
	old := a.Schema
	inexact, schema := a, *a.Schema
	schema.Codecs = append(schema.Codecs, codec.Spec{Name: "numcodecs.bz2"})
	inexact.Schema = &schema
	if merged, err := Merge(&inexact, map[string]int64{"time": 10}); merged || err != nil || len(inexact.Patches) != 2 {
		t.Errorf("codecs that cannot encode: merged %v, %v, want false", merged, err)
	}
	merged, err := Merge(&a, map[string]int64{"time": 10})
	if err != nil || !merged || a.Schema == old {
		t.Fatalf("merged %v: %v", merged, err)
	}
	g, err := a.Schema.Grid()
	if err != nil || fmt.Sprint(g.Counts()) != "[5 2]" {
		t.Fatalf("%v chunks (%v)", g.Counts(), err)
	}
	if fmt.Sprint(a.Patches[0].Limit, a.Patches[1].Limit) != "[4 2] [4 2]" {
		t.Errorf("compacted chunks are kept up to %v and %v", a.Patches[0].Limit, a.Patches[1].Limit)
	}
	if merged, err := Merge(&a, map[string]int64{"x": 30}); err != nil || !merged || a.Patches != nil {
		t.Errorf("merged %v: %v; kept %+v", merged, err, a.Patches)
	}
}
