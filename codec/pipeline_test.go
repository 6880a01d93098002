package codec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"varve/fixtures/system"
)

// The most frequent types in the tests.
var (
	int16Type   = Type{Kind: Int, Size: 2}
	float32Type = Type{Kind: Float, Size: 4}
	float64Type = Type{Kind: Float, Size: 8}
	stringType  = Type{Kind: String}
)

// specs parses the list of codecs of a document.
func specs(t testing.TB, list string) []Spec {
	t.Helper()
	var out []Spec
	if err := json.Unmarshal([]byte(list), &out); err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	return out
}

func mustNew(t testing.TB, list string, form Form) *Pipeline {
	t.Helper()
	p, err := New(specs(t, list), form)
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	return p
}

// ramp returns n bytes that compress moderately.
func ramp(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i/16) + byte(r.IntN(3))
	}
	return b
}

func TestPipelineRoundTrip(t *testing.T) {
	for _, list := range []string{
		`[{"name":"bytes","configuration":{"endian":"little"}}]`,
		`[{"name":"bytes","configuration":{"endian":"big"}}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip","configuration":{"level":5}}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":0,"checksum":true}}]`,
		`[{"name":"bytes","configuration":{"endian":"big"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib","configuration":{"level":4}},{"name":"numcodecs.fletcher32","configuration":{}}]`,
		`[{"name":"transpose","configuration":{"order":[2,0,1]}},{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]`,
		`[{"name":"transpose","configuration":{"order":[2,0,1]}},{"name":"transpose","configuration":{"order":[0,2,1]}},{"name":"bytes","configuration":{"endian":"big"}},{"name":"zstd"},{"name":"gzip"}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.crc32","configuration":{}},{"name":"numcodecs.adler32","configuration":{}},{"name":"numcodecs.crc32c","configuration":{}}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.lz4","configuration":{}},{"name":"imagecodecs_lz4h5","configuration":{}}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"blosc","configuration":{"typesize":4,"cname":"lz4","clevel":5,"shuffle":"bitshuffle","blocksize":0}}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.blosc","configuration":{"cname":"zstd","clevel":1,"shuffle":-1,"blocksize":1024}},{"name":"gzip"}]`,
	} {
		p := mustNew(t, list, Form{Type: float32Type, Shape: []int64{3, 50, 7}})
		src := Elems{Fixed: ramp(3 * 50 * 7 * 4)}
		stored, err := p.Encode([]byte("before"), src)
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		if !bytes.HasPrefix(stored, []byte("before")) {
			t.Errorf("%s: Encode does not append", list)
		}
		stored = stored[len("before"):]
		if size, ok := p.EncodedSize(); ok && size != len(stored) {
			t.Errorf("%s: EncodedSize says %d, stored are %d", list, size, len(stored))
		}
		dst := NewElems(p.Form())
		if err := p.Decode(dst, stored); err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		if !bytes.Equal(dst.Fixed, src.Fixed) {
			t.Errorf("%s: elements differ", list)
		}
	}
}

// TestStoredBytes compares the stored form of small chunks with bytes that were derived by hand
// from the specifications.
func TestStoredBytes(t *testing.T) {
	for _, tt := range []struct{ name, list, elems, stored string }{
		{"little", `[{"name":"bytes","configuration":{"endian":"little"}}]`, "0100020003000400", "0100020003000400"},
		{"big", `[{"name":"bytes","configuration":{"endian":"big"}}]`, "0100020003000400", "0001000200030004"},
		{"transpose", `[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"little"}}]`, "0100020003000400", "0100030002000400"},
		{"shuffle", `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":2}}]`, "0100020003000400", "0102030400000000"},
		{"shuffle by 3 keeps the tail", `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":3}}]`, "0102030405060708", "0104020503060708"},
		{"fletcher32", `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.fletcher32","configuration":{}}]`, "6162636465666768", "6162636465666768" + "9591ebe1"},
	} {
		p := mustNew(t, tt.list, Form{Type: int16Type, Shape: []int64{2, 2}})
		elems, err := hex.DecodeString(tt.elems)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := p.Encode(nil, Elems{Fixed: elems})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := hex.EncodeToString(stored); got != tt.stored {
			t.Errorf("%s: stored %s, want %s", tt.name, got, tt.stored)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	const le = `{"name":"bytes","configuration":{"endian":"little"}}`
	for _, tt := range []struct{ name, list string }{
		{"no bytes", `[]`},
		{"two bytes", `[` + le + `,` + le + `]`},
		{"array after bytes", `[` + le + `,{"name":"transpose","configuration":{"order":[0,1]}}]`},
		{"bytes in front", `[{"name":"crc32c"},` + le + `]`},
		{"unknown", `[` + le + `,{"name":"lzma9"}]`},
		{"refused", `[` + le + `,{"name":"numcodecs.zfpy"}]`},
		{"endian missing", `[{"name":"bytes"}]`},
		{"endian wrong", `[{"name":"bytes","configuration":{"endian":"middle"}}]`},
		{"level too high", `[` + le + `,{"name":"gzip","configuration":{"level":10}}]`},
		{"level no integer", `[` + le + `,{"name":"gzip","configuration":{"level":5.5}}]`},
		{"unknown field", `[` + le + `,{"name":"gzip","configuration":{"level":5,"window":3}}]`},
		{"order too short", `[{"name":"transpose","configuration":{"order":[0]}},` + le + `]`},
		{"order twice", `[{"name":"transpose","configuration":{"order":[1,1]}},` + le + `]`},
		{"order by letter", `[{"name":"transpose","configuration":{"order":"F"}},` + le + `]`},
		{"element size 0", `[` + le + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":0}}]`},
		{"blosc's shuffle by number", `[` + le + `,{"name":"blosc","configuration":{"shuffle":1}}]`},
		{"blosc's compressor", `[` + le + `,{"name":"numcodecs.blosc","configuration":{"cname":"lzo"}}]`},
		{"level null", `[` + le + `,{"name":"gzip","configuration":{"level":null}}]`},
		{"checksum null", `[` + le + `,{"name":"zstd","configuration":{"level":0,"checksum":null}}]`},
		{"order null", `[{"name":"transpose","configuration":{"order":null}},` + le + `]`},
		{"another id", `[` + le + `,{"name":"numcodecs.zlib","configuration":{"id":"gzip"}}]`},
		{"szip's mask", `[` + le + `,{"name":"imagecodecs_szip","configuration":{"options_mask":"x"}}]`},
		{"location", `[` + le + `,{"name":"numcodecs.crc32","configuration":{"location":"middle"}}]`},
	} {
		p, err := New(specs(t, tt.list), Form{Type: float32Type, Shape: []int64{2, 3}})
		if err == nil || p != nil {
			t.Errorf("%s: no error", tt.name)
		}
		checkMessage(t, tt.name, err)
	}
}

// TestNewAccepts checks configurations that zarr-python 3.4 accepts too.
func TestNewAccepts(t *testing.T) {
	const le = `{"name":"bytes","configuration":{"endian":"little"}}`
	for _, codec := range []string{
		`{"name":"gzip","configuration":{"level":1,"level":2},"must_understand":false}`,
		`{"name":"numcodecs.gzip","configuration":{"level":-1}}`,
		`{"name":"numcodecs.zlib","configuration":{"id":"zlib","level":1}}`,
		`{"name":"numcodecs.shuffle","configuration":{"elementsize":null}}`,
		`{"name":"numcodecs.crc32","configuration":{"location":null}}`,
		`{"name":"zstd","configuration":{"level":-131073}}`,
		`{"name":"blosc","configuration":{"typesize":null,"shuffle":null}}`,
	} {
		p := mustNew(t, "["+le+","+codec+"]", Form{Type: float32Type, Shape: []int64{2, 3}})
		stored, err := p.Encode(nil, Elems{Fixed: ramp(24)})
		if err != nil {
			t.Errorf("%s: %v", codec, err)
			continue
		}
		dst := NewElems(p.Form())
		if err := p.Decode(dst, stored); err != nil || !bytes.Equal(dst.Fixed, ramp(24)) {
			t.Errorf("%s: error %v, or elements differ", codec, err)
		}
	}
}

func TestUnknownCodecsAreUnsupported(t *testing.T) {
	for _, name := range []string{"nonsense", "numcodecs.zfpy", "numcodecs.pcodec"} {
		_, err := New([]Spec{{Name: name}}, Form{Type: float32Type, Shape: []int64{1}})
		if !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v is not marked as unsupported", name, err)
		}
	}
}

func TestSpecJSON(t *testing.T) {
	for _, tt := range []struct{ in, out string }{
		{`"crc32c"`, `{"name":"crc32c"}`},
		{`"zstd"`, `{"name":"zstd","configuration":{}}`},
		{`{"name":"bytes"}`, `{"name":"bytes"}`},
		{`{"name":"gzip","configuration":{"level":9}}`, `{"name":"gzip","configuration":{"level":9}}`},
		{`{"configuration":{}}`, ""},
		{`{"name":""}`, ""},
		{`{"name":"gzip","configuration":[1]}`, ""},
		{`{"name":"gzip","config":{}}`, ""},
		{`7`, ""},
		{`null`, ""},
	} {
		var s Spec
		err := json.Unmarshal([]byte(tt.in), &s)
		if tt.out == "" {
			if err == nil {
				t.Errorf("%s: accepted", tt.in)
			}
			checkMessage(t, tt.in, err)
			continue
		}
		out, err2 := json.Marshal(s)
		if err != nil || err2 != nil || string(out) != tt.out {
			t.Errorf("%s: written as %s (%v, %v), want %s", tt.in, out, err, err2, tt.out)
		}
	}
}

// TestWordsOfBigEndian checks that exactly the bytes of each word of an element are reversed.
func TestWordsOfBigEndian(t *testing.T) {
	point := Type{Kind: Struct, Size: 7, Fields: []Field{
		{Name: "a", Type: Type{Kind: Int, Size: 2}}, {Name: "b", Type: Type{Kind: Raw, Size: 3}}, {Name: "c", Type: Type{Kind: Uint, Size: 2}}}}
	for _, tt := range []struct {
		name string
		typ  Type
		want []byte
	}{
		{"a number", Type{Kind: Float, Size: 4}, []byte{4, 3, 2, 1}},
		{"a complex number", Type{Kind: Complex, Size: 8}, []byte{4, 3, 2, 1, 8, 7, 6, 5}},
		{"text", Type{Kind: FixedUTF32, Size: 8}, []byte{4, 3, 2, 1, 8, 7, 6, 5}},
		{"a time", Type{Kind: DateTime, Size: 8, Unit: "s", Ticks: 1}, []byte{8, 7, 6, 5, 4, 3, 2, 1}},
		{"bytes", Type{Kind: FixedBytes, Size: 3}, []byte{1, 2, 3}},
		{"a struct", point, []byte{2, 1, 3, 4, 5, 7, 6}},
	} {
		p := mustNew(t, `[{"name":"bytes","configuration":{"endian":"big"}}]`, Form{Type: tt.typ})
		elements := make([]byte, tt.typ.Size)
		for i := range elements {
			elements[i] = byte(i + 1)
		}
		stored, err := p.Encode(nil, Elems{Fixed: elements})
		if err != nil || !bytes.Equal(stored, tt.want) {
			t.Errorf("%s: stored as %v (%v), want %v", tt.name, stored, err, tt.want)
		}
		got := NewElems(p.Form())
		if err := p.Decode(got, stored); err != nil || !bytes.Equal(got.Fixed, elements) {
			t.Errorf("%s: read as %v (%v), want %v", tt.name, got.Fixed, err, elements)
		}
	}
}

// TestStoredTooLong checks that codecs that keep the length refuse any other.
func TestStoredTooLong(t *testing.T) {
	for _, list := range []string{
		`[{"name":"bytes","configuration":{"endian":"little"}}]`,
		`[{"name":"bytes","configuration":{"endian":"big"}}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.fletcher32","configuration":{}}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.zlib","configuration":{}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}]`,
	} {
		short, long := mustNew(t, list, Form{Type: float32Type, Shape: []int64{100}}), mustNew(t, list, Form{Type: float32Type, Shape: []int64{101}})
		stored, err := long.Encode(nil, Elems{Fixed: ramp(404)})
		if err != nil {
			t.Fatal(err)
		}
		if err := short.Decode(NewElems(short.Form()), stored); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error is %v", list, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	const zlib = `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.zlib","configuration":{}},{"name":"numcodecs.fletcher32","configuration":{}}]`
	p := mustNew(t, zlib, Form{Type: float32Type, Shape: []int64{10, 10}})
	good, err := p.Encode(nil, Elems{Fixed: ramp(400)})
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[7] ^= 1
	longer := mustNew(t, zlib, Form{Type: float32Type, Shape: []int64{11, 10}})
	tooMuch, err := longer.Encode(nil, Elems{Fixed: ramp(440)})
	if err != nil {
		t.Fatal(err)
	}
	shorter := mustNew(t, zlib, Form{Type: float32Type, Shape: []int64{9, 10}})
	tooLittle, err := shorter.Encode(nil, Elems{Fixed: ramp(360)})
	if err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string][]byte{
		"empty": nil, "short": good[:3], "truncated": good[:len(good)-9], "flipped": flipped,
		"too much": tooMuch, "too little": tooLittle,
	} {
		err := p.Decode(NewElems(p.Form()), stored)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error is %v, want it marked as corrupt", name, err)
		}
	}
	if err := p.Decode(Elems{Fixed: make([]byte, 399)}, good); err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("a buffer of the wrong size: error is %v, which blames the chunk", err)
	}
}

func TestSkip(t *testing.T) {
	p := mustNew(t, `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib","configuration":{}},{"name":"numcodecs.fletcher32","configuration":{}}]`,
		Form{Type: float32Type, Shape: []int64{100}})
	src := Elems{Fixed: ramp(400)}
	for mask := range uint32(8) {
		q := p.Skip(mask)
		stored, err := q.Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		dst := NewElems(p.Form())
		if err := p.Skip(mask).Decode(dst, stored); err != nil || !bytes.Equal(dst.Fixed, src.Fixed) {
			t.Errorf("mask %03b: error %v, or elements differ", mask, err)
		}
		if p.SameDecode(q) != (mask == 0) {
			t.Errorf("mask %03b: SameDecode is %v", mask, mask != 0)
		}
	}
	raw, err := p.Skip(7).Encode(nil, src)
	if err != nil || !bytes.Equal(raw, src.Fixed) {
		t.Errorf("a chunk without filters is not its elements: %v", err)
	}
}

func TestSameDecode(t *testing.T) {
	form := Form{Type: float32Type, Shape: []int64{4, 4}}
	const le, be = `{"name":"bytes","configuration":{"endian":"little"}}`, `{"name":"bytes","configuration":{"endian":"big"}}`
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"levels", le + `,{"name":"gzip","configuration":{"level":1}}`, le + `,{"name":"gzip","configuration":{"level":9}}`, true},
		{"spellings of zstd", le + `,{"name":"zstd"}`, le + `,{"name":"numcodecs.zstd"}`, true},
		{"spellings of gzip", le + `,{"name":"gzip"}`, le + `,{"name":"numcodecs.gzip"}`, true},
		{"gzip and zlib", le + `,{"name":"gzip"}`, le + `,{"name":"numcodecs.zlib"}`, false},
		{"byte orders", le, be, false},
		{"shuffle by 1", le + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":1}}`, le, true},
		{"shuffle by the default", le + `,{"name":"numcodecs.shuffle"}`, le + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}`, true},
		{"shuffle by 2", le + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":2}}`, le + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}`, false},
		{"axes in order", `{"name":"transpose","configuration":{"order":[0,1]}},` + le, le, true},
		{"axes swapped", `{"name":"transpose","configuration":{"order":[1,0]}},` + le, le, false},
		{"spellings of crc32c", le + `,{"name":"crc32c"}`, le + `,{"name":"numcodecs.crc32c"}`, true},
		{"checksum in front", le + `,{"name":"crc32c"}`, le + `,{"name":"numcodecs.crc32c","configuration":{"location":"start"}}`, false},
	} {
		a, b := mustNew(t, "["+tt.a+"]", form), mustNew(t, "["+tt.b+"]", form)
		if a.SameDecode(b) != tt.same || b.SameDecode(a) != tt.same {
			t.Errorf("%s: SameDecode is %v, want %v", tt.name, !tt.same, tt.same)
		}
	}
	int8s := Form{Type: Type{Kind: Int, Size: 1}, Shape: []int64{4, 4}}
	if !mustNew(t, "["+le+"]", int8s).SameDecode(mustNew(t, "["+be+"]", int8s)) {
		t.Error("byte order matters for single bytes")
	}
	whole := mustNew(t, "["+le+"]", form)
	for name, other := range map[string]Form{
		"another shape":      {Type: float32Type, Shape: []int64{2, 8}},
		"another type":       {Type: Type{Kind: Int, Size: 4}, Shape: []int64{4, 4}},
		"another type, size": {Type: Type{Kind: Float, Size: 8}, Shape: []int64{4, 4}},
	} {
		if p := mustNew(t, "["+le+"]", other); whole.SameDecode(p) || p.SameDecode(whole) {
			t.Errorf("%s: SameDecode is true", name)
		}
	}
}

// TestSameDecodeOfFill checks that decoding depends on the fill value if an inner chunk is
// missing from a shard.
func TestSameDecodeOfFill(t *testing.T) {
	form := func(fill string) Form {
		return Form{Type: float32Type, Shape: []int64{4}, Fill: []byte(fill)}
	}
	none, zero, one := form(""), form("\x00\x00\x00\x00"), form("\x00\x00\x80\x3f")
	none.Fill = nil
	shard, raw := "["+shards("[2]", littleBytes)+"]", "["+littleBytes+"]"
	nested := "[" + shards("[4]", shards("[2]", littleBytes)) + "]"
	for _, tt := range []struct {
		name, list string
		a, b       Form
		same       bool
	}{
		{"shards of 0 and 1", shard, zero, one, false},
		{"shards within shards of 0 and 1", nested, zero, one, false},
		{"shards of nothing and 0", shard, none, zero, true},
		{"shards of 1", shard, one, one, true},
		{"whole chunks of 0 and 1", raw, zero, one, true},
	} {
		if got := mustNew(t, tt.list, tt.a).SameDecode(mustNew(t, tt.list, tt.b)); got != tt.same {
			t.Errorf("%s: SameDecode is %v, want %v", tt.name, got, tt.same)
		}
	}
}

func TestClients(t *testing.T) {
	const le = `{"name":"bytes","configuration":{"endian":"little"}}`
	const by4, zlib = `{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}`, `{"name":"numcodecs.zlib"}`
	for _, tt := range []struct {
		name, list string
		want       Client
	}{
		{"zlib after shuffle", le + "," + by4 + "," + zlib, AnyClient},
		{"shuffle after zlib, of any length", le + "," + zlib + "," + by4, NoClient},
		{"shuffle of one byte after zlib", le + "," + zlib + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":1}}`, AnyClient},
		{"shuffle with a tail", le + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":7}}`, NoClient},
		{"blosc", le + `,{"name":"blosc"}`, AnyClient},
		{"snappy", le + `,{"name":"numcodecs.blosc","configuration":{"cname":"snappy"}}`, NoClient},
		{"in a shard", shards("[3]", le+`,{"name":"imagecodecs_lz4h5"}`), WithImagecodecs},
		{"quantize", `{"name":"numcodecs.quantize","configuration":{"digits":2,"astype":"<f4"}},` + le, AnyClient},
		{"quantize to another type", `{"name":"numcodecs.quantize","configuration":{"digits":2,"astype":"<f8"}},` + le, NoClient},
		{"lzf", le + `,{"name":"hdf5.lzf","configuration":{"cd_values":[]}}`, NoClient},
	} {
		p := mustNew(t, "["+tt.list+"]", Form{Type: float32Type, Shape: []int64{6}})
		if got := p.Clients(); got != tt.want {
			t.Errorf("%s: clients are %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestWithShape(t *testing.T) {
	p := mustNew(t, `[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd"}]`, Form{Type: int16Type, Shape: []int64{31, 10}})
	q, err := p.WithShape([]int64{28, 10})
	if err != nil {
		t.Fatal(err)
	}
	src := Elems{Fixed: ramp(28 * 10 * 2)}
	stored, err := q.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	dst := NewElems(q.Form())
	if err := q.Decode(dst, stored); err != nil || !bytes.Equal(dst.Fixed, src.Fixed) {
		t.Errorf("another shape: error %v, or elements differ", err)
	}
	if got := p.Form().Shape[0]; got != 31 {
		t.Errorf("the first pipeline's shape became %d", got)
	}
	for _, shape := range [][]int64{{28}, {-1, 10}, {1 << 40, 1 << 40}} {
		if _, err := p.WithShape(shape); err == nil {
			t.Errorf("shape %v is accepted", shape)
		}
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	for _, list := range []string{
		`[{"name":"bytes","configuration":{"endian":"big"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib","configuration":{}},{"name":"numcodecs.fletcher32","configuration":{}}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd"},{"name":"crc32c"}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.lz4"}]`,
		`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"blosc"}]`,
	} {
		p := mustNew(t, list, Form{Type: float32Type, Shape: []int64{64, 64}})
		stored, err := p.Encode(nil, Elems{Fixed: ramp(64 * 64 * 4)})
		if err != nil {
			t.Fatal(err)
		}
		dst := NewElems(p.Form())
		allocs := testing.AllocsPerRun(100, func() {
			if err := p.Decode(dst, stored); err != nil {
				t.Fatal(err)
			}
		})
		if allocs >= 1 && !system.Race {
			t.Errorf("%s: %v allocations a chunk", list, allocs)
		}
	}
}

// TestCheckExact checks which pipelines are lossless.
func TestCheckExact(t *testing.T) {
	const le = `{"name":"bytes","configuration":{"endian":"little"}}`
	for list, exact := range map[string]bool{
		le + `,{"name":"zstd"}`:                                                                                             true,
		le + `,{"name":"numcodecs.bz2"}`:                                                                                    false,
		`{"name":"transpose","configuration":{"order":[0]}},` + le:                                                          true,
		`{"name":"numcodecs.delta","configuration":{"dtype":"<i4"}},` + le:                                                  true,
		`{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":"<i2"}},` + le:                                   false,
		`{"name":"numcodecs.bitround","configuration":{"keepbits":3}},` + le:                                                false,
		`{"name":"numcodecs.quantize","configuration":{"digits":1,"dtype":"<f4"}},` + le:                                    false,
		`{"name":"numcodecs.fixedscaleoffset","configuration":{"scale":10,"offset":0,"dtype":"<f4"}},` + le:                 false,
		`{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f2","decode_dtype":"<f4"}},` + le:                     false,
		`{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[` + le + `],"index_codecs":[` + le + `]}}`: true,
		`{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"numcodecs.bitround","configuration":{"keepbits":3}},` + le + `],"index_codecs":[` + le + `]}}`: false,
	} {
		of := float32Type
		if strings.Contains(list, "i4") {
			of = Type{Kind: Int, Size: 4}
		}
		p := mustNew(t, "["+list+"]", Form{Type: of, Shape: []int64{4}, Fill: make([]byte, 4)})
		if err := p.CheckExact(); (err == nil) != exact || err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

func TestCanEncode(t *testing.T) {
	const le = `{"name":"bytes","configuration":{"endian":"little"}}`
	for _, tt := range []struct {
		name, codec string
		canEncode   bool
	}{
		{"zstd", `{"name":"zstd"}`, true},
		{"bzip2", `{"name":"numcodecs.bz2"}`, false},
		{"snappy", `{"name":"blosc","configuration":{"cname":"snappy"}}`, false},
		{"lzf", `{"name":"hdf5.lzf","configuration":{"cd_values":[]}}`, false},
	} {
		p := mustNew(t, "["+le+","+tt.codec+"]", Form{Type: float32Type, Shape: []int64{4}})
		err := p.CanEncode()
		_, encodeErr := p.Encode(nil, NewElems(p.Form()))
		if tt.canEncode {
			if err != nil || encodeErr != nil {
				t.Errorf("%s: %v, %v", tt.name, err, encodeErr)
			}
			continue
		}
		for _, e := range []error{err, encodeErr} {
			if !errors.Is(e, errors.ErrUnsupported) {
				t.Errorf("%s: error is %v, want ErrUnsupported", tt.name, e)
			}
			checkMessage(t, tt.name, e)
		}
	}
}

func TestCanEncodeDoesNotAllocate(t *testing.T) {
	p := mustNew(t, `[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}]`,
		Form{Type: float32Type, Shape: []int64{8, 8}})
	allocs := testing.AllocsPerRun(100, func() {
		if err := p.CanEncode(); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 && !system.Race {
		t.Errorf("%v allocations, which every chunk that is encoded would make", allocs)
	}
}

// TestBitshuffleBlock decodes eight elements of 1 with various block sizes. A block size of 0,
// which some cameras write, means the default of HDF5's filter.
func TestBitshuffleBlock(t *testing.T) {
	form := Form{Type: Type{Kind: Uint, Size: 2}, Shape: []int64{8}}
	p, err := New(specs(t, `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"hdf5.bitshuffle","configuration":{"cd_values":[0,3,2,0,2]}}]`), form)
	if err != nil {
		t.Fatal(err)
	}
	const planes = "f001" + "ff" + "000000000000000000000000000000" // LZ4, of 16 literals
	for said, ok := range map[uint32]bool{0: true, 1: true, 16: true, 17: true, 8192: true, 6: false, 8190: false} {
		stored, err := hex.DecodeString("0000000000000010" + fmt.Sprintf("%08x", said) + "00000012" + planes)
		if err != nil {
			t.Fatal(err)
		}
		elems := NewElems(form)
		err = p.Decode(elems, stored)
		if got := hex.EncodeToString(elems.Fixed); ok && (err != nil || got != strings.Repeat("0100", 8)) {
			t.Errorf("blocks of %d bytes: %s, %v", said, got, err)
		}
		if !ok && !errors.Is(err, ErrCorrupt) {
			t.Errorf("blocks of %d bytes: got %v", said, err)
		}
	}
}
