package codec

import (
	"fmt"
	"math"
	"math/big"

	"varve/codec/internal/corrupt"
)

// affine takes integers of a type to (x − offset) · scale and back. Which integers have
// a result of the same type is worked out once, so that nothing overflows unseen.
type affine struct {
	n             number
	offset, scale uint64 // in two's complement
	plain         bool   // nothing changes
	takes         span   // what can be encoded
	gives         span   // what can be decoded, if the scale divides it
}

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
	a := &affine{n: n, offset: word(offset), scale: word(scale), plain: offset.Sign() == 0 && scale.IsInt64() && scale.Int64() == 1}
	// Encoding needs least ≤ (x − offset) · scale ≤ greatest, hence x between quotients.
	x0, x1 := divideUp(least, scale), divideDown(greatest, scale)
	if scale.Sign() < 0 {
		x0, x1 = divideUp(greatest, scale), divideDown(least, scale)
	}
	a.takes = spanWithin(n, x0.Add(x0, offset), x1.Add(x1, offset))
	// Decoding needs least ≤ y / scale + offset ≤ greatest.
	y0, y1 := new(big.Int).Sub(least, offset), new(big.Int).Sub(greatest, offset)
	y0.Mul(y0, scale)
	y1.Mul(y1, scale)
	if scale.Sign() < 0 {
		y0, y1 = y1, y0
	}
	a.gives = spanWithin(n, y0, y1)
	return a
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

// encode fills dst with what the elements of src become.
func (a *affine) encode(dst, src []byte) error {
	var block [blockLen]uint64
	size := a.n.size()
	for at := 0; len(src) > 0; at += blockLen {
		b := block[:min(blockLen, len(src)/size)]
		load(b, src, a.n)
		if i := a.takes.outside(b, a.n.isSigned()); i >= 0 {
			return fmt.Errorf("element %d is %v; what it is encoded as fits only for %s", at+i, wordValue(b[i], a.n), a.takes.describe(a.n))
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
		if i := a.gives.outside(b, a.n.isSigned()); i >= 0 {
			return corrupt.Errorf("element %d is %v; only %s decode to the type", at+i, wordValue(b[i], a.n), a.gives.describe(a.n))
		}
		if i := a.divide(b); i >= 0 {
			return corrupt.Errorf("element %d is %v, which the scale %v does not divide", at+i, wordValue(b[i], a.n), wordValue(a.scale, a.n))
		}
		for i := range b {
			b[i] += a.offset
		}
		storeWords(dst, b, a.n)
		dst, src = dst[len(b)*size:], src[len(b)*size:]
	}
	return nil
}

// divide divides by the scale and returns the first element that it does not divide,
// or -1.
func (a *affine) divide(b []uint64) int {
	switch {
	case a.scale == 1:
	case a.n.isSigned():
		for i, v := range b {
			q := int64(v) / int64(a.scale)
			if uint64(q)*a.scale != v {
				return i
			}
			b[i] = uint64(q)
		}
	default:
		for i, v := range b {
			q := v / a.scale
			if q*a.scale != v {
				return i
			}
			b[i] = q
		}
	}
	return -1
}
