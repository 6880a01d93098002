package zfp

import "math"

// Bits of the fixed-point numbers as which floats are stored, relative to the block's exponent: two bits fewer
// than the width of a float.
const (
	fraction32 = 30
	fraction64 = 62
)

// exponent returns the number of bits of a block's exponent, and its bias.
func (k kind) exponent() (bits, bias int) {
	if k == float32s {
		return 8, 127
	}
	return 11, 1023
}

// floats decodes a block that began at bit begin and is not all zero. The result are the bits of its floats.
func (d *decoder[T]) floats(begin int64) {
	l := &d.array.limits
	if l.isReversible() && d.take(1) == 1 { // fixed-point numbers would lose bits
		d.integers(begin)
		d.unfold()
		return
	}
	bits, bias := d.array.kind.exponent()
	exponent := int(d.take(bits)) - bias
	if !l.isReversible() {
		d.readPlanes(begin, l.precision(exponent, d.array.dims))
		d.invert()
	} else if d.integers(begin); exponent == -bias {
		clear(d.used())
		return
	}
	switch block := any(&d.block).(type) {
	case *[256]int32:
		scale32(block[:len(d.used())], exponent)
	case *[256]int64:
		scale64(block[:len(d.used())], exponent)
	}
}

// precision returns the number of planes of a block of floats: the planes down to minExp, and additional ones
// for the growth of numbers in the transform.
func (l *limits) precision(exponent, dims int) int {
	return min(l.maxPrec, max(0, exponent-l.minExp+2*dims+2))
}

// unfold converts integers with the order of floats to the bits of these floats: in a negative one it inverts all
// bits except the sign.
func (d *decoder[T]) unfold() {
	sign := T(1) << (8*d.array.kind.width() - 1)
	block := d.used()
	for i, v := range block {
		if v < 0 {
			block[i] = ^v | sign
		}
	}
}

// scale32 replaces each x by the bits of x·2^(exponent-30). As in ZFP, the power of two may underflow, and x is
// rounded first, so that small numbers have the same bits.
func scale32(block []int32, exponent int) {
	unit := float32(math.Ldexp(1, exponent-fraction32))
	for i, x := range block {
		block[i] = int32(math.Float32bits(unit * float32(x)))
	}
}

// scale64 is scale32 for float64.
func scale64(block []int64, exponent int) {
	unit := math.Ldexp(1, exponent-fraction64)
	for i, x := range block {
		block[i] = int64(math.Float64bits(unit * float64(x)))
	}
}
