package codec

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"varve/fixtures/soak"
)

const allNumbers = numFloat64 + 1

func TestHalves(t *testing.T) {
	for h := range uint32(1 << 16) {
		v := halfToFloat32(uint16(h))
		if back := float64ToHalf(float64(v)); back != uint16(h) && !(v != v && h&0x200 == 0) {
			t.Fatalf("half %#04x is %v, whose half is %#04x", h, v, back)
		}
		if h&0x7fff < 0x7c00 {
			m, e := uint64(h&0x3ff), max(int(h>>10&0x1f), 1)
			if h&0x7c00 != 0 {
				m |= 0x400
			}
			want := math.Ldexp(float64(m), e-25)
			if h&0x8000 != 0 {
				want = -want
			}
			if float64(v) != want || math.Signbit(float64(v)) != math.Signbit(want) {
				t.Fatalf("half %#04x is %v, want %v", h, v, want)
			}
		}
	}
}

// TestFloat64ToHalfRounds compares the result with rounding bit by bit, near ties.
func TestFloat64ToHalfRounds(t *testing.T) {
	check := func(v float64) {
		t.Helper()
		m, e := mantissa(v)
		want := nearestEven.roundFloat(math.Signbit(v), m, e, numFloat16)
		if math.Abs(want) >= 65536 {
			want = math.Copysign(math.Inf(1), want)
		}
		if got := float64(halfToFloat32(float64ToHalf(v))); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Fatalf("%v (%#x) as a half is %v, want %v", v, math.Float64bits(v), got, want)
		}
	}
	for h := range uint16(0x7bff) {
		low, high := float64(halfToFloat32(h)), float64(halfToFloat32(h+1))
		tie := (low + high) / 2
		for _, v := range []float64{tie, math.Nextafter(tie, 0), math.Nextafter(tie, 1e9), low} {
			check(v)
			check(-v)
		}
	}
	for _, v := range []float64{65519.99999, 65520, 1e300, 5e-324, 0x1p-25, 0x1p-26} {
		check(v)
		check(-v)
	}
}

// TestRoundingIsTheMachines compares rounding to nearest with that of the hardware.
func TestRoundingIsTheMachines(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 50000 {
		v := math.Float64frombits(r.Uint64()>>12 | (0x360+r.Uint64N(0x110))<<52) // subnormal to too large
		m, e := mantissa(v)
		if got, want := nearestEven.roundFloat(false, m, e, numFloat32), float64(float32(v)); got != want && !math.IsInf(want, 0) {
			t.Fatalf("seed %d: %v as float32 is %v, want %v", seed, v, got, want)
		}
		w := r.Uint64() >> (r.Uint32() % 64)
		if got, want := nearestEven.roundFloat(false, w, 0, numFloat32), float64(float32(w)); got != want {
			t.Fatalf("seed %d: %d as float32 is %v, want %v", seed, w, got, want)
		}
		if got, want := nearestEven.roundFloat(true, w, 0, numFloat64), -float64(w); got != want {
			t.Fatalf("seed %d: -%d as float64 is %v, want %v", seed, w, got, want)
		}
	}
}

// TestRoundingModes compares each rounding mode with exact arithmetic.
func TestRoundingModes(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	modes := map[rounding]big.RoundingMode{
		nearestEven: big.ToNearestEven, towardsZero: big.ToZero, nearestAway: big.ToNearestAway,
		towardsPositive: big.ToPositiveInf, towardsNegative: big.ToNegativeInf,
	}
	for range 3000 {
		w := r.Uint64() >> (r.Uint32() % 64)
		if r.IntN(2) == 0 {
			w &= math.MaxUint64 << (r.Uint32() % 64) // with ties
		}
		negative := r.IntN(2) == 0
		for mode, exact := range modes {
			for _, n := range []number{numFloat16, numFloat32, numFloat64} {
				b := new(big.Float).SetUint64(w)
				if negative {
					b.Neg(b)
				}
				want, _ := b.SetMode(exact).SetPrec(uint(mantissaBits(n) + 1)).Float64()
				if got := mode.roundFloat(negative, w, 0, n); got != want {
					t.Fatalf("seed %d: %v %d (%v) as %v is %v, want %v", seed, mode, w, negative, n, got, want)
				}
			}
		}
	}
}

func TestWrapFloat(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		want uint64
	}{
		{0, 0}, {1, 1}, {-1, math.MaxUint64}, {0x1p52, 1 << 52}, {0x1p63, 1 << 63}, {0x1p64, 0}, {-0x1p63, 1 << 63},
		{0x1p64 + 0x1p12, 1 << 12}, {0x1p115 + 0x1p63, 1 << 63}, {1e300, 0}, {-5e9, uint64(1<<64 - 5e9)},
	} {
		if got := wrapFloat(tt.v); got != tt.want {
			t.Errorf("%v modulo 2⁶⁴ is %d, want %d", tt.v, got, tt.want)
		}
	}
}

// TestFloatsOutOfRange checks the documented results of storeFloats where NumPy's loops
// for uint32 disagree.
func TestFloatsOutOfRange(t *testing.T) {
	for _, tt := range []struct {
		v                float64
		i8, i32, u32     uint64
		i64, u64, uint16 uint64
	}{
		{3e9, 0, 0x80000000, 3e9, 3e9, 3e9, 0},
		{5e9, 0, 0x80000000, 705032704, 5e9, 5e9, 0},
		{-3e9, 0, 0x80000000, 1294967296, 1<<64 - 3e9, 1<<64 - 3e9, 0},
		{1e19, 0, 0x80000000, 0, 1 << 63, 1e19, 0},
		{1e20, 0, 0x80000000, 0, 1 << 63, 0, 0},
		{math.NaN(), 0, 0x80000000, 0, 1 << 63, 1 << 63, 0},
		{math.Inf(1), 0, 0x80000000, 0, 1 << 63, 0, 0},
		{math.Inf(-1), 0, 0x80000000, 0, 1 << 63, 1 << 63, 0},
		{-129.5, 127, 0xffffff7f, 0xffffff7f, 1<<64 - 129, 1<<64 - 129, 0xff7f},
		{70000, 112, 70000, 70000, 70000, 70000, 4464},
	} {
		for n, want := range map[number]uint64{numInt8: tt.i8, numUint8: tt.i8, numUint16: tt.uint16, numInt32: tt.i32, numUint32: tt.u32, numInt64: tt.i64, numUint64: tt.u64} {
			var out [8]byte
			storeFloats(out[:], []float64{tt.v}, n)
			if got := binary.LittleEndian.Uint64(out[:]); got != want {
				t.Errorf("%v as %v is %#x, want %#x", tt.v, n, got, want)
			}
		}
	}
}

func TestParseNumber(t *testing.T) {
	for name, want := range map[string]number{
		"<f4": numFloat32, ">i2": numInt16, "|u1": numUint8, "float64": numFloat64, "b1": numBool,
		"|b1": numBool, "bool": numBool, "=u8": numUint64, "f2": numFloat16, "uint16": numUint16,
		"": 0, "f16": 0, "<": 0, ">float32": 0, "i3": 0, "<M8": 0, "S4": 0, "complex64": 0, "<<i4": 0,
	} {
		if got, ok := parseNumber(name); got != want || ok != (want != 0) {
			t.Errorf("%q is %v, want %v", name, got, want)
		}
	}
}

// TestCanHold converts values of each type to each other type and back.
func TestCanHold(t *testing.T) {
	for to := numInt8; to < allNumbers; to++ {
		for of := numInt8; of < allNumbers; of++ {
			want := true
			for _, v := range extremes(of) {
				got := make([]byte, to.size())
				back := make([]byte, of.size())
				err := convertExactly(got, to, v, of)
				convert(back, of, got, to)
				want = want && err == nil && string(back) == string(v)
			}
			if got := to.canHold(of); got != want {
				t.Errorf("%v holds all of %v: %v, want %v", to, of, got, want)
			}
		}
	}
}

// extremes returns the values of a type that other types can hardly hold.
func extremes(n number) [][]byte {
	if n.isFloat() {
		odd := map[number]uint64{numFloat16: 0x3c01, numFloat32: 0x3f80_0001, numFloat64: 0x3ff0_0000_0000_0001}[n]
		tiny := uint64(1)
		return [][]byte{littleWord(odd, n), littleWord(tiny, n)}
	}
	lo, hi := n.integerRange()
	return [][]byte{littleWord(uint64(lo), n), littleWord(hi, n), littleWord(uint64(lo)+1, n)}
}

func littleWord(v uint64, n number) []byte {
	b := binary.LittleEndian.AppendUint64(nil, v)
	return b[:n.size()]
}

func TestParseScalar(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    number
		want uint64
		ok   bool
	}{
		{"5", numInt16, 5, true},
		{"-5", numInt8, 0xfb, true},
		{"5.0", numUint8, 5, true},
		{`"5"`, numUint8, 5, true},
		{"1e2", numInt32, 100, true},
		{"5.5", numInt32, 0, false},
		{"256", numUint8, 0, false},
		{"-1", numUint64, 0, false},
		{"18446744073709551615", numUint64, math.MaxUint64, true},
		{"9007199254740993", numInt64, 9007199254740993, true},
		{"1.5", numFloat32, 0x3fc00000, true},
		{"5", numFloat64, 0x4014000000000000, true},
		{`"NaN"`, numFloat16, 0x7e00, true},
		{`"-Infinity"`, numFloat32, 0xff800000, true},
		{`"+Infinity"`, numFloat32, 0x7f800000, true},
		{`"0x7fc12345"`, numFloat32, 0x7fc12345, true},
		{`"0x7fc1"`, numFloat32, 0, false},
		{`"0x7fc12345"`, numFloat64, 0, false},
		{`"1.5"`, numFloat32, 0x3fc00000, true},
		{"1e39", numFloat32, 0, false},
		{"1e400", numFloat64, 0, false},
		{`"inf"`, numFloat32, 0, false},
		{`"1_0"`, numFloat32, 0, false},
		{"true", numInt8, 0, false},
		{"[1]", numInt8, 0, false},
		{`""`, numFloat32, 0, false},
	} {
		got, err := parseScalar([]byte(tt.text), tt.n)
		if (err == nil) != tt.ok {
			t.Errorf("%s of %v: %v", tt.text, tt.n, err)
		} else if tt.ok && string(got) != string(littleWord(tt.want, tt.n)) {
			t.Errorf("%s of %v is %x, want %x", tt.text, tt.n, got, tt.want)
		}
	}
}
