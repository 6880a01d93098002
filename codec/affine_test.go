package codec

import (
	"errors"
	"math/big"
	"testing"
)

// TestAffineIsExact compares every int8 and uint8, with many offsets and scales, with
// arithmetic that cannot overflow.
func TestAffineIsExact(t *testing.T) {
	for _, n := range []number{numInt8, numUint8} {
		lo, hi := n.integerRange()
		for _, offset := range []int64{-300, -128, -7, -1, 0, 1, 5, 127, 128, 255, 1000} {
			for _, scale := range []int64{-128, -3, -2, -1, 1, 2, 3, 100, 255} {
				a := newAffine(n, big.NewInt(offset), big.NewInt(scale))
				for x := lo; x <= int64(hi); x++ {
					checkAffine(t, a, x, offset, scale)
				}
			}
		}
	}
}

func checkAffine(t *testing.T, a *affine, x, offset, scale int64) {
	t.Helper()
	lo, hi := a.n.integerRange()
	in := func(v int64) bool { return v >= lo && v <= int64(hi) }
	var out [1]byte
	y := (x - offset) * scale
	if err := a.encode(out[:], []byte{byte(x)}, 0); (err == nil) != in(y) || err == nil && out[0] != byte(y) {
		t.Fatalf("%v (%d − %d)·%d encoded as %d, %v; want %d", a.n, x, offset, scale, out[0], err, y)
	}
	if a.n == numUint8 && scale < 0 {
		return // no such scale can be written for decoding
	}
	z, whole := x/scale+offset, x%scale == 0
	err := a.decode(out[:], []byte{byte(x)})
	if (err == nil) != (whole && in(z)) || err == nil && out[0] != byte(z) {
		t.Fatalf("%v %d/%d + %d decoded to %d, %v; want %d", a.n, x, scale, offset, out[0], err, z)
	}
	if err != nil && !errors.Is(err, ErrCorrupt) {
		t.Fatalf("%v: not marked as corrupt", err)
	}
}

func TestAffineWide(t *testing.T) {
	for _, tt := range []struct {
		n             number
		offset, scale string
		x, want       uint64
		fails         bool
	}{
		{numUint64, "0", "1", 1<<64 - 1, 1<<64 - 1, false},
		{numUint64, "18446744073709551615", "5", 1<<64 - 1, 0, false},
		{numUint64, "18446744073709551615", "5", 1<<64 - 2, 0, true},
		{numUint64, "0", "3", 6148914691236517205, 1<<64 - 1, false},
		{numUint64, "0", "3", 6148914691236517206, 0, true},
		{numUint64, "0", "9223372036854775810", 1, 1<<63 + 2, false},
		{numInt64, "5", "-6", 1<<64 - 1, 36, false},
		{numInt64, "4611686018427387904", "-3", 10, 0, true}, // zarr-python wraps this around
		{numInt64, "0", "-1", 1 << 63, 0, true},
		{numInt64, "-1", "-1", 1 << 63, 1<<63 - 1, false},
		{numInt64, "-9223372036854775808", "1", 1 << 63, 0, false},
		{numInt64, "-9223372036854775808", "1", 1, 0, true},
	} {
		a := newAffine(tt.n, bigNumber(tt.offset), bigNumber(tt.scale))
		out, back := make([]byte, 8), make([]byte, 8)
		err := a.encode(out, littleWord(tt.x, tt.n), 0)
		if (err != nil) != tt.fails || err == nil && wordOf(out, tt.n) != tt.want {
			t.Errorf("%v (%d − %s)·%s is %d, %v; want %d", tt.n, tt.x, tt.offset, tt.scale, wordOf(out, tt.n), err, tt.want)
		}
		if err != nil {
			continue
		}
		if err := a.decode(back, out); err != nil || wordOf(back, tt.n) != tt.x {
			t.Errorf("%v %d/%s + %s is %d, %v; want %d", tt.n, tt.want, tt.scale, tt.offset, wordOf(back, tt.n), err, tt.x)
		}
	}
}
