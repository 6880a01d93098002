package zarrjson

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/messages"
)

// plain is a valid document with every field, in the order of writing.
var plain = [][2]string{
	{"shape", `[6,10]`},
	{"data_type", `"float32"`},
	{"chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[2,10]}}`},
	{"chunk_key_encoding", `{"name":"default","configuration":{"separator":"/"}}`},
	{"fill_value", `0.0`},
	{"codecs", `[{"name":"bytes","configuration":{"endian":"little"}}]`},
	{"attributes", `{}`},
	{"zarr_format", `3`},
	{"node_type", `"array"`},
	{"storage_transformers", `[]`},
}

// with returns the plain document with fields replaced or added; a field with the value
// "" is removed.
func with(changes ...string) string { return changed(plain, changes) }

func changed(fields [][2]string, changes []string) string {
	fields = slices.Clone(fields)
	for change := range slices.Chunk(changes, 2) {
		i := slices.IndexFunc(fields, func(f [2]string) bool { return f[0] == change[0] })
		switch {
		case i < 0:
			fields = append(fields, [2]string{change[0], change[1]})
		case change[1] == "":
			fields = slices.Delete(fields, i, i+1)
		default:
			fields[i][1] = change[1]
		}
	}
	return objectOf(fields)
}

func objectOf(fields [][2]string) string {
	members := make([]string, len(fields))
	for i, f := range fields {
		members[i] = `"` + f[0] + `":` + f[1]
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestArrayKeepsWhatItCannotKnow(t *testing.T) {
	cases := map[string]string{
		"plain":             with(),
		"extra field":       with("acme", `{"must_understand":false,"b":1.50,"a":[1e5]}`),
		"two extra fields":  with("z", `{"must_understand":false}`, "a", `{"must_understand":false}`),
		"data type objects": with("data_type", `{"name":"int32"}`, "fill_value", `0`),
		"struct, old name":  with("data_type", `{"name":"structured","configuration":{"fields":[["a","int8"]]}}`, "fill_value", `"AQ=="`),
		"raw bits":          with("data_type", `"r24"`, "fill_value", `[1,2,255]`),
		"μs":                with("data_type", `{"name":"numpy.datetime64","configuration":{"unit":"μs","scale_factor":1}}`, "fill_value", `5`),
		"bytes":             with("data_type", `"bytes"`, "fill_value", `"AQ=="`, "codecs", `[{"name":"vlen-bytes","configuration":{}}]`),
		"NaN payload":       with("fill_value", `"0xffc00001"`),
		"complex_float32":   with("data_type", `"complex_float32"`, "fill_value", `[0.0,"NaN"]`),
		"unknown codec":     with("codecs", `[{"name":"acme.squeeze","configuration":{"f":1.0,"n":1e3}}]`),
	}
	for name, doc := range cases {
		t.Run(name, func(t *testing.T) {
			a, err := ParseArray([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			// Core fields come first and extra fields last, so no case may add a field before them.
			got, err := a.Encode(Compact)
			if err != nil || string(got) != doc {
				t.Errorf("written as\n%s (%v), not\n%s", got, err, doc)
			}
		})
	}
}

// TestCompactKeepsTexts checks that Compact removes only white space between values.
func TestCompactKeepsTexts(t *testing.T) {
	a, err := ParseArray([]byte(with("attributes", `{ "long name" : "two  \" words\t" }`)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Encode(Compact)
	if want := with("attributes", `{"long name":"two  \" words\t"}`); err != nil || string(got) != want {
		t.Errorf("written as\n%s (%v), not\n%s", got, err, want)
	}
}

// TestExtraFieldsKeepLayout checks that unknown fields keep their bytes, except in a
// compact document.
func TestExtraFieldsKeepLayout(t *testing.T) {
	const extra = `{ "must_understand":false,  "b":1.50 }`
	a, err := ParseArray([]byte(with("acme", extra)))
	if err != nil {
		t.Fatal(err)
	}
	for layout, want := range map[Layout]string{Indented: extra, Compact: `{"must_understand":false,"b":1.50}`} {
		got, err := a.Encode(layout)
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s (%v) does not have %s", got, err, want)
		}
	}
}

func TestDims(t *testing.T) {
	for names, want := range map[string][]string{
		`null`:       {"dim_0", "dim_1"},
		`["y","x"]`:  {"y", "x"},
		`["y",null]`: {"y", "dim_1"},
	} {
		a, err := ParseArray([]byte(with("dimension_names", names)))
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Dims(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", names, got, want)
		}
	}
}

func TestArrayReadsMoreThanItWrites(t *testing.T) {
	cases := map[string][2]string{
		"defaults left out":      {with("attributes", "", "storage_transformers", ""), with()},
		"nulls":                  {with("attributes", "null", "storage_transformers", "null", "dimension_names", "null"), with()},
		"key encoding by name":   {with("chunk_key_encoding", `"v2"`), with("chunk_key_encoding", `{"name":"v2","configuration":{"separator":"."}}`)},
		"codec by name":          {with("codecs", `["crc32c"]`), with("codecs", `[{"name":"crc32c"}]`)},
		"codec without config":   {with("codecs", `[{"name":"zstd"}]`), with("codecs", `[{"name":"zstd","configuration":{}}]`)},
		"must_understand":        {with("codecs", `[{"name":"crc32c","must_understand":true}]`), with("codecs", `[{"name":"crc32c"}]`)},
		"order of the letter F":  {with("codecs", `[{"name":"transpose","configuration":{"order":"F"}},"bytes","crc32c"]`), with("codecs", `[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]`)},
		"order of the letter C":  {with("codecs", `[{"name":"transpose","configuration":{"order":"C"}},{"name":"bytes","configuration":{"endian":"big"}}]`), with("codecs", `[{"name":"transpose","configuration":{"order":[0,1]}},{"name":"bytes","configuration":{"endian":"big"}}]`)},
		"codec of a draft":       {with("codecs", `[{"name":"endian","configuration":{"endian":"big"}}]`), with("codecs", `[{"name":"bytes","configuration":{"endian":"big"}}]`)},
		"bytes without an order": {with("codecs", `[{"name":"bytes","configuration":{}}]`), with("codecs", `[{"name":"bytes","configuration":{"endian":"little"}}]`)},
		"bytes without words":    {with("data_type", `"int8"`, "fill_value", "0", "codecs", `["bytes"]`), with("data_type", `"int8"`, "fill_value", "0", "codecs", `[{"name":"bytes"}]`)},
		"no codecs":              {with("codecs", `[]`), with("codecs", `[{"name":"bytes","configuration":{"endian":"little"}}]`)},
		"no codecs of bytes":     {with("data_type", `"bool"`, "fill_value", "true", "codecs", `[]`), with("data_type", `"bool"`, "fill_value", "true", "codecs", `[{"name":"bytes"}]`)},
		"registered bitround":    {with("codecs", `[{"name":"bitround","configuration":{"keepbits":3}},"bytes"]`), with("codecs", `[{"name":"numcodecs.bitround","configuration":{"keepbits":3}},{"name":"bytes","configuration":{"endian":"little"}}]`)},
		"abbreviated codecs in shards": {
			with("codecs", `[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[1,1],"codecs":[{"name":"transpose","configuration":{"order":"F"}},"bytes"],"index_codecs":["bytes","crc32c"]}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}]`),
			with("codecs", `[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[1,1],"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}]`),
		},
		"bare NaN":              {with("fill_value", "NaN"), with("fill_value", `"NaN"`)},
		"bare -Infinity":        {with("fill_value", "-Infinity"), with("fill_value", `"-Infinity"`)},
		"float as text":         {with("fill_value", `"1e3"`), with("fill_value", "1000.0")},
		"float as integer":      {with("fill_value", "1"), with("fill_value", "1.0")},
		"float in hexadecimal":  {with("fill_value", `"0x3fc00000"`), with("fill_value", "1.5")},
		"NaN in hexadecimal":    {with("fill_value", `"0x7FC00000"`), with("fill_value", `"NaN"`)},
		"more digits than kept": {with("fill_value", "0.1"), with("fill_value", "0.10000000149011612")},
		"integer as float":      {with("data_type", `"int8"`, "fill_value", "-1.0"), with("data_type", `"int8"`, "fill_value", "-1")},
		"least int64 as float":  {with("data_type", `"int64"`, "fill_value", "-9.223372036854775808e18"), with("data_type", `"int64"`, "fill_value", "-9223372036854775808")},
		"integer as text":       {with("data_type", `"int8"`, "fill_value", `"-1"`), with("data_type", `"int8"`, "fill_value", "-1")},
		"uint64 as float":       {with("data_type", `"uint64"`, "fill_value", "1e19"), with("data_type", `"uint64"`, "fill_value", "10000000000000000000")},
		"bool as number":        {with("data_type", `"bool"`, "fill_value", "1"), with("data_type", `"bool"`, "fill_value", "true")},
		"text as float":         {with("data_type", `"string"`, "fill_value", "1e-7"), with("data_type", `"string"`, "fill_value", `"1e-07"`)},
		"escapes":               {with("data_type", `"string"`, "fill_value", `"\b\f\n\r\t\/\\\"\u0001\u00E9é\ud834\udd1e\u007f"`), with("data_type", `"string"`, "fill_value", `"\b\f\n\r\t/\\\"\u0001\u00e9\u00e9\ud834\udd1e\u007f"`)},
		"text as number":        {with("data_type", `"string"`, "fill_value", "0"), with("data_type", `"string"`, "fill_value", `"0"`)},
		"raw bits in base64":    {with("data_type", `"r16"`, "fill_value", `"AQI="`), with("data_type", `"r16"`, "fill_value", "[1,2]")},
		"struct in base64": {
			with("data_type", `{"name":"struct","configuration":{"fields":[["a","int8"],{"name":"b","data_type":"bool"}]}}`, "fill_value", `"/wE="`),
			with("data_type", `{"name":"struct","configuration":{"fields":[["a","int8"],{"name":"b","data_type":"bool"}]}}`, "fill_value", `{"a":-1,"b":true}`),
		},
		"struct in part": {
			with("data_type", `{"name":"struct","configuration":{"fields":[["a","int8"],["t",{"name":"numpy.timedelta64","configuration":{"unit":"s","scale_factor":1}}]]}}`, "fill_value", `{"a":3}`),
			with("data_type", `{"name":"struct","configuration":{"fields":[["a","int8"],["t",{"name":"numpy.timedelta64","configuration":{"unit":"s","scale_factor":1}}]]}}`, "fill_value", `{"a":3,"t":-9223372036854775808}`),
		},
		"NaT": {
			with("data_type", `{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}`, "fill_value", `"NaT"`),
			with("data_type", `{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}`, "fill_value", `-9223372036854775808`),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a, err := ParseArray([]byte(c[0]))
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

// numbered returns n members with distinct names.
func numbered(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"f%d":1`, i)
	}
	return strings.Join(members, ",")
}

// refusal is a document that is refused: the path and the kind of its error. The text of
// the error is in testdata/messages.txt.
type refusal struct {
	name, doc string
	path      string
	is        error
}

var corrupt = codec.ErrCorrupt

func arrayRefusals() []refusal {
	no := errors.ErrUnsupported
	long := strings.Repeat("x", 1000)
	structOf := func(fields string) string {
		return with("data_type", `{"name":"struct","configuration":{"fields":`+fields+`}}`, "fill_value", `""`)
	}
	return []refusal{
		{"empty", ``, "", corrupt},
		{"not JSON", `{"a":}`, "", corrupt},
		{"ends within a text", `{"a":"b`, "", corrupt},
		{"not an object", `[]`, "", corrupt},
		{"two documents", with() + with(), "", corrupt},
		{"name twice", `{"shape":[],"shape":[]}`, "", corrupt},
		{"unknown escape", `{"a":"\x"}`, "", corrupt},
		{"escape with an invalid digit", `{"a":"\u00g0"}`, "", corrupt},
		{"a late name twice", "{" + numbered(20) + `,"f19":1}`, "", corrupt},
		{"format 2", with("zarr_format", "2"), "zarr_format", corrupt},
		{"a draft", with("zarr_format", `"https://purl.org/zarr/spec/protocol/core/3.0"`), "zarr_format", no},
		{"no format", with("zarr_format", ""), "zarr_format", corrupt},
		{"a group", with("node_type", `"group"`), "node_type", corrupt},
		{"no shape", with("shape", ""), "shape", corrupt},
		{"shape of text", with("shape", `"6"`), "shape", corrupt},
		{"negative extent", with("shape", `[6,-1]`), "shape[1]", corrupt},
		{"extent as float", with("shape", `[6.0,10]`), "shape[0]", corrupt},
		{"extent past int64", with("shape", `[9223372036854775808,10]`), "shape[0]", corrupt},
		{"more elements than int64", with("shape", `[4000000000,4000000000]`), "shape", corrupt},

		{"no data type", with("data_type", ""), "data_type", corrupt},
		{"unknown data type", with("data_type", `"float31"`), "data_type", no},
		{"long data type", with("data_type", `"`+long+`"`), "data_type", no},
		{"bfloat16", with("data_type", `"bfloat16"`), "data_type", no},
		{"int4", with("data_type", `"int4"`), "data_type", no},
		{"float8", with("data_type", `"float8_e4m3"`), "data_type", no},
		{"digits for a data type", with("data_type", `"16"`), "data_type", no},
		{"letters after bits", with("data_type", `"r16x"`), "data_type", no},
		{"r12", with("data_type", `"r12"`), "data_type", corrupt},
		{"r0", with("data_type", `"r0"`), "data_type", corrupt},
		{"huge element", with("data_type", `"r9000000000000000000"`), "data_type", no},
		{"data type of a number", with("data_type", `32`), "data_type", corrupt},
		{"data type without name", with("data_type", `{"configuration":{}}`), "data_type.name", corrupt},
		{"data type, unknown member", with("data_type", `{"name":"int8","width":8}`), "data_type.width", corrupt},
		{"data type, unknown configuration", with("data_type", `{"name":"int8","configuration":{"width":8}}`), "data_type.configuration.width", corrupt},
		{"no length", with("data_type", `"raw_bytes"`), "data_type.configuration.length_bytes", corrupt},
		{"length 0", with("data_type", `{"name":"raw_bytes","configuration":{"length_bytes":0}}`), "data_type.configuration.length_bytes", corrupt},
		{"length past memory", with("data_type", `{"name":"raw_bytes","configuration":{"length_bytes":9000000000000000000}}`, "fill_value", `""`), "data_type", no},
		{"half a character", with("data_type", `{"name":"fixed_length_utf32","configuration":{"length_bytes":6}}`), "data_type.configuration.length_bytes", corrupt},
		{"unit", with("data_type", `{"name":"numpy.datetime64","configuration":{"unit":"fortnight","scale_factor":1}}`), "data_type.configuration.unit", corrupt},
		{"scale factor", with("data_type", `{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":2147483648}}`), "data_type.configuration.scale_factor", corrupt},
		{"no fields", structOf(`[]`), "data_type.configuration.fields", corrupt},
		{"field twice", structOf(`[["a","int8"],["a","int8"]]`), "data_type.configuration.fields[1]", corrupt},
		{"field of three", structOf(`[["a","int8",1]]`), "data_type.configuration.fields[0]", corrupt},
		{"field without type", structOf(`[{"name":"a"}]`), "data_type.configuration.fields[0].data_type", corrupt},
		{"field of varying length", structOf(`[["a","string"]]`), "data_type.configuration.fields[0]", no},
		{"field of unknown type", structOf(`[["a","int9"]]`), "data_type.configuration.fields[0][1]", no},

		{"unknown grid", with("chunk_grid", `{"name":"hexagonal","configuration":{}}`), "chunk_grid", no},
		{"chunk shape of a number", with("chunk_grid", `{"name":"regular","configuration":{"chunk_shape":5}}`), "chunk_grid.configuration.chunk_shape", corrupt},
		{"no chunk shape", with("chunk_grid", `{"name":"regular"}`), "chunk_grid.configuration.chunk_shape", corrupt},
		{"regular with edges", with("chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[[1,5],10]}}`), "chunk_grid.configuration.chunk_shape[0]", corrupt},
		{"regular of true", with("chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[true,10]}}`), "chunk_grid.configuration.chunk_shape[0]", corrupt},
		{"chunks of 0", with("chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[0,10]}}`), "chunk_grid.configuration.chunk_shape[0]", corrupt},
		{"too few axes", with("chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[2]}}`), "chunk_grid.configuration.chunk_shape", corrupt},

		{"unknown key encoding", with("chunk_key_encoding", `"fanout"`), "chunk_key_encoding", no},
		{"separator", with("chunk_key_encoding", `{"name":"v2","configuration":{"separator":"-"}}`), "chunk_key_encoding.configuration.separator", corrupt},
		{"key encoding, unknown configuration", with("chunk_key_encoding", `{"name":"v2","configuration":{"sep":"."}}`), "chunk_key_encoding.configuration.sep", corrupt},

		{"no fill value", with("fill_value", ""), "fill_value", corrupt},
		{"null fill value", with("fill_value", "null"), "fill_value", corrupt},
		{"fill past float32", with("fill_value", "1e40"), "fill_value", corrupt},
		{"fill past float16", with("data_type", `"float16"`, "fill_value", "65520"), "fill_value", corrupt},
		{"hexadecimal of another size", with("fill_value", `"0x7ff8000000000001"`), "fill_value", corrupt},
		{"text for a float", with("fill_value", `"nan"`), "fill_value", corrupt},
		{"true for a float", with("fill_value", `true`), "fill_value", corrupt},
		{"int8 of 128", with("data_type", `"int8"`, "fill_value", "128"), "fill_value", corrupt},
		{"int64 of 2^63", with("data_type", `"int64"`, "fill_value", "9.223372036854775808e18"), "fill_value", corrupt},
		{"uint64 of 2^64", with("data_type", `"uint64"`, "fill_value", "18446744073709551616"), "fill_value", corrupt},
		{"uint8 of -1", with("data_type", `"uint8"`, "fill_value", "-1"), "fill_value", corrupt},
		{"int of 1.5", with("data_type", `"int8"`, "fill_value", "1.5"), "fill_value", corrupt},
		{"bool of 2", with("data_type", `"bool"`, "fill_value", "2"), "fill_value", corrupt},
		{"complex of one number", with("data_type", `"complex64"`), "fill_value", corrupt},
		{"complex of three", with("data_type", `"complex64"`, "fill_value", "[1,2,3]"), "fill_value", corrupt},
		{"complex of text", with("data_type", `"complex64"`, "fill_value", `[1,"i"]`), "fill_value[1]", corrupt},
		{"raw bits too few", with("data_type", `"r16"`, "fill_value", "[1]"), "fill_value", corrupt},
		{"raw bits too many", with("data_type", `"r16"`, "fill_value", "[1,2,3]"), "fill_value", corrupt},
		{"raw bits past a byte", with("data_type", `"r16"`, "fill_value", "[1,256]"), "fill_value[1]", corrupt},
		{"not base64", with("data_type", `"r16"`, "fill_value", `"A"`), "fill_value", corrupt},
		{"text too long", with("data_type", `{"name":"fixed_length_utf32","configuration":{"length_bytes":4}}`, "fill_value", `"ab"`), "fill_value", corrupt},
		{"text of true", with("data_type", `"string"`, "fill_value", `true`), "fill_value", corrupt},
		{"text past all numbers", with("data_type", `"string"`, "fill_value", `1e999`), "fill_value", corrupt},
		{"half a surrogate pair", with("data_type", `"string"`, "fill_value", `"\ud800"`), "fill_value", corrupt},
		{"bytes too long", with("data_type", `{"name":"null_terminated_bytes","configuration":{"length_bytes":1}}`, "fill_value", `"AQI="`), "fill_value", corrupt},
		{"time of text", with("data_type", `{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}`, "fill_value", `"2020"`), "fill_value", corrupt},
		{"struct with another field", strings.Replace(structOf(`[["a","int8"]]`), `"fill_value":""`, `"fill_value":{"a":1,"b":2}`, 1), "fill_value.b", corrupt},

		{"no codecs of texts", with("data_type", `"string"`, "fill_value", `""`, "codecs", "[]"), "codecs", corrupt},
		{"codecs of an object", with("codecs", `{}`), "codecs", corrupt},
		{"codec without name", with("codecs", `[{"configuration":{}}]`), "codecs[0].name", corrupt},
		{"codec of an empty name", with("codecs", `[""]`), "codecs[0].name", corrupt},
		{"codec configuration", with("codecs", `[{"name":"zstd","configuration":3}]`), "codecs[0].configuration", corrupt},
		{"halves that are complex", with("data_type", `"complex_float16"`, "fill_value", "[0,0]"), "data_type", no},
		{"HDF5's own codec", with("codecs", `["bytes","hdf5.lzf"]`), "codecs[1].name", no},
		{"HDF5's own codec in shards", with("codecs", `[{"name":"sharding_indexed","configuration":{"codecs":["hdf5.nbit"]}}]`), "codecs[0].configuration.codecs[0].name", no},

		{"attributes of a list", with("attributes", `[]`), "attributes", corrupt},
		{"names too few", with("dimension_names", `["x"]`), "dimension_names", corrupt},
		{"name of a number", with("dimension_names", `["x",1]`), "dimension_names[1]", corrupt},
		{"storage transformer", with("storage_transformers", `[{"name":"acme.mirror"}]`), "storage_transformers", no},
		{"unknown field", with("acme", `1`), "acme", no},
		{"unknown field with another member", with("acme", `{"note":false}`), "acme", no},
		{"unknown field to be understood", with("acme", `{"must_understand":true}`), "acme", no},
	}
}

func TestArrayRefuses(t *testing.T) {
	for _, c := range arrayRefusals() {
		t.Run(c.name, func(t *testing.T) {
			a, err := ParseArray([]byte(c.doc))
			c.check(t, a == nil, err)
		})
	}
}

func (c refusal) check(t *testing.T, nothing bool, err error) {
	t.Helper()
	var e *Error
	switch {
	case err == nil:
		t.Fatal("accepted")
	case !nothing:
		t.Error("a result was returned with the error")
	case !errors.As(err, &e):
		t.Fatalf("%v is not an Error", err)
	case !errors.Is(err, c.is):
		t.Errorf("%v is not %v", err, c.is)
	}
	if e.Path != c.path {
		t.Errorf("the path is %q, want %q: %s", e.Path, c.path, e.Why)
	}
	messages.Check(t, "", err)
	if len(err.Error()) > 500 {
		t.Errorf("the message has %d bytes, want at most 500", len(err.Error()))
	}
}
