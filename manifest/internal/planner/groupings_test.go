package planner

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/plan"
	"varve/zarrjson"
)

// remembered is a source of values for files in memory. The values of a variable are equal in all files, or
// in no two files.
type remembered struct {
	files   []*manifest.File
	differs func(file *manifest.File, variable string) bool
}

func (m *remembered) Get(_ context.Context, requests []Request) (all []*manifest.Values, err error) {
	for _, r := range requests {
		f := m.files[r.File]
		v := f.Header.Variable(r.Variable)
		key := v.Path
		if m.differs(f, v.Path) {
			key += f.URL
		}
		h := fnv.New64a()
		h.Write([]byte(key))
		b := byte(h.Sum64() % 100)
		values := &manifest.Values{}
		for range coord.ElementsOf(v) {
			if v.Type.Varies() {
				values.Texts = append(values.Texts, []byte{b})
			} else {
				values.Data = append(values.Data, append([]byte{b % 2}, make([]byte, v.Type.Size-1)...)...)
			}
		}
		if values.SetID(); r.Extent == Summarized {
			g, err := NewGauge(f.Header.Expand(), r.Variable)
			if err != nil {
				return nil, err
			}
			if err := g.Add(values.Data); err != nil {
				return nil, err
			}
			values = g.Values()
		}
		all = append(all, values)
	}
	return all, nil
}

// grown is an archive that grows by appends, as a manifest has it.
type grown struct {
	snapshot *manifest.Snapshot
	tiles    map[string][]manifest.Tile
	dims     map[string][]string
	values   map[string]*manifest.Values
	findings string
}

func planOf(files []*manifest.File, p *Plan) *grown {
	g := &grown{snapshot: snapshotOf(p, len(files)), tiles: map[string][]manifest.Tile{}, dims: map[string][]string{}, values: valuesByID(p.Values)}
	g.add(p.Placements)
	for _, f := range p.Report.Findings {
		g.findings += fmt.Sprintf("%+v\n", f)
	}
	return g
}

func (g *grown) add(placements []manifest.Placement) {
	for _, w := range placements {
		g.tiles[w.ID], g.dims[w.ID] = append(g.tiles[w.ID], w.Tiles...), w.Dims
	}
}

// extend adds an extension.
func (g *grown) extend(x *Extension, more int) {
	g.snapshot, g.findings = extended(g.snapshot, x, more), ""
	g.add(x.Placements)
	for _, v := range x.Values {
		g.values[v.ID] = v
	}
}

// text describes the arrays and groups. It leaves out how values in the manifest and netCDF-3 records are chunked,
// because an append keeps that.
func (g *grown) text(t testing.TB, files []*manifest.File) string {
	var b strings.Builder
	for _, a := range g.snapshot.Arrays {
		schema := *a.Schema
		if a.Placement == "" {
			schema.Codecs, schema.ChunkGrid = []codec.Spec{little()}, zarrjson.RegularGrid(slices.Repeat([]int64{1}, len(schema.Shape))...)
		}
		if slices.ContainsFunc(files, func(f *manifest.File) bool { return hasRecords(f, a.Path) }) {
			schema.ChunkGrid = zarrjson.RegularGrid(slices.Repeat([]int64{1}, len(schema.Shape))...)
		}
		if err := a.Schema.Validate(); err != nil {
			t.Error(err)
		}
		doc, err := schema.Encode(0)
		fmt.Fprintln(&b, a.Path, string(doc), err, a.Reading, a.Variables, a.Dims, a.Renamed, a.Unnamed, g.dims[a.Placement])
		for _, tile := range g.tiles[a.Placement] {
			fmt.Fprintln(&b, " ", files[tile.File].URL, tile.Origin, tile.Start, tile.Shape)
		}
		if a.Placement == "" {
			data, texts := elementsOfPieces(t, &a, g.values)
			fmt.Fprintf(&b, "  %x %q\n", data, texts)
		}
	}
	for _, group := range g.snapshot.Groups {
		fmt.Fprintln(&b, group.Path, string(group.Attributes.JSON()))
	}
	return b.String()
}

// hasRecords reports whether a file has a variable as netCDF-3 records.
func hasRecords(f *manifest.File, path string) bool {
	return slices.ContainsFunc(f.Header.Expand().Variables, func(v *manifest.Variable) bool { return v.Path == path && v.Storage.Stride != 0 })
}

// sameExtended compares an extension of a plan of the first files with a plan of all files.
func sameExtended(t testing.TB, m *maker, whole, base *Plan, exts ...*Extension) {
	t.Helper()
	g := planOf(m.files, base)
	for _, x := range exts {
		g.extend(x, 0)
	}
	if got, want := g.text(t, m.files), planOf(m.files, whole).text(t, m.files); got != want {
		t.Error(firstDifference(got, want))
	}
}

// grow plans the first files, and then appends the others in groups. A refused append changes nothing, so its files
// are appended again with the next group.
func grow(given []*manifest.File, ends []int, opts *plan.Options, differs func(*manifest.File, string) bool) (g *grown, extensions int, err error) {
	files := copied(given)
	for _, n := range ends {
		var x *Extension
		if g != nil {
			old := int(g.snapshot.Rows(manifest.Sources))
			var rows []int64
			if rows, _, err = Samples(g.snapshot, files[old:n]); err != nil {
				return nil, 0, err
			}
			var all []*manifest.File
			for _, row := range rows {
				all = append(all, files[row])
			}
			all = append(all, files[old:n]...)
			if x, _, err = Extend(context.Background(), g.snapshot, all[:len(rows)], files[old:n], opts, &remembered{all, differs}); err != nil {
				return nil, 0, err
			}
			if x != nil {
				extensions++
				g.extend(x, n-old)
				continue
			}
		}
		own := *opts
		if g != nil {
			own.ChunkLengths = ChunkLengths(g.snapshot.Arrays)
		}
		// A plan stores all small values that it knows. So it must not know values that only earlier plans have read.
		files = copied(given)
		var p *Plan
		if p, err = New(context.Background(), files[:n], &own, &remembered{files[:n], differs}); err == nil {
			g = planOf(files[:n], p)
		}
	}
	return g, extensions, err
}

// copied returns copies of files, because a plan keeps the values that it reads in the files.
func copied(files []*manifest.File) []*manifest.File {
	out := make([]*manifest.File, len(files))
	for i, f := range files {
		own := *f
		own.Values = slices.Clone(f.Values)
		out[i] = &own
	}
	return out
}

// randomOptions draws options that decide how files are combined.
func randomOptions(r *rand.Rand) *plan.Options {
	o := &plan.Options{Rectilinear: r.IntN(2) == 0}
	switch r.IntN(12) {
	case 0:
		o.Coords = plan.CoordsFirst
	case 1:
		o.Overlap = []plan.Overlap{plan.OverlapFirst, plan.OverlapLast}[r.IntN(2)]
	case 2:
		o.Pad = plan.PadFill
	case 3:
		o.Missing = []plan.Absent{plan.AbsentDrop, plan.AbsentRefuse}[r.IntN(2)]
	case 4:
		o.Concat = []string{"time"}
	case 5:
		o.Tolerance = 1
	case 6:
		o.Schemas = []plan.Override{{Array: "t", Chunks: map[string][]int64{"time": {1 + r.Int64N(4)}}}}
	case 7:
		o.Broadcast = []plan.Broadcast{{Array: "s", Dim: "time"}}
	case 8:
		o.Inline = new(r.Int64N(200))
	case 9:
		o.ValueBytes = 1 + r.Int64N(40)
	case 10:
		o.Rename = []plan.Rename{{Old: "lat", New: "y"}}
	case 11:
		o.Join = map[string]plan.Join{"": plan.JoinOuter}
	}
	return o
}

// series makes an archive that grows along time, with a few kinds of files: other lengths, codecs, packing, chunks,
// variables, attributes, and forms of the same values. It returns what places the files: most often times.
func series(r *rand.Rand, m *maker, opts *plan.Options) (placed string) {
	placed = []string{"times", "times", "times", "names", "stations"}[r.IntN(5)]
	if placed != "times" {
		opts.Concat = []string{"time"}
	}
	lengths := [][]int{{4}, {1}, {4, 4, 6}, {31, 28, 30}, {1, 2}}[r.IntN(5)]
	kinds, at := 1+r.IntN(3), 0
	sometimes := func() bool { return r.IntN(4) == 0 }
	texts, bounds, statics, scalars, records, hourly := sometimes(), sometimes(), r.IntN(2) == 0, sometimes(), sometimes(), sometimes()
	own, since := sometimes(), r.IntN(6) == 0
	levels := make([]int, kinds)
	for k := range levels {
		levels[k] = 1 + r.IntN(2)
	}
	for i := range 4 + r.IntN(8) {
		n, kind := lengths[r.IntN(len(lengths))], r.IntN(kinds)
		time := days(at, n)
		if hourly && kind == 1 {
			time = coords("time", "time", int32s, lines(float64(24*at), float64(n), 24)...).with("units", "hours since 1990-01-01", "standard_name", "time")
		}
		if since {
			date := stdtime.Date(1990, 1, 1+at, 0, 0, 0, 0, stdtime.UTC).Format("2006-01-02")
			time = coords("time", "time", int32s, lines(0, float64(n), 1)...).with("units", "days since "+date, "standard_name", "time")
		}
		vars := []wanted{time, lat(), cube("t", "time lat", []int64{int64(n), 3}, []int64{int64(1 + kind%n), 3})}
		data := &vars[2]
		data.v.Storage.Codecs = []codec.Spec{{Name: "bytes", Config: []byte(`{"endian":"little"}`)}, {Name: "numcodecs.zlib", Config: fmt.Appendf(nil, `{"level":%d}`, levels[kind])}}
		if kind == 2 {
			data.v.Type = float64s
		}
		if own {
			ownAttributes(r, i, data)
		}
		if records {
			vars[2] = bare("t", "time lat", []int64{int64(n), 3}, 64)
		}
		if bounds {
			vars = append(vars, coords("bounds", "time", int16s, lines(float64(i), float64(n), 1)...))
		}
		if texts {
			var list []string
			for k := range n {
				list = append(list, fmt.Sprint("label ", i, k))
			}
			vars = append(vars, words("label", "time", list...))
		}
		if statics {
			vars = append(vars, cube("s", "lat x", []int64{3, 5}, []int64{3, 5}), coords("h", "lat", int16s, 1, 2, 3))
		}
		if scalars {
			vars = append(vars, scalar("z", 2))
		}
		if r.IntN(30) == 0 {
			vars = append(vars, cube("rare", "time", []int64{int64(n)}, []int64{int64(n)}))
		}
		switch placed {
		case "names":
			vars = vars[1:]
		case "stations":
			vars[0] = stations(r, at, n)
		}
		m.file(fmt.Sprintf("f%d", i), vars...)
		if r.IntN(30) > 0 {
			at += n
		}
		at += r.IntN(2)
	}
	if r.IntN(3) == 0 {
		r.Shuffle(len(m.files), func(i, j int) { m.files[i], m.files[j] = m.files[j], m.files[i] })
	}
	return placed
}

// tiles makes a mosaic that grows along time by layers of all tiles. Sometimes the last tiles are smaller, a tile is missing,
// or a variable does not have all dimensions.
func tiles(r *rand.Rand, m *maker) (placed string) {
	sometimes := func() bool { return r.IntN(4) == 0 }
	steps, rows, columns := 1+r.IntN(3), 1+r.IntN(3), 2+r.IntN(2)
	ragged, own, statics, early, edges, named := sometimes(), sometimes(), sometimes(), sometimes(), sometimes(), []string{"y", "lat"}[r.IntN(2)]
	falling, missing, chunks := sometimes(), r.IntN(8) == 0, 1+r.Int64N(3)
	for layer := range 3 + r.IntN(4) {
		from := len(m.files)
		for row := range rows {
			for column := range columns {
				if missing && r.IntN(20) == 0 {
					continue
				}
				n, width := 3, 2
				if ragged && row == rows-1 {
					n = 2
				}
				y := lines(float64(3*row), float64(n), 1)
				if falling {
					y = lines(float64(-3*row), float64(n), -1)
				}
				x := coords("x", "x", int16s, lines(float64(2*column), float64(width), 1)...)
				shape := []int64{int64(steps), int64(n), int64(width)}
				chunk := []int64{int64(steps), min(chunks, int64(n)), int64(width)}
				if edges && r.IntN(6) == 0 {
					chunk[1] = 1
				}
				t := cube("t", "time "+named+" x", shape, chunk)
				if own {
					ownAttributes(r, len(m.files), &t)
				}
				vars := []wanted{days(layer*steps, steps), coords(named, named, float32s, y...), x, t}
				if statics {
					vars = append(vars, cube([]string{"s", "w"}[rows%2], named+" x", shape[1:], shape[1:]), cube("h", named, shape[1:2], shape[1:2]), cube("mask", "z", []int64{9}, []int64{9}))
				}
				if early {
					vars = append(vars, cube("u", "time", shape[:1], shape[:1]), coords("b", "time", int16s, lines(float64(layer), float64(steps), 1)...))
				}
				m.file(fmt.Sprintf("f%d_%d_%d", layer, row, column), vars...)
			}
		}
		tile := m.files[from:]
		r.Shuffle(len(tile), func(i, j int) { tile[i], tile[j] = tile[j], tile[i] })
	}
	return "tiles"
}

// layerOf returns the layer of a file of tiles.
func layerOf(f *manifest.File) string {
	layer, _, _ := strings.Cut(f.URL, "_")
	return layer
}

// stations makes a coordinate time of names of stations, in any order. Sometimes a name is repeated.
func stations(r *rand.Rand, at, n int) wanted {
	var list []string
	for k := range n {
		list = append(list, fmt.Sprintf("station %03d", at+k))
	}
	r.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	if r.IntN(30) == 0 {
		list[0] = fmt.Sprintf("station %03d", r.IntN(at+1))
	}
	w := words("time", "time", list...)
	if r.IntN(2) == 0 {
		return w
	}
	w = coords("time", "time", int16s, make([]float64, n)...)
	w.v.Type = codec.Type{Kind: codec.FixedBytes, Size: 12}
	w.values.Data = []byte(strings.Join(list, "\x00") + "\x00")
	return w
}

// steps makes an archive of files that are one position each along a dimension that an option adds.
func steps(r *rand.Rand, m *maker, opts *plan.Options) (placed string) {
	sometimes := func() bool { return r.IntN(4) == 0 }
	placed = []string{"dates", "numbers", "texts", "attribute", "variable", "time"}[r.IntN(6)]
	dim := plan.NewDim{Name: "run", Pattern: `_(\S+)$`}
	switch placed {
	case "attribute":
		dim.Pattern, dim.Attribute = "", "run"
	case "variable", "time":
		dim.Pattern, dim.Variable = "", "at"
	}
	opts.NewDims = []plan.NewDim{dim}
	owned, statics, own, scalars, auxiliary, same := sometimes(), sometimes(), sometimes(), sometimes(), sometimes(), r.IntN(2) == 0
	inner := sometimes()
	kinds, at := 1+r.IntN(2), 1
	for i := range 4 + r.IntN(8) {
		t := cube("t", "lat x", []int64{3, 5}, []int64{3, 5 - 2*int64(r.IntN(kinds))})
		if owned {
			t = cube("t", "run lat x", []int64{1, 3, 5}, []int64{1, 3, 5})
		}
		if own {
			ownAttributes(r, i, &t)
		}
		if auxiliary {
			t = t.with("coordinates", "h")
		}
		vars := []wanted{lat(), t}
		value := float64(at)
		if same {
			value = 7
		}
		if statics {
			vars = append(vars, cube("s", "lat x", []int64{3, 5}, []int64{3, 5}).with("units", "m"))
		}
		if scalars {
			label := words("label", "", fmt.Sprint("run ", value))
			label.v.Dims, label.v.Shape = nil, nil
			vars = append(vars, scalar("z", value), label)
		}
		if auxiliary {
			vars = append(vars, coords("h", "lat", int16s, value, 2, 3))
		}
		if inner {
			vars = append(vars, days(0, 2), coords("v", "time", float64s, value, 2))
		}
		name := fmt.Sprintf("f%d", i)
		switch hours := r.IntN(30) == 0; {
		case placed == "dates" && hours:
			name += fmt.Sprintf("_2001-01-%02dT06:00", at)
		case placed == "dates":
			name += fmt.Sprintf("_2001-01-%02d", at)
		case placed == "numbers" && hours:
			name += fmt.Sprintf("_%d.5", at)
		case placed == "numbers":
			name += fmt.Sprintf("_%d", at)
		case placed == "texts":
			name += fmt.Sprintf("_member%02d", at)
		case placed == "variable":
			vars = append(vars, scalar("at", float64(at)))
		case placed == "time":
			vars = append(vars, scalar("at", float64(at)).with("units", fmt.Sprintf("days since 2000-01-%02d", 1+r.IntN(20)/19)))
		}
		f := m.file(name, vars...)
		attributes := []manifest.Attribute{textAttribute("title", "runs")}
		if placed == "attribute" {
			attributes = append(attributes, textAttribute("run", fmt.Sprint(at)))
		}
		f.Groups = manifest.NewFileGroups(&manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/", Attributes: attributes}}})
		if r.IntN(20) > 0 {
			at++
		}
		at += r.IntN(2)
	}
	if r.IntN(4) == 0 {
		r.Shuffle(len(m.files), func(i, j int) { m.files[i], m.files[j] = m.files[j], m.files[i] })
	}
	return placed
}

// ownAttributes gives the variable of file i attributes that other files have with other values.
func ownAttributes(r *rand.Rand, i int, w *wanted) {
	number := func(name string, x float64) {
		w.v.Attributes = append(w.v.Attributes, manifest.Attribute{Name: name, Type: float64s, Data: numberData(x), Scalar: true})
	}
	*w = w.with("history", fmt.Sprint("made by run ", i), "comment", fmt.Sprint(r.IntN(12)/11))
	if r.IntN(8) > 0 {
		number("actual_max", float64(i))
	}
	if w.v.Type.Kind == codec.Float && r.IntN(20) == 0 {
		return
	}
	w.v.Type = int16s
	number("scale_factor", []float64{1, 0.01, 0.01, 0.01 + float64(i)/1000}[r.IntN(4)])
	if r.IntN(2) == 0 {
		number("add_offset", float64(r.IntN(2)*i))
	}
}

// TestGroupings: any grouping of appends gives the same arrays, chunks and values as one plan of all files, or
// both are refused. Only the chunks of netCDF-3 records may differ.
func TestGroupings(t *testing.T) {
	var planned, extensions, tries int
	widened := map[string]int{} // the number of extensions in cases that have rules of their own
	for seed := range soak.Seeds(t, 200) {
		tries++
		r := rand.New(rand.NewPCG(seed, 11))
		m := newMaker()
		opts, placed := randomOptions(r), ""
		switch r.IntN(12) {
		case 0:
			messy(r, m)
		case 1:
			g := newCuts(r)
			m, opts.Concat = g.m, g.dims
		case 2:
			w := &wild{}
			for range 300 {
				w.bytes = append(w.bytes, byte(r.IntN(256)))
			}
			opts = w.archive()
			m = w.m
		case 3, 4:
			placed = steps(r, m, opts)
		case 5:
			placed = tiles(r, m)
		default:
			placed = series(r, m, opts)
		}
		opts.Strict = opts.Strict || r.IntN(6) == 0
		odd := r.IntN(10) == 0
		if len(m.files) < 2 {
			continue
		}
		var ends []int
		whole := placed == "tiles" && r.IntN(2) == 0 // append whole layers
		for n := 1 + r.IntN(len(m.files)); ; n += 1 + r.IntN(3) {
			for whole && n < len(m.files) && layerOf(m.files[n]) == layerOf(m.files[n-1]) {
				n++
			}
			if n >= len(m.files) {
				ends = append(ends, len(m.files))
				break
			}
			ends = append(ends, n)
		}
		url := m.files[len(m.files)-1].URL
		differs := func(f *manifest.File, variable string) bool { return odd && f.URL == url }
		atOnce, _, wholeErr := grow(m.files, []int{len(m.files)}, opts, differs)
		parts, n, partsErr := grow(m.files, ends, opts, differs)
		extensions += n
		widened[placed] += n
		if opts.Strict {
			widened["strict"] += n
		}
		if (wholeErr == nil) != (partsErr == nil) {
			t.Fatalf("seed %d, %+v, appended at %v: %v\nbut all files at once: %v", seed, *opts, ends, partsErr, wholeErr)
		}
		if wholeErr != nil {
			continue
		}
		planned++
		if got, want := parts.text(t, m.files), atOnce.text(t, m.files); got != want {
			t.Fatalf("seed %d, %+v, appended at %v: %s", seed, *opts, ends, firstDifference(got, want))
		}
		if parts.findings != "" && parts.findings != atOnce.findings {
			t.Fatalf("seed %d, %+v, appended at %v: %s", seed, *opts, ends, firstDifference(parts.findings, atOnce.findings))
		}
	}
	t.Logf("%d of %d archives are planned, with %d extensions; by kind of archive: %v", planned, tries, extensions, widened)
	if soak.Selected() {
		return
	}
	if planned < tries/4 || extensions < tries/5 {
		t.Errorf("only %d of %d archives are planned, with %d extensions", planned, tries, extensions)
	}
	for _, name := range []string{"strict", "names", "stations", "dates", "numbers", "texts", "attribute", "variable", "time", "tiles"} {
		if widened[name] == 0 {
			t.Errorf("no extension of archives with %s", name)
		}
	}
}

func numberData(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }
