package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/convert"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// types maps NumPy's type codes to types.
var types = map[string]codec.Type{
	"b1": {Kind: codec.Bool, Size: 1}, "i1": {Kind: codec.Int, Size: 1}, "i2": {Kind: codec.Int, Size: 2},
	"i4": {Kind: codec.Int, Size: 4}, "i8": {Kind: codec.Int, Size: 8}, "u1": {Kind: codec.Uint, Size: 1},
	"u2": {Kind: codec.Uint, Size: 2}, "u4": {Kind: codec.Uint, Size: 4}, "u8": {Kind: codec.Uint, Size: 8},
	"f2": {Kind: codec.Float, Size: 2}, "f4": {Kind: codec.Float, Size: 4}, "f8": {Kind: codec.Float, Size: 8},
	"c8": {Kind: codec.Complex, Size: 8}, "c16": {Kind: codec.Complex, Size: 16}, "S3": {Kind: codec.FixedBytes, Size: 3}, "S5": {Kind: codec.FixedBytes, Size: 5},
	"O": {Kind: codec.String}, "M8": {Kind: codec.DateTime, Size: 8, Unit: "ns", Ticks: 1},
	"V3": {Kind: codec.Raw, Size: 3}, "V4": {Kind: codec.Raw, Size: 4},
}

// num encodes a number.
func num(code string, f float64) []byte {
	element, ok := cf.Cast(types[code], types["f8"], cf.AppendWord(nil, math.Float64bits(f), 8))
	if !ok {
		panic(fmt.Sprintf("%v cannot be represented as %s", f, code))
	}
	return element
}

// att makes an attribute: a text, or numbers of a type.
func att(name string, value any, numbers ...float64) manifest.Attribute {
	code, ok := value.(string)
	if _, known := types[code]; !ok || !known {
		return manifest.Attribute{Name: name, Type: types["O"], Texts: []string{fmt.Sprint(value)}, Scalar: true}
	}
	a := manifest.Attribute{Name: name, Type: types[code]}
	for _, f := range numbers {
		a.Data = append(a.Data, num(code, f)...)
	}
	return a
}

// chunked is the storage of chunks with 4 × 5 elements.
func chunked(codecs string) manifest.Storage {
	s := manifest.Storage{Layout: manifest.Chunked, Chunks: []int64{4, 5}}
	if err := json.Unmarshal([]byte(codecs), &s.Codecs); err != nil {
		panic(err)
	}
	return s
}

const (
	little  = `{"name":"bytes","configuration":{"endian":"little"}}`
	big     = `{"name":"bytes","configuration":{"endian":"big"}}`
	deflate = `{"name":"numcodecs.zlib","configuration":{"level":4}}`
	level1  = `{"name":"numcodecs.zlib","configuration":{"level":1}}`
	lzf     = `{"name":"hdf5.lzf","configuration":{}}`
)

func shuffle(size int) string {
	return fmt.Sprintf(`{"name":"numcodecs.shuffle","configuration":{"elementsize":%d}}`, size)
}

func list(codecs ...string) string { return "[" + strings.Join(codecs, ",") + "]" }

// with makes a member with ten files.
func with(code string, attributes ...manifest.Attribute) Member {
	codecs := list(little, deflate)
	switch t := types[code]; {
	case t.Kind == codec.String:
		codecs = list(`{"name":"vlen-utf8","configuration":{}}`)
	case t.Size == 1:
		codecs = list(`{"name":"bytes"}`, deflate)
	}
	return Member{Files: 10, Bytes: 1000, First: "a.nc", Variable: &manifest.Variable{
		Path: "/x", Type: types[code], Shape: []int64{8, 10}, Attributes: attributes, Storage: chunked(codecs)}}
}

func (m Member) files(n int64, first string) Member {
	m.Files, m.First, m.Bytes = n, first, n*100
	return m
}

func (m Member) stored(codecs ...string) Member {
	v := *m.Variable
	v.Storage = chunked(list(codecs...))
	m.Variable = &v
	return m
}

func (m Member) filled(element []byte) Member {
	v := *m.Variable
	v.Fill = manifest.Fill{Value: element, User: true}
	m.Variable = &v
	return m
}

func decide(t *testing.T, opts Options, members ...Member) (*Schema, []report.Finding) {
	t.Helper()
	opts.Array = "/x"
	f, findings, err := recorded(members, opts)
	if err != nil {
		t.Fatal(err)
	}
	if f == nil {
		t.Fatalf("refused: %+v", findings)
	}
	return f, findings
}

// recorder keeps an example of each finding for the documentation.
var recorder reporttest.Recorder

// TestMain checks, after all tests, that the documentation's examples of findings are up to date.
func TestMain(m *testing.M) {
	os.Exit(recorder.Main(m, "../../../../report/text/examples/schema.txt"))
}

// recorded calls Decide and records the findings.
func recorded(members []Member, opts Options) (*Schema, []report.Finding, error) {
	opts.Array = "/x"
	f, findings, err := Decide(members, opts)
	recorder.Add(findings)
	return f, findings, err
}

// summary formats a schema: type, reading, fill value, attributes.
func summary(f *Schema) string {
	fill := number(f.DataType.Type(), f.Fill)
	if f.DataType.Type().Varies() {
		fill = string(f.Fill)
	}
	return fmt.Sprintf("%s %s %s %s", f.DataType.Name(), f.Reading, fill, f.Attributes.JSON())
}

const (
	maskNaN  = `"_FillValue":"AAAAAAAA+H8="`
	mask999  = `"_FillValue":"AAAAAAA4j8A="` // -999
	unsigned = "_Unsigned"
)

// TestElements: the element type, the conversion and the missing values keep the meaning of all values.
func TestElements(t *testing.T) {
	scale := func(code string, f float64) manifest.Attribute { return att("scale_factor", code, f) }
	offset := func(code string, f float64) manifest.Attribute { return att("add_offset", code, f) }
	fill := func(code string, f ...float64) manifest.Attribute { return att("_FillValue", code, f...) }
	missing := func(code string, f ...float64) manifest.Attribute { return att("missing_value", code, f...) }
	for _, c := range []struct {
		name    string
		members []Member
		want    string
	}{
		{"one file without attributes", []Member{with("f4")}, `float32 stored 0.0 {}`},
		{"no missing value", []Member{with("i2"), with("i2")}, `int16 stored 0 {}`},
		{"one mask", []Member{with("f4", fill("f4", -999)), with("f4", fill("f4", -999))}, `float32 stored 0.0 {` + mask999 + `}`},
		{"missing_value alone", []Member{with("i2", missing("i2", -9))}, `int16 stored 0 {"_FillValue":-9}`},
		{"_FillValue and an equal missing_value", []Member{with("i2", fill("i2", -9), missing("i2", -9))}, `int16 stored 0 {"_FillValue":-9}`},
		{"_FillValue and another missing_value", []Member{with("i2", fill("i2", -9), missing("f8", -8, -7))}, `int16 stored 0 {"_FillValue":-9,"missing_value":[-8,-7]}`},
		{"NaN as missing_value", []Member{with("f4", fill("f4", -999), missing("f4", math.NaN()))}, `float32 stored 0.0 {` + mask999 + `}`},
		{"masks differ, floats", []Member{with("f4", fill("f4", -999)), with("f4", fill("f4", 1e20)), with("f4")}, `float32 stored 0.0 {` + maskNaN + `}`},
		{"masks differ, integers", []Member{with("i2", fill("i2", -9)), with("i2", fill("i2", -8))}, `float32 unpacked 0.0 {` + maskNaN + `}`},
		{"masks differ, wide integers", []Member{with("i4", fill("i4", -9)), with("i4")}, `float64 unpacked 0.0 {` + maskNaN + `}`},
		{"one mask in common", []Member{with("i2", missing("i2", -8), fill("i2", -9)), with("i2", fill("i2", -8))}, `int16 stored 0 {"_FillValue":-8}`},
		{"one packing", []Member{with("i2", scale("f4", .5), offset("f4", 10)), with("i2", scale("f4", .5), offset("f4", 10))},
			`int16 stored 0 {"scale_factor":0.5,"add_offset":10.0}`},
		{"one scale as float32 and float64", []Member{with("i2", scale("f4", .5)), with("i2", scale("f8", .5))}, `int16 stored 0 {"scale_factor":0.5}`},
		{"a scale of 1", []Member{with("i2", scale("f4", 1)), with("i2")}, `int16 stored 0 {}`},
		{"one packing, two types", []Member{with("i2", scale("f4", .5)), with("i4", scale("f4", .5))}, `int32 stored 0 {"scale_factor":0.5}`},
		{"scales differ", []Member{with("i2", scale("f4", .5)), with("i2", scale("f4", .25))}, `float32 unpacked 0.0 {}`},
		{"scales differ, float64", []Member{with("i2", scale("f4", .5)), with("i2", scale("f8", .25))}, `float64 unpacked 0.0 {}`},
		{"scales differ, float64 offset", []Member{with("i2", scale("f4", .5), offset("f8", 1)), with("i2", scale("f4", .25), offset("f8", 1))}, `float64 unpacked 1.0 {}`},
		{"scales differ, int32", []Member{with("i4", scale("f4", .5)), with("i4", scale("f4", .25))}, `float64 unpacked 0.0 {}`},
		{"one file packed", []Member{with("i2", scale("f4", .5), fill("i2", -9)), with("f4")}, `float32 unpacked 0.0 {` + maskNaN + `}`},
		{"same packing, masks differ", []Member{with("i2", scale("f4", .5), fill("i2", -9)), with("i2", scale("f4", .5))}, `float32 unpacked 0.0 {` + maskNaN + `}`},
		{"unsigned", []Member{with("i2", att(unsigned, "true"), fill("i2", -1))}, `int16 stored 0 {"_Unsigned":"true","_FillValue":-1}`},
		{"uint8, and int8 with _Unsigned", []Member{with("i1", att(unsigned, "true"), fill("i1", -1)), with("u1", fill("u1", 255))}, `uint8 unpacked 0 {"_FillValue":255}`},
		{"signs differ", []Member{with("i2", att(unsigned, "true")), with("i2")}, `int32 unpacked 0 {}`},
		{"unsigned, two widths", []Member{with("i2", att(unsigned, "true")), with("i1", att(unsigned, "true"))}, `uint16 unpacked 0 {}`},
		{"unsigned and packed, scales differ", []Member{with("i2", att(unsigned, "true"), scale("f4", .5)), with("i2", att(unsigned, "true"), scale("f4", 1.5))},
			`float32 unpacked 0.0 {}`},
		{"types grow", []Member{with("i2"), with("f4"), with("f8")}, `float64 stored 0.0 {}`},
		{"int16 and float32", []Member{with("i2"), with("f4")}, `float32 stored 0.0 {}`},
		{"int32 and float32", []Member{with("i4"), with("f4")}, `float64 stored 0.0 {}`},
		{"signed and unsigned", []Member{with("i2"), with("u2")}, `int32 stored 0 {}`},
		{"a mask in two types", []Member{with("i2", fill("i2", -999)), with("f4", fill("f4", -999))}, `float32 stored 0.0 {` + mask999 + `}`},
		{"a mask, and another type without a mask", []Member{with("i2", fill("i2", -999)), with("f4")}, `float32 stored 0.0 {` + maskNaN + `}`},
		{"xarray's booleans", []Member{with("i1", att("dtype", "bool"))}, `int8 stored 0 {"dtype":"bool"}`},
		{"bool", []Member{with("b1"), with("b1")}, `bool stored false {}`},
		{"bool and xarray's booleans", []Member{with("b1"), with("i1", att("dtype", "bool"))}, `int8 stored 0 {"dtype":"bool"}`},
		{"bool and int8", []Member{with("b1"), with("i1")}, `int8 stored 0 {}`},
		{"texts", []Member{with("O", att("_FillValue", "-")), with("O")}, `string stored  {}`},
		{"fixed texts", []Member{with("S3"), with("S5")}, `null_terminated_bytes stored  {}`},
		{"fixed and variable-length texts", []Member{with("S3"), with("O")}, `string stored  {}`},
		{"complex", []Member{with("c8")}, `complex64 stored [0.0,0.0] {}`},
		{"valid range of packed numbers", []Member{with("i2", scale("f4", .5), att("valid_min", "i2", 0)), with("i2", scale("f4", .25), att("valid_min", "i2", 0))}, `float32 unpacked 0.0 {}`},
		{"valid range of numbers without packing", []Member{with("i2", fill("i2", -9), att("valid_min", "i2", 0)), with("i2", att("valid_min", "i2", 0))},
			`float32 unpacked 0.0 {"valid_min":0,` + maskNaN + `}`},
	} {
		f, _ := decide(t, Options{}, c.members...)
		if got := summary(f); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestChosenTypes: an integer type that the user chose is used, and gets a missing value if files need
// one.
func TestChosenTypes(t *testing.T) {
	whole := func(kind codec.Kind, size int) codec.Type { return codec.Type{Kind: kind, Size: size} }
	fill := func(code string, f float64) manifest.Attribute { return att("_FillValue", code, f) }
	half := att("scale_factor", "f4", .5)
	for _, c := range []struct {
		name    string
		typ     codec.Type
		members []Member
		want    string
		says    string
	}{
		{"masks differ", whole(codec.Int, 8), []Member{with("i8", fill("i8", -1)), with("i8", fill("i8", -2))},
			`int64 stored 0 {"_FillValue":-9223372036854775806}`, "fill-chosen masked=true value=-9223372036854775806"},
		{"one file has no mask", whole(codec.Uint, 2), []Member{with("u2", fill("u2", 1)), with("u2")}, `uint16 stored 0 {"_FillValue":65535}`, "fill-chosen masked=true value=65535"},
		{"a type with more bytes", whole(codec.Int, 2), []Member{with("i1", fill("i1", -1)), with("i1", fill("i1", -2))}, `int16 stored 0 {"_FillValue":-32767}`, "fill-chosen masked=true value=-32767"},
		{"packed", whole(codec.Int, 2), []Member{with("i2", half, fill("i2", -1)), with("i2", half)}, `int16 stored 0 {"scale_factor":0.5,"_FillValue":-32767}`, "fill-chosen masked=true value=-32767"},
		{"no chosen type", codec.Type{}, []Member{with("i8", fill("i8", -1)), with("i8")}, `float64 unpacked 0.0 {` + maskNaN + `}`, "precision-lost type=float64 dtype=x=int64"},
		{"types differ", codec.Type{}, []Member{with("i8"), with("f8")}, `float64 stored 0.0 {}`, "precision-lost type=float64"},
		{"a float", whole(codec.Float, 8), []Member{with("i8", fill("i8", -1)), with("i8")}, `float64 stored 0.0 {` + maskNaN + `}`, "missing-value-differs"},
	} {
		f, findings := decide(t, Options{Type: c.typ}, c.members...)
		if got := summary(f); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		last := findings[len(findings)-1]
		if got := line(&last); !strings.Contains(got, c.says) {
			t.Errorf("%s: the last finding is %q, want %q", c.name, got, c.says)
		}
	}
	f, findings, err := recorded([]Member{with("i1", fill("i1", -1)), with("i1", fill("i1", -2))}, Options{Type: whole(codec.Int, 1)})
	if last := findings[len(findings)-1]; f != nil || err != nil || last.Effect != report.Refused || last.Code != report.TypeImpossible {
		t.Errorf("single bytes: %+v, %v", findings, err)
	}
}

// TestGaps: if files do not cover the whole array, the fill value is a missing value where the type has
// one.
func TestGaps(t *testing.T) {
	for _, c := range []struct {
		name   string
		member Member
		want   string
	}{
		{"floats", with("f4"), `float32 stored NaN {}`},
		{"floats with a mask", with("f4", att("_FillValue", "f4", -999)), `float32 stored -999.0 {` + mask999 + `}`},
		{"integers", with("i2"), `int16 stored -32767 {"_FillValue":-32767}`},
		{"integers with a mask", with("i2", att("missing_value", "i2", -9)), `int16 stored -9 {"_FillValue":-9}`},
		{"int64", with("i8"), `int64 stored -9223372036854775806 {"_FillValue":-9223372036854775806}`},
		{"uint16", with("u2"), `uint16 stored 65535 {"_FillValue":65535}`},
		{"uint64", with("u8"), `uint64 stored 18446744073709551614 {"_FillValue":18446744073709551614}`},
		{"unsigned", with("i2", att(unsigned, "true")), `int16 stored -1 {"_Unsigned":"true","_FillValue":-1}`},
		{"packed", with("i2", att("scale_factor", "f4", .5)), `int16 stored -32767 {"scale_factor":0.5,"_FillValue":-32767}`},
		{"int8", with("i1"), `float32 unpacked NaN {}`},
		{"packed uint8", with("u1", att("scale_factor", "f8", .5)), `float64 unpacked NaN {}`},
		{"xarray's booleans", with("i1", att("dtype", "bool")), `int8 stored 0 {"dtype":"bool"}`},
		{"bool", with("b1"), `bool stored false {}`},
		{"texts", with("O"), `string stored  {}`},
		{"texts with a missing value", with("S3", att("_FillValue", "-")), `null_terminated_bytes stored - {}`},
		{"complex", with("c8"), `complex64 stored ["NaN","NaN"] {}`},
		{"NumPy's times", with("M8"), `numpy.datetime64 stored -9223372036854775808 {}`},
	} {
		f, _ := decide(t, Options{Gaps: true}, c.member)
		if got := summary(f); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestFill: without gaps, the fill value is the converted fill value of most bytes.
func TestFill(t *testing.T) {
	for _, c := range []struct {
		name    string
		members []Member
		want    string
	}{
		{"of most bytes", []Member{with("f4").filled(num("f4", 1)).files(2, "a"), with("f4").filled(num("f4", 2)).files(9, "c")}, "2.0"},
		{"of most bytes together", []Member{with("f4").filled(num("f4", 1)).files(2, "a"), with("f4").filled(num("f4", 2)).files(3, "c"),
			with("f4", att("note", "x")).filled(num("f4", 1)).files(2, "e")}, "1.0"},
		{"converted to the schema", []Member{with("i2", att("scale_factor", "f4", .5)).filled(num("i2", 4)).files(9, "a"), with("i2").files(1, "c")}, "2.0"},
		{"the fill value is not the missing value", []Member{with("f4", att("_FillValue", "f4", -999)).filled(num("f4", 7))}, "7.0"},
	} {
		f, _ := decide(t, Options{}, c.members...)
		if got := number(f.DataType.Type(), f.Fill); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestCodecs: the schema declares the codecs of most bytes among codecs that all clients decode.
func TestCodecs(t *testing.T) {
	i4 := with("i4")
	for _, c := range []struct {
		name    string
		members []Member
		want    string
		from    int
		kept    []bool
	}{
		{"most bytes", []Member{i4.stored(little, deflate).files(2, "a"), i4.stored(little).files(3, "c")}, "no compression", 1, []bool{false, true}},
		{"compression levels are ignored", []Member{i4.stored(little, deflate).files(2, "a"), i4.stored(little).files(3, "c"),
			i4.stored(little, level1).files(2, "f")}, "zlib", 0, []bool{true, false, true}},
		{"shuffle is not ignored", []Member{i4.stored(little, shuffle(4), deflate).files(2, "a"), i4.stored(little, deflate).files(1, "c")}, "shuffle+zlib", 0, []bool{true, false}},
		{"big-endian", []Member{i4.stored(big)}, "no compression, big-endian", 0, []bool{true}},
		{"one file is big-endian", []Member{i4.stored(little).files(2, "a"), i4.stored(big).files(1, "c")}, "no compression", 0, []bool{true, false}},
		{"only codecs that all clients decode", []Member{i4.stored(little, lzf).files(9, "a"), i4.stored(little, deflate).files(1, "j")}, "zlib", 1, []bool{false, true}},
		{"no codec that all clients decode", []Member{i4.stored(little, lzf)}, "zstd", -1, []bool{false}},
		{"shuffle with another element size", []Member{i4.stored(little, shuffle(3), deflate)}, "zstd", -1, []bool{false}},
		{"unpacked", []Member{with("i2", att("scale_factor", "f4", .5)), with("i2")}, "zstd", -1, []bool{false, false}},
		{"members without conversion decide", []Member{with("f4").stored(little, deflate).files(9, "a"), with("f8").stored(little).files(1, "j")}, "no compression", 1, []bool{false, true}},
		{"uint8, and int8 with _Unsigned", []Member{with("i1", att(unsigned, "true")).files(1, "a"), with("u1").files(2, "b")}, "zlib", 1, []bool{true, true}},
		{"never written", []Member{{Files: 1, First: "a", Variable: &manifest.Variable{Type: types["f4"], Shape: []int64{3, 4}, Storage: manifest.Storage{Layout: manifest.Nothing}}}},
			"zstd", -1, []bool{false}},
	} {
		f, _ := decide(t, Options{}, c.members...)
		if got := chainText(f.Codecs); got != c.want || f.From != c.from || !slices.Equal(f.Kept, c.kept) {
			t.Errorf("%s: %s of member %d, verbatim %v; want %s of member %d, verbatim %v", c.name, got, f.From, f.Kept, c.want, c.from, c.kept)
		}
		form := codec.Form{Type: f.DataType.Type(), Shape: []int64{4, 5}, Fill: f.Fill}
		if p, err := codec.New(f.Codecs, form); err != nil || p.CanEncode() != nil || p.Clients() != codec.AnyClient {
			t.Errorf("%s: not every client can use %v: %v", c.name, f.Codecs, err)
		}
	}
	f, _ := decide(t, Options{CodecFrom: 1}, i4.stored(little, deflate).files(2, "a"), i4.stored(little).files(3, "c"))
	if f.From != 0 {
		t.Errorf("CodecFrom 1 declares the codecs of member %d, want 0", f.From)
	}
}

// TestFlags: flags are merged, unless files contradict one another.
func TestFlags(t *testing.T) {
	flags := func(words string, values ...float64) Member {
		return with("i1", att("flag_values", "i1", values...), att("flag_meanings", words))
	}
	masks := with("i1", att("flag_values", "i1", 0, 1), att("flag_meanings", "land sea"), att("flag_masks", "i1", 1, 1))
	for name, c := range map[string]struct {
		other Member
		want  string
		says  string
	}{
		"equal":          {flags("land sea", 0, 1), `{"flag_values":[0,1],"flag_meanings":"land sea"}`, ""},
		"more flags":     {flags("sea ice land", 1, 2, 0), `{"flag_values":[0,1,2],"flag_meanings":"land sea ice"}`, "flags-joined"},
		"other flags":    {flags("ice", 2), `{"flag_values":[0,1,2],"flag_meanings":"land sea ice"}`, "flags-joined"},
		"another word":   {flags("land ice", 0, 1), `{"flag_values":[0,1]}`, "attribute-differs"},
		"another value":  {flags("sea land", 0, 1), `{"flag_values":[0,1]}`, "attribute-differs"},
		"no flags":       {with("i1"), `{}`, "name=flag_meanings odd=[:1]"},
		"too few words":  {flags("land", 0, 2), `{}`, "attribute-differs"},
		"no whole value": {with("i1", att("flag_values", "f4", .5), att("flag_meanings", "half")), `{}`, "attribute-differs"},
		"masks":          {masks, `{"flag_values":[0,1],"flag_meanings":"land sea"}`, "name=flag_masks"},
	} {
		f, findings := decide(t, Options{}, flags("land sea", 0, 1).files(2, "a"), c.other.files(1, "c"))
		if got := string(f.Attributes.JSON()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		said := ""
		for _, f := range findings {
			said += line(&f) + "; "
		}
		if !strings.Contains(said, c.says) || c.says == "" && said != "" {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestAttributes: attributes on which all files agree are declared, except attributes of the file
// format. The others are reported.
func TestAttributes(t *testing.T) {
	deep := manifest.Attribute{Name: "levels", Type: types["f4"], Data: append(num("f4", .1), num("f4", math.NaN())...)}
	words := manifest.Attribute{Name: "flag_meanings", Type: types["O"], Texts: []string{"a", "b"}}
	f, findings := decide(t, Options{},
		with("f4", att("units", "K"), att("long_name", "wärme <x>"), att("level", "i4", 3), att("half", "f4", .1), deep, words,
			att("CLASS", "DIMENSION_SCALE"), att("NAME", "x"), att("_Netcdf4Dimid", "i4", 0), att("comment", "one"), att("processing_level", "L3"), att("gone", "x")).files(2, "a"),
		with("f4", att("units", "K"), att("long_name", "wärme <x>"), att("level", "i4", 3), att("half", "f4", .1), deep, words,
			att("comment", "two"), att("processing_level", "i4", 3)).files(3, "c"))
	want := `{"units":"K","long_name":"wärme <x>","level":3,"half":0.10000000149011612,"levels":[0.10000000149011612,"NaN"],"flag_meanings":["a","b"]}`
	if got := string(f.Attributes.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f, _ = decide(t, Options{}, with("f4", att("CLASS", "ARRAY"), att("NAME", "x")).files(1, "a"))
	if got := string(f.Attributes.JSON()); got != `{"CLASS":"ARRAY","NAME":"x"}` {
		t.Errorf("attributes of an array that is no dimension scale: %s", got)
	}
	var said []string
	for _, f := range findings {
		said = append(said, reporttest.Facts(&f))
		if f.Code != report.AttributeDiffers || f.Effect != report.Dropped || f.Count != 2 || f.Of != 5 || reporttest.Files(&f) != "a" {
			t.Errorf("%+v", f)
		}
	}
	wantSaid := []string{
		`main="two" name=comment odd=["one":2]`,
		`main=3 name=processing_level odd=["L3":2]`,
		`main= name=gone odd=["x":2]`,
	}
	if !slices.Equal(said, wantSaid) {
		t.Errorf("the findings are %q, want %q", said, wantSaid)
	}
}

// TestChoices: names of an enumeration become CF flags. Files that name one number differently are
// refused.
func TestChoices(t *testing.T) {
	named := func(m Member, choices ...manifest.Choice) Member {
		m.Variable.Enum = choices
		return m
	}
	clear, cloud, rain := manifest.Choice{Name: "clear sky", Value: 0}, manifest.Choice{Name: "cloud", Value: 1}, manifest.Choice{Name: "rain", Value: 7}
	both := `{"flag_values":[0,1],"flag_meanings":"clear_sky cloud"}`
	for _, c := range []struct {
		name    string
		members []Member
		want    string
	}{
		{"one file", []Member{named(with("u1"), cloud, clear)}, both},
		{"no names in some files", []Member{with("u1"), named(with("u1"), clear, cloud)}, both},
		{"more names in some files", []Member{named(with("u1"), clear, rain), named(with("u1"), cloud, clear)}, `{"flag_values":[0,1,7],"flag_meanings":"clear_sky cloud rain"}`},
		{"flags that the file declares", []Member{named(with("u1", att("flag_meanings", "a b"), att("flag_values", "u1", 0, 1)), clear, cloud)}, `{"flag_meanings":"a b","flag_values":[0,1]}`},
		{"scaled numbers have no names", []Member{named(with("u1", att("scale_factor", "f8", .5)), clear, cloud)}, `{"scale_factor":0.5}`},
	} {
		f, _ := decide(t, Options{}, c.members...)
		if got := string(f.Attributes.JSON()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	odd := named(with("u1"), manifest.Choice{Name: "cloud", Value: 0}).files(1, "odd.nc")
	f, findings, err := recorded([]Member{named(with("u1"), clear, cloud), odd}, Options{})
	if f != nil || err != nil || len(findings) != 1 {
		t.Fatalf("%v, %v, %v", f, findings, err)
	}
	got := findings[0]
	if got.Code != report.EnumDiffers || got.Effect != report.Refused || reporttest.Files(&got) != "odd.nc" || reporttest.Remedies(&got) != "drop=/x" ||
		reporttest.Facts(&got) != `main="clear sky" number=0 odd=["cloud":1]` {
		t.Errorf("%+v", got)
	}
}

// TestFlagsOfStoredNumbers: flags describe stored numbers, so they are dropped if the numbers are
// unpacked.
func TestFlagsOfStoredNumbers(t *testing.T) {
	flags := func(scale float64) Member {
		return with("i2", att("scale_factor", "f8", scale), att("flag_values", "i2", 1, 2), att("flag_meanings", "a b"), att("valid_max", "i2", 9))
	}
	packed := `{"scale_factor":0.5,"flag_values":[1,2],"flag_meanings":"a b","valid_max":9}`
	if f, _ := decide(t, Options{}, flags(.5)); string(f.Attributes.JSON()) != packed {
		t.Errorf("packed: %s", f.Attributes.JSON())
	}
	f, findings := decide(t, Options{}, flags(.5), flags(.25))
	if string(f.Attributes.JSON()) != `{}` {
		t.Errorf("unpacked: %s", f.Attributes.JSON())
	}
	if !slices.ContainsFunc(findings, func(f report.Finding) bool {
		return f.Code == report.AttributeUnusable && f.Effect == report.Dropped && reporttest.Facts(&f) == "names=[valid_max flag_values flag_meanings]"
	}) {
		t.Errorf("no finding says that the attributes are dropped: %+v", findings)
	}
}

// TestIdleScales: a scale of 1 or an offset of 0 changes no number, but may change the type to which
// clients unpack. It is declared if a float64 in JSON has the same effect.
func TestIdleScales(t *testing.T) {
	for _, c := range []struct {
		name    string
		members []Member
		want    string
	}{
		{"doubles over integers", []Member{with("i2", att("scale_factor", "f8", 1), att("add_offset", "f8", 0))}, `{"scale_factor":1.0,"add_offset":0.0}`},
		{"floats over integers", []Member{with("i4", att("scale_factor", "f4", 1))}, `{"scale_factor":1.0}`},
		{"doubles over floats", []Member{with("f4", att("add_offset", "f8", 0))}, `{"add_offset":0.0}`},
		{"floats over floats", []Member{with("f4", att("scale_factor", "f4", 1), att("add_offset", "f4", 0))}, `{}`},
		{"integers", []Member{with("i2", att("scale_factor", "i4", 1))}, `{}`},
		{"text", []Member{with("i2", att("scale_factor", "1.0"))}, `{}`},
		{"some files without a scale", []Member{with("i2", att("scale_factor", "f8", 1)), with("i2")}, `{}`},
		{"with _Unsigned", []Member{with("i2", att("_Unsigned", "true"), att("scale_factor", "f8", 1))}, `{"_Unsigned":"true","scale_factor":1.0}`},
	} {
		f, _ := decide(t, Options{}, c.members...)
		if got := string(f.Attributes.JSON()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// unreadable makes an attribute that JSON cannot hold.
func unreadable(why string) manifest.Attribute {
	return manifest.Attribute{Name: "at", Unreadable: why}
}

// TestChosenTypesBesideNumbers: a chosen type also applies to types that are not numbers.
func TestChosenTypesBesideNumbers(t *testing.T) {
	for _, c := range []struct{ stored, chosen string }{{"S3", "S5"}, {"c8", "c16"}, {"b1", "i1"}} {
		f, _ := decide(t, Options{Type: types[c.chosen]}, with(c.stored))
		if got := f.DataType.Type(); !got.Equal(types[c.chosen]) {
			t.Errorf("%s with the chosen type %s: got %v", c.stored, c.chosen, got)
		}
	}
}

// TestFindings: findings have the right codes, arguments and files.
func TestFindings(t *testing.T) {
	scaled := func(f float64) Member { return with("i2", att("scale_factor", "f8", f)) }
	large := with("f4").stored(little).files(1, "e")
	large.Bytes = 1e6
	for _, c := range []struct {
		name    string
		opts    Options
		members []Member
		want    []string
	}{
		{"two scales", Options{}, []Member{scaled(.01).files(11583, "2015-01-01"), scaled(.005).files(417, "2016-03-01")},
			[]string{"re-encoded [2016-03-01] packing-differs main=0.01 name=scale_factor odd=[0.005:417] repack=x=0.01 | dtype=x=float32"}},
		{"three scales", Options{}, []Member{scaled(.1).files(1, "a"), scaled(.2).files(5, "b"), scaled(.3).files(2, "g")},
			[]string{"re-encoded [a g] packing-differs main=0.2 name=scale_factor odd=[0.1:1 0.3:2] repack=x=0.2 | dtype=x=float32"}},
		{"different units", Options{}, []Member{with("f4", att("units", "K")).files(4, "a"), with("f4", att("units", "degC")).files(1, "e")},
			[]string{`refused [e] units-differ main="K" odd=["degC":1] units=convert | units=first | units=drop | drop=/x`}},
		{"units that cannot be converted", Options{Units: plan.UnitsConvert}, []Member{with("f4", att("units", "K")).files(4, "a"), with("f4", att("units", "1")).files(1, "e")},
			[]string{`refused [e] units-differ main="K" odd=["1":1] units=first | units=drop | drop=/x`}},
		{"units of differences of temperatures", Options{}, []Member{with("f4", att("units", "K"), att("units_metadata", "temperature: difference")).files(1, "a"), with("f4", att("units", "degC"), att("units_metadata", "temperature: difference")).files(2, "e")},
			[]string{`refused [e] units-differ main="K" obstacle=difference odd=["degC":2] units=first | units=drop | drop=/x`}},
		{"units of deviations", Options{Units: plan.UnitsConvert}, []Member{with("f4", att("units", "K"), att("cell_methods", "time: standard_deviation")).files(1, "a"), with("f4", att("units", "degC"), att("cell_methods", "time: standard_deviation")).files(2, "e")},
			[]string{`refused [e] units-differ main="K" obstacle=difference odd=["degC":2] units=first | units=drop | drop=/x`}},
		{"units of anomalies", Options{Units: plan.UnitsConvert}, []Member{with("f4", att("units", "K"), att("standard_name", "air_temperature_anomaly")).files(1, "a"), with("f4", att("units", "degC"), att("standard_name", "air_temperature_anomaly")).files(2, "e")},
			[]string{`refused [e] units-differ main="K" obstacle=difference odd=["degC":2] units=first | units=drop | drop=/x`}},
		{"units of bounded coordinates", Options{Units: plan.UnitsConvert, Keep: []string{"bounds"}}, []Member{with("f4", att("units", "Pa")).files(1, "a"), with("f4", att("units", "hPa")).files(2, "e")},
			[]string{`refused [e] units-differ main="Pa" obstacle=bounds odd=["hPa":2] units=first | units=drop | drop=/x`}},
		{"unknown units", Options{}, []Member{with("f4", att("units", "kg")).files(4, "a"), with("f4", att("units", "Kg")).files(1, "e")},
			[]string{`dropped [e] units-differ choice=drop main="kg" odd=["Kg":1]`}},
		{"unknown units among others", Options{}, []Member{with("f4", att("units", "kg")).files(4, "a"), with("f4", att("units", "Kg")).files(1, "e"), with("f4", att("units", "g")).files(1, "f")},
			[]string{`refused [e f] units-differ main="kg" odd=["Kg":1 "g":1] units=first | units=drop | drop=/x`}},
		{"units that were dropped before", Options{PublishedUnits: new("")}, []Member{with("f4", att("units", "K")).files(4, "a"), with("f4", att("units", "degC")).files(1, "e")},
			[]string{`dropped [e] units-differ choice=drop main="K" odd=["degC":1]`}},
		{"units that no file has any more", Options{Units: plan.UnitsConvert, PublishedUnits: new("K")}, []Member{with("f4", att("units", "degC")).files(4, "a")},
			[]string{`re-encoded [a] units-differ choice=kept main=K units=degC`}},
		{"units that are converted", Options{Units: plan.UnitsConvert}, []Member{with("f4", att("units", "hPa")).files(1, "a"), with("f4", att("units", "Pa")).files(2, "e"), with("f4", att("units", "mbar")).files(2, "f")},
			[]string{`re-encoded [e] units-differ choice=convert main="hPa" odd=["Pa":2]`}},
		{"units of the first file", Options{Units: plan.UnitsFirst}, []Member{with("f4", att("units", "hPa")).files(1, "a"), with("f4", att("units", "Pa")).files(2, "e")},
			[]string{`noted [e] units-differ choice=first main="hPa" odd=["Pa":2]`}},
		{"units of an earlier snapshot", Options{Units: plan.UnitsFirst, PublishedUnits: new("Pa")}, []Member{with("f4", att("units", "hPa")).files(3, "a"), with("f4", att("units", "Pa")).files(2, "e")},
			[]string{`noted [a] units-differ choice=first main="Pa" odd=["hPa":3]`}},
		{"units that are dropped", Options{Units: plan.UnitsDrop}, []Member{with("f4", att("units", "K")).files(4, "a"), with("f4", att("units", "degC")).files(1, "e")},
			[]string{`dropped [e] units-differ choice=drop main="K" odd=["degC":1]`}},
		{"units of texts", Options{}, []Member{with("S3", att("units", "K")).files(4, "a"), with("S3", att("units", "degC")).files(1, "e")},
			[]string{`dropped [e] units-differ choice=drop main="K" odd=["degC":1]`}},
		{"missing units", Options{}, []Member{with("f4", att("units", "K")).files(4, "a"), with("f4").files(1, "e")},
			[]string{`noted [e] units-missing main="K" odd=[:1]`}},
		{"other units", Options{}, []Member{with("f4", att("units", "K")).files(4, "a"), with("f4", att("units", "degC")).files(1, "e")},
			[]string{`refused [e] units-differ main="K" odd=["degC":1] units=convert | units=first | units=drop | drop=/x`}},
		{"different types", Options{}, []Member{with("i2").files(4, "a"), with("f4").files(1, "e"), with("f8").files(1, "f")},
			[]string{"re-encoded [e f] types-differ main=int16 odd=[float32:1 float64:1] type=float64"}},
		{"a missing value that one file lacks", Options{}, []Member{with("f4", att("_FillValue", "f4", -999)).files(4, "a"), with("f4").files(1, "e")},
			[]string{"re-encoded [e] missing-value-differs main=-999 odd=[:1]"}},
		{"a missing value that most files lack", Options{}, []Member{with("f4", att("_FillValue", "f4", 1e20)).files(1, "a"), with("f4").files(4, "b"), with("f4", att("_FillValue", "f4", -999)).files(1, "f")},
			[]string{"re-encoded [a f] missing-value-differs main= odd=[1e+20:1 -999:1]"}},
		{"scales as float32", Options{}, []Member{with("i2", att("scale_factor", "f4", .01)).files(1, "a"), with("i2", att("scale_factor", "f4", .1)).files(4, "b")},
			[]string{"re-encoded [a] packing-differs main=0.1 name=scale_factor odd=[0.01:1] repack=x=0.1"}},
		{"another fill value", Options{}, []Member{with("f4").files(4, "a"), with("f4").filled(num("f4", 7)).files(1, "e")},
			[]string{"re-encoded [e] fill-differs main=0.0 odd=[7.0:1]"}},
		{"different codecs", Options{}, []Member{with("f4").files(4, "a"), with("f4").stored(little, shuffle(4), deflate).files(1, "e")},
			[]string{"re-encoded [e] codecs-differ main=zlib odd=[shuffle+zlib:1]"}},
		{"different compression levels", Options{}, []Member{with("f4").files(4, "a"), with("f4").stored(little, level1).files(1, "e")},
			[]string{`verbatim [e] codec-settings-differ main=zlib{"level":4} odd=[zlib{"level":1}:1]`}},
		{"different byte order", Options{}, []Member{with("f4").stored(little).files(4, "a"), with("f4").stored(big).files(1, "e")},
			[]string{"re-encoded [e] codecs-differ main=no compression odd=[no compression, big-endian:1]"}},
		{"codecs that no client decodes", Options{}, []Member{with("f4").stored(little, lzf).files(4, "a")},
			[]string{"re-encoded [a] codecs-unsupported declared=zstd stored=lzf"}},
		{"gaps", Options{Gaps: true}, []Member{with("i2").files(4, "a")},
			[]string{"noted [a] fill-chosen value=-32767"}},
		{"gaps in int8", Options{Gaps: true}, []Member{with("i1").files(4, "a")},
			[]string{"re-encoded [a] fill-needs-type declared=float32 type=int8"}},
		{"gaps in booleans", Options{Gaps: true}, []Member{with("b1").files(4, "a")},
			[]string{"noted [a] fill-ambiguous type=bool value=false"}},
		{"gaps in xarray's booleans", Options{Gaps: true}, []Member{with("i1", att("dtype", "bool")).files(4, "a")},
			[]string{"noted [a] fill-ambiguous type=int8 value=0"}},
		{"gaps in times with a model calendar", Options{Gaps: true}, []Member{with("i4", att("units", "days since 2000-01-01"), att("calendar", "360_day")).files(4, "a")},
			[]string{"noted [a] fill-time time=2000-01-01"}},
		{"gaps in texts", Options{Gaps: true}, []Member{with("O").files(4, "a")},
			[]string{`noted [a] fill-ambiguous type=string value=""`}},
		{"two missing values of texts", Options{}, []Member{with("S3", att("_FillValue", "-"), att("missing_value", "?")).files(4, "a")},
			[]string{"dropped [a] mask-unusable names=[_FillValue missing_value] type=S3"}},
		{"a missing value of texts", Options{}, []Member{with("S3", att("_FillValue", "-")).files(4, "a")},
			[]string{"dropped [a] mask-unusable names=[_FillValue] type=S3"}},
		{"attributes that JSON cannot hold", Options{}, []Member{with("f4", unreadable("a region")).files(1, "a"), with("f4").files(1, "c"), with("f4", unreadable("a time")).files(2, "d")},
			[]string{"dropped [a d] attribute-unreadable name=at reason=a region"}},
		{"chosen codecs that clients lack", Options{CodecFrom: 1}, []Member{with("f4").stored(little, lzf).files(4, "a"), with("f4").files(1, "e")},
			[]string{"re-encoded [a e] codec-from-unusable file=a", "re-encoded [a] codecs-differ main=zlib odd=[lzf:4]"}},
		{"codecs of most files that clients lack", Options{}, []Member{with("f4").stored(little, lzf).files(4, "a"), with("f4").files(1, "e")},
			[]string{"re-encoded [a] codecs-differ main=zlib odd=[lzf:4]"}},
		{"codecs of most bytes", Options{}, []Member{with("f4").files(4, "a"), large},
			[]string{"re-encoded [a] codecs-differ main=no compression odd=[zlib:4]"}},
	} {
		c.opts.Array = "/x"
		_, findings, err := recorded(c.members, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range findings {
			got = append(got, fmt.Sprint(f.Effect, " [", reporttest.Files(&f), "] ", line(&f)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestManyVariants: a finding has every file, and up to 1,000 values.
func TestManyVariants(t *testing.T) {
	for n, want := range map[int]string{500: "499 <nil>", 1500: "1000 1499"} {
		var own []Member
		for i := range n {
			own = append(own, with("i2", att("scale_factor", "f8", 0.01+float64(i)/1000)).files(3, fmt.Sprint(i)))
		}
		_, findings := decide(t, Options{}, own...)
		f := findings[0]
		got := fmt.Sprint(len(f.Args["odd"].([]report.Variant)), f.Args["variants"])
		if len(findings) != 1 || f.Count != int64(3*(n-1)) || f.Of != int64(3*n) || got != want || f.Files.Len() != int64(n-1) {
			t.Errorf("%d members: %s, %d of %d files, want %s", n, got, f.Count, f.Of, want)
		}
	}
}

// TestRefusals: members that cannot form one array are refused, and the finding names the file that
// differs.
func TestRefusals(t *testing.T) {
	time := func(units, calendar string) Member { return with("i4", att("units", units), att("calendar", calendar)) }
	for _, c := range []struct {
		name    string
		opts    Options
		members []Member
		code    report.Code
		facts   string
	}{
		{"numbers and texts", Options{}, []Member{with("i2"), with("O").files(1, "odd.nc")}, report.TypesConflict, "main=int16 odd=[string:1] reason=int16 and string"},
		{"raw bytes of different sizes", Options{}, []Member{with("V3"), with("V4").files(1, "odd.nc")}, report.TypesConflict, "main=V3 odd=[V4:1]"},
		{"an invalid scale", Options{}, []Member{with("i2", att("scale_factor", "large"))}, report.PackingInvalid, "drop=/x"},
		{"different calendars", Options{}, []Member{time("days since 2000-01-01", "standard"), time("days since 2000-01-01", "noleap")}, report.CalendarsDiffer, "noleap"},
		{"the odd one is first", Options{}, []Member{time("days since 2000-01-01", "noleap").files(1, "odd.nc"), time("days since 2000-01-01", "standard"),
			time("days since 2000-01-01", "proleptic_gregorian")}, report.CalendarsDiffer, `main=standard odd=[noleap:1]`},
		{"a type too small", Options{Type: types["f4"]}, []Member{with("f8")}, report.ValueImpossible, "lose"},
	} {
		f, findings, err := recorded(c.members, c.opts)
		if err != nil || f != nil || len(findings) == 0 {
			t.Errorf("%s: %v, %v, %v", c.name, f, findings, err)
			continue
		}
		last := findings[len(findings)-1]
		if named := slices.ContainsFunc(c.members, func(m Member) bool { return m.First == "odd.nc" }); named && reporttest.Files(&last) != "odd.nc" {
			t.Errorf("%s: the finding names %v, want odd.nc", c.name, last.Files)
		}
		if last.Effect != report.Refused || last.Code != c.code || !strings.Contains(line(&last), c.facts) {
			t.Errorf("%s: %+v", c.name, last)
		}
	}
	if _, _, err := Decide(nil, Options{}); err == nil {
		t.Error("want an error without members")
	}
}

// TestTimes: times with equal units stay verbatim; others are converted to the reference.
func TestTimes(t *testing.T) {
	time := func(code, units string, more ...manifest.Attribute) Member {
		return with(code, append([]manifest.Attribute{att("units", units)}, more...)...)
	}
	reference, err := cf.NewReference("hours since 2000-01-01", "", types["i8"], nil)
	if err != nil {
		t.Fatal(err)
	}
	model, err := cf.NewReference("hours since 2000-01-01", "noleap", types["i8"], nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		opts    Options
		members []Member
		want    string
	}{
		{"equal", Options{}, []Member{time("i4", "days since 2000-01-01"), time("i4", "days since 2000-01-01")}, `int32 stored 0 {"units":"days since 2000-01-01"}`},
		{"units and calendars that mean the same", Options{}, []Member{time("i4", "days since 2000-01-01", att("calendar", "gregorian")), time("i4", "days since 2000-1-1", att("calendar", "proleptic_gregorian")), time("i4", "days since 2000-1-1")},
			`int32 stored 0 {"units":"days since 2000-01-01","calendar":"standard"}`},
		{"two names of one calendar", Options{}, []Member{time("i4", "days since 2000-01-01", att("calendar", "365_day")), time("i4", "days since 2000-01-01", att("calendar", "noleap"))},
			`int32 stored 0 {"units":"days since 2000-01-01","calendar":"noleap"}`},
		{"a reference", Options{Reference: &reference}, []Member{time("i4", "days since 2000-01-02"), time("i4", "hours since 2000-01-01")},
			`int64 retimed 24 {"units":"hours since 2000-01-01"}`},
		{"no reference", Options{}, []Member{time("i4", "days since 2000-01-02"), time("i4", "hours since 2000-01-01")},
			`int64 retimed 24 {"units":"hours since 2000-01-01"}`},
		{"a reference, and gaps", Options{Reference: &reference, Gaps: true}, []Member{time("i4", "days since 2000-01-02")},
			`int64 retimed -9223372036854775808 {"units":"hours since 2000-01-01","_FillValue":-9223372036854775808}`},
		{"a reference with a model calendar, and gaps", Options{Reference: &model, Gaps: true}, []Member{time("i4", "days since 2000-01-02", att("calendar", "noleap"))},
			`float64 retimed NaN {"units":"hours since 2000-01-01","calendar":"noleap","_FillValue":"AAAAAAAA+H8="}`},
		{"a model calendar, and gaps", Options{Gaps: true}, []Member{time("i2", "days since 2000-01-01", att("calendar", "noleap"), att("_FillValue", "i2", -1))},
			`float32 unpacked NaN {"units":"days since 2000-01-01","calendar":"noleap","_FillValue":"AAAAAAAA+H8="}`},
		{"a model calendar, without gaps", Options{}, []Member{time("i2", "days since 2000-01-01", att("calendar", "noleap"), att("_FillValue", "i2", -1))},
			`int16 stored 0 {"units":"days since 2000-01-01","calendar":"noleap","_FillValue":-1}`},
		{"floats", Options{}, []Member{time("f8", "days since 2000-01-02"), time("i4", "hours since 2000-01-01")},
			`int64 retimed 946771200000000000 {"units":"nanoseconds since 1970-01-01","_FillValue":-9223372036854775808}`},
		{"lengths of time", Options{}, []Member{time("i4", "days"), time("i4", "days")}, `int32 stored 0 {"units":"days"}`},
		{"unknown units", Options{}, []Member{time("i4", "days since launch"), time("i4", "days since launch")}, `int32 stored 0 {"units":"days since launch"}`},
	} {
		f, _ := decide(t, c.opts, c.members...)
		if got := summary(f); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestEveryMemberConverts: every member can be converted to its schema, and kept members need no
// conversion.
func TestEveryMemberConverts(t *testing.T) {
	members := []Member{with("i2", att("_FillValue", "i2", -1)), with("f4", att("missing_value", "f4", -1)), with("f8")}
	f, _ := decide(t, Options{}, members...)
	d := decision{schema: *f}
	for i, m := range members {
		c, err := convert.New(m.Variable, d.array(), f.Reading)
		if err != nil {
			t.Fatal(err)
		}
		if f.Kept[i] && !c.Identity() {
			t.Errorf("member %d is verbatim, but needs a conversion", i)
		}
		if len(c.Fill()) != f.DataType.Type().Size || len(f.Fill) != len(c.Fill()) {
			t.Errorf("member %d: the fill value is %x", i, c.Fill())
		}
	}
	if !bytes.Equal(f.Fill, make([]byte, 8)) {
		t.Errorf("the fill value is %x", f.Fill)
	}
}

func BenchmarkDecide(b *testing.B) {
	var members []Member
	for i := range 1000 {
		members = append(members, with("i2", att("units", "K"), att("scale_factor", "f8", .01+float64(i)/1000), att("comment", fmt.Sprint(i)), att("long_name", "t")))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Decide(members, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// line formats a finding as data: code, arguments and remedies.
func line(f *report.Finding) string {
	return strings.Join(strings.Fields(fmt.Sprint(f.Code, " ", reporttest.Facts(f), " ", reporttest.Remedies(f))), " ")
}

// TestInvalidAttribute: an attribute whose bytes do not fit its type is refused.
func TestInvalidAttribute(t *testing.T) {
	_, findings, err := recorded([]Member{with("f4", manifest.Attribute{Name: "version", Type: types["i4"], Data: []byte{1}})}, Options{})
	if err != nil || len(findings) != 1 || findings[0].Code != report.AttributeInvalid || findings[0].Effect != report.Refused {
		t.Errorf("%+v, %v", findings, err)
	}
}

// TestInexactCodecs: if chunks must be re-encoded, codecs that cannot restore all values are replaced.
func TestInexactCodecs(t *testing.T) {
	lossy := `{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":0,"scale":10,"dtype":"<f4","astype":"<i2"}}`
	f, findings, err := recorded([]Member{with("f4").stored(lossy, little, deflate)}, Options{Exact: true})
	if err != nil || f == nil || len(findings) != 1 || findings[0].Code != report.CodecsInexact || len(f.Codecs) != 2 {
		t.Errorf("%+v, %+v, %v", f, findings, err)
	}
}

// TestNumericUnits: the number 1 as units is equal to the text 1.
func TestNumericUnits(t *testing.T) {
	one := with("f4", att("units", "i2", 1))
	for _, c := range []struct{ other, want string }{{"1", `"1"`}, {"unitless", `"unitless"`}, {"m", ""}} {
		made, _, err := Decide([]Member{with("f4", att("units", c.other)), one}, Options{Array: "/x"})
		if err != nil || (made == nil) != (c.want == "") {
			t.Fatal(c.other, made, err)
		}
		if made == nil {
			continue
		}
		if raw, _ := made.Attributes.Get("units"); string(raw) != c.want {
			t.Errorf("%s: %s", c.other, raw)
		}
	}
}
