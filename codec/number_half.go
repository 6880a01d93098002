package codec

import "math"

// halfToFloat32 converts the bits of an IEEE 754 binary16. It keeps the payload of a NaN.
func halfToFloat32(h uint16) float32 {
	const (
		exponent = 0x7c00 << 13      // all ones
		rebias   = (127 - 15) << 23  // of normal numbers
		least    = float32(0x1p-14)  // the least normal half
		widest   = (255 - 143) << 23 // takes rebiased infinity to infinity
	)
	abs := uint32(h&0x7fff) << 13
	sign := uint32(h&0x8000) << 16
	switch abs & exponent {
	case exponent:
		abs += rebias + widest
	case 0:
		// Put the digits of a subnormal after those of 2⁻¹⁴ and subtract 2⁻¹⁴, so that the
		// hardware normalizes the result.
		return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(abs+rebias+1<<23)-least))
	default:
		abs += rebias
	}
	return math.Float32frombits(sign | abs)
}

// float64ToHalf rounds to the nearest binary16, ties to even, and returns its bits. It
// truncates the payload of a NaN as NumPy does.
func float64ToHalf(v float64) uint16 {
	bits := math.Float64bits(v)
	sign := uint16(bits>>48) & 0x8000
	abs := bits &^ (1 << 63)
	switch {
	case abs < 0x3f10_0000_0000_0000: // less than 2⁻¹⁴: adding 2²⁸ rounds to units of 2⁻²⁴
		return sign | uint16(math.Float64bits(math.Float64frombits(abs)+0x1p28))
	case abs < 0x40ef_fe00_0000_0000: // less than 65520, which rounds to infinity
		abs += 1<<41 - 1 + abs>>42&1
		return sign | uint16(abs>>42-(1023-15)<<10)
	case abs <= 0x7ff0_0000_0000_0000:
		return sign | 0x7c00
	}
	// A payload of 0 would be infinity.
	return sign | 0x7c00 | max(1, uint16(abs>>42)&0x3ff)
}

// roundToHalf rounds v to a value of binary16.
func roundToHalf[F float32 | float64](v F) F { return F(halfToFloat32(float64ToHalf(float64(v)))) }
