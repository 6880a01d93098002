package grib

import (
	"encoding/binary"
	"math"
)

// scaling makes values of packed integers: (X × s + r) × d.
type scaling struct {
	r float64 // the reference value
	s float64 // 2^E
	d float64 // 10^-D
}

// of returns the value of a packed integer. The conversion keeps the compiler from rounding
// product and sum once, which it may do on arm64 and with GOAMD64=v3.
func (c scaling) of(x float64) float64 {
	return (float64(x*c.s) + c.r) * c.d
}

func newScaling(reference float64, binaryScale, decimalScale int) scaling {
	return scaling{reference, power(2, binaryScale), power(10, -decimalScale)}
}

// power returns base^n as ecCodes does: by one product or quotient after the other, which is not always
// the nearest float64.
func power(base float64, n int) float64 {
	p := 1.0
	for ; n < 0; n++ {
		p /= base
	}
	for ; n > 0; n-- {
		p *= base
	}
	return p
}

// signed16 reads a sign and 15 bits of magnitude, as GRIB has negative integers.
func signed16(b []byte) int {
	v := binary.BigEndian.Uint16(b)
	if v&0x8000 != 0 {
		return -int(v & 0x7fff)
	}
	return int(v)
}

// signed32 reads a sign and 31 bits of magnitude.
func signed32(b []byte) int {
	v := binary.BigEndian.Uint32(b)
	if v&0x80000000 != 0 {
		return -int(v & 0x7fffffff)
	}
	return int(v)
}

func ieee32(b []byte) float64 {
	return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
}

func ieee64(b []byte) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

// ibm32 reads a float of IBM's System/360: a sign, 7 bits of an exponent of 16 with a bias of 64, and
// 24 bits of a fraction. Every one is a float64.
func ibm32(b []byte) float64 {
	v := binary.BigEndian.Uint32(b)
	exponent, fraction := int(v>>24&0x7f), v&0xffffff
	if exponent == 0 && fraction <= 1 {
		return 0 // as ecCodes has it
	}
	x := math.Ldexp(float64(fraction), 4*(exponent-64)-24)
	if v&0x80000000 != 0 {
		return -x
	}
	return x
}
