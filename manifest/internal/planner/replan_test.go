package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// shard makes the chunks of a variable of all files shards.
func (m *maker) shard(path string) {
	config := json.RawMessage(`{"chunk_shape":[2,3,4],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"end"}`)
	for _, f := range m.files {
		m.change(f, func(h *manifest.Header) {
			for _, v := range h.Variables {
				if v.Path == path {
					v.Storage.Codecs, v.Storage.Filters = []codec.Spec{{Name: "sharding_indexed", Config: config}}, 0
				}
			}
		})
	}
}

// TestReplans lists the cases in which an append plans all files again.
func TestReplans(t *testing.T) {
	m64 := func(n ...int64) []int64 { return n }
	two := func(m *maker) { m.day("a", 0, 4); m.day("b", 4, 4) }
	cases := []struct {
		why  report.Replan
		old  int // the number of files of the first plan; -1 without a state
		opts plan.Options
		make func(m *maker)
	}{
		{"", 2, plan.Options{}, func(m *maker) { two(m); m.day("c", 8, 4) }},
		{report.ReplanNoState, -1, plan.Options{}, func(m *maker) { two(m); m.day("c", 8, 4) }},
		{"", 2, plan.Options{Strict: true}, func(m *maker) { two(m); m.day("c", 8, 4) }},
		{report.ReplanOption, 2, plan.Options{Padded: true}, func(m *maker) { two(m); m.day("c", 8, 4) }},
		{report.ReplanOption, 2, plan.Options{}, func(m *maker) { two(m); m.day("c", 8, 4); m.shard("/t") }},
		{"", 2, plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d+)$`}}}, func(m *maker) { runs(m, "r9", "r10", "r11") }},
		{report.ReplanNewPosition, 2, plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d+)$`}}}, func(m *maker) { runs(m, "r9", "r11", "r10") }},
		{report.ReplanNewPosition, 2, plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d+)$`}}}, func(m *maker) { runs(m, "r9", "r11", "s11") }},
		// The values become floats.
		{report.ReplanDeclarations, 2, plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `r(.*)$`}}}, func(m *maker) { runs(m, "r9", "r10", "r10.5") }},
		{report.ReplanOption, 2, plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d+)$`}, {Name: "size", Attribute: "size"}}}, func(m *maker) {
			runs(m, "r9", "r10", "r11")
			for _, f := range m.files {
				f.Groups = manifest.NewFileGroups(&manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/", Attributes: []manifest.Attribute{textAttribute("size", "1")}}}})
			}
		}},
		// No array has the new dimension.
		{report.ReplanPlacement, 2, plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d+)$`}}}, func(m *maker) {
			for _, name := range []string{"r9", "r10", "r11"} {
				m.file(name, scalar("z", 1))
			}
		}},
		{"", 2, plan.Options{}, func(m *maker) { stationFiles(m, "b a", "d c", "f e") }},
		{report.ReplanNewPosition, 2, plan.Options{}, func(m *maker) { stationFiles(m, "b a", "f e", "d c") }},
		// Only the old file before the last one has a greater text.
		{report.ReplanNewPosition, 3, plan.Options{}, func(m *maker) { stationFiles(m, "a g", "b i", "c d", "f h") }},
		{report.ReplanPlacement, 2, plan.Options{Concat: []string{"station"}, Overlap: plan.OverlapFirst}, func(m *maker) { stationFiles(m, "a b", "b c", "d e") }},
		{"", 4, plan.Options{}, func(m *maker) { tileFiles(m, "0,0 0,1 1,1 1,0 2,0 2,1") }},
		// Tiles in rows and columns, with a variable that each cell has once.
		{"", 8, plan.Options{}, func(m *maker) {
			for i := range 12 {
				row, column := float64(i/2%2), float64(i%2)
				height := coords("z", "lat x", int16s, row, column)
				height.v.Shape, height.v.Storage.Chunks = m64(1, 2), m64(1, 2)
				m.file(fmt.Sprint(i), days(i/4, 1), coords("lat", "lat", int16s, row), coords("x", "x", int16s, 2*column, 2*column+1), height,
					cube("t", "time lat x", m64(1, 1, 2), m64(1, 1, 2)))
			}
		}},
		{report.ReplanPlacement, 3, plan.Options{}, func(m *maker) { tileFiles(m, "0,0 0,1 1,0 1,1") }},                    // a gap
		{report.ReplanNewPosition, 4, plan.Options{}, func(m *maker) { tileFiles(m, "0,0 0,1 1,0 1,1 2,0") }},              // half a layer
		{report.ReplanDeclarations, 4, plan.Options{}, func(m *maker) { tileFiles(m, "0,0 0,1 1,0 1,1 2,0 2,1 2,2") }},     // a new tile
		{report.ReplanNewPosition, 4, plan.Options{}, func(m *maker) { tileFiles(m, "0,0 0,1 1,0 1,1 0,2 1,2") }},          // along the other dimension
		{report.ReplanPlacement, 2 * mostSamples, plan.Options{}, func(m *maker) { tileFiles(m, layers(2, mostSamples)) }}, // too many tiles
		{report.ReplanVariants, 3, plan.Options{Tolerance: 1}, func(m *maker) {
			for i := range 4 {
				lat := coords("lat", "lat", float32s, -10, 0, 10+float64(i%2)/2).with("units", "degrees_north")
				m.file(fmt.Sprint(i), days(4*i, 4), lat, cube("t", "time lat", m64(4, 3), m64(4, 3)))
			}
		}},
		{report.ReplanReordered, 3, plan.Options{Flip: map[string]plan.Direction{"lat": plan.Increasing}}, func(m *maker) {
			for i := range 4 {
				sign := float64(1 - i%2*2)
				m.file(fmt.Sprint(i), days(4*i, 4), coords("lat", "lat", float32s, -10*sign, 0, 10*sign), cube("t", "time lat", m64(4, 3), m64(4, 3)))
			}
		}},
		// The first file that runs the other way is a new one.
		{report.ReplanReordered, 3, plan.Options{Flip: map[string]plan.Direction{"lat": plan.Increasing}}, func(m *maker) {
			for i := range 4 {
				sign := float64(1 - i/3*2)
				m.file(fmt.Sprint(i), days(4*i, 4), coords("lat", "lat", float32s, -10*sign, 0, 10*sign), cube("t", "time lat", m64(4, 3), m64(4, 3)))
			}
		}},
		{report.ReplanTexts, 2, plan.Options{Broadcast: []plan.Broadcast{{Array: "name", Dim: "time"}}}, func(m *maker) {
			for i := range 3 {
				w := words("name", "", fmt.Sprint("station ", i))
				w.v.Dims, w.v.Shape = nil, nil
				m.file(fmt.Sprint(i), days(4*i, 4), lat(), w, cube("t", "time lat", m64(4, 3), m64(4, 3)))
			}
		}},
		{"", 2, plan.Options{Concat: []string{"time"}}, func(m *maker) { unplaced(m, "run9", "run10", "run11") }},
		{report.ReplanNewPosition, 2, plan.Options{Concat: []string{"time"}}, func(m *maker) { unplaced(m, "run9", "run11", "run10") }},
		// Each of two variables has its own files, which start at the same position.
		{report.ReplanPlacement, 4, plan.Options{Concat: []string{"time"}}, func(m *maker) {
			for i := range 5 {
				m.file(fmt.Sprint(i), lat(), cube([]string{"t", "u"}[i%2], "time lat", m64(4, 3), m64(4, 3)))
			}
		}},
		{report.ReplanInnerDim, 2, plan.Options{}, func(m *maker) {
			for i := range 3 {
				bounds := coords("near", "time", int16s, lines(float64(i), 4, 1)...)
				bounds.v.Path, bounds.v.Dims, bounds.v.Shape, bounds.v.Storage.Chunks = "/near", []string{"/one", "/time"}, m64(1, 4), m64(1, 4)
				m.file(fmt.Sprint(i), days(4*i, 4), lat(), bounds, cube("t", "time lat", m64(4, 3), m64(4, 3)))
			}
		}},
		{report.ReplanManyHeaders, mostSamples + 1, plan.Options{}, func(m *maker) {
			for i := range mostSamples + 2 {
				m.file(fmt.Sprintf("%04d", i), days(i, 1), lat(), cube("t", "time lat", m64(1, 3), m64(1, 3)).with("cell_measures", fmt.Sprint("area: a", i)))
			}
		}},
		{report.ReplanNewHeader, 2, plan.Options{}, func(m *maker) { two(m); m.day("c", 8, 5) }},
		{report.ReplanOtherFiles, 2, plan.Options{}, func(m *maker) { two(m); m.day("c", 8, 4).Hidden = true }},
		{report.ReplanNewPosition, 2, plan.Options{}, func(m *maker) { two(m); m.day("c", -8, 4) }},
		{report.ReplanDeclarations, 2, plan.Options{}, func(m *maker) {
			for i, title := range []string{"t", "t", "u"} {
				m.file(fmt.Sprint(i), days(4*i, 4), lat(), cube("t", "time lat", m64(4, 3), m64(4, 3)).with("title", title))
			}
		}},
	}
	seen := map[report.Replan]bool{}
	for _, c := range cases {
		seen[c.why] = true
		t.Run(nameOf(c.why), func(t *testing.T) {
			m := newMaker()
			c.make(m)
			n := max(c.old, 2)
			base, _, err := newPlan(m.files[:n], &c.opts)
			if err != nil || base == nil {
				t.Fatal(err)
			}
			if c.old < 0 {
				base.State = nil
			}
			got, err := whyReplan(snapshotOf(base, n), m.files, &c.opts)
			if got == report.ReplanNoState && base.Stateless != "" {
				got = base.Stateless
			}
			if err != nil || got != c.why {
				t.Errorf("%q, want %q: %v", got, c.why, err)
			}
		})
	}
	data, err := os.ReadFile("../../report/replan.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, value, ok := strings.Cut(line, ` Replan = "`); ok {
			if why, _, _ := strings.Cut(value, `"`); !seen[report.Replan(why)] {
				t.Errorf("no case has the reason %s", why)
			}
		}
	}
}

// TestDirectionsOfGroups: dimensions of one name have directions of their own, and keep them.
func TestDirectionsOfGroups(t *testing.T) {
	m := newMaker()
	for i := range 3 {
		sign := float64(1 - i/2*2)
		up, down := coords("a/lat", "a/lat", float32s, -sign, 0, sign), coords("b/lat", "b/lat", float32s, sign, 0, -sign)
		m.file(fmt.Sprint(i), days(4*i, 4), up, down, cube("a/t", "time a/lat", []int64{4, 3}, []int64{4, 3}), cube("b/t", "time b/lat", []int64{4, 3}, []int64{4, 3}))
	}
	opts := &plan.Options{Flip: map[string]plan.Direction{"lat": plan.UsualDirection}}
	made, _, err := newPlan(m.files, opts)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]plan.Direction{"/a/lat": plan.Increasing, "/b/lat": plan.Decreasing}; !maps.Equal(made.Flip, want) {
		t.Errorf("%v, want %v", made.Flip, want)
	}
	opts.Older, opts.DirectionsOf = 1, map[string]plan.Direction{"/a/lat": plan.Decreasing, "/b/lat": plan.Decreasing}
	if made, _, err = newPlan(m.files, opts); err != nil || !maps.Equal(made.Flip, opts.DirectionsOf) {
		t.Errorf("%v, want %v: %v", made.Flip, opts.DirectionsOf, err)
	}
}

// TestReversalRefused: no option reverses a dimension that an earlier snapshot has.
func TestReversalRefused(t *testing.T) {
	m := newMaker()
	for i := range 3 {
		m.day(fmt.Sprint(i), i, 1)
	}
	for _, dim := range []string{"lat", "/lat", "time"} { // each file has one time
		opts := &plan.Options{Flip: map[string]plan.Direction{dim: plan.Decreasing}}
		if _, _, err := newPlan(m.files, opts); err != nil {
			t.Fatal(err)
		}
		opts.Older = 2
		var refused *plan.OptionError
		if _, _, err := newPlan(m.files, opts); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a refusal", dim, err)
		}
	}
}

// runs makes files without a dimension of runs.
func runs(m *maker, names ...string) {
	for _, name := range names {
		m.file(name, lat(), cube("t", "lat x", []int64{3, 2}, []int64{3, 2}))
	}
}

// stationFiles makes files of two stations each.
func stationFiles(m *maker, stations ...string) {
	for i, names := range stations {
		m.file(fmt.Sprint(i), words("station", "station", strings.Fields(names)...), lat(), cube("t", "station lat", []int64{2, 3}, []int64{2, 3}))
	}
}

// layers lists the cells of a mosaic, and one of the next layer.
func layers(n, tiles int) string {
	var cells []string
	for layer := range n {
		for tile := range tiles {
			cells = append(cells, fmt.Sprintf("%d,%d", layer, tile))
		}
	}
	return strings.Join(append(cells, fmt.Sprintf("%d,0", n)), " ")
}

// tileFiles makes tiles of a day and two columns each. A cell is DAY,TILE.
func tileFiles(m *maker, cells string) {
	for _, cell := range strings.Fields(cells) {
		var day, tile int
		fmt.Sscanf(cell, "%d,%d", &day, &tile)
		x := coords("x", "x", int16s, float64(2*tile), float64(2*tile+1))
		m.file(cell, days(day, 1), x, lat(), cube("t", "time lat x", []int64{1, 3, 2}, []int64{1, 3, 2}))
	}
}

// unplaced makes files without a coordinate along time.
func unplaced(m *maker, names ...string) {
	for _, name := range names {
		m.file(name, lat(), cube("t", "time lat", []int64{4, 3}, []int64{4, 3}))
	}
}

// nameOf returns the name of a case.
func nameOf(why report.Replan) string {
	if why == "" {
		return "extended"
	}
	return string(why)
}

// whyReplan appends the files that a snapshot lacks, and returns why all files have to be planned again.
func whyReplan(old *manifest.Snapshot, all []*manifest.File, opts *plan.Options) (report.Replan, error) {
	n := old.Rows(manifest.Sources)
	rows, why, err := Samples(old, all[n:])
	if err != nil || why != "" {
		return why, err
	}
	var samples []*manifest.File
	for _, row := range rows {
		samples = append(samples, all[row])
	}
	files := slices.Concat(samples, all[n:])
	_, why, err = Extend(context.Background(), old, samples, all[n:], opts, &remembered{files, func(*manifest.File, string) bool { return false }})
	return why, err
}
