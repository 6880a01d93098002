package readers

import (
	"math"
	"testing"
)

func TestFloat64(t *testing.T) {
	half := IEEEFloat(2, LittleEndian)
	for _, c := range []struct {
		name string
		of   *Type
		b    []byte
		want float64
	}{
		{"one", half, []byte{0x00, 0x3c}, 1},
		{"minus two and a half", half, []byte{0x00, 0xc1}, -2.5},
		{"smallest subnormal", half, []byte{0x01, 0x00}, 0x1p-24},
		{"minus infinity", half, []byte{0x00, 0xfc}, math.Inf(-1)},
		{"pi as a double", IEEEFloat(8, LittleEndian), []byte{0x18, 0x2d, 0x44, 0x54, 0xfb, 0x21, 0x09, 0x40}, math.Pi},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.of.Float64(c.b); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	if got := half.Float64([]byte{0x00, 0x7e}); !math.IsNaN(got) {
		t.Errorf("NaN is read as %v", got)
	}
}

// TestExactFloat: floats with unusual bit layouts fit the smallest IEEE float that has their
// exponents and mantissas, and none that would round them.
func TestExactFloat(t *testing.T) {
	float := func(exponent, mantissa int, bias uint32) *Type {
		n := 1 + exponent + mantissa
		return &Type{Class: Float, Size: (n + 7) / 8, Precision: n, Float: FloatBits{
			Sign: n - 1, ExponentPos: mantissa, ExponentSize: exponent, MantissaSize: mantissa, ExponentBias: bias}}
	}
	unusual := float(5, 2, 15)
	unusual.Float.Normalization = MSBSet
	swapped := float(5, 2, 15)
	swapped.Order = VAX
	for _, c := range []struct {
		name string
		of   *Type
		want int
	}{
		{"two bits of mantissa", float(5, 2, 15), 2},
		{"three", float(4, 3, 7), 2},
		{"bfloat16", float(8, 7, 127), 4},
		{"20 bits", float(6, 13, 31), 4},
		{"24 bits", float(7, 16, 63), 4},
		{"half itself", float(5, 10, 15), 2},
		{"half of another bias", float(5, 10, 16), 4},
		{"half of a bias that is less", float(5, 10, 14), 4},
		{"mantissa of 24 bits", float(8, 24, 127), 8},
		{"11 bits of exponent", float(11, 20, 1023), 8},
		{"long double", float(15, 64, 16383), 0},
		{"quadruple", IEEEFloat(16, LittleEndian), 0},
		{"bias beyond every exponent", float(8, 7, 1<<31), 0},
		{"always a first bit", unusual, 0},
		{"VAX", swapped, 0},
		{"an integer", Int(4, LittleEndian, true), 0},
	} {
		if got := c.of.ExactFloat(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
