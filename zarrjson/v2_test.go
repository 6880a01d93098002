package zarrjson

import (
	"errors"
	"testing"
)

var plainV2 = [][2]string{
	{"shape", `[6,10]`},
	{"chunks", `[2,10]`},
	{"dtype", `"<f4"`},
	{"fill_value", `0.0`},
	{"order", `"C"`},
	{"filters", `null`},
	{"dimension_separator", `"."`},
	{"compressor", `null`},
	{"zarr_format", `2`},
}

// withV2 is like with, for a .zarray.
func withV2(changes ...string) string { return changed(plainV2, changes) }

func TestV2ArrayReadsMoreThanItWrites(t *testing.T) {
	cases := map[string][2]string{
		"plain":            {withV2(), withV2()},
		"left out":         {withV2("filters", "", "compressor", "", "dimension_separator", "", "fill_value", ""), withV2("fill_value", "null")},
		"empty filters":    {withV2("filters", "[]"), withV2()},
		"unknown fields":   {withV2("note", `{"x":1}`, "version", "3"), withV2()},
		"bare NaN":         {withV2("fill_value", "NaN"), withV2("fill_value", `"NaN"`)},
		"payload":          {withV2("fill_value", `"0x7fc00001"`), withV2("fill_value", `"NaN"`)},
		"id in the middle": {withV2("compressor", `{"level": 4, "id": "zlib"}`), withV2("compressor", `{"id":"zlib","level":4}`)},
		"microseconds":     {withV2("dtype", `">M8[us]"`, "fill_value", "7"), withV2("dtype", `">M8[us]"`, "fill_value", "7")},
		"most ticks":       {withV2("dtype", `"<M8[2147483647s]"`, "fill_value", "7"), withV2("dtype", `"<M8[2147483647s]"`, "fill_value", "7")},
		"text of 0": {withV2("dtype", `"|O"`, "filters", `[{"id":"vlen-utf8"}]`, "fill_value", "0"),
			withV2("dtype", `"|O"`, "filters", `[{"id":"vlen-utf8"}]`, "fill_value", `"0"`)},
		"structured, null": {withV2("dtype", `[["a",">i4"],["b","<f8"]]`, "fill_value", "null"), withV2("dtype", `[["a",">i4"],["b","<f8"]]`, "fill_value", "null")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a, err := ParseV2Array([]byte(c[0]))
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.Encode(Compact)
			if err != nil || string(got) != c[1] {
				t.Errorf("written as\n%s (%v), not\n%s", got, err, c[1])
			}
		})
	}
}

func TestV2ArrayRefuses(t *testing.T) {
	no := errors.ErrUnsupported
	dtype := func(d string) string { return withV2("dtype", d, "fill_value", "null") }
	cases := []refusal{
		{"format 3", withV2("zarr_format", "3"), "zarr_format", corrupt},
		{"no chunks", withV2("chunks", ""), "chunks", corrupt},
		{"too few chunks", withV2("chunks", "[2]"), "chunks", corrupt},
		{"chunks of 0", withV2("chunks", "[0,10]"), "chunks[0]", corrupt},
		{"order", withV2("order", `"A"`), "order", corrupt},
		{"no order", withV2("order", ""), "order", corrupt},
		{"separator", withV2("dimension_separator", `"-"`), "dimension_separator", corrupt},
		{"filters of an object", withV2("filters", `{}`), "filters", corrupt},
		{"filter without id", withV2("filters", `[{"level":1}]`), "filters[0].id", corrupt},
		{"compressor by name", withV2("compressor", `"zlib"`), "compressor", corrupt},
		{"no byte order", dtype(`"|i4"`), "dtype", corrupt},
		{"native byte order", dtype(`"=i4"`), "dtype", corrupt},
		{"unknown kind", dtype(`"<x4"`), "dtype", corrupt},
		{"int24", dtype(`"<i3"`), "dtype", corrupt},
		{"long double", dtype(`"<f16"`), "dtype", corrupt},
		{"size 0", dtype(`"|S0"`), "dtype", corrupt},
		{"size past memory", dtype(`"|S9999999999999999999"`), "dtype", corrupt},
		{"text past the bound", dtype(`"<U1048576"`), "dtype", no},
		{"unit of an int", dtype(`"<i8[ns]"`), "dtype", corrupt},
		{"unknown unit", dtype(`"<M8[x]"`), "dtype", corrupt},
		{"open unit", dtype(`"<M8[ns"`), "dtype", corrupt},
		{"letters after a size", dtype(`"<f4x"`), "dtype", corrupt},
		{"0 ticks", dtype(`"<M8[0s]"`), "dtype", corrupt},
		{"too many ticks", dtype(`"<M8[2147483648s]"`), "dtype", corrupt},
		{"objects", dtype(`"|O"`), "dtype", corrupt},
		{"pickles", withV2("dtype", `"|O"`, "filters", `[{"id":"pickle"}]`), "dtype", no},
		{"no fields", dtype(`[]`), "dtype", corrupt},
		{"field of one", dtype(`[["a"]]`), "dtype[0]", corrupt},
		{"field twice", dtype(`[["a","|i1"],["a","|i1"]]`), "dtype[1]", corrupt},
		{"field that is an array", dtype(`[["a","<i4",[2]]]`), "dtype[0]", no},
		{"field of objects", dtype(`[["a","|O"]]`), "dtype[0][1]", corrupt},
		{"fill of another size", withV2("dtype", `[["a","<i4"]]`, "fill_value", `"AQ=="`), "fill_value", corrupt},
		{"fill of a struct as an object", withV2("dtype", `[["a","<i4"]]`, "fill_value", `{"a":1}`), "fill_value", corrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := ParseV2Array([]byte(c.doc))
			c.check(t, a == nil, err)
		})
	}
}

func TestV2ConsolidatedRefuses(t *testing.T) {
	cases := []refusal{
		{"no metadata", `{"zarr_consolidated_format":1}`, "metadata", corrupt},
		{"format 2", `{"zarr_consolidated_format":2,"metadata":{}}`, "zarr_consolidated_format", corrupt},
		{"another key", `{"metadata":{"x/zarr.json":{}}}`, "metadata[x/zarr.json]", corrupt},
		{"attributes alone", `{"metadata":{"x/.zattrs":{}}}`, "metadata", corrupt},
		{"array and group", `{"metadata":{"x/.zgroup":{"zarr_format":2},"x/.zarray":` + withV2() + `}}`, "metadata[x/.zarray]", corrupt},
		{"wrong array", `{"metadata":{"x/.zarray":` + withV2("order", "1") + `}}`, "metadata[x/.zarray].order", corrupt},
		{"text for a document", `{"metadata":{".zgroup":"{}"}}`, "metadata[.zgroup]", corrupt},
		{"dots in the path", `{"metadata":{"../x/.zgroup":{"zarr_format":2}}}`, "metadata[../x/.zgroup]", corrupt},
		{"path from the root", `{"metadata":{"/.zgroup":{"zarr_format":2}}}`, "metadata[/.zgroup]", corrupt},
		{"empty name", `{"metadata":{"//.zgroup":{"zarr_format":2}}}`, "metadata[//.zgroup]", corrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v, err := ParseV2Consolidated([]byte(c.doc))
			c.check(t, v == nil, err)
		})
	}
}

// TestV2ConsolidatedOfKerchunk reads kerchunk's documents: without format, in any order,
// with keys of its own.
func TestV2ConsolidatedOfKerchunk(t *testing.T) {
	doc := `{"metadata":{".zattrs":{"a":1},"v/.zattrs":{"_ARRAY_DIMENSIONS":["time","x"]},".zgroup":{"zarr_format":2},"v/.zarray":` + withV2() + `},"record_size":100}`
	c, err := ParseV2Consolidated([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Encode(Compact)
	want := `{"metadata":{".zgroup":{"zarr_format":2},".zattrs":{"a":1},"v/.zarray":` + withV2() +
		`,"v/.zattrs":{"_ARRAY_DIMENSIONS":["time","x"]}},"zarr_consolidated_format":1}`
	if err != nil || string(got) != want {
		t.Errorf("written as\n%s (%v), not\n%s", got, err, want)
	}
}

func TestV2WriteRefuses(t *testing.T) {
	fresh := func() *V2Array {
		a, err := ParseV2Array([]byte(withV2()))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	cases := []struct {
		name  string
		spoil func(*V2Array)
		path  string
	}{
		{"no dtype", func(a *V2Array) { a.DataType = V2DataType{} }, "dtype"},
		{"no order", func(a *V2Array) { a.Order = 0 }, "order"},
		{"no separator", func(a *V2Array) { a.Separator = 0 }, "dimension_separator"},
		{"short fill", func(a *V2Array) { a.Fill = []byte{1} }, "fill_value"},
		{"filter without id", func(a *V2Array) { a.Filters = []V2Codec{{}} }, "filters[0].id"},
		{"filter with two ids", func(a *V2Array) { a.Compressor = &V2Codec{ID: "zlib", Config: []byte(`{"id":"x"}`)} }, "compressor.id"},
		{"configuration that is not JSON", func(a *V2Array) { a.Compressor = &V2Codec{ID: "zlib", Config: []byte(`{`)} }, "compressor"},
	}
	for _, c := range cases {
		a := fresh()
		c.spoil(a)
		doc, err := a.Encode(Compact)
		var e *Error
		if !errors.As(err, &e) || e.Path != c.path || doc != nil {
			t.Errorf("%s: %v, not of %s; %s", c.name, err, c.path, doc)
		}
	}
	var e *Error
	if err := CheckV2Group([]byte(`{"zarr_format":3}`)); !errors.As(err, &e) || e.Path != "zarr_format" {
		t.Error(err)
	}
}
