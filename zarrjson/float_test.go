package zarrjson

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
)

// TestHalfFloats compares every finite binary16 with its float64, and checks the rounding
// of values between two of them.
func TestHalfFloats(t *testing.T) {
	for bits := range uint64(0x7c00) {
		f := widen(bits, 2)
		if got, ok := narrow(f, 2); !ok || got != bits {
			t.Fatalf("0x%04x is %v and becomes 0x%04x", bits, f, got)
		}
		if got, ok := narrow(-f, 2); !ok || got != bits|0x8000 {
			t.Fatalf("0x%04x is %v and becomes 0x%04x", bits|0x8000, -f, got)
		}
		if bits == 0x7bff {
			continue
		}
		next := widen(bits+1, 2)
		half := f + (next-f)/2
		even := bits + bits&1
		for _, c := range []struct {
			f    float64
			want uint64
		}{{half, even}, {math.Nextafter(half, 0), bits}, {math.Nextafter(half, next), bits + 1}} {
			if got, ok := narrow(c.f, 2); !ok || got != c.want {
				t.Fatalf("%v becomes 0x%04x, not 0x%04x", c.f, got, c.want)
			}
		}
	}
}

func TestFloatsAsPythonWritesThem(t *testing.T) {
	cases := map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1.0": 1, "-1.5": -1.5, "0.1": 0.1, "100000.0": 1e5,
		"1000000000000000.0": 1e15, "9999999999999998.0": 9999999999999998, "1e+16": 1e16, "1.5e+16": 1.5e16,
		"0.0001": 1e-4, "9.999e-05": 9.999e-5, "5e-324": 5e-324, "1.7976931348623157e+308": math.MaxFloat64,
		"3.4028234663852886e+38": math.MaxFloat32, "1e+100": 1e100,
	}
	for want, f := range cases {
		if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("%v is written %s, not %s", f, got, want)
		}
	}
}

// TestFillsRoundTrip writes and reads random elements of every type and checks that no
// bit is lost: payloads of NaN, subnormals, signs of zeros.
func TestFillsRoundTrip(t *testing.T) {
	seed := soak.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	types := []string{`"int8"`, `"int16"`, `"int32"`, `"int64"`, `"uint8"`, `"uint16"`, `"uint32"`, `"uint64"`, `"float16"`, `"float32"`, `"float64"`,
		`"complex64"`, `"complex128"`, `"r8"`, `"r40"`, `{"name":"raw_bytes","configuration":{"length_bytes":5}}`, `"variable_length_bytes"`,
		`{"name":"numpy.timedelta64","configuration":{"unit":"D","scale_factor":2}}`,
		`{"name":"struct","configuration":{"fields":[["a","float32"],["b","r16"],["c","complex64"],["d",{"name":"struct","configuration":{"fields":[["e","int64"]]}}]]}}`,
		`{"name":"structured","configuration":{"fields":[["a","float16"],["b","uint64"]]}}`}
	for _, spelled := range types {
		d, err := ParseDataType([]byte(spelled))
		if err != nil {
			t.Fatal(err)
		}
		size := d.Type().Size
		if d.Type().Varies() {
			size = 7
		}
		for i := range 2000 {
			element := make([]byte, size)
			for k := range element {
				element[k] = byte(random.Uint32())
				if i%4 == 0 { // many exponents of all ones
					element[k] |= 0x7f
				}
			}
			raw, err := d.FillJSON(element)
			if err != nil {
				t.Fatalf("seed %d: %s of %x: %v", seed, spelled, element, err)
			}
			got, err := d.ParseFill(raw)
			if err != nil || string(got) != string(element) {
				t.Fatalf("seed %d: %s of %x is written %s and read %x (%v)", seed, spelled, element, raw, got, err)
			}
		}
	}
}

func TestFillNotWritten(t *testing.T) {
	cases := []struct{ name, spelled, element string }{
		{"too short", `"int32"`, "000000"},
		{"too long", `"int32"`, "0000000000"},
		{"bool of 2", `"bool"`, "02"},
		{"text that is not UTF-8", `"string"`, "ff"},
		{"no character", `{"name":"fixed_length_utf32","configuration":{"length_bytes":4}}`, "00001100"},
		{"surrogate", `{"name":"fixed_length_utf32","configuration":{"length_bytes":4}}`, "00d80000"},
		{"bool in a struct", `{"name":"struct","configuration":{"fields":[["a","bool"]]}}`, "07"},
	}
	for _, c := range cases {
		d, err := ParseDataType([]byte(c.spelled))
		if err != nil {
			t.Fatal(err)
		}
		element, _ := hex.DecodeString(c.element)
		if raw, err := d.FillJSON(element); err == nil {
			t.Errorf("%s: written as %s", c.name, raw)
		}
	}
}

// TestFillOutlivesItsDocument checks that a fill value does not share memory with the
// document.
func TestFillOutlivesItsDocument(t *testing.T) {
	d, err := DataTypeOf(codec.Type{Kind: codec.String})
	if err != nil {
		t.Fatal(err)
	}
	doc := []byte("12")
	fill, err := d.ParseFill(doc)
	if err != nil {
		t.Fatal(err)
	}
	doc[0] = 'x'
	if string(fill) != "12" {
		t.Errorf("the fill value changed to %q with the document", fill)
	}
}
