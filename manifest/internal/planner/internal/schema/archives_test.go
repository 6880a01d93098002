package schema

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve/codec"
	"varve/fixtures/venv"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/convert"
	"varve/zarrjson"
)

// archive is a case of testdata/archives.json, which testdata/generate.py explains.
type archive []file

type file struct {
	Type            string
	Attrs           map[string]json.RawMessage
	Values, Decoded []*float64
	Float           bool
}

func archives(t *testing.T) (list []archive) {
	t.Helper()
	raw, err := os.ReadFile("testdata/archives.json")
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil || len(list) == 0 {
		t.Fatalf("%d cases: %v", len(list), err)
	}
	return list
}

func numbers(list []*float64) (out []float64) {
	for _, f := range list {
		if f == nil {
			out = append(out, math.NaN())
			continue
		}
		out = append(out, *f)
	}
	return out
}

// members returns the members of a case.
func (a archive) members(t *testing.T) (members []Member) {
	t.Helper()
	for _, c := range a {
		m := with(c.Type)
		for _, name := range []string{"_Unsigned", "scale_factor", "add_offset", "_FillValue", "missing_value"} {
			raw, ok := c.Attrs[name]
			var text, code string
			var value *float64
			switch {
			case !ok:
			case json.Unmarshal(raw, &text) == nil:
				m.Variable.Attributes = append(m.Variable.Attributes, att(name, text))
			default:
				var list []*float64
				if err := json.Unmarshal(raw, &[]any{&code, &list}); err != nil {
					t.Fatal(err)
				}
				value = list[0]
				m.Variable.Attributes = append(m.Variable.Attributes, att(name, code, numbers([]*float64{value})...))
			}
		}
		members = append(members, m)
	}
	return members
}

// elements returns the values of all members, converted to the schema and as each file's own
// attributes decode them.
func (a archive) elements(t *testing.T, f *Schema, members []Member) (elements []byte, decoded []float64) {
	t.Helper()
	d := decision{schema: *f}
	for i, c := range a {
		conversion, err := convert.New(members[i].Variable, d.array(), f.Reading)
		if err != nil {
			t.Fatal(err)
		}
		var stored []byte
		for _, v := range numbers(c.Values) {
			stored = append(stored, num(c.Type, v)...)
		}
		out := make([]byte, len(c.Values)*f.DataType.Type().Size)
		if err := conversion.Apply(codec.Elems{Fixed: out}, codec.Elems{Fixed: stored}); err != nil {
			t.Fatal(err)
		}
		elements = append(elements, out...)
		decoded = append(decoded, numbers(c.Decoded)...)
	}
	return elements, decoded
}

// client decodes elements as xarray does from Zarr format 3.
func client(t *testing.T, f *Schema, elements []byte) (values []float64, floats bool) {
	t.Helper()
	stored, typ := f.DataType.Type(), f.DataType.Type()
	if raw, ok := f.Attributes.Get(cf.Unsigned); ok && string(raw) == `"true"` && typ.Kind == codec.Int {
		typ.Kind = codec.Uint
	}
	number := func(name string, otherwise float64) float64 {
		raw, ok := f.Attributes.Get(name)
		if !ok {
			return otherwise
		}
		floats = true
		v, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	scale, offset := number(cf.ScaleFactor, 1), number(cf.AddOffset, 0)
	masks := masksOf(t, f)
	floats = floats || len(masks) > 0 || typ.Kind == codec.Float
	for e := range slices.Chunk(elements, stored.Size) {
		v := cf.Float(typ, e)*scale + offset
		if slices.ContainsFunc(masks, func(m []byte) bool { return cf.SameNumber(stored, m, e) }) {
			v = math.NaN()
		}
		values = append(values, v)
	}
	return values, floats
}

func masksOf(t *testing.T, f *Schema) (masks [][]byte) {
	t.Helper()
	if raw, ok := f.Attributes.Get(cf.FillValue); ok {
		mask, err := f.DataType.DecodeMask(raw)
		if err != nil {
			t.Fatal(err)
		}
		masks = append(masks, mask)
	}
	if raw, ok := f.Attributes.Get(cf.MissingValue); ok {
		var more []float64
		if err := json.Unmarshal(raw, &more); err != nil {
			t.Fatal(err)
		}
		for _, m := range more {
			element, _ := cf.Cast(f.DataType.Type(), types["f8"], cf.AppendWord(nil, math.Float64bits(m), 8))
			masks = append(masks, element)
		}
	}
	return masks
}

// TestDecodedValues: decoding with the schema gives the values that xarray gives for each file.
func TestDecodedValues(t *testing.T) {
	for i, a := range archives(t) {
		members := a.members(t)
		f, _ := decide(t, Options{}, members...)
		elements, want := a.elements(t, f, members)
		got, floats := client(t, f, elements)
		if wantFloats := slices.ContainsFunc(a, func(m file) bool { return m.Float }); floats != wantFloats {
			t.Errorf("case %d: clients see floats: %v, want %v: %s", i, floats, wantFloats, summary(f))
		}
		most := 1.0
		for _, v := range want {
			if !math.IsNaN(v) {
				most = max(most, math.Abs(v))
			}
		}
		for j := range want {
			if !(math.Abs(got[j]-want[j]) <= most*0x1p-22) && !(math.IsNaN(got[j]) && math.IsNaN(want[j])) {
				t.Errorf("case %d, %s: value %d is %v, want %v", i, summary(f), j, got[j], want[j])
				break
			}
		}
	}
}

// TestXarrayOpensSchemas writes the same archives as Zarr, and compares them with xarray.
func TestXarrayOpensSchemas(t *testing.T) {
	venv.Python(t, "zarr-python and xarray")
	dir := t.TempDir()
	for i, a := range archives(t) {
		members := a.members(t)
		f, _ := decide(t, Options{}, members...)
		elements, _ := a.elements(t, f, members)
		writeArray(t, filepath.Join(dir, strconv.Itoa(i)), f, elements)
	}
	venv.Run(t, "zarr-python and xarray", "testdata/check.py", dir, "testdata/archives.json")
}

// writeArray writes a group with the array x, which has one chunk.
func writeArray(t *testing.T, dir string, f *Schema, elements []byte) {
	t.Helper()
	n := int64(len(elements) / f.DataType.Type().Size)
	array := &zarrjson.Array{Shape: []int64{n}, DataType: f.DataType, ChunkGrid: zarrjson.RegularGrid(n), Fill: f.Fill,
		Codecs: f.Codecs, Attributes: f.Attributes, DimensionNames: zarrjson.Names("n")}
	doc, err := array.Encode(zarrjson.Indented)
	if err != nil {
		t.Fatal(err)
	}
	group, err := (&zarrjson.Group{}).Encode(zarrjson.Indented)
	if err != nil {
		t.Fatal(err)
	}
	p, err := codec.New(f.Codecs, array.Form([]int64{n}))
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := p.Encode(nil, codec.Elems{Fixed: elements})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"zarr.json": group, "x/zarr.json": doc, "x/c/0": chunk} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerbatimNeedsNoConversion: members whose chunks can be verbatim need no conversion.
func TestVerbatimNeedsNoConversion(t *testing.T) {
	for i, a := range archives(t) {
		members := a.members(t)
		f, _ := decide(t, Options{}, members...)
		d := decision{schema: *f}
		for j, m := range members {
			c, err := convert.New(m.Variable, d.array(), f.Reading)
			if err != nil {
				t.Fatal(err)
			}
			if stays := c.Identity(); f.Kept[j] && !stays || len(members) == 1 && !stays && f.Reading == manifest.AsStored {
				t.Errorf("case %d, member %d: verbatim %v, but needs no conversion: %v", i, j, f.Kept[j], stays)
			}
		}
	}
}
