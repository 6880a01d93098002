// Package glibc has functions that return the same bits as those of the GNU C library, for decoders
// whose originals in C call them. Go's own functions sometimes differ in the last bit, and an error in
// one prediction spreads to all elements that are predicted from it.
//
// They are pow, exp and exp2 of glibc 2.28 and later. pow and exp have the bits of glibc on a processor
// with fused multiply-add; exp2 has those without, because glibc does not compile exp2 for fused
// multiply-add. Only the operands that decoding needs are supported.
//
// The algorithms and coefficients are from Arm's Optimized Routines (Szabolcs Nagy, 2018), which glibc
// uses. math.FMA is exact on every machine; the explicit conversions prevent the compiler from fusing
// other products.
package glibc

import "math"

// Ln 2 in two parts, the first of which times an exponent is exact, and the coefficients of the
// polynomial of log(1+r), scaled for its evaluation.
const (
	ln2High = 0x1.62e42fefa3800p-1
	ln2Low  = 0x1.ef35793c76730p-45

	log2nd = -0x1p-1
	log3rd = 0x1.555555555556p-2 * -2
	log4th = -0x1.0000000000006p-2 * -2
	log5th = 0x1.999999959554ep-3 * 4
	log6th = -0x1.555555529a47ap-3 * 4
	log7th = 0x1.2495b9b4845e9p-3 * -8
	log8th = -0x1.0002b8b263fc3p-3 * -8
)

// 128/ln 2, -ln 2/128 in two parts, and the coefficients of the polynomials of exp(r) and 2^r.
const (
	invLn2By128  = 0x1.71547652b82fep0 * 128
	negLn2High   = -0x1.62e42fefa0000p-8
	negLn2Low    = -0x1.cf79abc9e3b3ap-47
	roundToUnit  = 0x1.8p52
	roundTo128th = 0x1.8p52 / 128

	exp2nd = 0x1.ffffffffffdbdp-2
	exp3rd = 0x1.555555555543cp-3
	exp4th = 0x1.55555cf172b91p-5
	exp5th = 0x1.1111167a4d017p-7

	two1st = 0x1.62e42fefa39efp-1
	two2nd = 0x1.ebfbdff82c424p-3
	two3rd = 0x1.c6b08d70cf4b5p-5
	two4th = 0x1.3b2abd24650ccp-7
	two5th = 0x1.5d7e09b4e3a84p-10
)

// Pow returns x to the power of y for a finite x of at least 1.
func Pow(x, y float64) float64 {
	if x == 1 || math.Abs(y) < 0x1p-65 {
		return 1
	}
	if x < 1 || math.IsInf(x, 0) || math.IsNaN(x) || math.Abs(y) >= 0x1p63 {
		return math.Pow(x, y)
	}
	high, low := logarithm(math.Float64bits(x))
	e := y * high
	return exponential(e, math.FMA(y, low, math.FMA(y, high, -e)))
}

// Exp returns e to the power of x.
func Exp(x float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	return exponential(x, 0)
}

// logarithm returns the natural logarithm of a normal positive number, given by its bits, as the sum of
// two numbers.
func logarithm(x uint64) (high, low float64) {
	const offset = 0x3fe6955500000000
	fromOffset := x - offset
	entry := &powLog[fromOffset>>45&127]
	k := float64(int64(fromOffset) >> 52)
	z := math.Float64frombits(x - fromOffset&(0xfff<<52))

	r := math.FMA(z, entry[0], -1)
	t1 := math.FMA(k, ln2High, entry[1])
	t2 := t1 + r
	low1 := math.FMA(k, ln2Low, entry[2])
	low2 := t1 - t2 + r

	ar := float64(log2nd * r)
	ar2 := float64(r * ar)
	ar3 := float64(r * ar2)
	h := t2 + ar2
	low3 := math.FMA(ar, r, -ar2)
	low4 := t2 - h + ar2
	p := math.FMA(ar2, math.FMA(ar2, math.FMA(r, log8th, log7th), math.FMA(r, log6th, log5th)), math.FMA(r, log4th, log3rd))
	l := math.FMA(ar3, p, low1+low2+low3+low4)
	high = h + l
	return high, h - high + l
}

// exponential returns e to the power of x + tail.
func exponential(x, tail float64) float64 {
	switch m := math.Abs(x); {
	case m < 0x1p-54:
		return 1 + x
	case m >= 1024 && x > 0:
		return math.Inf(1)
	case m >= 1024:
		return 0
	}
	kd := math.FMA(invLn2By128, x, roundToUnit)
	k := math.Float64bits(kd)
	kd -= roundToUnit
	r := math.FMA(kd, negLn2Low, math.FMA(kd, negLn2High, x)) + tail
	r2 := float64(r * r)
	entry := &powExp[k&127]
	t := math.FMA(r2, math.FMA(r, exp3rd, exp2nd), math.Float64frombits(entry[0])+r)
	t = math.FMA(float64(r2*r2), math.FMA(r, exp5th, exp4th), t)
	s, unit := scale(entry[1], k, math.Abs(x) >= 512)
	if unit < 1 {
		return unit * nearSubnormal(s, float64(s*t)) // glibc does not fuse these
	}
	return unit * math.FMA(s, t, s)
}

// Exp2 returns 2 to the power of x.
func Exp2(x float64) float64 {
	switch {
	case math.IsNaN(x) || x >= 1024:
		return x + math.Inf(1)
	case x <= -1075:
		return 0
	case math.Abs(x) < 0x1p-54:
		return 1 + x
	}
	kd := x + roundTo128th
	k := math.Float64bits(kd)
	r := x - (kd - roundTo128th)
	r2 := float64(r * r)
	entry := &powExp[k&127]
	t := math.Float64frombits(entry[0]) + float64(r*two1st)
	t += float64(r2 * (two2nd + float64(r*two3rd)))
	t += float64(float64(r2*r2) * (two4th + float64(r*two5th)))
	s, unit := scale(entry[1], k, math.Abs(x) >= 512)
	st := float64(s * t)
	if unit < 1 {
		return unit * nearSubnormal(s, st)
	}
	return unit * (s + st)
}

// scale returns 2^(k/128) as a product of two numbers. base is the table's entry for k. The second number
// is 1 unless isFar: then the exponent of the result may be out of range.
func scale(base, k uint64, isFar bool) (s, unit float64) {
	bits := base + k<<45
	switch {
	case !isFar:
		return math.Float64frombits(bits), 1
	case k&0x80000000 == 0:
		return math.Float64frombits(bits - 1009<<52), 0x1p1009
	}
	return math.Float64frombits(bits + 1022<<52), 0x1p-1022
}

// nearSubnormal returns s + st, rounded to the bits that remain after multiplication with 2^-1022. It
// avoids rounding twice.
func nearSubnormal(s, st float64) float64 {
	y := s + st
	if y >= 1 {
		return y
	}
	high := 1 + y
	low := 1 - high + y + (s - y + st)
	return high + low - 1
}
