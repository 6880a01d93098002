package scan

import (
	"encoding/binary"
	"math"
	"testing"

	"varve/codec"
	"varve/manifest/internal/cf"
	"varve/readers"
)

// TestWiden checks that numbers with unusual numbers of bits keep their values, and that others are
// unchanged.
func TestWiden(t *testing.T) {
	float := func(size, low, exponent, mantissa int, bias uint32) *readers.Type {
		return &readers.Type{Class: readers.Float, Size: size, Precision: 1 + exponent + mantissa, BitOffset: low, Float: readers.FloatBits{
			Sign: low + exponent + mantissa, ExponentPos: low + mantissa, ExponentSize: exponent, MantissaPos: low, MantissaSize: mantissa, ExponentBias: bias}}
	}
	odd := func(size, low, n int, signed bool) *readers.Type {
		return &readers.Type{Class: readers.Integer, Size: size, BitOffset: low, Precision: n, Signed: signed}
	}
	for _, c := range []struct {
		name   string
		of     *readers.Type
		stored uint64
		size   int
		kind   codec.Kind
		want   float64
	}{
		{"bfloat16", float(2, 0, 8, 7, 127), 0xc049, 4, codec.Float, -3.140625},
		{"bfloat16, the least", float(2, 0, 8, 7, 127), 1, 4, codec.Float, 0x1p-133},
		{"bfloat16, infinity", float(2, 0, 8, 7, 127), 0xff80, 4, codec.Float, math.Inf(-1)},
		{"eight bits", float(1, 0, 4, 3, 7), 0x39, 2, codec.Float, 1.125},
		{"eight bits, subnormal", float(1, 0, 4, 3, 7), 0x83, 2, codec.Float, -0x3p-9},
		{"20 bits in the middle", float(4, 7, 6, 13, 31), 1<<26 | 32<<20 | 3<<18 | 1, 4, codec.Float, -3.5},
		{"11 bits of exponent", float(4, 0, 11, 20, 1023), 1500 << 20, 8, codec.Float, 0x1p477},
		{"a float32", readers.IEEEFloat(4, readers.LittleEndian), uint64(math.Float32bits(2.5)), 4, codec.Float, 2.5},
		{"twelve bits", odd(2, 4, 12, true), 0xffe7, 2, codec.Int, -2},
		{"three bytes", odd(3, 0, 24, false), 0xfffffe, 4, codec.Uint, 0xfffffe},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, how, err := elementOf(c.of)
			if err != nil || got.Kind != c.kind || got.Size != c.size {
				t.Fatalf("elements are %v, %v, want %d bytes of kind %v", got, err, c.size, c.kind)
			}
			if whole := c.of.Class == readers.Float && c.of.IsIEEE(); (how == byCodecs) != whole {
				t.Errorf("how %v", how)
			}
			stored := binary.LittleEndian.AppendUint64(nil, c.stored)[:c.of.Size]
			two := widen(c.of, got, append(stored, stored...))
			if len(two) != 2*got.Size {
				t.Fatalf("%d bytes of two elements of %d", len(two), got.Size)
			}
			for i := range 2 {
				if v := number(got, two[i*got.Size:][:got.Size]); v != c.want {
					t.Errorf("element %d is %v, want %v", i, v, c.want)
				}
			}
		})
	}
}

func number(t codec.Type, b []byte) float64 {
	var word [8]byte
	copy(word[:], b)
	v := binary.LittleEndian.Uint64(word[:])
	switch {
	case t.Kind == codec.Int:
		shift := 64 - 8*t.Size
		return float64(int64(v<<shift) >> shift)
	case t.Kind == codec.Uint:
		return float64(v)
	case t.Size == 2:
		return cf.HalfToFloat(uint16(v))
	case t.Size == 4:
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(v)
}
