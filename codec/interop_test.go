package codec_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/fixtures/venv"
)

// interopCase is an array of one chunk that varve and zarr-python both write and read.
type interopCase struct {
	Name   string          `json:"name"`
	DType  json.RawMessage `json:"data_type"`
	Fill   json.RawMessage `json:"fill"`
	Codecs json.RawMessage `json:"codecs"`
	Zarrs  bool            `json:"zarrs"` // zarrs reads it too

	form codec.Form
	bits int // the elements that are stored have no more bits; 0 stands for all
}

// interopType is an element type, as a document and in memory.
type interopType struct {
	name, dtype, fill string
	typ               codec.Type
}

func interopTypes() []interopType {
	var types []interopType
	add := func(name, dtype, fill string, t codec.Type) {
		types = append(types, interopType{name, dtype, fill, t})
	}
	add("bool", `"bool"`, "false", codec.Type{Kind: codec.Bool, Size: 1})
	for _, size := range []int{1, 2, 4, 8} {
		add(fmt.Sprint("int", 8*size), fmt.Sprintf(`"int%d"`, 8*size), "0", codec.Type{Kind: codec.Int, Size: size})
		add(fmt.Sprint("uint", 8*size), fmt.Sprintf(`"uint%d"`, 8*size), "0", codec.Type{Kind: codec.Uint, Size: size})
	}
	for _, size := range []int{2, 4, 8} {
		add(fmt.Sprint("float", 8*size), fmt.Sprintf(`"float%d"`, 8*size), "0.0", codec.Type{Kind: codec.Float, Size: size})
	}
	for _, size := range []int{8, 16} {
		add(fmt.Sprint("complex", 8*size), fmt.Sprintf(`"complex%d"`, 8*size), "[0.0, 0.0]", codec.Type{Kind: codec.Complex, Size: size})
	}
	add("S3", `{"name":"null_terminated_bytes","configuration":{"length_bytes":3}}`, `""`, codec.Type{Kind: codec.FixedBytes, Size: 3})
	add("V5", `{"name":"raw_bytes","configuration":{"length_bytes":5}}`, `"AAAAAAA="`, codec.Type{Kind: codec.Raw, Size: 5})
	add("U2", `{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}`, `""`, codec.Type{Kind: codec.FixedUTF32, Size: 8})
	add("datetime64", `{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}`, "0", codec.Type{Kind: codec.DateTime, Size: 8, Unit: "s", Ticks: 1})
	add("timedelta64", `{"name":"numpy.timedelta64","configuration":{"unit":"ms","scale_factor":10}}`, "0", codec.Type{Kind: codec.TimeDelta, Size: 8, Unit: "ms", Ticks: 10})
	add("struct", `{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":"uint8"},{"name":"c","data_type":"float64"}]}}`,
		`{"a":0,"b":0,"c":0.0}`, codec.Type{Kind: codec.Struct, Size: 11, Fields: []codec.Field{
			{Name: "a", Type: codec.Type{Kind: codec.Int, Size: 2}}, {Name: "b", Type: codec.Type{Kind: codec.Uint, Size: 1}}, {Name: "c", Type: codec.Type{Kind: codec.Float, Size: 8}}}})
	return types
}

// interopBytes are the bytes-to-bytes codecs that varve encodes, and whether zarrs implements
// them in Rust.
var interopBytes = []struct {
	name, codecs string
	zarrs        bool
}{
	{"raw", ``, true},
	{"gzip", `{"name":"gzip","configuration":{"level":6}}`, true},
	{"zstd", `{"name":"zstd","configuration":{"level":3,"checksum":true}}`, true},
	{"crc32c", `{"name":"crc32c"}`, true},
	{"blosc-lz4", `{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}}`, true},
	{"blosc-zstd", `{"name":"blosc","configuration":{"cname":"zstd","clevel":5,"shuffle":"bitshuffle","typesize":2,"blocksize":0}}`, true},
	{"blosc-zlib", `{"name":"numcodecs.blosc","configuration":{"cname":"zlib","clevel":5,"shuffle":1,"blocksize":0}}`, false},
	{"blosc-lz4hc", `{"name":"numcodecs.blosc","configuration":{"cname":"lz4hc","clevel":9,"shuffle":2,"blocksize":0}}`, false},
	{"blosc-blosclz", `{"name":"numcodecs.blosc","configuration":{"cname":"blosclz","clevel":9,"shuffle":0,"blocksize":256}}`, false},
	{"numcodecs.gzip", `{"name":"numcodecs.gzip","configuration":{"level":1}}`, false},
	{"numcodecs.zlib", `{"name":"numcodecs.zlib","configuration":{"level":9}}`, true},
	{"numcodecs.zstd", `{"name":"numcodecs.zstd","configuration":{"level":1}}`, false},
	{"numcodecs.lz4", `{"name":"numcodecs.lz4","configuration":{"acceleration":1}}`, false},
	{"numcodecs.shuffle", `{"name":"numcodecs.shuffle","configuration":{"elementsize":%d}}`, false},
	{"numcodecs.fletcher32", `{"name":"numcodecs.fletcher32","configuration":{}}`, false},
	{"numcodecs.crc32", `{"name":"numcodecs.crc32","configuration":{}}`, false},
	{"numcodecs.crc32c", `{"name":"numcodecs.crc32c","configuration":{}}`, false},
	{"numcodecs.adler32", `{"name":"numcodecs.adler32","configuration":{}}`, false},
	{"lzw", `{"name":"imagecodecs_lzw"}`, false},
	{"tiff-packbits", `{"name":"imagecodecs_packbits"}`, false},
	{"chain", `{"name":"numcodecs.shuffle","configuration":{"elementsize":%d}},{"name":"numcodecs.zlib","configuration":{"level":4}},{"name":"numcodecs.fletcher32","configuration":{}}`, false},
}

// interopArrays are array-to-array codecs, and array-to-bytes codecs other than "bytes", with
// the types that they accept. %s is replaced by NumPy's name of the type.
var interopArrays = []struct{ name, types, codecs string }{
	{"transpose", "int16 float64 S3", `{"name":"transpose","configuration":{"order":[1,0]}}`},
	{"delta", "int8 int16 int32 int64 uint8 uint16 uint32 uint64", `{"name":"numcodecs.delta","configuration":{"dtype":%q,"astype":%q}}`},
	{"fixedscaleoffset", "float32 float64", `{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":10,"scale":100,"dtype":%q,"astype":"<i4"}}`},
	{"quantize", "float16 float32 float64", `{"name":"numcodecs.quantize","configuration":{"digits":2,"dtype":%q,"astype":%q}}`},
	{"bitround", "float16 float32 float64", `{"name":"numcodecs.bitround","configuration":{"keepbits":5}}`},
	{"astype", "float32 int32 uint8", `{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f8","decode_dtype":%q}}`},
	{"tiff-delta", "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64", `{"name":"imagecodecs_delta","configuration":{"axis":-1,"dist":1}}`},
	{"tiff-columns", "int16 uint8", `{"name":"imagecodecs_delta","configuration":{"axis":-2}}`},
	{"packbits", "bool", `{"name":"numcodecs.packbits","configuration":{}}`},
	{"scale_offset", "float32 float64", `{"name":"scale_offset","configuration":{"offset":5.0,"scale":0.5}}`},
	{"scale_offset", "int16 int64", `{"name":"scale_offset","configuration":{"offset":5,"scale":1}}`},
	{"cast_value", "int16 uint16 int32", `{"name":"cast_value","configuration":{"data_type":"float64","rounding":"nearest-even"}}`},
	{"cast_value", "float32 float64", `{"name":"cast_value","configuration":{"data_type":"int16","rounding":"towards-zero","out_of_range":"clamp"}}`},
}

const interopFill = 3 // how many elements in five are not zero

func interopCases() []interopCase {
	var all []interopCase
	add := func(name string, t interopType, codecs string, zarrs bool) {
		all = append(all, interopCase{
			Name: name, DType: json.RawMessage(t.dtype), Fill: json.RawMessage(t.fill), Codecs: json.RawMessage("[" + codecs + "]"), Zarrs: zarrs,
			form: codec.Form{Type: t.typ, Shape: []int64{6, 35}},
		})
	}
	for _, t := range interopTypes() {
		for _, endian := range []string{"little", "big"} {
			layout := fmt.Sprintf(`{"name":"bytes","configuration":{"endian":%q}}`, endian)
			for _, b := range interopBytes {
				codecs := layout
				if b.codecs != "" {
					codecs += "," + strings.ReplaceAll(b.codecs, "%d", fmt.Sprint(t.typ.Size))
				}
				add(strings.Join([]string{b.name, t.name, endian}, "-"), t, codecs, b.zarrs && zarrsKnows(t.name))
			}
		}
		for _, a := range interopArrays {
			if !strings.Contains(" "+a.types+" ", " "+t.name+" ") {
				continue
			}
			for _, endian := range []string{"little", "big"} {
				first := strings.ReplaceAll(a.codecs, "%q", strconv.Quote(numpyNames[t.name]))
				add(strings.Join([]string{a.name, t.name, endian}, "-"), t, first+fmt.Sprintf(`,{"name":"bytes","configuration":{"endian":%q}}`, endian), false)
			}
		}
	}
	for _, c := range []struct {
		types, codec string
		less         int // bits of an element that are not stored
	}{
		{"float16 float32 float64", `{"name":"imagecodecs_floatpred","configuration":{"axis":-1,"dist":1}}`, 0},
		{"float16 float32 float64", `{"name":"imagecodecs_floatpred","configuration":{"axis":-1,"dist":1}},{"name":"imagecodecs_lzw"}`, 0},
		{"uint8 uint16 uint32", `{"name":"imagecodecs_packints","configuration":{"bitspersample":%d,"runlen":35}}`, 1},
		{"uint8 uint16", `{"name":"imagecodecs_packints","configuration":{"bitspersample":%d,"runlen":0}}`, 4},
		{"uint8", `{"name":"imagecodecs_packints","configuration":{"bitspersample":%d,"runlen":35}}`, 7},
	} {
		for _, t := range interopTypes() {
			if strings.Contains(" "+c.types+" ", " "+t.name+" ") {
				bits := 8*t.typ.Size - c.less
				add(fmt.Sprint("tiff-bytes-", len(all), "-", t.name), t, strings.ReplaceAll(c.codec, "%d", fmt.Sprint(bits)), false)
				all[len(all)-1].bits = bits
			}
		}
	}
	text := interopType{"string", `"string"`, `""`, codec.Type{Kind: codec.String}}
	blobs := interopType{"variable_length_bytes", `"variable_length_bytes"`, `""`, codec.Type{Kind: codec.Bytes}}
	for _, after := range []string{"", `,{"name":"zstd","configuration":{}}`, `,{"name":"gzip","configuration":{"level":1}},{"name":"crc32c"}`} {
		add(fmt.Sprint("vlen-utf8-", len(after)), text, `{"name":"vlen-utf8","configuration":{}}`+after, false)
		add(fmt.Sprint("vlen-bytes-", len(after)), blobs, `{"name":"vlen-bytes","configuration":{}}`+after, false)
	}
	return all
}

// numpyNames are the types in the configurations of numcodecs.
var numpyNames = map[string]string{
	"int8": "|i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint8": "|u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8",
	"float16": "<f2", "float32": "<f4", "float64": "<f8",
}

// zarrsKnows reports whether zarrs' Python pipeline reads a type in Rust.
func zarrsKnows(name string) bool {
	return strings.HasPrefix(name, "int") || strings.HasPrefix(name, "uint") || strings.HasPrefix(name, "float")
}

// TestInteropCodecs writes a chunk with every codec, type and byte order and lets zarr-python
// read it, then reads the chunks that zarr-python wrote for the same documents.
func TestInteropCodecs(t *testing.T) {
	venv.Python(t, "zarr-python")
	cases := interopSample(t)
	checkSample(t, cases)
	ours, theirs := t.TempDir(), t.TempDir()
	for i := range cases {
		writeCase(t, ours, &cases[i])
		writeDocument(t, theirs, &cases[i])
	}
	t.Run("zarr-python reads varve", func(t *testing.T) {
		runPython(t, "read", ours)
	})
	t.Run("varve reads zarr-python", func(t *testing.T) {
		runPython(t, "write", theirs)
		for i := range cases {
			readCase(t, theirs, &cases[i])
		}
	})
	t.Logf("%d arrays both ways", len(cases))
}

// interopSample returns all cases, or without VARVE_SOAK one in five of those whose only codecs are bytes-to-bytes codecs.
func interopSample(t *testing.T) (sample []interopCase) {
	t.Helper()
	var plain []interopCase
	for _, c := range interopCases() {
		if slices.ContainsFunc(interopBytes, func(b struct {
			name, codecs string
			zarrs        bool
		}) bool {
			return strings.HasPrefix(c.Name, b.name+"-")
		}) {
			plain = append(plain, c)
		} else {
			sample = append(sample, c)
		}
	}
	return append(sample, soak.Some(t, plain, 5)...)
}

// checkSample checks that cases have all types and all codecs.
func checkSample(t *testing.T, cases []interopCase) {
	t.Helper()
	var names strings.Builder
	for _, c := range cases {
		names.WriteString(" " + c.Name + "-")
	}
	for _, a := range interopTypes() {
		if !strings.Contains(names.String(), "-"+a.name+"-") {
			t.Errorf("no case has the type %s", a.name)
		}
	}
	for _, b := range interopBytes {
		if !strings.Contains(names.String(), " "+b.name+"-") {
			t.Errorf("no case has the codec %s", b.name)
		}
	}
	for _, a := range interopArrays {
		if !strings.Contains(names.String(), " "+a.name+"-") {
			t.Errorf("no case has the codec %s", a.name)
		}
	}
}

func runPython(t *testing.T, args ...string) {
	t.Helper()
	venv.Run(t, "zarr-python", append([]string{"testdata/interop.py"}, args...)...)
}

// writeDocument writes the zarr.json of a case, and the options that zarr-python needs.
func writeDocument(t *testing.T, folder string, c *interopCase) {
	t.Helper()
	document := map[string]any{
		"zarr_format": 3, "node_type": "array", "shape": c.form.Shape, "data_type": c.DType, "fill_value": c.Fill, "codecs": c.Codecs, "attributes": c,
		"chunk_grid":         map[string]any{"name": "regular", "configuration": map[string]any{"chunk_shape": c.form.Shape}},
		"chunk_key_encoding": map[string]any{"name": "default", "configuration": map[string]any{"separator": "/"}},
	}
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	writeFile(t, raw, folder, c.Name, "zarr.json")
}

// writeCase writes a case with a chunk that varve encoded, and its elements.
func writeCase(t *testing.T, folder string, c *interopCase) {
	t.Helper()
	writeDocument(t, folder, c)
	p := interopPipeline(t, c)
	elements := randomElems(c.form, uint64(len(c.Name)))
	for i := range elements.Fixed {
		if at := i % c.form.Type.Size; c.bits > 0 && c.bits < 8*(at+1) {
			elements.Fixed[i] &= 1<<(c.bits&7) - 1
		}
	}
	stored, err := p.Encode(nil, elements)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	back := codec.NewElems(c.form)
	if err := p.Decode(back, stored); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	writeFile(t, stored, folder, c.Name, "c/0/0")
	writeFile(t, flat(back), folder, c.Name, "elements")
}

// readCase decodes the chunk that zarr-python wrote.
func readCase(t *testing.T, folder string, c *interopCase) {
	t.Helper()
	stored, err := os.ReadFile(filepath.Join(folder, c.Name, "c/0/0"))
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	want, err := os.ReadFile(filepath.Join(folder, c.Name, "elements"))
	if err != nil {
		t.Fatal(err)
	}
	got := codec.NewElems(c.form)
	if err := interopPipeline(t, c).Decode(got, stored); err != nil {
		t.Errorf("%s: %v", c.Name, err)
	} else if !bytes.Equal(flat(got), want) {
		t.Errorf("%s: elements differ", c.Name)
	}
}

func interopPipeline(t *testing.T, c *interopCase) *codec.Pipeline {
	t.Helper()
	var specs []codec.Spec
	if err := json.Unmarshal(c.Codecs, &specs); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	p, err := codec.New(specs, c.form)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return p
}

// randomElems returns valid elements, many of them equal.
func randomElems(f codec.Form, seed uint64) codec.Elems {
	r := rand.New(rand.NewPCG(7, seed))
	e := codec.NewElems(f)
	for at := 0; at < len(e.Fixed); at += f.Type.Size {
		if r.IntN(5) < interopFill {
			randomElement(r, e.Fixed[at:at+f.Type.Size], f.Type)
		}
	}
	for i := range e.Var {
		if r.IntN(5) < interopFill {
			e.Var[i] = []byte(strings.Repeat("Ωx", r.IntN(20)))
		}
	}
	return e
}

// flat returns the elements as one slice; each element of varying length follows its length.
func flat(e codec.Elems) []byte {
	out := e.Fixed
	for _, b := range e.Var {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
		out = append(out, b...)
	}
	return out
}

func randomElement(r *rand.Rand, element []byte, t codec.Type) {
	for i := range element {
		element[i] = byte(r.Uint32())
	}
	switch t.Kind {
	case codec.Float:
		randomFloat(r, element)
	case codec.Bool:
		element[0] &= 1
	case codec.FixedUTF32:
		for i := range element {
			if i%4 != 0 {
				element[i] = 0
			}
		}
		element[0] |= 1
	case codec.FixedBytes:
		for i := range element {
			element[i] |= 1
		}
	}
}

// randomFloat returns a number for which every codec here has a defined result.
func randomFloat(r *rand.Rand, element []byte) {
	v := math.Round(r.NormFloat64()*1e5) / 128
	switch len(element) {
	case 2:
		binary.LittleEndian.PutUint16(element, uint16(r.IntN(0x5800))) // from 0 to 128
	case 4:
		binary.LittleEndian.PutUint32(element, math.Float32bits(float32(v)))
	case 8:
		binary.LittleEndian.PutUint64(element, math.Float64bits(v))
	}
}

func writeFile(t *testing.T, content []byte, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err := errors.Join(err, os.WriteFile(name, content, 0o644)); err != nil {
		t.Fatal(err)
	}
}
