package present

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"varve/fixtures/classic"
	"varve/fixtures/venv"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// stacStore builds a manifest of one file with times, latitudes, longitudes and levels.
func stacStore(t *testing.T, longitudes []float64, calendar string, times []float64) *store.Store {
	t.Helper()
	dir := t.TempDir()
	text := func(pairs ...string) (list []classic.Attribute) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, classic.Attribute{Name: pairs[i], Value: pairs[i+1]})
		}
		return list
	}
	n := len(longitudes)
	f := &classic.File{
		Dims:       []classic.Dim{{Name: "time", Length: max(len(times), 1)}, {Name: "level", Length: 2}, {Name: "lat", Length: 3}, {Name: "lon", Length: n}, {Name: "band", Length: 2}},
		Attributes: text("title", "A model"),
		Vars: []classic.Var{
			{Name: "level", Dims: []string{"level"}, Attributes: text("units", "hPa", "positive", "down"), Data: []int32{1000, 850}},
			{Name: "lat", Dims: []string{"lat"}, Attributes: text("units", "degrees_north"), Data: []float64{60, 0, -60}},
			{Name: "lon", Dims: []string{"lon"}, Attributes: text("standard_name", "longitude"), Data: longitudes},
			{Name: "t", Dims: []string{"time", "level", "lat", "lon"}, Attributes: text("units", "K", "long_name", "temperature"), Data: make([]float32, max(len(times), 1)*6*n)},
			{Name: "w", Dims: []string{"band"}, Data: []float32{1, 2}},
		},
	}
	if times != nil {
		f.Vars = append(f.Vars, classic.Var{Name: "time", Dims: []string{"time"}, Attributes: text("units", "days since 2000-02-28", "calendar", calendar), Data: times})
	}
	name := filepath.Join(dir, "a.nc")
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	return opened(t, filepath.Join(dir, "a.varve"), &ingest.Options{Sources: ingest.Sources{Names: []string{name}}})
}

func stacOf(t *testing.T, st *store.Store, opts *STACOptions) map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := WriteSTAC(t.Context(), &out, st, opts); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestSTAC checks the extents of items and collections.
func TestSTAC(t *testing.T) {
	opts := &STACOptions{ID: "a", Href: "https://host/a"}
	for _, c := range []struct {
		what       string
		longitudes []float64
		calendar   string
		times      []float64
		box        []any
		geometry   string
		begin, end string
	}{
		{"a region", []float64{-10, 0, 20}, "standard", []float64{0, 1.5}, []any{-10., -60., 20., 60.}, "Polygon", "2000-02-28T00:00:00Z", "2000-02-29T12:00:00Z"},
		{"longitudes to 360", []float64{10, 90, 350}, "standard", []float64{0}, []any{10., -60., -10., 60.}, "MultiPolygon", "2000-02-28T00:00:00Z", "2000-02-28T00:00:00Z"},
		{"across the antimeridian", []float64{170, 180, 190}, "standard", []float64{0}, []any{170., -60., -170., 60.}, "MultiPolygon", "2000-02-28T00:00:00Z", "2000-02-28T00:00:00Z"},
		{"the globe", []float64{0, 180, 360}, "standard", []float64{0}, []any{-180., -60., 180., 60.}, "Polygon", "2000-02-28T00:00:00Z", "2000-02-28T00:00:00Z"},
		{"30 February", []float64{0, 1, 2}, "360_day", []float64{0, 2}, []any{0., -60., 2., 60.}, "Polygon", "2000-02-28T00:00:00Z", "2000-02-29T00:00:00Z"},
	} {
		st := stacStore(t, c.longitudes, c.calendar, c.times)
		doc := stacOf(t, st, opts)
		properties := doc["properties"].(map[string]any)
		if !reflect.DeepEqual(doc["bbox"], c.box) || doc["geometry"].(map[string]any)["type"] != c.geometry || properties["start_datetime"] != c.begin || properties["end_datetime"] != c.end {
			t.Errorf("%s: got %v", c.what, doc)
		}
		dims := properties["cube:dimensions"].(map[string]any)
		for name, want := range map[string]map[string]any{
			"level": {"type": "spatial", "axis": "z", "extent": []any{850., 1000.}, "unit": "hPa"},
			"lat":   {"type": "spatial", "axis": "y", "extent": []any{-60., 60.}, "reference_system": 4326.},
			"band":  {"type": "index", "extent": []any{0., 1.}},
			"time":  {"type": "temporal", "extent": []any{c.begin, c.end}},
		} {
			if !reflect.DeepEqual(dims[name], want) {
				t.Errorf("%s: the dimension %s is %v, want %v", c.what, name, dims[name], want)
			}
		}
		variable := map[string]any{"dimensions": []any{"time", "level", "lat", "lon"}, "type": "data", "description": "temperature", "unit": "K"}
		if got := properties["cube:variables"].(map[string]any)["t"]; !reflect.DeepEqual(got, variable) {
			t.Errorf("%s: the variable is %v", c.what, got)
		}
	}
	st := stacStore(t, []float64{0, 1}, "", nil)
	if err := WriteSTAC(t.Context(), &bytes.Buffer{}, st, opts); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an item without times: %v", err)
	}
	doc := stacOf(t, st, &STACOptions{ID: "a", Href: "https://host/a", Collection: true})
	if text, _ := json.Marshal(doc["extent"]); string(text) != `{"spatial":{"bbox":[[0,-60,1,60]]},"temporal":{"interval":[[null,null]]}}` {
		t.Errorf("the extent of a collection is %s", text)
	}
}

// TestWrapped checks longitudes around the globe.
func TestWrapped(t *testing.T) {
	for in, want := range map[float64]float64{0: 0, 180: 180, -180: -180, 190: -170, 350: -10, 360: 0, 540: 180, -190: 170} {
		if got := wrapped(in); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is %v, want %v", in, got, want)
		}
	}
}

// TestSTACTime checks times of years that STAC does not have.
func TestSTACTime(t *testing.T) {
	for _, text := range []string{"", "12345-01-01", "-0001-01-01", "2000"} {
		if got, err := stacTime(text); err == nil {
			t.Errorf("%q is %q, want an error", text, got)
		}
	}
}

// TestInteropSTAC: pystac reads and validates an item and a collection.
func TestInteropSTAC(t *testing.T) {
	python := venv.Python(t, "pystac and jsonschema")
	st := stacStore(t, []float64{170, 180, 190}, "standard", []float64{0, 1.5})
	for _, isCollection := range []bool{false, true} {
		var out bytes.Buffer
		if err := WriteSTAC(t.Context(), &out, st, &STACOptions{ID: "a", Href: "https://host/a", Collection: isCollection}); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "a.json")
		if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := exec.Command(python, "testdata/stac.py", name).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
