package zfp

import "math"

// Floats are stored as integers of two bits less than their width, in units of the
// block's exponent.
const (
	fraction32 = 30
	fraction64 = 62
)

// exponent returns the bits of a block's exponent, and what is added to it.
func (k kind) exponent() (bits, bias int) {
	if k == float32s {
		return 8, 127
	}
	return 11, 1023
}

// floats decodes a block that began at a bit and is not all zero, and leaves the bits of
// its floats in it.
func (d *decoder[T]) floats(begin int64) {
	l := &d.array.limits
	if l.reversible() && d.take(1) == 1 {
		d.integers(begin)
		d.unfold()
		return
	}
	bits, bias := d.array.kind.exponent()
	exponent := int(d.take(bits)) - bias
	if !l.reversible() {
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

// precision returns how many planes a block of floats has: those down to minExp, and
// some more that the transform needs.
func (l *limits) precision(exponent, dims int) int {
	return min(l.maxPrec, max(0, exponent-l.minExp+2*dims+2))
}

// unfold turns integers that are ordered as floats are into the bits of those floats:
// of a negative one, all but the sign are inverted.
func (d *decoder[T]) unfold() {
	sign := T(1) << (8*d.array.kind.width() - 1)
	block := d.used()
	for i, v := range block {
		if v < 0 {
			block[i] = ^v | sign
		}
	}
}

// scale32 puts the bits of x·2^(exponent-30) in the place of each x. The power of two may
// underflow, and x is rounded first: what ZFP does, so that small numbers come out alike.
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
