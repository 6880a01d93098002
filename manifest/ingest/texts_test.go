package ingest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/manifest/report"
	"varve/manifest/report/reporttest"
	"varve/zarrjson"
)

// TestAttributesOfHDF5: a list with one text stays a list in HDF5, except in CF attributes, and is
// a text in netCDF. CLASS and NAME are hidden on dimension scales only.
func TestAttributesOfHDF5(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"conventions.h5": {"/table column-order": `["truth"]`, "/table title": `"one"`, "/table of": `"/truth"`,
			"/table CLASS": `"TABLE"`, "/truth CLASS": `"EARRAY"`, "/truth NAME": `"of its own"`,
			"/paths columns": `["a"]`, "/paths units": `"m"`, "/truth ordered": `true`, "/nothing encoding-type": `"null"`},
		"attributes_odd.h5": {"/x sequences": `[[1,2,3],[4]]`, "/x sequence": `[7,8]`, "/x table": `[[1,2,3],[4,5,6]]`, "/x column": `[1.5,2.5]`,
			"/x texts": `[["a","b"],["c","é"]]`, "/x pair": `{"n":1,"x":0.10000000149011612}`,
			"/x rows":   `[{"n":1,"fixed":"ab","text":"é"},{"n":3,"fixed":"c","text":""}]`,
			"/x nested": `[{"n":1,"in":[{"k":1,"v":"NaN"},{"k":2,"v":5.0}],"list":[1,2,3]}]`,
			"/x to":     `[{"n":1,"object":"/x"}]`, "/x arrays": `[[1,1,1],[1,1,1]]`, "/x half": `1.5`, "/x none": `[]`,
			"/x region": "", "/x time": "", "/ sequences": `[[1,2,3],[4]]`, "/ region": ""},
		"netcdf4_texts.nc": {"/ one": `"a"`, "/ two": `["a","b"]`, "/v one": `"b"`},
	} {
		made, err := Build(context.Background(), filepath.Join(t.TempDir(), "out.varve"),
			&Options{Sources: Sources{Names: []string{"../../fixtures/hdf5/" + name}}})
		if err != nil {
			t.Fatal(err)
		}
		nodes := map[string]zarrjson.Attributes{}
		for _, g := range made.Snapshot.Groups {
			nodes[g.Path] = g.Attributes
		}
		for _, a := range made.Snapshot.Arrays {
			nodes[a.Path] = a.Schema.Attributes
		}
		got := map[string]string{}
		for path, attributes := range nodes {
			for attribute, raw := range attributes.All() {
				got[path+" "+attribute] = string(raw)
			}
		}
		for attribute, says := range want {
			if got[attribute] != says {
				t.Errorf("%s: %s is %s, want %s", name, attribute, got[attribute], says)
			}
		}
	}
}

// TestAttributesLeftOut: attributes that JSON cannot hold are reported, in arrays and groups.
func TestAttributesLeftOut(t *testing.T) {
	made, err := Build(context.Background(), filepath.Join(t.TempDir(), "out.varve"),
		&Options{Sources: Sources{Names: []string{"../../fixtures/hdf5/attributes_odd.h5"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range made.Report.Findings {
		if f.Code == report.AttributeUnreadable && f.Effect == report.Dropped {
			got = append(got, f.Array+" "+reporttest.Facts(&f))
		}
	}
	want := []string{
		"/x name=region reason=elements of type ref-region have no counterpart in Zarr",
		"/x name=time reason=elements of type time<<i4> have no counterpart in Zarr",
		" group=/ name=region reason=elements of type ref-region have no counterpart in Zarr",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAttributesOfZarr: objects, nested lists, and values that Python writes outside of JSON are
// kept.
func TestAttributesOfZarr(t *testing.T) {
	store := t.TempDir()
	want := map[string]string{"object": `{"a":{"b":[1,2.50]}}`, "lists": `[[1],[2,3]]`, "empty": `[]`, "null": `null`, "mixed": `[1,"a"]`}
	doc := `{"zarr_format": 3, "node_type": "group", "attributes": {"number": NaN, "in": {"x": NaN}`
	for name, raw := range want {
		doc += fmt.Sprintf(", %q: %s", name, raw)
	}
	if err := os.WriteFile(filepath.Join(store, "zarr.json"), []byte(doc+"}}"), 0o666); err != nil {
		t.Fatal(err)
	}
	array := `{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int8", "fill_value": 0, "codecs": [{"name": "bytes"}],
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"}, "attributes": {"object": {"a": {"b": [1, 2.50]}}}}`
	if err := os.Mkdir(filepath.Join(store, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store, "x", "zarr.json"), []byte(array), 0o666); err != nil {
		t.Fatal(err)
	}
	made, err := Build(context.Background(), filepath.Join(t.TempDir(), "out.varve"), &Options{Sources: Sources{Names: []string{store}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range want {
		if got, _ := made.Snapshot.Groups[0].Attributes.Get(name); string(got) != raw {
			t.Errorf("%s is %s, want %s", name, got, raw)
		}
	}
	if got, _ := made.Snapshot.Arrays[0].Schema.Attributes.Get("object"); string(got) != want["object"] {
		t.Errorf("object of x is %s, want %s", got, want["object"])
	}
}
