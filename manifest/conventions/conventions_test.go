package conventions

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/store"
	"varve/zarrjson"
)

func text(pairs ...string) (list []classic.Attribute) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, classic.Attribute{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

// addLevel adds an array with dimensions and coordinates of its own: n × n cells of a size, from the corner (0, 0).
func addLevel(f *classic.File, name string, n int, size float64, attributes ...string) {
	centres := make([]float64, n)
	for i := range centres {
		centres[i] = (float64(i) + 0.5) * size
	}
	y, x := "y"+name, "x"+name
	f.Dims = append(f.Dims, classic.Dim{Name: y, Length: n}, classic.Dim{Name: x, Length: n})
	f.Vars = append(f.Vars,
		classic.Var{Name: y, Dims: []string{y}, Attributes: text("units", "degrees_north"), Data: centres},
		classic.Var{Name: x, Dims: []string{x}, Attributes: text("units", "degrees_east"), Data: slices.Clone(centres)},
		classic.Var{Name: name, Dims: []string{y, x}, Attributes: text(attributes...), Data: make([]float32, n*n)})
}

// built returns the store of one file.
func built(t *testing.T, f *classic.File) *store.Store {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.nc")
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	return builtOf(t, name)
}

func builtOf(t *testing.T, name string) *store.Store {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{name}}, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func describe(t *testing.T, f *classic.File, set ...Name) *Description {
	t.Helper()
	d, err := Describe(t.Context(), built(t, f), set)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// valuesOf returns attributes as JSON values.
func valuesOf(t *testing.T, a zarrjson.Attributes) (values map[string]any) {
	t.Helper()
	if err := json.Unmarshal(a.JSON(), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// declared returns the names of the conventions that attributes declare.
func declared(values map[string]any) (names []string) {
	list, _ := values["zarr_conventions"].([]any)
	for _, item := range list {
		names = append(names, item.(map[string]any)["name"].(string))
	}
	return names
}

// TestDescribe checks the attributes of an array for each convention that is asked for.
func TestDescribe(t *testing.T) {
	f := &classic.File{}
	addLevel(f, "v", 4, 10, "long_name", "a variable")
	spatial := map[string]any{"spatial:dimensions": []any{"yv", "xv"}, "spatial:shape": []any{4., 4.}, "spatial:bbox": []any{0., 0., 40., 40.},
		"spatial:transform_type": "affine", "spatial:registration": "pixel", "spatial:transform": []any{10., 0., 0., 0., 10., 0.}}
	for _, c := range []struct {
		set   []Name
		names []string
		want  []map[string]any
	}{
		{Names, []string{"spatial", "proj"}, []map[string]any{spatial, {"proj:code": "EPSG:4326"}}},
		{[]Name{Spatial}, []string{"spatial"}, []map[string]any{spatial}},
		{[]Name{Proj}, []string{"proj"}, []map[string]any{{"proj:code": "EPSG:4326"}}},
		{[]Name{GDAL}, nil, []map[string]any{{"_CRS": map[string]any{"url": "http://www.opengis.net/def/crs/EPSG/0/4326"}}}},
	} {
		d := describe(t, f, c.set...)
		got := valuesOf(t, d.Arrays["/v"])
		if names := declared(got); !slices.Equal(names, c.names) {
			t.Errorf("%v: it declares %v", c.set, names)
		}
		n := 1 // long_name
		if len(c.names) > 0 {
			n++ // zarr_conventions
		}
		for _, want := range c.want {
			for name, value := range want {
				n++
				if !reflect.DeepEqual(got[name], value) {
					t.Errorf("%v: %s is %v, want %v", c.set, name, got[name], value)
				}
			}
		}
		if len(got) != n || len(d.Arrays) != 1 || len(d.Groups) != 0 || len(d.Omitted) != 0 {
			t.Errorf("%v: %v, %+v", c.set, got, d)
		}
		if isAssumed := slices.Contains(c.set, Proj) || slices.Contains(c.set, GDAL); isAssumed != slices.Equal(d.Assumed, []string{"/v"}) {
			t.Errorf("%v: WGS 84 is assumed for %v", c.set, d.Assumed)
		}
	}
	if d := describe(t, f); len(d.Arrays) != 0 {
		t.Errorf("without a convention: %+v", d)
	}
}

// TestOmitted checks that arrays without a grid are named with the reason, once.
func TestOmitted(t *testing.T) {
	f := &classic.File{}
	addLevel(f, "v", 1, 10)
	addLevel(f, "w", 3, 10, "grid_mapping", "crs")
	f.Vars = append(f.Vars, classic.Var{Name: "t", Data: []float64{1}})
	d := describe(t, f, Names...)
	want := []Omission{{"/v", Spatial, "has 1 values"}, {"/w", Proj, "is not in the dataset"}}
	if len(d.Omitted) != len(want) || len(d.Arrays) != 1 {
		t.Fatalf("%+v", d)
	}
	for _, w := range want {
		if !slices.ContainsFunc(d.Omitted, func(o Omission) bool {
			return o.Path == w.Path && o.Convention == w.Convention && strings.Contains(o.Why, w.Why)
		}) {
			t.Errorf("want %+v\nin %+v", w, d.Omitted)
		}
	}
}

// TestLevels checks which arrays with numbers as names are levels. TestInteropConventions of package zarr has groups.
func TestLevels(t *testing.T) {
	type size struct {
		n    int
		step float64
	}
	for _, c := range []struct {
		what   string
		levels []size
		scales []float64 // of the layout, or
		why    string    // why there is none
	}{
		{"powers of two", []size{{16, 1}, {8, 2}, {4, 4}}, []float64{1, 2, 2}, ""},
		{"the coarsest first", []size{{4, 4}, {16, 1}}, []float64{1, 4}, ""},
		{"an odd length", []size{{15, 1}, {8, 2}, {3, 6}}, []float64{1, 2, 3}, ""},
		{"an odd length over the same extent", []size{{15, 1}, {8, 1.875}}, []float64{1, 1.875}, ""},
		{"one", []size{{4, 1}}, nil, ""},
		{"equal grids", []size{{4, 1}, {4, 1}}, nil, ""},
		{"another extent", []size{{16, 1}, {4, 2}}, nil, "the cells of 1 are not a whole number of times larger than those of 0"},
		{"not a whole number", []size{{15, 1}, {10, 1.5}}, nil, "not a whole number"},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := &classic.File{}
			for i, s := range c.levels {
				addLevel(f, string(rune('0'+i)), s.n, s.step)
			}
			d := describe(t, f, Names...)
			if c.why != "" {
				if len(d.Groups) != 0 || len(d.Omitted) != 1 || d.Omitted[0].Path != "/" || !strings.Contains(d.Omitted[0].Why, c.why) {
					t.Errorf("%+v", d)
				}
				return
			}
			if c.scales == nil {
				if len(d.Groups)+len(d.Omitted) != 0 {
					t.Errorf("%+v", d)
				}
				return
			}
			var got struct {
				Multiscales struct{ Layout []item }
			}
			if err := json.Unmarshal(d.Groups["/"].JSON(), &got); err != nil {
				t.Fatal(err)
			}
			var scales []float64
			for i, l := range got.Multiscales.Layout {
				scales = append(scales, l.Transform.Scale[0])
				if l.Transform.Scale[0] != l.Transform.Scale[1] || l.Affine == nil || (i > 0) != (l.DerivedFrom != "") {
					t.Errorf("%+v", l)
				}
			}
			values := valuesOf(t, d.Groups["/"])
			if !slices.Equal(scales, c.scales) || !slices.Equal(declared(values), []string{"multiscales", "spatial", "proj"}) || values["proj:code"] != "EPSG:4326" {
				t.Errorf("%v: %s", scales, d.Groups["/"].JSON())
			}
		})
	}
}

// TestPyramids checks that an array and those of its name in the groups below are levels, as an image and its overviews.
func TestPyramids(t *testing.T) {
	d, err := Describe(t.Context(), builtOf(t, "../../fixtures/tiff/overviews.tif"), Set{Multiscales})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(valuesOf(t, d.Groups["/"])["multiscales"])
	want := "map[layout:[map[asset:band_data transform:map[scale:[1 1] translation:[0 0]]] " +
		"map[asset:overview_1/band_data derived_from:band_data transform:map[scale:[2 2] translation:[0 0]]]]]"
	if got != want || len(d.Groups) != 1 || len(d.Omitted) != 0 {
		t.Errorf("%s, want %s; %+v", got, want, d)
	}
}

// TestOtherArrays checks that members with different arrays are no levels, which is no failure.
func TestOtherArrays(t *testing.T) {
	f := &classic.File{}
	addLevel(f, "0", 16, 1)
	addLevel(f, "1", 8, 2)
	f.Vars[len(f.Vars)-1].Data = make([]float64, 64)
	if d := describe(t, f, Names...); len(d.Arrays) != 2 || len(d.Groups)+len(d.Omitted) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestKeeps checks that attributes that a dataset has itself are kept, and that other entries of zarr_conventions stay.
func TestKeeps(t *testing.T) {
	for _, c := range []struct {
		was       string
		isNew     bool
		isOmitted bool
		list      int
	}{
		{`{}`, true, false, 1},
		{`{"zarr_conventions":[{"uuid":"689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"}],"spatial:bbox":[1]}`, false, false, 1},
		{`{"zarr_conventions":[{"schema_url":"https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v1/schema.json"}]}`, false, false, 1},
		{`{"zarr_conventions":[{"spec_url":"https://github.com/zarr-conventions/spatial/blob/v1/README.md"}]}`, false, false, 1},
		{`{"zarr_conventions":[{"uuid":"other"},3]}`, true, false, 3},
		{`{"zarr_conventions":"text"}`, false, true, 0},
		{`{"spatial:bbox":[1]}`, false, true, 0},
		{`{"zarr_conventions":[{"uuid":"other"}],"spatial:bbox":[1]}`, false, true, 1},
		{`{"proj:code":"EPSG:1"}`, true, false, 1},
	} {
		attributes, err := zarrjson.ParseAttributes([]byte(c.was))
		if err != nil {
			t.Fatal(err)
		}
		d := &Description{}
		w := &writer{d: d, path: "/v", attributes: attributes}
		if isNew := w.declare(Spatial); isNew != c.isNew || w.err != nil || w.isChanged != isNew {
			t.Errorf("%s: %t, %v", c.was, isNew, w.err)
		}
		if isOmitted := len(d.Omitted) == 1 && d.Omitted[0].Path == "/v" && d.Omitted[0].Convention == Spatial; isOmitted != c.isOmitted || len(d.Omitted) > 1 {
			t.Errorf("%s: %+v", c.was, d.Omitted)
		}
		if list, _ := valuesOf(t, w.attributes)["zarr_conventions"].([]any); len(list) != c.list {
			t.Errorf("%s: %s", c.was, w.attributes.JSON())
		}
	}
}

// TestKept checks that attributes of conventions in a source are kept in arrays and groups, and named.
func TestKept(t *testing.T) {
	f := &classic.File{}
	addLevel(f, "0", 4, 1, "proj:code", "EPSG:1")
	addLevel(f, "1", 2, 2, "spatial:bbox", "all")
	addLevel(f, "v", 4, 10, "grid_mapping", "crs", "zarr_conventions", "none")
	f.Attributes = text("multiscales", "many")
	d := describe(t, f, Names...)
	want := []Omission{{"/0", Proj, ""}, {"/1", Spatial, ""}, {"/v", Spatial, ""}, {"/v", Proj, ""}, {"/", Multiscales, ""}}
	for i := range d.Omitted {
		d.Omitted[i].Why = ""
	}
	if !slices.Equal(d.Omitted, want) || len(d.Groups) != 0 || len(d.Arrays) != 2 || !slices.Equal(d.Assumed, []string{"/1"}) {
		t.Fatalf("%+v", d)
	}
	first, second := valuesOf(t, d.Arrays["/0"]), valuesOf(t, d.Arrays["/1"])
	if first["proj:code"] != "EPSG:1" || first["spatial:bbox"] == nil || !slices.Equal(declared(first), []string{"spatial"}) {
		t.Error(first)
	}
	if second["spatial:bbox"] != "all" || second["spatial:transform"] != nil || second["proj:code"] != "EPSG:4326" || !slices.Equal(declared(second), []string{"proj"}) {
		t.Error(second)
	}
}

// TestParse checks the names of conventions.
func TestParse(t *testing.T) {
	for in, want := range map[string]string{"": "", "proj,spatial,proj": "spatial,proj", "all": "spatial,proj,multiscales", "gdal,all": "spatial,proj,multiscales,gdal", "all,proj": "spatial,proj,multiscales"} {
		got, err := Parse(strings.FieldsFunc(in, func(r rune) bool { return r == ',' }))
		if err != nil || got.String() != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	if _, err := Parse([]string{"cf"}); err == nil {
		t.Error("an unknown convention is accepted")
	}
}

// TestIn checks that described groups are added to the groups of a dataset, in order.
func TestIn(t *testing.T) {
	attributes, err := zarrjson.ParseAttributes([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	d := &Description{Groups: map[string]zarrjson.Attributes{"/": attributes, "/b": attributes}}
	was := []manifest.GroupSchema{{Path: "/"}, {Path: "/c"}}
	var paths []string
	for _, g := range d.In(was) {
		paths = append(paths, g.Path+" "+string(g.Attributes.JSON()))
	}
	if want := []string{`/ {"a":1}`, `/b {"a":1}`, `/c {}`}; !slices.Equal(paths, want) || was[0].Attributes.Len() != 0 {
		t.Errorf("%v, %v", paths, was)
	}
}
