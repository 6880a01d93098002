package planner

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/plan"
)

// randomTiles is a random archive with a known plan.
type randomTiles struct {
	m       *maker
	cuts    map[string][]int64 // by dimension: where tiles begin, and the length
	dims    []string
	chunk   map[string]int64
	missing map[string]bool
}

func randomCuts(r *rand.Rand, most int) []int64 {
	cuts := []int64{0}
	for range 1 + r.IntN(most) {
		cuts = append(cuts, cuts[len(cuts)-1]+1+int64(r.IntN(6)))
	}
	return cuts
}

// newCuts splits one to three dimensions, one of them time, and makes a file for most cells.
func newCuts(r *rand.Rand) *randomTiles {
	g := &randomTiles{m: newMaker(), cuts: map[string][]int64{}, chunk: map[string]int64{}, missing: map[string]bool{}}
	g.dims = [][]string{{"time"}, {"time", "y"}, {"time", "y", "x"}, {"y", "time"}, {"x", "y"}}[r.IntN(5)]
	for _, d := range g.dims {
		g.cuts[d] = randomCuts(r, 4)
		g.chunk[d] = 1 + int64(r.IntN(4))
	}
	falling := r.IntN(3) == 0 && slices.ContainsFunc(g.cuts["y"], func(n int64) bool { return n > int64(len(g.cuts["y"])-1) })
	g.each(func(cell []int) {
		if len(g.dims) > 1 && r.IntN(8) == 0 {
			g.missing[fmt.Sprint(cell)] = true
			return
		}
		var vars []wanted
		var shape, chunk []int64
		for k, d := range g.dims {
			from, to := g.cuts[d][cell[k]], g.cuts[d][cell[k]+1]
			at := lines(float64(from), float64(to-from), 1)
			if d == "y" && falling {
				for i := range at {
					at[i] = 1000 - at[i]
				}
			}
			w := coords(d, d, float64s, at...)
			if d == "time" {
				w = w.with("units", "days since 2000-01-01")
			}
			vars = append(vars, w)
			shape, chunk = append(shape, to-from), append(chunk, g.chunk[d])
		}
		vars = append(vars, lat(), cube("t", strings.Join(g.dims, " ")+" lat", append(shape, 3), append(chunk, 3)))
		g.m.file(fmt.Sprintf("f%d_%v.nc", r.IntN(1e6), cell), vars...)
	})
	r.Shuffle(len(g.m.files), func(i, j int) { g.m.files[i], g.m.files[j] = g.m.files[j], g.m.files[i] })
	return g
}

// each calls do for each cell of the lattice.
func (g *randomTiles) each(do func(cell []int)) {
	cell := make([]int, len(g.dims))
	for {
		do(cell)
		k := len(cell) - 1
		for ; k >= 0; k-- {
			if cell[k]++; cell[k] < len(g.cuts[g.dims[k]])-1 {
				break
			}
			cell[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// complete reports whether some file starts at each cut, and whether the files cover at least half
// of the lattice.
func (g *randomTiles) complete() bool {
	seen := map[string]bool{}
	want, have := 0, 0
	for _, d := range g.dims {
		want += len(g.cuts[d]) - 1
	}
	cells := 0
	g.each(func(cell []int) {
		cells++
		if g.missing[fmt.Sprint(cell)] {
			return
		}
		have++
		for k := range cell {
			seen[fmt.Sprint(k, cell[k])] = true
		}
	})
	return len(seen) == want && have*2 > cells && have > 1
}

// TestTilings: random tilings are recovered in any order of files, and edges end where files end.
func TestTilings(t *testing.T) {
	for seed := range soak.Seeds(t, 100) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := newCuts(r)
		if !g.complete() {
			continue
		}
		p := planned(t, g.m, &plan.Options{Concat: g.dims})
		if !g.check(t, p) {
			t.Fatalf("seed %d", seed)
		}
		if found, needs, err := newPlan(g.m.files, nil); err == nil && len(needs) == 0 && len(g.missing) == 0 && !g.single() {
			if got, want := describe(g.m.files, found, false), describe(g.m.files, p, false); got != want {
				t.Fatalf("seed %d: without options:\n%s\nnot\n%s", seed, got, want)
			}
		} else if len(g.missing) == 0 && !g.single() {
			t.Fatalf("seed %d: %v %v", seed, needs, err)
		}
		before := describe(g.m.files, p, true)
		r.Shuffle(len(g.m.files), func(i, j int) { g.m.files[i], g.m.files[j] = g.m.files[j], g.m.files[i] })
		if after := describe(g.m.files, planned(t, g.m, &plan.Options{Concat: g.dims}), true); after != before {
			t.Fatalf("seed %d: in another order\n%s\nnot\n%s", seed, after, before)
		}
	}
}

// single reports whether a dimension has only one part. Then nothing shows that files are placed
// along it.
func (g *randomTiles) single() bool {
	return slices.ContainsFunc(g.dims, func(d string) bool { return len(g.cuts[d]) == 2 })
}

func (g *randomTiles) check(t *testing.T, p *Plan) bool {
	t.Helper()
	a := arrayOf(t, p, "/t")
	ok := true
	for k, d := range g.dims {
		cuts := g.cuts[d]
		if a.Schema.Shape[k] != cuts[len(cuts)-1] {
			t.Errorf("%s has length %d, want %d", d, a.Schema.Shape[k], cuts[len(cuts)-1])
			return false
		}
		ok = g.checkEdges(t, a, k) && ok
	}
	placed := 0
	for _, w := range p.Placements {
		if w.ID != a.Placement {
			continue
		}
		for _, tile := range w.Tiles {
			placed++
			ok = g.checkTile(t, g.m.files[tile.File], w.Dims, tile) && ok
		}
	}
	if placed != len(g.m.files) {
		t.Errorf("%d tiles of %d files", placed, len(g.m.files))
	}
	return ok && placed == len(g.m.files)
}

// checkEdges checks that no chunk has elements of two files, and that no chunk is longer than the
// chunks of its file.
func (g *randomTiles) checkEdges(t *testing.T, a *manifest.Array, axis int) bool {
	t.Helper()
	grid, err := a.Schema.Grid()
	if err != nil {
		t.Fatal(err)
	}
	cuts, at := g.cuts[g.dims[axis]], int64(0)
	for i := range grid.Dim(axis).Chunks() {
		size, _ := grid.Dim(axis).DataSize(i)
		end := at + size
		for _, cut := range cuts {
			if at < cut && cut < end {
				t.Errorf("%s: chunk %d…%d crosses the file boundary %d: %s", g.dims[axis], at, end, cut, gridText(a))
				return false
			}
		}
		if end-at > g.chunk[g.dims[axis]] {
			t.Errorf("%s: chunk %d…%d is longer than the chunks of its file", g.dims[axis], at, end)
			return false
		}
		at = end
	}
	return true
}

func (g *randomTiles) checkTile(t *testing.T, f *manifest.File, dims []string, tile manifest.Tile) bool {
	t.Helper()
	v := f.Header.Variable(f.Header.Find("/t"))
	var cell []int
	name := f.URL[strings.Index(f.URL, "["):]
	for _, word := range strings.Fields(strings.Trim(strings.TrimSuffix(name, ".nc"), "[]")) {
		n := 0
		fmt.Sscan(word, &n)
		cell = append(cell, n)
	}
	for i, d := range dims {
		k := slices.Index(v.Dims, d)
		if tile.Origin[i] != g.cuts[d[1:]][cell[k]] || tile.Shape[i] != v.Shape[k] || tile.Start[i] != 0 {
			t.Errorf("%s: %+v along %s, cuts %v", f.URL, tile, d, g.cuts[d[1:]])
			return false
		}
	}
	return true
}

// describe formats a plan with file names instead of file numbers.
func describe(files []*manifest.File, p *Plan, findings bool) string {
	var b strings.Builder
	for _, a := range p.Arrays {
		doc, err := a.Schema.Encode(0)
		fmt.Fprintln(&b, a.Path, string(doc), err, a.Placement, a.Reading, a.Variables, a.Dims, a.Renamed, a.Unnamed, a.Pieces)
	}
	for _, w := range p.Placements {
		fmt.Fprintln(&b, w.ID, w.Dims)
		for _, tile := range w.Tiles {
			fmt.Fprintln(&b, files[tile.File].URL, tile.Origin, tile.Start, tile.Shape)
		}
	}
	for _, g := range p.Groups {
		fmt.Fprintln(&b, g.Path, string(g.Attributes.JSON()))
	}
	for _, v := range p.Values {
		fmt.Fprintln(&b, v.ID)
	}
	if findings {
		for _, f := range p.Report.Findings {
			fmt.Fprintf(&b, "%+v\n", f)
		}
	}
	return b.String()
}

// TestPermutations: the order of files changes neither plans nor refusals.
func TestPermutations(t *testing.T) {
	for seed := range soak.Seeds(t, 80) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := newMaker()
		messy(r, m)
		opts := &plan.Options{Coords: []plan.Coords{plan.CoordsEqual, plan.CoordsFirst}[r.IntN(2)], Overlap: []plan.Overlap{plan.OverlapRefuse, plan.OverlapFirst, plan.OverlapLast}[r.IntN(3)],
			Pad: []plan.Pad{plan.PadRefuse, plan.PadFill}[r.IntN(2)]}
		first, needs, err := newPlan(m.files, opts)
		before := outcome(m.files, first, needs, err)
		for range 3 {
			r.Shuffle(len(m.files), func(i, j int) { m.files[i], m.files[j] = m.files[j], m.files[i] })
			p, needs, err := askedNew(m.files, opts)
			if after := outcome(m.files, p, needs, err); after != before {
				t.Fatalf("seed %d:\n%s", seed, firstDifference(after, before))
			}
		}
	}
}

// firstDifference returns the first lines in which two texts differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\nnot\n" + y[i]
		}
	}
	return "one text is longer"
}

func outcome(files []*manifest.File, p *Plan, needs []Request, err error) string {
	if err != nil {
		return err.Error()
	}
	if len(needs) > 0 {
		return fmt.Sprint(len(needs), " needs")
	}
	return describe(files, p, true)
}

// messy makes an archive with many kinds of disagreement.
func messy(r *rand.Rand, m *maker) {
	at := r.IntN(5)
	for i := range 2 + r.IntN(6) {
		n := 1 + r.IntN(4)
		w := days(at, n)
		if r.IntN(6) == 0 {
			w = coords("time", "time", int32s, lines(float64(24*at), float64(n), 24)...).with("units", "hours since 1990-01-01")
		}
		y := lat()
		if r.IntN(8) == 0 {
			y = coords("lat", "lat", float32s, -10, 0, 10.5).with("units", "degrees_north")
		}
		vars := []wanted{w, y}
		width := int64(4)
		if r.IntN(8) == 0 {
			width = 3
		}
		chunk := []int64{1 + int64(r.IntN(n)), 1 + int64(r.IntN(3)), width}
		switch r.IntN(8) {
		case 0:
			vars = append(vars, cube("t", "time x lat", []int64{int64(n), width, 3}, []int64{chunk[0], width, 3}))
		case 1:
			vars = append(vars, bare("t", "time lat x", []int64{int64(n), 3, width}, 0))
		default:
			vars = append(vars, cube("t", "time lat x", []int64{int64(n), 3, width}, chunk))
		}
		if r.IntN(3) > 0 {
			vars = append(vars, cube("u", "time", []int64{int64(n)}, []int64{int64(n)}).with("comment", fmt.Sprint(r.IntN(2))))
		}
		m.file(fmt.Sprintf("m%d_%d", r.IntN(1000), i), vars...)
		at += n
		if r.IntN(8) == 0 {
			at += r.IntN(4) - 1
		}
	}
}

// TestInputIsKept: New does not change the files.
func TestInputIsKept(t *testing.T) {
	m := newMaker()
	messy(rand.New(rand.NewPCG(7, 7)), m)
	copies := make([]manifest.File, len(m.files))
	headers := make([]manifest.Header, len(m.files))
	for i, f := range m.files {
		copies[i], headers[i] = *f, *f.Header.Expand()
		headers[i].Variables = slices.Clone(f.Header.Expand().Variables)
		for k, v := range f.Header.Expand().Variables {
			headers[i].Variables[k] = new(*v)
		}
	}
	if _, _, err := newPlan(m.files, &plan.Options{Pad: plan.PadFill, Coords: plan.CoordsFirst}); err != nil {
		t.Fatal(err)
	}
	for i, f := range m.files {
		if !reflect.DeepEqual(*f, copies[i]) || !reflect.DeepEqual(f.Header.Expand().Variables, headers[i].Variables) {
			t.Errorf("%s was changed", f.URL)
		}
	}
}
