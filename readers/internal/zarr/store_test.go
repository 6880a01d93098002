package zarr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

// inMemory opens documents and chunks in memory.
func inMemory(t testing.TB, files map[string]string) (*readers.Dataset, error) {
	t.Helper()
	f := &readertest.MemoryFolder{Files: map[string][]byte{}}
	for key, data := range files {
		f.Files[key] = []byte(data)
	}
	return Format{}.Open(context.Background(), source.New("store", f))
}

func mustOpen(t testing.TB, files map[string]string) *readers.Dataset {
	t.Helper()
	data, err := inMemory(t, files)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const group3 = `{"zarr_format":3,"node_type":"group","attributes":{"a":NaN}}`

// array3 returns the zarr.json of an array of format 3 with some fields replaced.
func array3(fields ...string) string {
	list := map[string]string{
		"shape": `[4]`, "data_type": `"uint8"`, "chunk_grid": `{"name":"regular","configuration":{"chunk_shape":[2]}}`,
		"chunk_key_encoding": `{"name":"default"}`, "fill_value": `0`, "codecs": `["bytes"]`,
	}
	for i := 0; i < len(fields); i += 2 {
		list[fields[i]] = fields[i+1]
	}
	text := `{"zarr_format":3,"node_type":"array"`
	for name, value := range list {
		text += fmt.Sprintf(",%q:%s", name, value)
	}
	return text + "}"
}

func array2(fields ...string) string {
	list := map[string]string{
		"shape": `[4]`, "chunks": `[2]`, "dtype": `"|u1"`, "fill_value": `null`, "order": `"C"`, "filters": `null`, "compressor": `null`,
	}
	for i := 0; i < len(fields); i += 2 {
		list[fields[i]] = fields[i+1]
	}
	text := `{"zarr_format":2`
	for name, value := range list {
		text += fmt.Sprintf(",%q:%s", name, value)
	}
	return text + "}"
}

func TestAttributes(t *testing.T) {
	data := readertest.Open(t, Format{}, filepath.Join(fixtureDir, "v3"))
	double := func(f ...float64) string {
		var b []byte
		for _, x := range f {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		return fmt.Sprintf("%x", b)
	}
	want := map[string]string{
		"title":   `vlen-str-utf8 [] ["every kind"]`,
		"version": "<i8 [] 0300000000000000",
		"scale":   "<f8 [] " + double(0.5),
		"on":      "bool [] 01",
		"levels":  "<i8 [3] 010000000000000002000000000000000300000000000000",
		"mixed":   "<f8 [2] " + double(1, 2.5),
		"names":   `vlen-str-utf8 [2] ["a" "b,\"]"]`,
		"flags":   "bool [2] 0100",
		"big":     "<u8 [] 0000000000000080",
		"nothing": `json ["null"]`,
		"empty":   `json ["[]"]`,
		"huge":    `json ["1180591620717411303424"]`,
	}
	for name, w := range want {
		a := readers.Lookup(data.Root.Attributes, name)
		if a == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		got := fmt.Sprintf("%v %v %x", a.Type, a.Shape, a.Data)
		switch {
		case a.Type.Tag == "json":
			got = fmt.Sprintf("json %q", a.Texts)
		case a.Texts != nil:
			got = fmt.Sprintf("%v %v %q", a.Type, a.Shape, a.Texts)
		}
		if got != w {
			t.Errorf("%s: got %s, want %s", name, got, w)
		}
	}
	for name, start := range map[string]string{"object": "{", "nested": "["} {
		if a := readers.Lookup(data.Root.Attributes, name); a.Type.Tag != "json" || !strings.HasPrefix(string(a.Texts[0]), start) {
			t.Errorf("%s: got %q", name, a.Texts)
		}
	}
	nan := readers.Lookup(data.Root.Attributes, "nan")
	if !math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(nan.Data))) {
		t.Errorf("nan: got %x", nan.Data)
	}
}

func TestTypes(t *testing.T) {
	found := readertest.Variables(readertest.Open(t, Format{}, filepath.Join(fixtureDir, "v3")))
	for path, want := range map[string]string{
		"/bools": "bool", "/halves": "<f2", "/complexes": "complex<<f4>", "/strings": "vlen-str-utf8", "/fixed": "|S3{nullpad,ascii}",
		"/unicode": "U2", "/raw": "opaque::2", "/dates": "datetime64[s]", "/spans": "timedelta64[ms]", "/big_endian": ">i4",
		"/structs": `compound10{"a"@0:<i2,"b"@2:<f8}`, "/scalar": "|u1",
	} {
		v := found[path]
		if got := v.Type.String(); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
		element, ok := v.Type.Element()
		if !ok || !element.Varies() && element.Size != v.Type.Size {
			t.Errorf("%s: element %v, %v", path, element, ok)
		}
	}
	value, err := found["/unicode"].ReadAll(context.Background(), 100)
	if err != nil || fmt.Sprintf("%q", value.Texts) != `["é" "ab"]` {
		t.Errorf("unicode: got %q, %v", value.Texts, err)
	}
}

// TestMasks: _FillValue is the value that xarray uses: the attribute in format 3, the fill value in
// format 2.
func TestMasks(t *testing.T) {
	v3 := readertest.Variables(readertest.Open(t, Format{}, filepath.Join(fixtureDir, "v3")))
	v2 := readertest.Variables(readertest.Open(t, Format{}, filepath.Join(fixtureDir, "v2")))
	for _, test := range []struct {
		name string
		v    *readers.Variable
		want string // memory form; "" is no attribute
		fill readers.FillState
	}{
		{"format 3, base64", v3["/temperature"], "000080bf", readers.FillUser},
		{"format 3, none", v3["/time"], "", readers.FillUser},
		{"format 2, fill value before attribute", v2["/t"], "000080bf", readers.FillUser},
		{"format 2, zero", v2["/filtered"], "0000000000000000", readers.FillUser},
		{"format 2, null", v2["/x"], "", readers.FillDefault},
		{"format 2, null of a date", v2["/dates"], "", readers.FillUser},
	} {
		a, got := readers.Lookup(test.v.Attributes, "_FillValue"), ""
		if a != nil {
			got = fmt.Sprintf("%x", a.Data)
			if a.Type.String() != test.v.Type.String() {
				t.Errorf("%s: type %v of a variable of type %v", test.name, a.Type, test.v.Type)
			}
		}
		if got != test.want || test.v.Fill.State != test.fill {
			t.Errorf("%s: got %q and %v, want %q and %v", test.name, got, test.v.Fill.State, test.want, test.fill)
		}
	}
}

// TestDimensions reads arrays that disagree about the length of a dimension, and groups with
// dimensions of the same name.
func TestDimensions(t *testing.T) {
	data := readertest.Open(t, Format{}, filepath.Join(fixtureDir, "v3"))
	found := readertest.Variables(data)
	if len(data.Root.Dimensions) != 2 {
		t.Errorf("%d dimensions, want 2", len(data.Root.Dimensions))
	}
	if d := found["/temperature"].Dims[0]; d != found["/time"].Dims[0] || d.Path != "/time" || d.Length != 10 {
		t.Errorf("time of temperature: %+v", d)
	}
	if d := found["/other_time"].Dims[0]; d.Length != 3 || d.Path != "/other_time#time" {
		t.Errorf("a dimension of another length: %+v", d)
	}
	if d := found["/sub/deeper/v"].Dims[1]; !d.Anonymous || d.Name != "v_dim_1" {
		t.Errorf("a dimension without a name: %+v", d)
	}
}

// TestDimensionsOfGroupsAbove reads arrays whose dimensions have coordinates in ancestors of their
// group: the nearest one counts, if its length matches.
func TestDimensionsOfGroupsAbove(t *testing.T) {
	along := func(name, length string) string {
		return array3("shape", "["+length+"]", "dimension_names", `["`+name+`"]`)
	}
	data := mustOpen(t, map[string]string{
		"zarr.json": group3, "time/zarr.json": along("time", "4"), "x/zarr.json": along("x", "4"), "v/zarr.json": along("cells", "4"),
		"g/zarr.json": group3, "g/v/zarr.json": along("time", "4"), "g/short/zarr.json": along("time", "3"),
		"g/cells/zarr.json": along("cells", "4"), "g/w/zarr.json": along("rows", "4"), "g/x/zarr.json": along("x", "3"),
		"g/h/zarr.json": group3, "g/h/v/zarr.json": along("time", "4"), "g/h/w/zarr.json": along("x", "3"),
		"g/h/long/zarr.json": along("x", "4"), "g/h/c/zarr.json": along("cells", "4"), "g/h/r/zarr.json": along("rows", "4"),
	})
	for path, v := range readertest.Variables(data) {
		want := map[string]string{
			"/time": "/time", "/x": "/x", "/v": "/cells",
			"/g/v": "/time", "/g/short": "/g/time", "/g/cells": "/g/cells", "/g/w": "/g/rows", "/g/x": "/g/x",
			"/g/h/v": "/time", "/g/h/w": "/g/x", "/g/h/long": "/g/h/x", "/g/h/c": "/g/cells", "/g/h/r": "/g/h/rows",
		}[path]
		if d := v.Dims[0]; d.Path != want || d.Length != v.Shape[0] {
			t.Errorf("%s has dimension %s of %d, want %s of %d", path, d.Path, d.Length, want, v.Shape[0])
		}
	}
}

// TestProblems reads damaged documents next to a valid one.
func TestProblems(t *testing.T) {
	good := array3()
	for name, test := range map[string]struct {
		files map[string]string
		paths string // of problems
		want  error
	}{
		"not JSON":                 {map[string]string{"zarr.json": group3, "b/zarr.json": "{"}, "[/b]", readers.ErrCorrupt},
		"unknown type":             {map[string]string{"zarr.json": group3, "b/zarr.json": array3("data_type", `"decimal"`)}, "[/b]", errors.ErrUnsupported},
		"wrong shape":              {map[string]string{"zarr.json": group3, "b/zarr.json": array3("shape", "[-1]")}, "[/b]", readers.ErrCorrupt},
		"wrong codec":              {map[string]string{"zarr.json": group3, "b/zarr.json": array3("codecs", `[{"name":"gzip","configuration":{"level":"x"}}]`)}, "[/b]", nil},
		"consolidated, one wrong":  {map[string]string{"zarr.json": strings.TrimSuffix(group3, "}") + `,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"good":` + good + `,"b":{"zarr_format":3}}}}`}, "[/b]", readers.ErrCorrupt},
		"consolidated, wrong path": {map[string]string{"zarr.json": strings.TrimSuffix(group3, "}") + `,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"good":` + good + `,"../b":` + good + `}}}`}, "[/../b]", readers.ErrCorrupt},
		"format 2, not JSON":       {map[string]string{".zgroup": `{"zarr_format":2}`, "b/.zarray": "{"}, "[/b]", readers.ErrCorrupt},
		"format 2, no attributes":  {map[string]string{".zgroup": `{"zarr_format":2}`, "b/.zarray": array2(), "b/.zattrs": "[]"}, "[/b]", readers.ErrCorrupt},
		"a node in an array":       {map[string]string{"zarr.json": strings.TrimSuffix(group3, "}") + `,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"good":` + good + `,"good/b":` + good + `}}}`}, "[/good/b]", readers.ErrCorrupt},
	} {
		if _, consolidated, _ := strings.Cut(test.files["zarr.json"], "consolidated"); consolidated == "" || test.files[".zgroup"] != "" {
			test.files["good/zarr.json"] = good
		}
		data := mustOpen(t, test.files)
		var paths []string
		for _, p := range data.Problems {
			paths = append(paths, p.Path)
			if test.want != nil && !errors.Is(p.Err, test.want) {
				t.Errorf("%s: got %v, want %v", name, p.Err, test.want)
			}
		}
		if fmt.Sprint(paths) != test.paths {
			t.Errorf("%s: problems of %v, want %s", name, paths, test.paths)
		}
		if readertest.Variables(data)["/good"] == nil {
			t.Errorf("%s: the good array is missing", name)
		}
	}
}

// TestUndecodable lists arrays whose codecs varve does not have.
func TestUndecodable(t *testing.T) {
	data := mustOpen(t, map[string]string{
		".zgroup":     `{"zarr_format":2}`,
		"a/.zarray":   array2("compressor", `{"id":"zfpy"}`),
		"b/.zarray":   array2("filters", `[{"id":"msgpack2"}]`, "dtype", `"|u1"`),
		"c/.zarray":   array2("filters", `[{"id":"nobody knows"}]`),
		"d/.zarray":   array2("dtype", `[["a","<i2"],["b",">i2"]]`),
		"e/zarr.json": array3("codecs", `["bytes",{"name":"numcodecs.pcodec","configuration":{}}]`),
	})
	for _, p := range data.Problems {
		t.Errorf("problem: %v", p.Err)
	}
	found := readertest.Variables(data)
	for _, path := range []string{"/a", "/b", "/c", "/d", "/e"} {
		v := found[path]
		if v == nil {
			t.Errorf("%s is missing", path)
			continue
		}
		if !errors.Is(v.Storage.Undecodable, errors.ErrUnsupported) || len(v.Shape) != 1 {
			t.Errorf("%s: shape %v, undecodable %v", path, v.Shape, v.Storage.Undecodable)
		}
		if _, err := v.ReadAll(context.Background(), 100); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: reading gave %v", path, err)
		}
	}
}

// TestOtherKeys reads an array with files next to its chunks that are not chunks.
func TestOtherKeys(t *testing.T) {
	data := mustOpen(t, map[string]string{
		"zarr.json": group3, "a/zarr.json": array3(),
		"a/c/0": "\x01\x02", "a/c/00": "", "a/c/2": "x", "a/c/x": "", "a/c/0.0": "", "a/0": "", "a/notes.txt": "hello", "a/c/1.tmp": "",
	})
	v := data.Root.Variables[0]
	n := 0
	for r, err := range v.Storage.Refs(context.Background()) {
		if err != nil || r.Other.Source != "store/a/c/0" {
			t.Errorf("got %v, %v", r, err)
		}
		n++
	}
	value, err := v.ReadAll(context.Background(), 100)
	if n != 1 || err != nil || fmt.Sprintf("%x", value.Data) != "01020000" {
		t.Errorf("%d refs, values %x, %v", n, value.Data, err)
	}
}

// TestHostile reads arrays whose metadata claim more than the store has.
func TestHostile(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"large array": {"zarr.json": array3("shape", "[1000000000000]", "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[1]}}`)},
		"large chunk": {"zarr.json": array3("chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[4000000000]}}`), "c/0": "a"},
		"large chunks": {"zarr.json": array3("shape", "[64]", "chunk_grid",
			`{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[1,64]]],"encoded_chunk_shapes":[[[60000000,64]]]}}`,
			"codecs", `["bytes",{"name":"gzip","configuration":{"level":1}}]`), "c/0": "a", "c/1": "a"},
		"large strings": {"zarr.json": array3("shape", "[100000000]", "data_type", `"string"`, "fill_value", `""`, "codecs", `["vlen-utf8"]`)},
		"large shard": {"zarr.json": array3("shape", "[1000000000]", "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[1000000000]}}`,
			"codecs", `[{"name":"sharding_indexed","configuration":{"chunk_shape":[1],"codecs":["bytes"],"index_codecs":["bytes"]}}]`), "c/0": "a"},
	} {
		data, err := inMemory(t, files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		v := data.Root.Variables[0]
		if _, err := v.ReadAll(context.Background(), 1<<20); err == nil {
			t.Errorf("%s: read", name)
		}
		for _, err := range v.Storage.Refs(context.Background()) {
			_ = err
		}
	}
	deep := map[string]string{"zarr.json": group3}
	for n := range 100 {
		deep[strings.Repeat("g/", n+1)+"zarr.json"] = group3
	}
	if _, err := inMemory(t, deep); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("100 groups in one another: got %v", err)
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add([]byte(group3), []byte(array3()), []byte("\x01\x02"))
	f.Add([]byte(array2("fill_value", "1", "order", `"F"`)), []byte(`{"_FillValue":1,"_ARRAY_DIMENSIONS":["x"]}`), []byte(""))
	f.Add([]byte(group3), []byte(array3("codecs", `[{"name":"sharding_indexed","configuration":{"chunk_shape":[1],"codecs":["bytes"],"index_codecs":["bytes"]}}]`)), []byte("0123456789"))
	f.Add([]byte(group3), []byte(array3("chunk_grid", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[1,2],2]]}}`)), []byte("1"))
	f.Fuzz(func(t *testing.T, root, doc, chunk []byte) {
		for _, files := range []map[string][]byte{
			{"zarr.json": root, "a/zarr.json": doc, "a/c/0": chunk},
			{"zarr.json": doc, "c/0": chunk},
			{".zarray": root, ".zattrs": doc, "0": chunk},
			{".zmetadata": root},
		} {
			readertest.Describe(context.Background(), Format{}, source.New("store", &readertest.MemoryFolder{Files: files}))
		}
	})
}
