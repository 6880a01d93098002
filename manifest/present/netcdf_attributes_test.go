package present

import (
	"math"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/manifest/export/netcdf"
	"varve/manifest/internal/cf"
)

// TestNotFinite checks that NaN and infinities, which JSON has as texts, are numbers in attributes with other numbers and in those
// with the type of the variable, and that other texts stay texts.
func TestNotFinite(t *testing.T) {
	numbers := func(typ codec.Type, data []byte) (out []float64) {
		for at := 0; at < len(data); at += typ.Size {
			out = append(out, cf.Float(typ, data[at:at+typ.Size]))
		}
		return out
	}
	same := func(got, want []float64) bool {
		for i := range want {
			if len(got) != len(want) || math.Float64bits(got[i]) != math.Float64bits(want[i]) && got[i] == got[i] {
				return false
			}
		}
		return true
	}
	a := NetCDFAttribute("a", []byte(`["NaN", 1.5, "-Infinity"]`), "")
	double := codec.Type{Kind: codec.Float, Size: 8}
	if got := numbers(double, a.Data); a.Type != netcdf.Double || !same(got, []float64{math.NaN(), 1.5, math.Inf(-1)}) {
		t.Errorf("%v %v", a.Type, got)
	}
	single := codec.Type{Kind: codec.Float, Size: 4}
	if data, ok := cast(single, []byte(`["-Infinity","Infinity"]`)); !ok || !same(numbers(single, data), []float64{math.Inf(-1), math.Inf(1)}) {
		t.Errorf("%v %x", ok, data)
	}
	if data, ok := cast(codec.Type{Kind: codec.Int, Size: 4}, []byte(`"NaN"`)); ok {
		t.Errorf("an integer: %x", data)
	}
	for value, want := range map[string]string{`"NaN"`: "NaN", `["NaN","Infinity"]`: `["NaN","Infinity"]`, `["1",2]`: `["1",2]`} {
		if a := NetCDFAttribute("a", []byte(value), ""); a.Type != netcdf.Char || string(a.Data) != want {
			t.Errorf("%s: %v %q", value, a.Type, a.Data)
		}
	}
}

// TestNotFiniteAlone checks that attributes that are nothing but NaN or infinities are numbers: the manifest has their types.
func TestNotFiniteAlone(t *testing.T) {
	files := threeMonths(t, "standard")
	for f := range files {
		files[f].Vars[4].Attributes = append(files[f].Vars[4].Attributes,
			classic.Attribute{Name: "double", Value: []float64{math.Float64frombits(0x7ff8 << 48)}}, classic.Attribute{Name: "single", Value: []float32{float32(math.Inf(-1))}}, classic.Attribute{Name: "text", Value: "NaN"})
	}
	want := map[string]netcdf.Type{"double": netcdf.Double, "single": netcdf.Float, "text": netcdf.Char}
	for _, a := range NetCDFAttributes(arrayOf(t, built(t, files), "/sst")) {
		typ, ok := want[a.Name]
		if delete(want, a.Name); ok && a.Type != typ {
			t.Errorf("%s: type %v, not %v", a.Name, a.Type, typ)
		}
		if a.Name == "double" && (len(a.Data) != 8 || !math.IsNaN(cf.Float(codec.Type{Kind: codec.Float, Size: 8}, a.Data))) {
			t.Errorf("%x", a.Data)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
