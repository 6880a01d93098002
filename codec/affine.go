package codec

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// affine takes integers of a type to (x − offset) · scale and back. Which integers have
// a result of the same type is worked out once, so that nothing overflows unseen.
type affine struct {
	n             number
	offset, scale uint64 // in two's complement
	takes         span   // what can be encoded
	gives         span   // what can be decoded, if the scale divides it

	// Dividing by scale is dividing by a power of two and multiplying by the inverse,
	// modulo 2⁶⁴, of the odd number that is left. Distinct numbers have distinct results,
	// and multiples of the scale have all that are quotients, so that whatever it does not
	// divide has a result out of the range of quotients.
	shift     int
	inverse   uint64
	quotients span // of what can be decoded
}

// isIdentity reports whether nothing changes.
func (a *affine) isIdentity() bool { return a.offset == 0 && a.scale == 1 }

// span is a range of integers in two's complement; it is empty if lo is above hi.
type span struct{ lo, hi uint64 }

func bigNumber(text string) *big.Int {
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

// newAffine returns the map for a scale that is not 0.
func newAffine(n number, offset, scale *big.Int) *affine {
	lo, hi := n.integerRange()
	least, greatest := big.NewInt(lo), new(big.Int).SetUint64(hi)
	a := &affine{n: n, offset: word(offset), scale: word(scale)}
	a.shift = bits.TrailingZeros64(a.scale)
	a.inverse = inverse(a.scale >> a.shift)
	if n.isSigned() {
		a.inverse = inverse(uint64(int64(a.scale) >> a.shift))
	}
	// Encoding needs least ≤ (x − offset) · scale ≤ greatest, hence x between quotients.
	q0, q1 := divideUp(least, scale), divideDown(greatest, scale)
	if scale.Sign() < 0 {
		q0, q1 = divideUp(greatest, scale), divideDown(least, scale)
	}
	a.takes = spanWithin(n, new(big.Int).Add(q0, offset), new(big.Int).Add(q1, offset))
	// Decoding needs least ≤ y / scale + offset ≤ greatest.
	y0, y1 := new(big.Int).Sub(least, offset), new(big.Int).Sub(greatest, offset)
	a.quotients = spanWithin(n.widest(), bigger(q0, y0), smaller(q1, y1))
	y0.Mul(y0, scale)
	y1.Mul(y1, scale)
	a.gives = spanWithin(n, smaller(y0, y1), bigger(y0, y1))
	return a
}

func bigger(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func smaller(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// widest returns the integer type of 64 bits with or without a sign.
func (n number) widest() number {
	if n.isSigned() {
		return numInt64
	}
	return numUint64
}

// inverse returns what an odd number times is 1 modulo 2⁶⁴. Each step doubles how many
// low bits are right, of which there are 3 to begin with.
func inverse(odd uint64) uint64 {
	x := odd
	for range 5 {
		x *= 2 - odd*x
	}
	return x
}

// word returns the low 64 bits in two's complement.
func word(v *big.Int) uint64 {
	mask := new(big.Int).SetUint64(math.MaxUint64)
	return mask.And(mask, v).Uint64()
}

func divideDown(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign()*b.Sign() < 0 {
		q.Sub(q, big.NewInt(1))
	}
	return q
}

func divideUp(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign()*b.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// spanWithin returns the integers of a type from lo to hi.
func spanWithin(n number, lo, hi *big.Int) span {
	least, greatest := n.integerRange()
	if min := big.NewInt(least); lo.Cmp(min) < 0 {
		lo = min
	}
	if max := new(big.Int).SetUint64(greatest); hi.Cmp(max) > 0 {
		hi = max
	}
	if lo.Cmp(hi) > 0 {
		return span{1, 0}
	}
	return span{word(lo), word(hi)}
}

// outside returns the first of the integers that is not in the span, or -1.
func (s span) outside(b []uint64, signed bool) int {
	if !signed {
		for i, v := range b {
			if v < s.lo || v > s.hi {
				return i
			}
		}
		return -1
	}
	lo, hi := int64(s.lo), int64(s.hi)
	for i, v := range b {
		if int64(v) < lo || int64(v) > hi {
			return i
		}
	}
	return -1
}

// describe says which integers are in a span of a type.
func (s span) describe(n number) string {
	return fmt.Sprintf("%v from %v to %v", n, wordValue(s.lo, n), wordValue(s.hi, n))
}

// encode fills dst with what the elements of src become, the first of which is number
// first.
func (a *affine) encode(dst, src []byte, first int) error {
	var block [blockLen]uint64
	size := a.n.size()
	for at := 0; len(src) > 0; at += blockLen {
		b := block[:min(blockLen, len(src)/size)]
		load(b, src, a.n)
		if i := a.takes.outside(b, a.n.isSigned()); i >= 0 {
			return fmt.Errorf("element %d is %v; what it is encoded as fits only for %s", first+at+i, wordValue(b[i], a.n), a.takes.describe(a.n))
		}
		for i, v := range b {
			b[i] = (v - a.offset) * a.scale
		}
		storeWords(dst, b, a.n)
		dst, src = dst[len(b)*size:], src[len(b)*size:]
	}
	return nil
}

// decode fills dst with what the elements of src were.
func (a *affine) decode(dst, src []byte) error {
	var block [blockLen]uint64
	size := a.n.size()
	for at := 0; len(src) > 0; at += blockLen {
		b := block[:min(blockLen, len(src)/size)]
		load(b, src, a.n)
		if i := a.divide(b); i >= 0 {
			return a.explain(at+i, src[i*size:(i+1)*size])
		}
		for i := range b {
			b[i] += a.offset
		}
		storeWords(dst, b, a.n)
		dst, src = dst[len(b)*size:], src[len(b)*size:]
	}
	return nil
}

// divide divides by the scale and returns the first element that cannot be decoded, or
// -1.
func (a *affine) divide(b []uint64) int {
	switch {
	case a.scale == 1 || a.scale == math.MaxUint64 && a.n.isSigned():
		if i := a.gives.outside(b, a.n.isSigned()); i >= 0 {
			return i
		}
		for i, v := range b {
			b[i] = v * a.scale
		}
		return -1
	case a.n.isSigned():
		shift, inverse, low := a.shift&63, a.inverse, uint64(1)<<a.shift-1
		for i, v := range b {
			if v&low != 0 {
				return i
			}
			b[i] = uint64(int64(v)>>shift) * inverse
		}
	default:
		shift, inverse, low := a.shift&63, a.inverse, uint64(1)<<a.shift-1
		for i, v := range b {
			if v&low != 0 {
				return i
			}
			b[i] = v >> shift * inverse
		}
	}
	return a.quotients.outside(b, a.n.isSigned())
}

// explain says why an element cannot be decoded.
func (a *affine) explain(at int, element []byte) error {
	v := []uint64{wordOf(element, a.n)}
	if a.gives.outside(v, a.n.isSigned()) >= 0 {
		return corrupt.Errorf("element %d is %v; only %s decode to the type", at, wordValue(v[0], a.n), a.gives.describe(a.n))
	}
	return corrupt.Errorf("element %d is %v, which the scale %v does not divide", at, wordValue(v[0], a.n), wordValue(a.scale, a.n))
}
