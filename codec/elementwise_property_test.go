package codec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"varve/fixtures/soak"
	"varve/grid"
)

// chainOf returns a pipeline of one array codec and bytes.
func chainOf(t testing.TB, name, config string, form Form) *Pipeline {
	t.Helper()
	return mustNew(t, `[{"name":"`+name+`","configuration":`+config+`},`+littleEnd+`]`, form)
}

// TestDeltaRoundTrip checks that integers round-trip bit for bit, or are refused.
func TestDeltaRoundTrip(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for dtype := numInt8; dtype <= numUint64; dtype++ {
		for astype := numInt8; astype <= numUint64; astype++ {
			const tries = 15
			encoded := 0
			for try := range tries {
				form := Form{Type: dtype.typ(), Shape: []int64{1 + r.Int64N(700)}}
				p := chainOf(t, "numcodecs.delta", fmt.Sprintf(`{"dtype":%q,"astype":%q}`, dtype, astype), form)
				src := NewElems(form)
				steps(r, src.Fixed, dtype, try > 0)
				stored, err := p.Encode(nil, src)
				if err != nil {
					continue
				}
				encoded++
				dst := NewElems(form)
				if err := p.Decode(dst, stored); err != nil || !bytes.Equal(dst.Fixed, src.Fixed) {
					t.Fatalf("seed %d: %v as %v: %v, or elements differ", seed, dtype, astype, err)
				}
			}
			mixed := sumType(dtype, astype).isFloat()
			if encoded == 0 != mixed || astype.size() >= dtype.size() && !mixed && encoded < tries {
				t.Errorf("%v as %v: %d of %d chunks encoded", dtype, astype, encoded, tries)
			}
		}
	}
}

// steps fills b with a walk of small steps, each of which fits a byte. If wild, it starts
// at a larger number and has one large step.
func steps(r *rand.Rand, b []byte, n number, wild bool) {
	words := make([]uint64, len(b)/n.size())
	v, large := uint64(0), 0
	if wild {
		v, large = uint64(r.IntN(100)), r.IntN(2)*r.IntN(len(words))
	}
	for i := range words {
		v += uint64(r.IntN(100))
		if i == large && i > 0 {
			v += r.Uint64()
		}
		words[i] = v
	}
	storeWords(b, words, n)
}

// TestScaleOffsetRoundTrip checks that all elements that can be encoded round-trip.
func TestScaleOffsetRoundTrip(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	encoded := 0
	for n := numInt8; n <= numUint64; n++ {
		for range 200 {
			offset, scale := r.Int64N(100), 1+r.Int64N(100)
			form := Form{Type: n.typ(), Shape: []int64{1}, Fill: littleWord(uint64(offset), n)}
			p := chainOf(t, "scale_offset", fmt.Sprintf(`{"offset":%d,"scale":%d}`, offset, scale), form)
			src := Elems{Fixed: littleWord(r.Uint64()>>(r.Uint32()%64), n)}
			stored, err := p.Encode(nil, src)
			if err != nil {
				continue
			}
			encoded++
			dst := NewElems(form)
			if err := p.Decode(dst, stored); err != nil || !bytes.Equal(dst.Fixed, src.Fixed) {
				t.Fatalf("seed %d: %v %x with offset %d, scale %d: %x, %v", seed, n, src.Fixed, offset, scale, dst.Fixed, err)
			}
		}
	}
	if encoded < 300 {
		t.Errorf("seed %d: only %d elements could be encoded", seed, encoded)
	}
}

// TestLossyRoundTrip checks the error bound of each lossy codec.
func TestLossyRoundTrip(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, tt := range []struct {
		name, config string
		typ          Type
		within       func(v float64) float64
	}{
		{"numcodecs.fixedscaleoffset", `{"offset":10,"scale":100,"astype":"<i4"}`, float64Type, func(float64) float64 { return 0.00501 }},
		{"numcodecs.fixedscaleoffset", `{"offset":10,"scale":8,"astype":"<i2"}`, float32Type, func(float64) float64 { return 0.0626 }},
		{"numcodecs.quantize", `{"digits":2}`, float64Type, func(float64) float64 { return 0.005 }},
		{"numcodecs.quantize", `{"digits":4}`, float32Type, func(float64) float64 { return 0.00005 }},
		{"numcodecs.bitround", `{"keepbits":7}`, float32Type, func(v float64) float64 { return math.Abs(v) / 256 }},
		{"numcodecs.bitround", `{"keepbits":20}`, float64Type, func(v float64) float64 { return math.Abs(v) / (1 << 21) }},
		{"numcodecs.astype", `{"encode_dtype":"<f2"}`, float32Type, func(v float64) float64 { return math.Abs(v)/2048 + 0x1p-25 }},
		{"cast_value", `{"data_type":"int16","rounding":"towards-zero"}`, float64Type, func(float64) float64 { return 1 }},
	} {
		form := Form{Type: tt.typ, Shape: []int64{1000}}
		n, _ := numberOf(tt.typ)
		values, back := make([]float64, 1000), make([]float64, 1000)
		for i := range values {
			values[i] = r.NormFloat64() * 30
		}
		src, dst := NewElems(form), NewElems(form)
		storeFloats(src.Fixed, values, n)
		p := chainOf(t, tt.name, tt.config, form)
		stored, err := p.Encode(nil, src)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, tt.name, err)
		}
		if err := p.Decode(dst, stored); err != nil {
			t.Fatalf("seed %d: %s: %v", seed, tt.name, err)
		}
		load(values, src.Fixed, n)
		load(back, dst.Fixed, n)
		for i, v := range values {
			if math.Abs(back[i]-v) > tt.within(v) {
				t.Fatalf("seed %d: %s %s: %v became %v", seed, tt.name, tt.config, v, back[i])
			}
		}
	}
}

// TestBitRoundKeepsNaN rounds every float16 with every number of kept bits.
func TestBitRoundKeepsNaN(t *testing.T) {
	for drop := 1; drop <= 10; drop++ {
		for h := range uint32(1 << 16) {
			r := roundBits(uint16(h), drop, 0x7c00)
			if nan := h&0x7fff > 0x7c00; nan != (r&0x7fff > 0x7c00) {
				t.Fatalf("%#04x without %d bits is %#04x", h, drop, r)
			}
		}
	}
}

// TestElementwiseRegions decodes regions of chunks alone.
func TestElementwiseRegions(t *testing.T) {
	form := Form{Type: float64Type, Shape: []int64{9, 20}}
	values := make([]float64, 180)
	for i := range values {
		values[i] = float64(i)
	}
	src := NewElems(form)
	storeFloats(src.Fixed, values, numFloat64)
	region := grid.Region{Origin: []int64{2, 5}, Shape: []int64{3, 7}}
	want := NewElems(Form{Type: float64Type, Shape: region.Shape})
	for y := range 3 {
		copy(want.Fixed[y*7*8:(y+1)*7*8], src.Fixed[((y+2)*20+5)*8:])
	}
	for name, config := range map[string]string{
		"numcodecs.fixedscaleoffset": `{"offset":0,"scale":1,"astype":"|u1"}`,
		"numcodecs.quantize":         `{"digits":0,"astype":"<f4"}`,
		"numcodecs.bitround":         `{"keepbits":10}`,
		"numcodecs.astype":           `{"encode_dtype":"<i2"}`,
		"scale_offset":               `{"scale":2}`,
		"cast_value":                 `{"data_type":"uint16"}`,
		"numcodecs.delta":            `{"dtype":"<f8"}`,
	} {
		p := chainOf(t, name, config, form)
		stored, err := p.Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		dst := NewElems(Form{Type: float64Type, Shape: region.Shape})
		if err := p.DecodeRegion(context.Background(), Memory(stored), region, dst); err != nil || !bytes.Equal(dst.Fixed, want.Fixed) {
			t.Errorf("%s: %v, or elements differ", name, err)
		}
		if got, want := p.keepsRegions(), name != "numcodecs.delta"; got != want {
			t.Errorf("%s: a region is a region when encoded: %v, want %v", name, got, want)
		}
	}
}

func TestElementwiseForms(t *testing.T) {
	fill := littleWord(math.Float64bits(7.5), numFloat64)
	for _, tt := range []struct {
		name, config string
		typ          number
		fill         string
	}{
		{"numcodecs.delta", `{"dtype":"<f8","astype":"<f4"}`, numFloat32, "0000f040"},
		{"numcodecs.delta", `{"dtype":"<i8"}`, numFloat64, "0000000000001e40"},
		{"numcodecs.fixedscaleoffset", `{"offset":1,"scale":10,"astype":">i2"}`, numInt16, "0700"},
		{"numcodecs.quantize", `{"digits":1}`, numFloat64, "0000000000001e40"},
		{"numcodecs.bitround", `{"keepbits":1}`, numFloat64, "0000000000001e40"},
		{"numcodecs.astype", `{"encode_dtype":"|b1"}`, numBool, "01"},
		{"scale_offset", `{"offset":1,"scale":10}`, numFloat64, "0000000000405040"},
		{"cast_value", `{"data_type":"uint8","scalar_map":{"encode":[[7.5,200],[7.5,1]]}}`, numUint8, "c8"},
	} {
		p := chainOf(t, tt.name, tt.config, Form{Type: float64Type, Shape: []int64{3}, Fill: fill})
		got := p.innermost()
		if !got.Type.Equal(tt.typ.typ()) || !bytes.Equal(got.Fill, unhex(t, tt.fill)) {
			t.Errorf("%s %s: encoded as %v with fill value %x, want %v with %s", tt.name, tt.config, got.Type, got.Fill, tt.typ, tt.fill)
		}
	}
	p := chainOf(t, "numcodecs.packbits", `{}`, Form{Type: Type{Kind: Bool, Size: 1}, Shape: []int64{3, 3}})
	if got := p.innermost(); got.Type.Kind != Uint || len(got.Shape) != 1 || got.Shape[0] != 3 {
		t.Errorf("packed 3 × 3 booleans are %v of shape %v", got.Type, got.Shape)
	}
}

func TestElementwiseSameDecode(t *testing.T) {
	form := Form{Type: float64Type, Shape: []int64{4}}
	codec := func(name, config string) string { return `{"name":"` + name + `","configuration":` + config + `},` }
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"byte orders of type strings", codec("numcodecs.delta", `{"dtype":"<f8","astype":">f4"}`), codec("numcodecs.delta", `{"dtype":"float64","astype":"f4"}`), true},
		{"delta or not", codec("numcodecs.delta", `{"dtype":"<f8"}`), "", false},
		{"bits kept", codec("numcodecs.bitround", `{"keepbits":3}`), "", true},
		{"digits", codec("numcodecs.quantize", `{"digits":3}`), codec("numcodecs.quantize", `{"digits":9}`), true},
		{"quantize as float32 and astype", codec("numcodecs.quantize", `{"digits":3,"astype":"<f4"}`), codec("numcodecs.astype", `{"encode_dtype":"<f4"}`), true},
		{"cast_value without loss and astype", codec("cast_value", `{"data_type":"float32","out_of_range":"clamp"}`), codec("numcodecs.astype", `{"encode_dtype":"<f4"}`), true},
		{"cast_value with a map", codec("cast_value", `{"data_type":"int8","scalar_map":{"decode":[[1,"NaN"]]}}`), codec("cast_value", `{"data_type":"int8"}`), false},
		{"a map for encoding", codec("cast_value", `{"data_type":"int8","scalar_map":{"encode":[["NaN",1]]}}`), codec("cast_value", `{"data_type":"int8"}`), true},
		{"spellings of numbers", codec("numcodecs.fixedscaleoffset", `{"offset":0,"scale":10}`), codec("numcodecs.fixedscaleoffset", `{"offset":0.0,"scale":1e1}`), true},
		{"scales", codec("numcodecs.fixedscaleoffset", `{"offset":0,"scale":10}`), codec("numcodecs.fixedscaleoffset", `{"offset":0,"scale":11}`), false},
		{"scale_offset", codec("scale_offset", `{"offset":1}`), codec("scale_offset", `{"offset":2}`), false},
	} {
		a, b := mustNew(t, "["+tt.a+littleEnd+"]", form), mustNew(t, "["+tt.b+littleEnd+"]", form)
		if a.SameDecode(b) != tt.same {
			t.Errorf("%s: SameDecode is %v, want %v", tt.name, !tt.same, tt.same)
		}
	}
}

// TestDeltaBits reads floats as integers, whose differences are exact.
func TestDeltaBits(t *testing.T) {
	form := Form{Type: float32Type, Shape: []int64{100}}
	p := chainOf(t, "numcodecs.delta", `{"dtype":"<i4"}`, form)
	src, dst := Elems{Fixed: ramp(400)}, NewElems(form)
	stored, err := p.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Decode(dst, stored); err != nil || !bytes.Equal(dst.Fixed, src.Fixed) {
		t.Errorf("%v, or elements differ", err)
	}
}

func TestDeltaCannotEncode(t *testing.T) {
	p := chainOf(t, "numcodecs.delta", `{"dtype":"<u8","astype":"<i4"}`, Form{Type: numUint64.typ(), Shape: []int64{1}})
	if err := p.CanEncode(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("uint64 as int32: %v", err)
	}
}

// TestDecodeFused compares the loops over views with the loops over bytes.
func TestDecodeFused(t *testing.T) {
	fused := 0
	for from := numInt8; from < allNumbers; from++ {
		for to := numInt8; to < allNumbers; to++ {
			src := ramp(1000 * from.size())
			got, want := make([]byte, 1000*to.size()), make([]byte, 1000*to.size())
			s := scaling{scale: 0.3, offset: -17.25}
			if !decodeFused(s, conversion{got, to, src, from}) {
				continue
			}
			fused++
			if computesInFloat32(from) {
				unscale[float32](s, conversion{want, to, src, from})
			} else {
				unscale[float64](s, conversion{want, to, src, from})
			}
			if !sameNumbers(got, want, to.typ()) {
				t.Errorf("%v to %v: elements differ", from, to)
			}
		}
	}
	if fused != 0 && fused != 14 {
		t.Errorf("%d pairs of types have a loop, want 14 or, elsewhere, none", fused)
	}
}
