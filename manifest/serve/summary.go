package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/dap"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
	"varve/zarrjson"
)

// summarize adds the contents of a group, as xarray shows them: dimensions, coordinates and data variables.
func (p *page) summarize(ctx context.Context, s *site, n node) {
	var bytes, chunks, arrays int64
	var counts manifest.Counts
	seen := map[fact]bool{}
	for _, r := range s.tree(ctx, p.Base, n.path) {
		if !r.Group {
			arrays++
			bytes += r.Bytes
			chunks += r.Chunks
			counts.Verbatim += r.Counts.Verbatim
			counts.Prefix += r.Counts.Prefix
			counts.Reencoded += r.Counts.Reencoded
			p.addDims(r.array, seen)
		}
		if r.coord {
			p.Coords = append(p.Coords, r)
		} else {
			p.Tree = append(p.Tree, r)
		}
	}
	p.Tiles = []fact{{"sources", report.Thousands(s.data.Snapshot().Sources)}, {"arrays", report.Thousands(arrays)},
		{"decoded", byteSize(bytes)}, {"chunks", report.Thousands(chunks)}}
	p.addVerbatimShare(counts)
}

// addVerbatimShare adds the percentage of chunks that clients get unchanged.
func (p *page) addVerbatimShare(c manifest.Counts) {
	if total := c.Verbatim + c.Prefix + c.Reencoded; total > 0 {
		p.Tiles = append(p.Tiles, fact{"verbatim", percent(c.Verbatim+c.Prefix, total)})
	}
}

// maxDims limits the number of dimensions on a page.
const maxDims = 60

func (p *page) addDims(a array, seen map[fact]bool) {
	for axis, name := range a.Schema().Dims() {
		d := fact{name, report.Thousands(a.Grid().Shape()[axis])}
		if !seen[d] && len(p.Dims) < maxDims {
			seen[d] = true
			p.Dims = append(p.Dims, d)
		}
	}
}

// maxPreviews limits the number of coordinates whose values are shown on a page.
const maxPreviews = 40

// tree lists the nodes below a group.
func (s *site) tree(ctx context.Context, base, group string) []row {
	specs := map[string]*manifest.Array{}
	for i := range s.data.Snapshot().Arrays {
		a := &s.data.Snapshot().Arrays[i]
		specs[relative(a.Path)] = a
	}
	var rows []row
	previews := 0
	for _, n := range s.nodes {
		below, ok := strings.CutPrefix(n.path, group)
		if group != "" {
			ok = ok && strings.HasPrefix(below, "/")
			below = strings.TrimPrefix(below, "/")
		}
		if !ok || below == "" {
			continue
		}
		r := row{link: link{path.Base(n.path), base + escapePath(n.path)}, Depth: strings.Count(below, "/"), Group: n.array == nil}
		if n.array != nil {
			r.fill(n.array, specs[n.path])
			if r.coord && r.Depth > 0 {
				r.Name = below
			}
			if r.coord && r.Inline && previews < maxPreviews {
				previews++
				r.Preview = s.preview(ctx, n.array)
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// preview returns the first and last values of a coordinate.
func (s *site) preview(ctx context.Context, a array) string {
	n := a.Grid().Shape()[0]
	if n == 0 || !cf.IsDrawable(a.Schema().DataType.Type()) {
		return ""
	}
	parts := s.written(ctx, a, slices.Compact([]int64{0, min(1, n-1), n - 1})...)
	if n > 3 && parts != nil {
		parts = slices.Insert(parts, 2, "…")
	}
	return strings.Join(parts, ", ")
}

// written returns elements of a coordinate as texts, or nil if they cannot be read.
func (s *site) written(ctx context.Context, a array, positions ...int64) (texts []string) {
	write := numberNames(a)
	for _, at := range positions {
		value, err := s.readNumbers(ctx, a, grid.Region{Origin: []int64{at}, Shape: []int64{1}})
		if err != nil {
			return nil
		}
		texts = append(texts, write(value[0]))
	}
	return texts
}

// labelOf returns the long name of an array and its units.
func labelOf(schema *zarrjson.Array) string {
	label := cf.TextIn(schema.Attributes, "long_name")
	if label == "" {
		label = strings.ReplaceAll(cf.TextIn(schema.Attributes, "standard_name"), "_", " ")
	}
	switch units := cf.TextIn(schema.Attributes, cf.UnitsName); {
	case label == "":
		label = units
	case units != "":
		label += " [" + units + "]"
	}
	if runes := []rune(label); len(runes) > 120 {
		label = string(runes[:120]) + "…"
	}
	return label
}

// maxBeside limits the number of links to other arrays of the group on the page of an array.
const maxBeside = 40

// describe adds the properties of an array.
func (p *page) describe(ctx context.Context, s *site, a array, query url.Values) {
	schema, spec := a.Schema(), s.spec(a)
	var r row
	r.fill(a, spec)
	p.Tiles = []fact{{"dimensions", r.Dims}, {"data type", r.Type}, {"decoded", byteSize(r.Bytes)}, {"chunks", report.Thousands(r.Chunks)}}
	if !r.Inline {
		p.addVerbatimShare(r.Counts)
	}
	p.Facts = []fact{{"data type", plainJSON(schema.DataType.JSON())}, {"grid", string(schema.ChunkGrid.Name)}, {"chunks", edgesOf(a)}}
	if fill, err := schema.DataType.FillJSON(schema.Fill); err == nil {
		p.Facts = append(p.Facts, fact{"fill value", shorten(string(fill))})
	}
	ap := &arrayPage{Name: relative(a.Path()), Codecs: codecsOf(schema.Codecs)}
	// Arrays in the manifest have no chunks in sources to show.
	if !r.Inline {
		ap.Mosaic, ap.Note = s.mosaic(ctx, a)
	}
	p.Array = ap
	if err := spec.CheckDecoding(); err != nil {
		ap.Why = err.Error()
	} else {
		ap.choose(ctx, s, a, query)
	}
	ap.list(ctx, s, a, query.Get("listed"))
	p.listBeside(s, a)
}

// listBeside adds links to the other arrays of the same group.
func (p *page) listBeside(s *site, a array) {
	group, count := parentOf(relative(a.Path())), 0
	for _, n := range s.nodes {
		if n.array == nil || n.path == relative(a.Path()) || parentOf(n.path) != group {
			continue
		}
		if count++; count <= maxBeside {
			p.Beside = append(p.Beside, link{path.Base(n.path), p.Base + escapePath(n.path)})
		}
	}
	if count > maxBeside {
		p.All = &link{fmt.Sprintf("and %s more", report.Thousands(int64(count-maxBeside))), p.Base + escapePath(group)}
	}
}

// maxRuns limits the number of runs of edges that are shown for an axis.
const maxRuns = 12

// edgesOf lists the lengths of chunks along each axis; runs of equal lengths are written as length×count.
func edgesOf(a array) string {
	var axes []string
	for axis, name := range a.Schema().Dims() {
		var runs []string
		for run := range a.Grid().Dim(axis).Runs() {
			if len(runs) == maxRuns {
				runs = append(runs, "…")
				break
			}
			runs = append(runs, fmt.Sprintf("%d×%d", run.Data, run.Count))
		}
		axes = append(axes, name+"  "+strings.Join(runs, " + "))
	}
	return strings.Join(axes, "\n")
}

// codecsOf returns a short name and the configuration of each codec.
func codecsOf(specs []codec.Spec) []fact {
	var out []fact
	for _, spec := range specs {
		name := spec.ShortName()
		var settings map[string]any
		if json.Unmarshal(spec.Config, &settings) == nil {
			for _, key := range []string{"endian", "elementsize", "cname", "level", "clevel"} {
				if v, ok := settings[key]; ok {
					name += fmt.Sprintf(" %v", v)
				}
			}
		}
		out = append(out, fact{name, spec.Name + " " + string(spec.Config)})
	}
	return out
}

// ways returns code to paste for each client, for a tree if there are groups below the node. Names come from files and
// the code is executed, so every name is quoted for its language.
func ways(address string, n node, tree bool) []fact {
	regular := n.array == nil || n.array.Schema().ChunkGrid.Name == zarrjson.Regular
	literal := func(s string) string {
		b, err := json.Marshal(s) // a JSON string is a valid literal in Python and JavaScript
		if err != nil {
			return `""`
		}
		return string(b)
	}
	group, name := parentOf(n.path), path.Base(n.path)
	if n.array == nil {
		group = n.path
	}
	at := address
	if group != "" {
		at += "/" + escapePath(group)
	}
	open := "ds = xr.open_zarr(" + literal(at) + ")"
	if tree {
		open = "tree = xr.open_datatree(" + literal(at) + ", engine=\"zarr\")"
	}
	xarray := "import xarray as xr, zarr\nzarr.config.set({\"array.rectilinear_chunks\": True})\n" + open
	python := "import zarr\nzarr.config.set({\"array.rectilinear_chunks\": True})\ngroup = zarr.open_group(" + literal(at) + ", mode=\"r\")"
	below, kind, gdal := "", "group", ""
	if n.path != "" {
		below = "/" + escapePath(n.path)
	}
	if n.array != nil {
		xarray += "\nds[" + literal(name) + "]"
		python += "\narray = group[" + literal(name) + "]"
		kind, gdal = "array", " -array "+shellQuoted("/"+n.path)
	}
	view := "/core"
	if n.array != nil && regular {
		view = "/v2"
	}
	out := []fact{
		{"xarray", xarray},
		{"zarr-python", python},
		{"zarrita", "import * as zarr from \"zarrita\";\nconst store = new zarr.FetchStore(" + literal(address+"/regular"+below) + ");\n" +
			"const " + kind + " = await zarr.open(store, { kind: \"" + kind + "\" });"},
		{"GDAL", "gdalmdiminfo " + shellQuoted(`ZARR:"/vsicurl/`+address+view+`"`) + gdal},
	}
	return append(out, waysOfDAP(address+"/"+dapName, n)...)
}

// waysOfDAP returns code to paste for clients of OPeNDAP. The names of variables have only letters, digits, underscores, hyphens
// and percent signs, and the address has no quotes, so all languages write them alike.
func waysOfDAP(address string, n node) []fact {
	name := ""
	if n.array != nil {
		name = dap.Name2(n.path)
	}
	if strings.ContainsAny(address, "\"'\\$`\n\r") {
		return nil // from a header of the request
	}
	of := func(with, without string) string {
		text := without
		if name != "" {
			text = with
		}
		return strings.NewReplacer("URL", address, "NAME", name).Replace(text)
	}
	return []fact{
		{"netCDF", of("ncdump -v 'NAME' 'URL'", "ncdump -h 'URL'")},
		{"R", of("library(ncdf4)\nnc <- nc_open(\"URL\")\nx <- ncvar_get(nc, \"NAME\")", "library(ncdf4)\nnc <- nc_open(\"URL\")")},
		{"MATLAB", of("x = ncread(\"URL\", \"NAME\");", "ncdisp(\"URL\")")},
		{"Julia", of("using NCDatasets\nds = NCDataset(\"URL\")\nds[\"NAME\"]", "using NCDatasets\nds = NCDataset(\"URL\")")},
		{"NCO", of("ncks -v 'NAME' 'URL' out.nc", "ncks -M 'URL'")},
		{"CDO", of("cdo -f nc4 -selname,'NAME' 'URL' out.nc", "cdo sinfon 'URL'")},
		{"QGIS", of("Layer > Add Layer > Add Raster Layer, with this source:\nNETCDF:\"URL\":NAME", "Layer > Add Layer > Add Raster Layer, with this source:\nNETCDF:\"URL\"")},
	}
}

// shellQuoted quotes a word for a POSIX shell.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
