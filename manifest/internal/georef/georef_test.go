package georef

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/store"
)

// attributes returns texts and numbers as attributes: name, value, name, value …
func attributes(pairs ...any) (list []classic.Attribute) {
	for i := 0; i < len(pairs); i += 2 {
		if f, ok := pairs[i+1].(float64); ok {
			pairs[i+1] = []float64{f}
		}
		list = append(list, classic.Attribute{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return list
}

// built returns the store of one file, with edited attributes.
func built(t *testing.T, f *classic.File, edits ...plan.Edit) *store.Store {
	t.Helper()
	dir := t.TempDir()
	name, out := filepath.Join(dir, "a.nc"), filepath.Join(dir, "a.varve")
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{
		Sources: ingest.Sources{Names: []string{name}}, Plan: plan.Options{Curation: &plan.Curation{Edits: edits}}, Writer: "test",
	}); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// spaced returns n values from a first one, with a step.
func spaced[T float32 | float64 | int16](first, step float64, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(first + float64(i)*step)
	}
	return out
}

func length(data any) int {
	switch list := data.(type) {
	case []float32:
		return len(list)
	case []int16:
		return len(list)
	}
	return len(data.([]float64))
}

// globe returns a file with latitudes, and longitudes that are given, and bounds of these if there are some.
func globe(lon classic.Var, bounds []float64, more ...classic.Var) *classic.File {
	lon.Name, lon.Dims = "lon", []string{"lon"}
	n := length(lon.Data)
	lon.Attributes = append(lon.Attributes, attributes("units", "degrees_east")...)
	f := &classic.File{Dims: []classic.Dim{{Name: "lat", Length: 3}, {Name: "lon", Length: n}, {Name: "nv", Length: 2}}, Vars: []classic.Var{
		{Name: "lat", Dims: []string{"lat"}, Attributes: attributes("units", "degrees_north"), Data: []float64{10, 0, -10}},
		{Name: "v", Dims: []string{"lat", "lon"}, Data: make([]float32, 3*n)},
	}}
	if bounds != nil {
		lon.Attributes = append(lon.Attributes, attributes("bounds", "lon_bnds")...)
		f.Vars = append(f.Vars, classic.Var{Name: "lon_bnds", Dims: []string{"lon", "nv"}, Data: bounds})
	}
	f.Vars = append(append(f.Vars, lon), more...)
	return f
}

// gaussian returns latitudes of the Gaussian grid N80, to a part in a million.
func gaussian() []float64 {
	const n = 160
	out := make([]float64, n)
	for i := range out {
		theta := math.Pi * (4*float64(i) + 3) / (4*n + 2)
		theta += 1 / (8 * n * n * math.Tan(theta))
		out[i] = 90 - theta*180/math.Pi
	}
	return out
}

// TestLine checks which coordinates are equally spaced, and where their cells are.
func TestLine(t *testing.T) {
	rounded := spaced[float64](0, 1.0/3, 40)
	for i := range rounded {
		rounded[i] = math.Round(rounded[i]*1000) / 1000
	}
	shifted := spaced[float64](0, 1, 40)
	shifted[20] += 0.006
	for _, c := range []struct {
		what       string
		lon        classic.Var
		bounds     []float64
		edge, step float64 // or
		why        string
	}{
		{"from west to east", classic.Var{Data: spaced[float64](-179.75, 0.5, 720)}, nil, -180, 0.5, ""},
		{"to 360", classic.Var{Data: spaced[float64](0, 0.25, 1440)}, nil, -0.125, 0.25, ""},
		{"from east to west", classic.Var{Data: spaced[float64](10, -1, 21)}, nil, 10.5, -1, ""},
		{"float32", classic.Var{Data: spaced[float32](0.05, 0.1, 3600)}, nil, 0, 0.1, ""},
		{"fine float32", classic.Var{Data: spaced[float32](-179.9995, 0.001, 100000)}, nil, -180, 0.001, ""},
		{"more than one piece", classic.Var{Data: spaced[float64](0.001, 0.002, 180000)}, nil, 0, 0.002, ""},
		{"rounded", classic.Var{Data: rounded}, nil, -0.5 / 3, 1.0 / 3, ""},
		{"packed", classic.Var{Data: spaced[int16](-100, 1, 50), Attributes: attributes("scale_factor", 0.1, "add_offset", 20.0)}, nil, 9.95, 0.1, ""},
		{"two values", classic.Var{Data: []float64{3, 5}}, nil, 2, 2, ""},
		{"one value", classic.Var{Data: []float64{3}}, nil, 0, 0, "the width of its cells is not known"},
		{"equal values", classic.Var{Data: []float64{3, 3, 3}}, nil, 0, 0, "not equally spaced"},
		{"Gaussian", classic.Var{Data: gaussian()}, nil, 0, 0, "not equally spaced: value 1 is"},
		{"one value shifted", classic.Var{Data: shifted}, nil, 0, 0, "value 20 is 20.006, and 20 with a step of 1"},
		{"across 360", classic.Var{Data: []float64{358, 359, 0, 1, 2}}, nil, 0, 0, "not equally spaced"},
		{"a missing value", classic.Var{Data: []float64{0, 1, -1, 3}, Attributes: attributes("_FillValue", -1.0)}, nil, 0, 0, "value 2 is NaN"},
		{"no end", classic.Var{Data: []float64{0, 1, math.Inf(1)}}, nil, 0, 0, "not equally spaced"},
		{"bounds around centres", classic.Var{Data: []float64{1, 2, 3}}, []float64{.5, 1.5, 1.5, 2.5, 2.5, 3.5}, 0.5, 1, ""},
		{"bounds of corners", classic.Var{Data: []float64{1, 2, 3}}, []float64{1, 2, 2, 3, 3, 4}, 1, 1, ""},
		{"bounds in the other order", classic.Var{Data: []float64{3, 2, 1}}, []float64{2, 3, 1, 2, 0, 1}, 3, -1, ""},
		{"bounds along the coordinate", classic.Var{Data: []float64{3, 2, 1}}, []float64{3, 2, 2, 1, 1, 0}, 3, -1, ""},
		{"cut bounds", classic.Var{Data: []float64{0, 1, 2}}, []float64{0, .5, .5, 1.5, 1.5, 2}, -0.5, 1, ""},
		{"bounds with gaps", classic.Var{Data: []float64{0, 1, 2}}, []float64{0, .5, 1, 1.5, 2, 2.5}, 0, 0, "not those of equal cells"},
		{"bounds that overlap", classic.Var{Data: []float64{0, 1, 2}}, []float64{-1, 1, 0, 2, 1, 3}, 0, 0, "not those of equal cells"},
	} {
		t.Run(c.what, func(t *testing.T) {
			st := built(t, globe(c.lon, c.bounds))
			a, err := st.Array("v")
			if err != nil {
				t.Fatal(err)
			}
			g, err := NewFinder(st).Of(t.Context(), a)
			if c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) || !errors.Is(err, errors.ErrUnsupported) {
					t.Fatalf("%+v, %v", g, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if g.X.Edge != c.edge || g.X.Step != c.step || g.Y.Edge != 15 || g.Y.Step != -10 || g.CRS.Code != "EPSG:4326" || !g.IsAssumed {
				t.Errorf("%+v", g)
			}
		})
	}
}

// countdown is a context that is cancelled when it was asked often enough.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestReadErrors checks that errors of reading are returned, whenever they occur, and not taken for bounds of unequal cells.
func TestReadErrors(t *testing.T) {
	st := built(t, globe(classic.Var{Data: []float64{0, 1, 2, 3}}, []float64{0, .5, .5, 1.5, 1.5, 2.5, 2.5, 3}))
	a, err := st.Array("v")
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); ; n++ {
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(n)
		g, err := NewFinder(st).Of(ctx, a)
		if err == nil {
			if g.X.Edge != -0.5 || g.X.Step != 1 || n < 4 {
				t.Errorf("after %d questions: %+v", n, g)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d questions: %v", n, err)
		}
	}
}

// TestPacking checks that coordinates and bounds with a packing that is not known have no grid, which is no failure. A curation
// can give them any attribute.
func TestPacking(t *testing.T) {
	f := globe(classic.Var{Data: []float64{0, 1, 2}}, []float64{0, 1, 1, 2, 2, 3})
	for _, name := range []string{"lon", "lon_bnds"} {
		broken := plan.Value{Name: "scale_factor", JSON: []byte(`"a tenth"`)}
		st := built(t, f, plan.Edit{Variable: name, Set: []plan.Value{broken}})
		a, err := st.Array("v")
		if err != nil {
			t.Fatal(err)
		}
		if g, err := NewFinder(st).Of(t.Context(), a); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "a tenth") {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
}

// TestSystem checks which systems belong to coordinates in degrees.
func TestSystem(t *testing.T) {
	pole := []any{"grid_mapping_name", "rotated_latitude_longitude", "grid_north_pole_latitude", 39.25, "grid_north_pole_longitude", -162.0}
	for _, c := range []struct {
		what       string
		isRotated  bool
		mapping    []any
		code, wkt2 string // of the system; both are empty if it is not known
	}{
		{"a geographic code", false, []any{"epsg_code", 4326.0}, "EPSG:4326", ""},
		{"a datum", false, []any{"grid_mapping_name", "latitude_longitude", "horizontal_datum_name", "NAD27"}, "EPSG:4267", ""},
		{"an unknown datum", false, []any{"grid_mapping_name", "latitude_longitude", "horizontal_datum_name", "Mars 2000"}, "", ""},
		{"a projected code", false, []any{"epsg_code", 32633.0}, "", ""},
		{"a rotated pole", true, pole, "", "Pole rotation"},
		{"a rotated pole with a code", true, append(slices.Clone(pole), "epsg_code", 4326.0), "", "Pole rotation"},
		{"a rotated pole of other coordinates", false, pole, "", ""},
		{"only the code below a rotated pole", true, []any{"epsg_code", 4326.0}, "", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			lat, lon := attributes("units", "degrees_north"), attributes("units", "degrees_east")
			if c.isRotated {
				lat, lon = attributes("units", "degrees", "standard_name", "grid_latitude"), attributes("units", "degrees", "standard_name", "grid_longitude")
			}
			st := built(t, &classic.File{Dims: []classic.Dim{{Name: "lat", Length: 3}, {Name: "lon", Length: 2}}, Vars: []classic.Var{
				{Name: "lat", Dims: []string{"lat"}, Attributes: lat, Data: []float64{10, 0, -10}},
				{Name: "lon", Dims: []string{"lon"}, Attributes: lon, Data: []float64{10, 20}},
				{Name: "crs", Attributes: attributes(c.mapping...), Data: []int32{0}},
				{Name: "v", Dims: []string{"lat", "lon"}, Attributes: attributes("grid_mapping", "crs"), Data: make([]float32, 6)},
			}})
			a, err := st.Array("v")
			if err != nil {
				t.Fatal(err)
			}
			g, err := NewFinder(st).Of(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if g.Transform() != [6]float64{10, 0, 5, 0, -10, 15} || g.IsAssumed || (g.CRS == nil) != (c.code+c.wkt2 == "") || (g.CRS == nil) != (g.Unknown != nil) {
				t.Fatalf("%+v", g)
			}
			if g.CRS != nil && (g.CRS.Code != c.code || !strings.Contains(g.CRS.WKT2, c.wkt2)) {
				t.Errorf("the system is %+v", g.CRS)
			}
		})
	}
}

// TestOf checks which arrays are on a grid, and which grid mapping is theirs.
func TestOf(t *testing.T) {
	y := classic.Var{Name: "y", Dims: []string{"y"}, Attributes: attributes("standard_name", "projection_y_coordinate", "units", "km"), Data: []float64{3, 2, 1}}
	x := classic.Var{Name: "x", Dims: []string{"x"}, Attributes: attributes("standard_name", "projection_x_coordinate", "units", "km"), Data: []float64{1, 2}}
	crs := classic.Var{Name: "crs", Attributes: attributes("epsg_code", "EPSG:32633"), Data: []int32{0}}
	wgs := classic.Var{Name: "wgs", Attributes: attributes("grid_mapping_name", "latitude_longitude"), Data: []int32{0}}
	bad := classic.Var{Name: "bad", Attributes: attributes("grid_mapping_name", "oblique_mercator", "earth_radius", 6e6), Data: []int32{0}}
	transform := classic.Var{Name: "gdal", Attributes: attributes("epsg_code", "EPSG:32633", "GeoTransform", "500 10 0 900 0 -10"), Data: []int32{0}}
	rotated := classic.Var{Name: "gdal", Attributes: attributes("GeoTransform", "500 10 1 900 0 -10"), Data: []int32{0}}
	short := classic.Var{Name: "gdal", Attributes: attributes("GeoTransform", "500 10"), Data: []int32{0}}
	flat := classic.Var{Name: "lat", Dims: []string{"y", "x"}, Attributes: attributes("units", "degrees_north"), Data: make([]float64, 6)}
	v := func(pairs ...any) classic.Var {
		return classic.Var{Name: "v", Dims: []string{"y", "x"}, Attributes: attributes(pairs...), Data: make([]float32, 6)}
	}
	for _, c := range []struct {
		what, why string // why there is no grid
		unknown   string // why its system is not known
		code      string
		transform [6]float64
		vars      []classic.Var
	}{
		{"a plane in kilometres", "", "", "EPSG:32633", [6]float64{1000, 0, 500, 0, -1000, 3500}, []classic.Var{y, x, crs, v("grid_mapping", "crs")}},
		{"no grid mapping", "", "it has no grid_mapping", "", [6]float64{1, 0, 0.5, 0, -1, 3.5}, []classic.Var{y, x, v()}},
		{"a grid mapping that is not there", "", "is not in the dataset", "", [6]float64{1, 0, 0.5, 0, -1, 3.5}, []classic.Var{y, x, v("grid_mapping", "crs")}},
		{"two, one of the coordinates", "", "", "EPSG:32633", [6]float64{1000, 0, 500, 0, -1000, 3500}, []classic.Var{y, x, crs, wgs, v("grid_mapping", "crs: x y wgs: lat lon")}},
		{"two of the coordinates", "", "names two systems", "", [6]float64{1, 0, 0.5, 0, -1, 3.5}, []classic.Var{y, x, crs, wgs, v("grid_mapping", "crs: x y wgs: x y")}},
		{"none of the coordinates", "", "names no system of x and y", "", [6]float64{1, 0, 0.5, 0, -1, 3.5}, []classic.Var{y, x, wgs, v("grid_mapping", "wgs: lat lon")}},
		{"two without coordinates", "", "names several variables", "", [6]float64{1, 0, 0.5, 0, -1, 3.5}, []classic.Var{y, x, crs, wgs, v("grid_mapping", "crs wgs")}},
		{"of another projection", "", "the projection oblique_mercator", "", [6]float64{1, 0, 0.5, 0, -1, 3.5}, []classic.Var{y, x, bad, v("grid_mapping", "bad")}},
		{"of longitudes", "", "no longitudes and latitudes", "", [6]float64{1, 0, 0.5, 0, -1, 3.5}, []classic.Var{y, x, wgs, v("grid_mapping", "wgs")}},
		{"a GeoTransform", "", "", "EPSG:32633", [6]float64{10, 0, 500, 0, -10, 900}, []classic.Var{transform, v("grid_mapping", "gdal")}},
		{"a GeoTransform of a name with a space", "", "", "EPSG:32633", [6]float64{10, 0, 500, 0, -10, 900}, []classic.Var{transform, v("grid_mapping", "gdal ")}},
		{"a rotated GeoTransform", "is rotated", "", "", [6]float64{}, []classic.Var{rotated, v("grid_mapping", "gdal")}},
		{"a short GeoTransform", "not six numbers", "", "", [6]float64{}, []classic.Var{short, v("grid_mapping", "gdal")}},
		{"no coordinates", "no coordinates", "", "", [6]float64{}, []classic.Var{crs, v("grid_mapping", "crs")}},
		{"one coordinate", "only one", "", "", [6]float64{}, []classic.Var{y, crs, v("grid_mapping", "crs")}},
		{"two dimensions", "have two dimensions", "", "", [6]float64{}, []classic.Var{flat, v("coordinates", "lat")}},
		{"no grid", ErrNoGrid.Error(), "", "", [6]float64{}, []classic.Var{v()}},
	} {
		t.Run(c.what, func(t *testing.T) {
			st := built(t, &classic.File{Dims: []classic.Dim{{Name: "y", Length: 3}, {Name: "x", Length: 2}}, Vars: c.vars})
			a, err := st.Array("v")
			if err != nil {
				t.Fatal(err)
			}
			g, err := NewFinder(st).Of(t.Context(), a)
			if c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) {
					t.Fatalf("%+v, %v", g, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if g.Transform() != c.transform || g.X.Dim != "x" || g.Y.Axis != 0 {
				t.Errorf("%+v", g)
			}
			switch {
			case c.unknown != "" && (g.CRS != nil || g.Unknown == nil || !strings.Contains(g.Unknown.Error(), c.unknown)):
				t.Errorf("the system is %+v, %v; want %s", g.CRS, g.Unknown, c.unknown)
			case c.unknown == "" && (g.CRS == nil || g.CRS.Code != c.code):
				t.Errorf("the system is %+v, %v", g.CRS, g.Unknown)
			}
		})
	}
}
