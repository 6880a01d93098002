package zarrjson

import (
	"errors"
	"strings"
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

// withV2 is with for a .zarray.
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
		{"format 3", withV2("zarr_format", "3"), "zarr_format", "3 is not 2", corrupt},
		{"no chunks", withV2("chunks", ""), "chunks", "missing", corrupt},
		{"too few chunks", withV2("chunks", "[2]"), "chunks", "1 axes; the shape has 2", corrupt},
		{"chunks of 0", withV2("chunks", "[0,10]"), "chunks[0]", "size 0", corrupt},
		{"order", withV2("order", `"A"`), "order", `"A" is not "C" or "F"`, corrupt},
		{"no order", withV2("order", ""), "order", "missing", corrupt},
		{"separator", withV2("dimension_separator", `"-"`), "dimension_separator", `"-"`, corrupt},
		{"filters of an object", withV2("filters", `{}`), "filters", "list of filters", corrupt},
		{"filter without id", withV2("filters", `[{"level":1}]`), "filters[0].id", "missing", corrupt},
		{"compressor by name", withV2("compressor", `"zlib"`), "compressor", `"zlib" is not an object`, corrupt},
		{"no byte order", dtype(`"|i4"`), "dtype", "lacks a byte order", corrupt},
		{"native byte order", dtype(`"=i4"`), "dtype", "a type such as", corrupt},
		{"unknown kind", dtype(`"<x4"`), "dtype", "a type such as", corrupt},
		{"int24", dtype(`"<i3"`), "dtype", "a type such as", corrupt},
		{"long double", dtype(`"<f16"`), "dtype", "a type such as", corrupt},
		{"size 0", dtype(`"|S0"`), "dtype", "a type such as", corrupt},
		{"size past memory", dtype(`"|S9999999999999999999"`), "dtype", "a type such as", corrupt},
		{"text past the bound", dtype(`"<U1048576"`), "dtype", "bytes an element", no},
		{"unit of an int", dtype(`"<i8[ns]"`), "dtype", "a type such as", corrupt},
		{"unknown unit", dtype(`"<M8[x]"`), "dtype", "a type such as", corrupt},
		{"open unit", dtype(`"<M8[ns"`), "dtype", "a type such as", corrupt},
		{"letters behind a size", dtype(`"<f4x"`), "dtype", "a type such as", corrupt},
		{"0 ticks", dtype(`"<M8[0s]"`), "dtype", "a type such as", corrupt},
		{"too many ticks", dtype(`"<M8[2147483648s]"`), "dtype", "a type such as", corrupt},
		{"objects", dtype(`"|O"`), "dtype", "without a filter", corrupt},
		{"pickles", withV2("dtype", `"|O"`, "filters", `[{"id":"pickle"}]`), "dtype", `"pickle"`, no},
		{"no fields", dtype(`[]`), "dtype", "at least one field", corrupt},
		{"field of one", dtype(`[["a"]]`), "dtype[0]", "name and type", corrupt},
		{"field twice", dtype(`[["a","|i1"],["a","|i1"]]`), "dtype[1]", `"a"`, corrupt},
		{"field that is an array", dtype(`[["a","<i4",[2]]]`), "dtype[0]", "array itself", no},
		{"field of objects", dtype(`[["a","|O"]]`), "dtype[0][1]", "a type such as", corrupt},
		{"fill of another size", withV2("dtype", `[["a","<i4"]]`, "fill_value", `"AQ=="`), "fill_value", "1 bytes; want 4", corrupt},
		{"fill of a struct as an object", withV2("dtype", `[["a","<i4"]]`, "fill_value", `{"a":1}`), "fill_value", "base64", corrupt},
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
		{"no metadata", `{"zarr_consolidated_format":1}`, "metadata", "missing", corrupt},
		{"format 2", `{"zarr_consolidated_format":2,"metadata":{}}`, "zarr_consolidated_format", "2 is not 1", corrupt},
		{"another key", `{"metadata":{"x/zarr.json":{}}}`, "metadata[x/zarr.json]", "none of .zarray", corrupt},
		{"attributes alone", `{"metadata":{"x/.zattrs":{}}}`, "metadata", `"x" has attributes`, corrupt},
		{"array and group", `{"metadata":{"x/.zgroup":{"zarr_format":2},"x/.zarray":` + withV2() + `}}`, "metadata[x/.zarray]", "an array and a group", corrupt},
		{"wrong array", `{"metadata":{"x/.zarray":` + withV2("order", "1") + `}}`, "metadata[x/.zarray].order", "1 is not", corrupt},
		{"text for a document", `{"metadata":{".zgroup":"{}"}}`, "metadata[.zgroup]", "not an object", corrupt},
		{"dots in the path", `{"metadata":{"../x/.zgroup":{"zarr_format":2}}}`, "metadata[../x/.zgroup]", "dots only", corrupt},
		{"path from the root", `{"metadata":{"/.zgroup":{"zarr_format":2}}}`, "metadata[/.zgroup]", "empty name", corrupt},
		{"empty name", `{"metadata":{"//.zgroup":{"zarr_format":2}}}`, "metadata[//.zgroup]", "empty name", corrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v, err := ParseV2Consolidated([]byte(c.doc))
			c.check(t, v == nil, err)
		})
	}
}

// TestV2ConsolidatedOfKerchunk reads what kerchunk writes: no format, documents in any
// order, keys of its own beside them.
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
		{"configuration that is no JSON", func(a *V2Array) { a.Compressor = &V2Codec{ID: "zlib", Config: []byte(`{`)} }, "compressor"},
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
	if err := CheckV2Group([]byte(`{"zarr_format":3}`)); err == nil || !strings.Contains(err.Error(), "zarr_format: 3 is not 2") {
		t.Error(err)
	}
}
