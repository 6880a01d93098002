package sz3

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestConvert compares conversions with the results of the library's machine code.
func TestConvert(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name string
		got  any
		want any
	}{
		{"float32 rounds", convert[float32, float32](1 + 0x1p-24 + 0x1p-40), float32(1 + 0x1p-23)},
		{"float64", convert[float64, float64](0.1), 0.1},
		{"int8 towards zero", convert[int8, int32](-1.9), int8(-1)},
		{"int8 wraps", convert[int8, int32](300), int8(44)},
		{"uint8 of less than zero", convert[uint8, int32](-85.5), uint8(171)},
		{"uint16 beyond 32 bits", convert[uint16, int32](1 << 33), uint16(0)},
		{"int16 of NaN", convert[int16, int32](nan), int16(0)},
		{"int32 beyond", convert[int32, int32](1 << 31), int32(math.MinInt32)},
		{"int32 at the least", convert[int32, int32](-1<<31 - 0.5), int32(math.MinInt32)},
		{"int32 below", convert[int32, int32](-1<<31 - 1), int32(math.MinInt32)},
		{"int32 greatest", convert[int32, int32](1<<31 - 0.5), int32(math.MaxInt32)},
		{"uint32 wraps", convert[uint32, uint32](1<<32 + 5), uint32(5)},
		{"uint32 of less than zero", convert[uint32, uint32](-3), uint32(1<<32 - 3)},
		{"int64 beyond", convert[int64, int64](1 << 63), int64(math.MinInt64)},
		{"int64 of NaN", convert[int64, int64](nan), int64(math.MinInt64)},
		{"uint64 large", convert[uint64, uint64](1<<63 + 4096), uint64(1<<63 + 4096)},
		{"uint64 of less than zero", convert[uint64, uint64](-3), uint64(1<<64 - 3)},
		{"uint64 beyond", convert[uint64, uint64](1 << 64), uint64(0)},
		{"uint64 of NaN", convert[uint64, uint64](nan), uint64(1 << 63)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestPermutation compares the orders of axes with std::next_permutation.
func TestPermutation(t *testing.T) {
	var got []string
	for rank := range uint32(6) {
		got = append(got, fmt.Sprint(permutation(3, rank)))
	}
	want := []string{"[0 1 2]", "[0 2 1]", "[1 0 2]", "[1 2 0]", "[2 0 1]", "[2 1 0]"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for n, count := range []uint32{1: 1, 2: 2, 3: 6, 4: 24} {
		if n > 0 && (permutation(n, count) != nil || permutation(n, math.MaxUint32) != nil || permutation(n, count-1) == nil) {
			t.Errorf("%d axes do not have %d orders", n, count)
		}
	}
}
