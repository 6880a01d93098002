package zarrjson

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"
)

// withCodecs returns the plain document of format 3 in the form that ToV3 returns.
func withCodecs(codecs string, changes ...string) string {
	return with(append([]string{"codecs", codecs, "chunk_key_encoding", `{"name":"v2","configuration":{"separator":"."}}`}, changes...)...)
}

const littleBytes = `{"name":"bytes","configuration":{"endian":"little"}}`

func TestToV3(t *testing.T) {
	zlib := `{"name":"numcodecs.zlib","configuration":{"level":4}}`
	cases := []struct{ name, v2, attributes, v3 string }{
		{"plain", withV2(), `{}`, withCodecs("[" + littleBytes + "]")},
		{"null", withV2("fill_value", "null"), `{}`, withCodecs("[" + littleBytes + "]")},
		{"null time", withV2("fill_value", "null", "dtype", `"<M8[s]"`), `{}`, withCodecs("["+littleBytes+"]",
			"data_type", `{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}`, "fill_value", "-9223372036854775808")},
		{"big-endian", withV2("dtype", `">f4"`), `{}`, withCodecs(`[{"name":"bytes","configuration":{"endian":"big"}}]`)},
		{"bytes", withV2("dtype", `"|u1"`, "fill_value", "7"), `{}`, withCodecs(`[{"name":"bytes"}]`, "data_type", `"uint8"`, "fill_value", "7")},
		{"order F", withV2("order", `"F"`), `{}`, withCodecs(`[{"name":"transpose","configuration":{"order":[1,0]}},` + littleBytes + `]`)},
		{"separator", withV2("dimension_separator", `"/"`), `{}`, with("chunk_key_encoding", `{"name":"v2","configuration":{"separator":"/"}}`)},
		{"compressor", withV2("compressor", `{"id":"zlib","level":4}`), `{}`, withCodecs("[" + littleBytes + "," + zlib + "]")},
		{"filters in order", withV2("filters", `[{"id":"shuffle","elementsize":4},{"id":"zlib","level":4}]`), `{}`,
			withCodecs("[" + littleBytes + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},` + zlib + "]")},
		{"filters on elements", withV2("dtype", `">f8"`, "filters", `[{"id":"delta","dtype":">f8"},{"id":"astype","encode_dtype":"<f4","decode_dtype":">f8"}]`), `{}`,
			withCodecs(`[{"name":"numcodecs.delta","configuration":{"dtype":"<f8"}},{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f4","decode_dtype":"<f8"}},`+littleBytes+"]", "data_type", `"float64"`)},
		{"big-endian filters", withV2("dtype", `">f8"`, "filters", `[{"id":"fixedscaleoffset","astype":"\u003ei2","dtype":">f8","scale":10,"offset":0}]`), `{}`,
			withCodecs(`[{"name":"numcodecs.fixedscaleoffset","configuration":{"astype":"<i2","dtype":"<f8","scale":10,"offset":0}},{"name":"bytes","configuration":{"endian":"big"}}]`, "data_type", `"float64"`)},
		{"a shuffle of numcodecs' own size", withV2("dtype", `"<f8"`, "filters", `[{"id":"shuffle"}]`), `{}`,
			withCodecs("["+littleBytes+`,{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}]`, "data_type", `"float64"`)},
		{"type without an order", withV2("dtype", `"<f8"`, "filters", `[{"id":"astype","encode_dtype":"f4","decode_dtype":"f8"}]`), `{}`,
			withCodecs(`[{"name":"numcodecs.astype","configuration":{"encode_dtype":"f4","decode_dtype":"f8"}},`+littleBytes+"]", "data_type", `"float64"`)},
		{"filter without a type", withV2("dtype", `">f4"`, "filters", `[{"id":"bitround","keepbits":4}]`), `{}`,
			withCodecs(`[{"name":"numcodecs.bitround","configuration":{"keepbits":4}},{"name":"bytes","configuration":{"endian":"big"}}]`)},
		{"packed bits", withV2("dtype", `"|b1"`, "fill_value", "true", "filters", `[{"id":"packbits"}]`), `{}`,
			withCodecs(`[{"name":"numcodecs.packbits","configuration":{}},{"name":"bytes"}]`, "data_type", `"bool"`, "fill_value", "true")},
		{"structured", withV2("dtype", `[["a",">i4"],["b",">f8"]]`, "fill_value", `"AAAAAT/wAAAAAAAA"`), `{}`, withCodecs(`[{"name":"bytes","configuration":{"endian":"big"}}]`,
			"data_type", `{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int32"},{"name":"b","data_type":"float64"}]}}`, "fill_value", `{"a":1,"b":1.0}`)},
		{"text", withV2("dtype", `"|O"`, "filters", `[{"id":"vlen-utf8"}]`, "compressor", `{"id":"zlib","level":4}`, "fill_value", `"x"`), `{}`,
			withCodecs(`[{"name":"vlen-utf8","configuration":{}},`+zlib+"]", "data_type", `"string"`, "fill_value", `"x"`)},
		{"attributes", withV2(), `{"b":1.50,"a":NaN}`, withCodecs("["+littleBytes+"]", "attributes", `{"b":1.50,"a":NaN}`)},
		{"0-d, order F", withV2("shape", "[]", "chunks", "[]", "order", `"F"`), `{}`,
			withCodecs("["+littleBytes+"]", "shape", "[]", "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[]}}`)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v2, err := ParseV2Array([]byte(c.v2))
			if err != nil {
				t.Fatal(err)
			}
			a, err := v2.ToV3(mustAttributes(t, c.attributes), KeepFill)
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.Encode(Compact)
			if err != nil || string(got) != c.v3 {
				t.Errorf("written as\n%s (%v), not\n%s", got, err, c.v3)
			}
		})
	}
}

func TestToV3AndBack(t *testing.T) {
	cases := map[string]string{
		"plain":      withV2(),
		"big-endian": withV2("dtype", `">c8"`, "fill_value", `[1.0,"NaN"]`),
		"order F":    withV2("order", `"F"`, "dimension_separator", `"/"`),
		"filters":    withV2("filters", `[{"id":"zlib","level":4},{"id":"fletcher32"}]`),
		"compressor": withV2("filters", `[{"id":"shuffle","elementsize":4}]`, "compressor", `{"id":"zlib","level":4}`),
		"blosc":      withV2("compressor", `{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}`),
		"time":       withV2("dtype", `"<M8[25s]"`, "fill_value", "-1"),
		"text":       withV2("dtype", `"|O"`, "filters", `[{"id":"vlen-utf8"}]`, "compressor", `{"id":"zlib","level":1}`, "fill_value", `"x"`),
		"structured": withV2("dtype", `[["a",">i4"],["s","|S3"],["u",">U2"]]`, "fill_value", `"AAAAAWFiAAAAAGEAAABi"`),
		"0-d":        withV2("shape", "[]", "chunks", "[]"),
	}
	for name, doc := range cases {
		t.Run(name, func(t *testing.T) {
			v2, err := ParseV2Array([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			names := mustAttributes(t, `{"_ARRAY_DIMENSIONS":["y","x"],"units":"K"}`)
			if len(v2.Shape) == 0 {
				names = mustAttributes(t, `{"_ARRAY_DIMENSIONS":[],"units":"K"}`)
			}
			a, err := v2.ToV3(names, KeepFill)
			if err != nil {
				t.Fatal(err)
			}
			if len(a.DimensionNames) != len(a.Shape) || a.DimensionNames == nil || a.Attributes.Len() != 1 {
				t.Errorf("names %v, attributes %s", a.DimensionNames, a.Attributes.JSON())
			}
			back, attributes, err := a.ToV2(V2Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := back.Encode(Compact)
			if err != nil || string(got) != doc {
				t.Errorf("written as\n%s (%v), not\n%s", got, err, doc)
			}
			if err := sameJSON(string(attributes.JSON()), string(names.JSON())); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestToV3Refuses(t *testing.T) {
	no := errors.ErrUnsupported
	cases := []refusal{
		{"mixed byte orders", withV2("dtype", `[["a",">i4"],["b","<f8"]]`, "fill_value", "null"), "dtype", no},
		{"a filter of another byte order", withV2("dtype", `"<f8"`, "filters", `[{"id":"delta","dtype":">f8"}]`), "filters[0]", no},
		{"a filter after one of another", withV2("dtype", `"<f8"`, "filters", `[{"id":"astype","encode_dtype":">f4","decode_dtype":"<f8"},{"id":"delta","dtype":"f4"}]`), "filters[1]", no},
		{"unknown filter", withV2("filters", `[{"id":"squeeze"}]`), "filters[0].id", no},
		{"unknown compressor", withV2("compressor", `{"id":"squeeze"}`), "compressor.id", no},
		{"elements after bytes", withV2("filters", `[{"id":"zlib"},{"id":"delta","dtype":"<f4"}]`), "filters[1].id", no},
		{"text after bytes", withV2("dtype", `"|O"`, "filters", `[{"id":"zlib"},{"id":"vlen-utf8"}]`, "fill_value", `""`), "filters[1]", no},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v2, err := ParseV2Array([]byte(c.doc))
			if err != nil {
				t.Fatal(err)
			}
			a, err := v2.ToV3(Attributes{}, KeepFill)
			c.check(t, a == nil, err)
		})
	}
	v2, err := ParseV2Array([]byte(withV2()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = v2.ToV3(mustAttributes(t, `{"_ARRAY_DIMENSIONS":["x"]}`), KeepFill)
	var e *Error
	if !errors.As(err, &e) || e.Path != "attributes._ARRAY_DIMENSIONS" {
		t.Error(err)
	}
}

func TestToV2Refuses(t *testing.T) {
	no := errors.ErrUnsupported
	cases := []refusal{
		{"rectilinear", withCodecs("["+littleBytes+"]", "chunk_grid", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[2,10]}}`), "chunk_grid", no},
		{"keys", with(), "chunk_key_encoding", no},
		{"shards", withCodecs(`[{"name":"sharding_indexed","configuration":{}}]`), "codecs[0]", no},
		{"transpose", withCodecs(`[{"name":"transpose","configuration":{"order":[2,0,1]}},`+littleBytes+"]", "shape", "[1,1,1]", "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[1,1,1]}}`), "codecs[0]", no},
		{"codec without id", withCodecs("[" + littleBytes + `,{"name":"acme.squeeze"}]`), "codecs[1]", no},
		{"big-endian after a filter", withCodecs(`[{"name":"numcodecs.delta","configuration":{"dtype":"<f4"}},{"name":"bytes","configuration":{"endian":"big"}}]`), "codecs[1]", no},
		{"blosc with a number for shuffle", withCodecs("[" + littleBytes + `,{"name":"blosc","configuration":{"shuffle":1}}]`), "codecs[1].shuffle", corrupt},
		{"a shuffle without a size", withCodecs(`[{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f8"}},` + littleBytes + `,{"name":"numcodecs.shuffle","configuration":{}}]`), "codecs[2].elementsize", no},
		{"some names null", withCodecs("["+littleBytes+"]", "dimension_names", `["x",null]`), "dimension_names", no},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := ParseArray([]byte(c.doc))
			if err != nil {
				t.Fatal(err)
			}
			v2, _, err := a.ToV2(V2Options{})
			c.check(t, v2 == nil, err)
		})
	}
}

// TestMaskUnderUnsigned: xarray converts the mask of integers with the attribute _Unsigned.
// For big-endian integers the result is wrong, so that nothing is masked.
func TestMaskUnderUnsigned(t *testing.T) {
	both := `{"_FillValue":6,"_Unsigned":"true"}`
	for _, c := range []struct {
		name, dtype, endian, attributes string
		ok                              bool
	}{
		{"big-endian", "int16", "big", both, false},
		{"little-endian", "int16", "little", both, true},
		{"no sign", "uint16", "big", both, true},
		{"nothing turned", "int16", "big", `{"_FillValue":6}`, true},
		{"turned the other way", "int16", "big", `{"_FillValue":6,"_Unsigned":"false"}`, true},
		{"no mask", "int16", "big", `{"_Unsigned":"true"}`, true},
		{"single bytes", "int8", "big", both, true},
	} {
		a, err := ParseArray([]byte(withCodecs(`[{"name":"bytes","configuration":{"endian":"`+c.endian+`"}}]`,
			"data_type", `"`+c.dtype+`"`, "fill_value", "0", "attributes", c.attributes)))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = a.ToV2(V2Options{Fill: MaskFill, Separator: '.'})
		if c.ok && err != nil || !c.ok && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, _, err := a.ToV2(V2Options{Separator: '.'}); err != nil {
			t.Errorf("%s, as it is: %v", c.name, err)
		}
	}
}

func TestToV2(t *testing.T) {
	cases := []struct {
		name, v3, v2, attributes string
		options                  V2Options
	}{
		{"new keys", with(), withV2(), `{}`, V2Options{Separator: '.'}},
		{"zstd without a checksum", withCodecs("[" + littleBytes + `,{"name":"zstd","configuration":{"level":3,"checksum":false}}]`),
			withV2("compressor", `{"id":"zstd","level":3}`), `{}`, V2Options{}},
		{"core codecs", withCodecs("[" + littleBytes + `,{"name":"zstd","configuration":{"level":3,"checksum":true}},{"name":"crc32c"}]`),
			withV2("filters", `[{"id":"zstd","level":3,"checksum":true},{"id":"crc32c"}]`), `{}`, V2Options{}},
		{"blosc", withCodecs("[" + littleBytes + `,{"name":"blosc","configuration":{"typesize":4,"cname":"lz4","clevel":5,"shuffle":"bitshuffle","blocksize":0}}]`),
			withV2("compressor", `{"id":"blosc","cname":"lz4","clevel":5,"shuffle":2,"blocksize":0}`), `{}`, V2Options{}},
		{"blosc that shuffles nothing", withCodecs("[" + littleBytes + `,{"name":"blosc","configuration":{"typesize":4,"cname":"lz4","clevel":5,"shuffle":"noshuffle","blocksize":0}}]`),
			withV2("compressor", `{"id":"blosc","cname":"lz4","clevel":5,"shuffle":0,"blocksize":0}`), `{}`, V2Options{}},
		{"a shuffle of its own size", withCodecs("[" + littleBytes + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":2}}]`),
			withV2("filters", `[{"id":"shuffle","elementsize":2}]`), `{}`, V2Options{}},
		{"a shuffle without a size", withCodecs("[" + littleBytes + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":null}},{"name":"numcodecs.shuffle"}]`),
			withV2("filters", `[{"id":"shuffle","elementsize":4},{"id":"shuffle","elementsize":4}]`), `{}`, V2Options{}},
		{"a shuffle without a size, of wide elements", withCodecs(`[{"name":"numcodecs.bitround","configuration":{"keepbits":5}},`+littleBytes+`,{"name":"numcodecs.shuffle","configuration":{}}]`, "data_type", `"float64"`),
			withV2("dtype", `"<f8"`, "filters", `[{"id":"bitround","keepbits":5},{"id":"shuffle","elementsize":8}]`), `{}`, V2Options{}},
		{"big-endian names of types", withCodecs(`[{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":0,"scale":10,"dtype":">f4","astype":">i2"}},` + littleBytes + "]"),
			withV2("filters", `[{"id":"fixedscaleoffset","offset":0,"scale":10,"dtype":"<f4","astype":"<i2"}]`), `{}`, V2Options{}},
		{"transpose to the same", withCodecs(`[{"name":"transpose","configuration":{"order":[0,1]}},` + littleBytes + "]"), withV2(), `{}`, V2Options{}},
		{"names all null", withCodecs("["+littleBytes+"]", "dimension_names", "[null,null]"), withV2(), `{}`, V2Options{}},
		{"no mask", withCodecs("["+littleBytes+"]", "fill_value", "5.0"), withV2("fill_value", "null"), `{}`, V2Options{Fill: MaskFill}},
		{"mask", withCodecs("["+littleBytes+"]", "attributes", `{"a":1,"_FillValue":"AAAAAAAA+H8="}`), withV2("fill_value", `"NaN"`), `{"a":1}`, V2Options{Fill: MaskFill}},
		{"mask of integers", withCodecs("["+littleBytes+"]", "data_type", `"int32"`, "fill_value", "0", "attributes", `{"_FillValue":-999}`),
			withV2("dtype", `"<i4"`, "fill_value", "-999"), `{}`, V2Options{Fill: MaskFill}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := ParseArray([]byte(c.v3))
			if err != nil {
				t.Fatal(err)
			}
			v2, attributes, err := a.ToV2(c.options)
			if err != nil {
				t.Fatal(err)
			}
			got, err := v2.Encode(Compact)
			if err != nil || string(got) != c.v2 || string(attributes.JSON()) != c.attributes {
				t.Errorf("written as\n%s %s (%v), not\n%s %s", got, attributes.JSON(), err, c.v2, c.attributes)
			}
		})
	}
}

// TestZeros checks that a fill value that a program leaves out is written as zeros.
func TestZeros(t *testing.T) {
	a, err := ParseArray([]byte(withCodecs("[" + littleBytes + "]")))
	if err != nil {
		t.Fatal(err)
	}
	a.Fill = nil
	v2, _, err := a.ToV2(V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v2.Encode(Compact); err != nil || string(got) != withV2() {
		t.Errorf("in format 2 it is\n%s (%v), not\n%s", got, err, withV2())
	}
	if mask, err := a.DataType.EncodeMask(nil); err != nil || string(mask) != `"AAAAAAAAAAA="` {
		t.Errorf("as a mask it is %s (%v)", mask, err)
	}
}

// TestMasks compares the attribute with the result of xarray's FillValueCoder.encode.
func TestMasks(t *testing.T) {
	cases := []struct{ dtype, element, mask string }{
		{`"float32"`, "0000c07f", `"AAAAAAAA+H8="`},
		{`"float32"`, "000080ff", `"AAAAAAAA8P8="`},
		{`"float32"`, "0000807f", `"AAAAAAAA8H8="`},
		{`"float32"`, "0000c0ff", `"AAAAAAAA+P8="`},
		{`"float32"`, "0000c03f", `"AAAAAAAA+D8="`},
		{`"float64"`, "000000000000f8ff", `"AAAAAAAA+P8="`},
		{`"float64"`, "010000000000f87f", `"AQAAAAAA+H8="`},
		{`"float64"`, "9a9999999999b93f", `"mpmZmZmZuT8="`},
		{`"float16"`, "003e", `"AAAAAAAA+D8="`},
		{`"int16"`, "19fc", `-999`},
		{`"uint64"`, "ffffffffffffffff", `18446744073709551615`},
		{`"bool"`, "01", `true`},
		{`"complex64"`, "0000803f0000c07f", `["AAAAAAAA8D8=","AAAAAAAA+H8="]`},
		{`"string"`, "6869", `"hi"`},
		{`{"name":"null_terminated_bytes","configuration":{"length_bytes":2}}`, "6869", `"aGk="`},
	}
	for _, c := range cases {
		d, err := ParseDataType([]byte(c.dtype))
		if err != nil {
			t.Fatal(err)
		}
		element, _ := hex.DecodeString(c.element)
		mask, err := d.EncodeMask(element)
		if err != nil || string(mask) != c.mask {
			t.Errorf("%s %s: %s (%v), not %s", c.dtype, c.element, mask, err, c.mask)
		}
		got, err := d.DecodeMask([]byte(c.mask))
		if err != nil || hex.EncodeToString(got) != c.element {
			t.Errorf("%s %s: %x (%v), not %s", c.dtype, c.mask, got, err, c.element)
		}
	}
}

func TestMaskToV3(t *testing.T) {
	cases := []struct{ name, v2, before, after string }{
		{"fill value", withV2("fill_value", "-9.0"), `{"a":1}`, `{"a":1,"_FillValue":"AAAAAAAAIsA="}`},
		{"over the attribute", withV2("fill_value", "-9.0"), `{"_FillValue":1.0,"a":1}`, `{"_FillValue":"AAAAAAAAIsA=","a":1}`},
		{"attribute alone", withV2("fill_value", "null"), `{"_FillValue":-9.0}`, `{"_FillValue":"AAAAAAAAIsA="}`},
		{"none", withV2("fill_value", "null"), `{}`, `{}`},
		{"NaT", withV2("dtype", `"<M8[s]"`, "fill_value", "-9223372036854775808"), `{}`, `{}`},
	}
	for _, c := range cases {
		v2, err := ParseV2Array([]byte(c.v2))
		if err != nil {
			t.Fatal(err)
		}
		a, err := v2.ToV3(mustAttributes(t, c.before), MaskFill)
		if err != nil || string(a.Attributes.JSON()) != c.after {
			t.Errorf("%s: %s (%v)", c.name, a.Attributes.JSON(), err)
		}
	}
	v2, err := ParseV2Array([]byte(withV2("dtype", `"<M8[s]"`, "fill_value", "0")))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := v2.ToV3(Attributes{}, MaskFill); !errors.Is(err, errors.ErrUnsupported) || a != nil {
		t.Errorf("a mask that xarray cannot read: %v", err)
	}
}

func TestHierarchyToV3AndBack(t *testing.T) {
	doc := `{"metadata":{".zgroup":{"zarr_format":2},".zattrs":{"a":1},"g/.zgroup":{"zarr_format":2},"g/.zattrs":{},"g/v/.zarray":` + withV2() +
		`,"g/v/.zattrs":{"units":"K","_ARRAY_DIMENSIONS":["y","x"]}},"zarr_consolidated_format":1}`
	c, err := ParseV2Consolidated([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.ToV3(KeepFill)
	if err != nil {
		t.Fatal(err)
	}
	v3, err := g.Encode(Compact)
	if err != nil {
		t.Fatal(err)
	}
	if g, err = ParseGroup(v3); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, m := range g.Consolidated.Members {
		paths = append(paths, m.Path)
	}
	if !slices.Equal(paths, []string{"g", "g/v"}) {
		t.Errorf("members %v", paths)
	}
	back, err := g.ToV2(V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := back.Encode(Compact)
	if err != nil || string(got) != doc {
		t.Errorf("written as\n%s (%v), not\n%s", got, err, doc)
	}
}
