package convert

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// typeOf parses NumPy's codes: i2, f8, S5, U5, M8[s], …
func typeOf(t testing.TB, code string) codec.Type {
	t.Helper()
	kinds := map[byte]codec.Kind{'b': codec.Bool, 'i': codec.Int, 'u': codec.Uint, 'f': codec.Float, 'c': codec.Complex,
		'S': codec.FixedBytes, 'U': codec.FixedUTF32, 'O': codec.String, 'M': codec.DateTime, 'V': codec.Raw}
	typ := codec.Type{Kind: kinds[code[0]]}
	name, unit, _ := strings.Cut(code[1:], "[")
	if _, err := fmt.Sscan(name, &typ.Size); err != nil && typ.Kind != codec.String {
		t.Fatalf("%s: %v", code, err)
	}
	if typ.Kind == codec.FixedUTF32 {
		typ.Size *= 4
	}
	if typ.Kind == codec.DateTime {
		typ.Unit, typ.Ticks = strings.TrimSuffix(unit, "]"), 1
	}
	return typ
}

// load reads a file of testdata.
func load(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// variable returns a variable with attributes as pairs of name and value: texts, and numbers of the
// given type.
func variable(t testing.TB, typ codec.Type, attributes ...any) *manifest.Variable {
	t.Helper()
	v := &manifest.Variable{Path: "/x", Type: typ}
	for i := 0; i < len(attributes); i += 2 {
		a := manifest.Attribute{Name: attributes[i].(string)}
		switch value := attributes[i+1].(type) {
		case string:
			a.Type, a.Texts = codec.Type{Kind: codec.String}, []string{value}
		case []byte:
			a.Type, a.Data = typ, value
		case float64:
			a.Type, a.Data = float64Type, cf.AppendWord(nil, math.Float64bits(value), 8)
		default:
			t.Fatalf("%v", value)
		}
		v.Attributes = append(v.Attributes, a)
	}
	return v
}

// schema returns a schema with attributes as a JSON object.
func schema(t testing.TB, typ codec.Type, attributes string) *zarrjson.Array {
	t.Helper()
	dt, err := zarrjson.DataTypeOf(typ)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := zarrjson.ParseAttributes([]byte(attributes))
	if err != nil {
		t.Fatal(err)
	}
	return &zarrjson.Array{DataType: dt, Attributes: parsed}
}

const nanMask = `{"_FillValue":"AAAAAAAA+H8="}`

func TestPromoteIsNumPys(t *testing.T) {
	var cases [][4]any
	load(t, "promotions.json", &cases)
	for _, c := range cases {
		a, b := typeOf(t, c[0].(string)), typeOf(t, c[1].(string))
		got, err := Promote(a, b)
		if want := typeOf(t, c[2].(string)); err != nil || !got.Equal(want) {
			t.Errorf("%s and %s: %s (%v), want %s", a, b, got, err, want)
		}
		if got := Safe(a, b); got != c[3] {
			t.Errorf("%s to %s: safe is %v, want %v", a, b, got, c[3])
		}
	}
}

func TestPromoteOthers(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"S3", "S10", "S10"}, {"U3", "U10", "U10"}, {"S3", "O0", "O0"}, {"O0", "U4", "O0"}, {"c8", "c16", "c16"},
		{"M8[s]", "M8[ns]", "M8[ns]"}, {"M8[D]", "M8[h]", "M8[h]"}, {"M8[W]", "M8[D]", "M8[D]"},
		{"S3", "f4", ""}, {"O0", "i4", ""}, {"S3", "U3", ""}, {"c8", "f8", ""}, {"V3", "V4", ""}, {"M8[M]", "M8[D]", ""}, {"M8[s]", "i8", ""},
	} {
		a, b := typeOf(t, c.a), typeOf(t, c.b)
		for range 2 {
			got, err := Promote(a, b)
			switch {
			case c.want == "" && !errors.Is(err, errors.ErrUnsupported):
				t.Errorf("%s and %s: %s, %v", a, b, got, err)
			case c.want != "" && (err != nil || !got.Equal(typeOf(t, c.want))):
				t.Errorf("%s and %s: %s, %v; want %s", a, b, got, err, c.want)
			}
			a, b = b, a
		}
	}
}

func TestConversionsAreNumPys(t *testing.T) {
	var cases []struct {
		From, To, Unsigned string
		Scale, Offset      *float64
		Masks              []json.Number
		Stored, Schema     string
	}
	load(t, "conversions.json", &cases)
	for i, c := range cases {
		var attributes []any
		if c.Unsigned != "" {
			attributes = append(attributes, cf.Unsigned, c.Unsigned)
		}
		if c.Scale != nil {
			attributes = append(attributes, cf.ScaleFactor, *c.Scale)
		}
		if c.Offset != nil {
			attributes = append(attributes, cf.AddOffset, *c.Offset)
		}
		from, to := typeOf(t, c.From), typeOf(t, c.To)
		var masks []byte
		for _, m := range c.Masks {
			p, err := packingOf(schema(t, from, `{"missing_value":`+m.String()+`}`))
			if err != nil || len(p.Masks) != 1 {
				t.Fatalf("case %d: %s is no %s: %v", i, m, from, err)
			}
			masks = append(masks, p.Masks[0]...)
		}
		declared := "{}"
		if len(masks) > 0 {
			attributes = append(attributes, cf.MissingValue, masks)
			declared = nanMask
		}
		conversion, err := New(variable(t, from, attributes...), schema(t, to, declared), manifest.Unpacked)
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		holds(t, fmt.Sprintf("case %d, %+v", i, c), conversion, fromHex(t, c.Stored), fromHex(t, c.Schema))
	}
}

// holds applies a conversion to many elements and to few. NaN equals NaN.
func holds(t *testing.T, name string, c *Conversion, stored, want []byte) {
	t.Helper()
	const many = 100 // times; more than a block
	for _, n := range []int{1, many} {
		src, dst := bytes.Repeat(stored, n), bytes.Repeat([]byte{0xa5}, len(want)*n)
		if err := c.Apply(codec.Elems{Fixed: dst}, codec.Elems{Fixed: src}); err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if !bytes.Equal(src, bytes.Repeat(stored, n)) {
			t.Errorf("%s: the source has changed", name)
		}
		if c.Identity() != bytes.Equal(dst, src) && c.Identity() {
			t.Errorf("%s: an identity that changes bits", name)
		}
		size := c.to.Size
		for at := 0; at < len(dst); at += size {
			got, want := dst[at:at+size], want[at%len(want):][:size]
			if !bytes.Equal(got, want) && !(cf.IsNaN(c.to, got) && cf.IsNaN(c.to, want)) {
				t.Errorf("%s: element %d is %x, want %x", name, at/size, got, want)
				return
			}
		}
	}
}

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// shorts are int16s.
func shorts(values ...int16) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return b
}

func singles(values ...float32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func doubles(values ...float64) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func TestMasks(t *testing.T) {
	nan := float32(math.NaN())
	zero := float32(math.Copysign(0, -1))
	i2, f4 := typeOf(t, "i2"), typeOf(t, "f4")
	for _, c := range []struct {
		name         string
		v            *manifest.Variable
		schema       *zarrjson.Array
		reading      manifest.Reading
		stored, want []byte
		identity     bool
	}{
		{"equal masks stay", variable(t, i2, "_FillValue", shorts(-9)), schema(t, i2, `{"_FillValue":-9}`), manifest.AsStored,
			shorts(-9, 1), shorts(-9, 1), true},
		{"another mask becomes the schema's", variable(t, i2, "_FillValue", shorts(-8)), schema(t, i2, `{"_FillValue":-9}`), manifest.AsStored,
			shorts(-8, 1), shorts(-9, 1), false},
		{"one of several masks", variable(t, i2, "_FillValue", shorts(-9), "missing_value", shorts(-8, -7)),
			schema(t, i2, `{"_FillValue":-9,"missing_value":[-7]}`), manifest.AsStored, shorts(-9, -8, -7, 1), shorts(-9, -9, -7, 1), false},
		{"a schema that masks more", variable(t, i2, "_FillValue", shorts(-9)), schema(t, i2, `{"_FillValue":-9,"missing_value":-7}`), manifest.AsStored,
			shorts(-9), shorts(-9), true},
		{"cast, and masked alike", variable(t, i2, "_FillValue", shorts(-9)), schema(t, f4, `{"_FillValue":"AAAAAAAAIsA="}`), manifest.AsStored,
			shorts(-9, 1), singles(-9, 1), false},
		{"floats to NaN", variable(t, f4, "_FillValue", singles(-999)), schema(t, f4, nanMask), manifest.AsStored,
			singles(-999, 1, nan), singles(nan, 1, nan), false},
		{"NaN to a number", variable(t, f4, "_FillValue", singles(nan)), schema(t, f4, `{"_FillValue":"AAAAAAAAIsA="}`), manifest.AsStored,
			singles(-999, nan, float32(math.Inf(1))), singles(-999, -9, float32(math.Inf(1))), false},
		{"NaN stays NaN", variable(t, f4, "_FillValue", singles(nan)), schema(t, f4, nanMask), manifest.AsStored, singles(nan, 1), singles(nan, 1), true},
		{"no mask", variable(t, f4), schema(t, f4, nanMask), manifest.AsStored, singles(nan, 0), singles(nan, 0), true},
		{"both zeros are masked", variable(t, f4, "missing_value", singles(0)), schema(t, f4, nanMask), manifest.AsStored,
			singles(0, zero, 1), singles(nan, nan, 1), false},
		{"NaN and wider", variable(t, f4, "_FillValue", singles(nan)), schema(t, float64Type, `{"_FillValue":"AAAAAAAAIsA="}`), manifest.AsStored,
			singles(nan, 1), doubles(-9, 1), false},
		{"unsigned to integers", variable(t, i2, "_Unsigned", "true", "_FillValue", shorts(-1)), schema(t, typeOf(t, "u2"), `{"_FillValue":65535}`), manifest.Unpacked,
			shorts(-1, -2, 3), shorts(-1, -2, 3), true},
		{"unsigned to wider integers", variable(t, i2, "_Unsigned", "true"), schema(t, typeOf(t, "i4"), `{}`), manifest.Unpacked,
			shorts(-1, 3), []byte{0xff, 0xff, 0, 0, 3, 0, 0, 0}, false},
		{"unsigned stays", variable(t, i2, "_Unsigned", "true", "_FillValue", shorts(-1)), schema(t, i2, `{"_Unsigned":"true","_FillValue":-1}`), manifest.AsStored,
			shorts(-1, 3), shorts(-1, 3), true},
		{"packed stays", variable(t, i2, "scale_factor", 0.01), schema(t, i2, `{"scale_factor":0.01}`), manifest.AsStored, shorts(-1, 3), shorts(-1, 3), true},
		{"packed in more", variable(t, i2, "scale_factor", 0.01), schema(t, typeOf(t, "i4"), `{"scale_factor":0.01}`), manifest.AsStored,
			shorts(-1), []byte{0xff, 0xff, 0xff, 0xff}, false},
		{"scale of 1", variable(t, i2, "scale_factor", 1.0), schema(t, i2, `{}`), manifest.AsStored, shorts(-1, 3), shorts(-1, 3), true},
	} {
		conversion, err := New(c.v, c.schema, c.reading)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if conversion.Identity() != c.identity {
			t.Errorf("%s: identity is %v", c.name, conversion.Identity())
		}
		holds(t, c.name, conversion, c.stored, c.want)
	}
}

func TestNewRefuses(t *testing.T) {
	i2, f4 := typeOf(t, "i2"), typeOf(t, "f4")
	for _, c := range []struct {
		name    string
		v       *manifest.Variable
		schema  *zarrjson.Array
		reading manifest.Reading
		want    error // nil for any
	}{
		{"a schema of another scale", variable(t, i2, "scale_factor", 0.01), schema(t, i2, `{"scale_factor":0.005}`), manifest.AsStored, errPacked},
		{"a schema without the scale", variable(t, i2, "scale_factor", 0.01), schema(t, i2, `{}`), manifest.AsStored, errPacked},
		{"a schema with a scale", variable(t, i2), schema(t, i2, `{"add_offset":1}`), manifest.AsStored, errPacked},
		{"an unsigned schema", variable(t, i2), schema(t, i2, `{"_Unsigned":"true"}`), manifest.AsStored, errPacked},
		{"unsigned and wider", variable(t, i2, "_Unsigned", "true"), schema(t, typeOf(t, "i4"), `{"_Unsigned":"true"}`), manifest.AsStored, errPacked},
		{"a packed schema", variable(t, i2, "scale_factor", 0.01), schema(t, f4, `{"scale_factor":0.01}`), manifest.Unpacked, errPacked},
		{"scaled to integers", variable(t, i2, "scale_factor", 0.01), schema(t, i2, `{}`), manifest.Unpacked, errPacked},
		{"a mask that the schema lacks", variable(t, i2, "_FillValue", shorts(-1)), schema(t, i2, `{}`), manifest.AsStored, errNoMask},
		{"float64 to float32", variable(t, float64Type), schema(t, f4, `{}`), manifest.AsStored, errors.ErrUnsupported},
		{"int64 to int32", variable(t, typeOf(t, "i8")), schema(t, typeOf(t, "i4"), `{}`), manifest.AsStored, errors.ErrUnsupported},
		{"longer texts", variable(t, typeOf(t, "S8")), schema(t, typeOf(t, "S4"), `{}`), manifest.AsStored, errors.ErrUnsupported},
		{"a scale that is text", variable(t, i2, "scale_factor", "big"), schema(t, i2, `{}`), manifest.AsStored, nil},
		{"a schema's scale that is none", variable(t, i2), schema(t, i2, `{"scale_factor":"big"}`), manifest.AsStored, nil},
		{"no reading", variable(t, i2), schema(t, i2, `{}`), "", errors.ErrUnsupported},
		{"no times", variable(t, i2, "units", "m"), schema(t, i2, `{"units":"days since 2000-01-01"}`), manifest.Retimed, nil},
		{"another calendar", variable(t, i2, "units", "days since 2000-01-01", "calendar", "noleap"), schema(t, i2, `{"units":"days since 2000-01-01"}`), manifest.Retimed, &cf.CalendarError{A: cf.NoLeap, B: cf.Standard}},
		{"a schema without units", variable(t, i2, "units", "days since 2000-01-01"), schema(t, i2, `{}`), manifest.Retimed, nil},
	} {
		if _, err := New(c.v, c.schema, c.reading); err == nil || c.want != nil && !isError(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// isError is errors.Is, but compares calendar errors by their fields.
func isError(err, want error) bool {
	var got, calendars *cf.CalendarError
	if errors.As(want, &calendars) {
		return errors.As(err, &got) && *got == *calendars
	}
	return errors.Is(err, want)
}

func TestRetimed(t *testing.T) {
	v := variable(t, typeOf(t, "i2"), "units", "hours since 2000-01-02", "_FillValue", shorts(-1))
	v.Fill.Value = shorts(-1)
	days := schema(t, typeOf(t, "f4"), `{"units":"days since 2000-01-01","calendar":"gregorian","_FillValue":"AAAAAAAA+H8="}`)
	c, err := New(v, days, manifest.Retimed)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, "days", c, shorts(0, 12, -1, -24), singles(1, 1.5, float32(math.NaN()), 0))
	if !cf.IsNaN(c.to, c.Fill()) {
		t.Errorf("fill %x", c.Fill())
	}
	same := schema(t, typeOf(t, "i2"), `{"units":"hours since 2000-1-2 00:00","_FillValue":-1}`)
	if c, err = New(v, same, manifest.Retimed); err != nil || !c.Identity() {
		t.Errorf("the same units: %v", err)
	}
	c, err = New(v, schema(t, typeOf(t, "i8"), `{"units":"days since 2000-01-01","_FillValue":0}`), manifest.Retimed)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(codec.Elems{Fixed: make([]byte, 8)}, codec.Elems{Fixed: shorts(5)}); err == nil {
		t.Error("five hours are a whole number of days")
	}
}

// TestTextsAndBytes checks that texts become bytes if the texts of other files are not UTF-8.
func TestTextsAndBytes(t *testing.T) {
	text, raw := codec.Type{Kind: codec.String}, codec.Type{Kind: codec.Bytes}
	if got, err := Promote(text, raw); err != nil || !got.Equal(raw) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := Promote(raw, text); err != nil || !got.Equal(raw) {
		t.Errorf("got %v, %v", got, err)
	}
	c, err := cast(text, raw)
	if err != nil {
		t.Fatal(err)
	}
	dst := codec.Elems{Var: make([][]byte, 2)}
	if err := c.convert(dst, codec.Elems{Var: [][]byte{[]byte("é"), nil}}); err != nil || string(dst.Var[0]) != "é" || len(dst.Var[1]) != 0 {
		t.Errorf("got %q, %v", dst.Var, err)
	}
	if _, err := cast(raw, text); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("bytes as text: %v", err)
	}
}

func TestTexts(t *testing.T) {
	utf32 := func(s string, n int) (b []byte) {
		for _, r := range s {
			b = binary.LittleEndian.AppendUint32(b, uint32(r))
		}
		return append(b, make([]byte, 4*n-len(b))...)
	}
	text := codec.Type{Kind: codec.String}
	for _, c := range []struct {
		name     string
		from, to codec.Type
		src      codec.Elems
		want     []string
	}{
		{"longer", typeOf(t, "S2"), typeOf(t, "S4"), codec.Elems{Fixed: []byte("abc\x00")}, []string{"ab\x00\x00", "c\x00\x00\x00"}},
		{"of any length", typeOf(t, "S2"), text, codec.Elems{Fixed: []byte("abc\x00")}, []string{"ab", "c"}},
		{"from UTF-32", typeOf(t, "U2"), text, codec.Elems{Fixed: append(utf32("é", 2), utf32("☃x", 2)...)}, []string{"é", "☃x"}},
		{"the same", text, text, codec.Elems{Var: [][]byte{[]byte("a"), nil}}, []string{"a", ""}},
	} {
		conversion, err := New(variable(t, c.from), schema(t, c.to, `{}`), manifest.AsStored)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		dst := codec.NewElems(codec.Form{Type: c.to, Shape: []int64{2}})
		if err := conversion.Apply(dst, c.src); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got := dst.Var
		if !c.to.Varies() {
			got = slices.Collect(slices.Chunk(dst.Fixed, c.to.Size))
		}
		for i, want := range c.want {
			if string(got[i]) != want {
				t.Errorf("%s: %q, want %q", c.name, got[i], want)
			}
		}
	}
	conversion, err := New(variable(t, typeOf(t, "S1")), schema(t, text, `{}`), manifest.AsStored)
	if err != nil {
		t.Fatal(err)
	}
	if err := conversion.Apply(codec.Elems{Var: make([][]byte, 1)}, codec.Elems{Fixed: []byte{0xff}}); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("bytes that are not UTF-8: %v", err)
	}
}

func TestTicks(t *testing.T) {
	c, err := New(variable(t, typeOf(t, "M8[s]")), schema(t, typeOf(t, "M8[ns]"), `{}`), manifest.AsStored)
	if err != nil {
		t.Fatal(err)
	}
	words := func(values ...int64) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
		return b
	}
	holds(t, "seconds", c, words(1, -1, math.MinInt64), words(1e9, -1e9, math.MinInt64))
	if err := c.Apply(codec.Elems{Fixed: make([]byte, 8)}, codec.Elems{Fixed: words(1 << 40)}); err == nil {
		t.Error("no error beyond int64")
	}
}

func TestFill(t *testing.T) {
	i2 := typeOf(t, "i2")
	packed := variable(t, i2, "scale_factor", 0.5, "add_offset", 10.0, "_FillValue", shorts(-1))
	for _, c := range []struct {
		name string
		fill []byte
		want []byte
	}{{"zeros", nil, doubles(10)}, {"a number", shorts(4), doubles(12)}, {"missing", shorts(-1), doubles(math.NaN())}} {
		packed.Fill.Value = c.fill
		conversion, err := New(packed, schema(t, float64Type, nanMask), manifest.Unpacked)
		if err != nil {
			t.Fatal(err)
		}
		if got := conversion.Fill(); !bytes.Equal(got, c.want) && !cf.IsNaN(float64Type, got) {
			t.Errorf("%s: %x, want %x", c.name, got, c.want)
		}
	}
}

func TestApplyRefusesOtherLengths(t *testing.T) {
	c, err := New(variable(t, typeOf(t, "i2")), schema(t, typeOf(t, "f4"), `{}`), manifest.AsStored)
	if err != nil {
		t.Fatal(err)
	}
	for _, lengths := range [][2]int{{8, 2}, {4, 4}, {5, 2}, {4, 3}, {0, 2}} {
		if err := c.Apply(codec.Elems{Fixed: make([]byte, lengths[0])}, codec.Elems{Fixed: make([]byte, lengths[1])}); err == nil {
			t.Errorf("%d bytes from %d: no error", lengths[0], lengths[1])
		}
	}
}

func BenchmarkApply(b *testing.B) {
	const n = 1 << 18
	i2, f4 := typeOf(b, "i2"), typeOf(b, "f4")
	for _, c := range []struct {
		name    string
		v       *manifest.Variable
		schema  *zarrjson.Array
		reading manifest.Reading
	}{
		{"unpack int16 to float32", variable(b, i2, "scale_factor", 0.01, "add_offset", 273.15, "_FillValue", shorts(-1)), schema(b, f4, nanMask), manifest.Unpacked},
		{"unpack int16 to float64", variable(b, i2, "scale_factor", 0.01, "_FillValue", shorts(-1)), schema(b, float64Type, nanMask), manifest.Unpacked},
		{"cast float32 to float64", variable(b, f4), schema(b, float64Type, `{}`), manifest.AsStored},
		{"mask float32", variable(b, f4, "_FillValue", singles(-999)), schema(b, f4, nanMask), manifest.AsStored},
		{"mask int16", variable(b, i2, "_FillValue", shorts(-1)), schema(b, i2, `{"_FillValue":-2}`), manifest.AsStored},
		{"cast uint8 to int16", variable(b, typeOf(b, "u1")), schema(b, i2, `{}`), manifest.AsStored},
	} {
		b.Run(c.name, func(b *testing.B) {
			conversion, err := New(c.v, c.schema, c.reading)
			if err != nil {
				b.Fatal(err)
			}
			src, dst := make([]byte, n*c.v.Type.Size), make([]byte, n*c.schema.DataType.Type().Size)
			for i := range src {
				src[i] = byte(i * 7)
			}
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				if err := conversion.Apply(codec.Elems{Fixed: dst}, codec.Elems{Fixed: src}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestFields checks that structs of the same names are promoted and cast field by field, as NumPy does.
func TestFields(t *testing.T) {
	row := func(n, text codec.Type) codec.Type {
		return codec.Type{Kind: codec.Struct, Size: n.Size + text.Size, Fields: []codec.Field{{Name: "n", Type: n}, {Name: "text", Type: text}}}
	}
	short, long, want := row(typeOf(t, "i2"), typeOf(t, "U1")), row(typeOf(t, "i4"), typeOf(t, "S3")), row(typeOf(t, "i4"), typeOf(t, "U2"))
	if _, err := Promote(short, long); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), `"text"`) {
		t.Errorf("texts of other kinds: %v", err)
	}
	long = row(typeOf(t, "i1"), typeOf(t, "U2"))
	if got, err := Promote(short, long); err != nil || !got.Equal(row(typeOf(t, "i2"), typeOf(t, "U2"))) {
		t.Errorf("promoted to %v, %v", got.Fields, err)
	}
	c, err := cast(short, want)
	if err != nil {
		t.Fatal(err)
	}
	dst := codec.Elems{Fixed: bytes.Repeat([]byte{0xaa}, 2*want.Size)}
	src := []byte{1, 0, 'a', 0, 0, 0, 0xfe, 0xff, 'b', 0, 0, 0}
	if err := c.convert(dst, codec.Elems{Fixed: src}); err != nil {
		t.Fatal(err)
	}
	if got := []byte{1, 0, 0, 0, 'a', 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 'b', 0, 0, 0, 0, 0, 0, 0}; !bytes.Equal(dst.Fixed, got) {
		t.Errorf("%x, want %x", dst.Fixed, got)
	}
	other := row(typeOf(t, "i2"), typeOf(t, "U1"))
	other.Fields[1].Name = "else"
	if _, err := Promote(short, other); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("other names: %v", err)
	}
}

// TestNeeded: conversions with all attributes equal those with the needed ones.
func TestNeeded(t *testing.T) {
	int16Type := codec.Type{Kind: codec.Int, Size: 2}
	meanings := []any{cf.UnitsName, "days since 2000-01-01", cf.CalendarName, "noleap", cf.ScaleFactor, 0.5, cf.AddOffset, 3.,
		cf.Unsigned, "true", cf.FillValue, shorts(-1), cf.MissingValue, shorts(-2)}
	needed := variable(t, int16Type, meanings...)
	all := variable(t, int16Type, slices.Concat([]any{"long_name", "x", "actual_range", doubles(1, 2)}, meanings, []any{"valid_min", shorts(3), "bounds", "b"})...)
	if got := Needed(all); !reflect.DeepEqual(got, needed) {
		t.Errorf("%+v, want %+v", got, needed)
	}
	packed := schema(t, int16Type, `{"scale_factor":0.5,"add_offset":2,"_FillValue":-3}`)
	times := schema(t, float64Type, `{"units":"hours since 1990-01-01","calendar":"noleap","_FillValue":"AAAAAAAA+H8="}`)
	for reading, s := range map[manifest.Reading]*zarrjson.Array{
		manifest.Unpacked: schema(t, float64Type, nanMask), manifest.Repacked: packed, manifest.Retimed: times,
	} {
		var converted [2]codec.Elems
		for i, v := range []*manifest.Variable{all, needed} {
			c, err := New(v, s, reading)
			if err != nil {
				t.Fatal(err)
			}
			stored := shorts(-4, -3, -2, -1, 0, 1, 2, 100)
			converted[i].Fixed = make([]byte, len(stored)/2*s.DataType.Type().Size)
			if err := c.Apply(converted[i], codec.Elems{Fixed: stored}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(converted[0].Fixed, converted[1].Fixed) {
			t.Errorf("%s: % x, want % x", reading, converted[1].Fixed, converted[0].Fixed)
		}
	}
}
