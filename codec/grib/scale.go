package grib

import (
	"encoding/binary"
	"math"

	"varve/codec/grib/keys"
)

// scaling converts packed integers to values: (X × s + r) × d.
type scaling struct {
	r float64 // the reference value
	s float64 // 2^E
	d float64 // 10^-D
}

// of returns the value of a packed integer. Without the conversion of the product, the compiler may
// round product and sum together, on arm64 and with GOAMD64=v3.
func (c scaling) of(x float64) float64 {
	return (float64(x*c.s) + c.r) * c.d
}

func newScaling(info *Info) scaling {
	return scaling{info.Reference, power(2, info.BinaryScale), power(10, -info.DecimalScale)}
}

// power returns base^n as ecCodes does, by repeated multiplication or division. The result is not always
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

// signed16 reads a sign and 15 bits of magnitude.
func signed16(b []byte) int { return int(keys.Signed(b[:2])) }

// signed32 reads a sign and 31 bits of magnitude.
func signed32(b []byte) int { return int(keys.Signed(b[:4])) }

func ieee32(b []byte) float64 {
	return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
}

func ieee64(b []byte) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}
