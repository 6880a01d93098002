package codec

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// affine maps integers of one type to (x − offset) · scale and back. The integers with a
// result of the same type are computed once, so that no overflow goes unnoticed.
type affine struct {
	n             number
	offset, scale uint64   // in two's complement
	encodable     intRange // the integers that can be encoded
	decodable     intRange // the integers that can be decoded, if the scale divides them

	// Division by scale is a shift and a multiplication by the inverse, modulo 2⁶⁴, of
	// the remaining odd factor. Distinct integers have distinct results. All multiples of
	// the scale have results in quotients, so any other integer has a result outside of
	// it.
	shift     int
	inverse   uint64
	quotients intRange // of the integers that can be decoded
}

// isIdentity reports whether the map changes nothing.
func (a *affine) isIdentity() bool { return a.offset == 0 && a.scale == 1 }

// intRange is a range of integers in two's complement; it is empty if lo is above hi.
type intRange struct{ lo, hi uint64 }

func bigNumber(text string) *big.Int {
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

// newAffine returns the map for a scale other than 0.
func newAffine(n number, offset, scale *big.Int) *affine {
	lo, hi := n.integerRange()
	least, greatest := big.NewInt(lo), new(big.Int).SetUint64(hi)
	a := &affine{n: n, offset: lowWord(offset), scale: lowWord(scale)}
	a.shift = bits.TrailingZeros64(a.scale)
	a.inverse = inverseOf(a.scale >> a.shift)
	// An arithmetic shift keeps the sign of a negative scale.
	if n.isSigned() {
		a.inverse = inverseOf(uint64(int64(a.scale) >> a.shift))
	}
	// Encoding needs least ≤ (x − offset) · scale ≤ greatest, hence x between quotients.
	q0, q1 := ceilDiv(least, scale), floorDiv(greatest, scale)
	if scale.Sign() < 0 {
		q0, q1 = ceilDiv(greatest, scale), floorDiv(least, scale)
	}
	a.encodable = intersectType(n, new(big.Int).Add(q0, offset), new(big.Int).Add(q1, offset))
	// Decoding needs least ≤ y / scale + offset ≤ greatest.
	y0, y1 := new(big.Int).Sub(least, offset), new(big.Int).Sub(greatest, offset)
	a.quotients = intersectType(n.widest(), maxBig(q0, y0), minBig(q1, y1))
	y0.Mul(y0, scale)
	y1.Mul(y1, scale)
	a.decodable = intersectType(n, minBig(y0, y1), maxBig(y0, y1))
	return a
}

// maxBig returns the larger integer.
func maxBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

// minBig returns the smaller integer.
func minBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// widest returns the 64-bit integer type of the same signedness.
func (n number) widest() number {
	if n.isSigned() {
		return numInt64
	}
	return numUint64
}

// inverseOf returns the inverse of an odd number modulo 2⁶⁴ by Newton's iteration. The
// first approximation is right in 3 low bits; each step doubles that number.
func inverseOf(odd uint64) uint64 {
	x := odd
	for range 5 {
		x *= 2 - odd*x
	}
	return x
}

// lowWord returns the low 64 bits in two's complement.
func lowWord(v *big.Int) uint64 {
	mask := new(big.Int).SetUint64(math.MaxUint64)
	return mask.And(mask, v).Uint64()
}

// floorDiv returns a / b, rounded down.
func floorDiv(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	// QuoRem truncates, which rounds up when the exact quotient is negative.
	if r.Sign()*b.Sign() < 0 {
		q.Sub(q, big.NewInt(1))
	}
	return q
}

// ceilDiv returns a / b, rounded up.
func ceilDiv(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign()*b.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// intersectType returns the integers from lo to hi that a type can hold.
func intersectType(n number, lo, hi *big.Int) intRange {
	least, greatest := n.integerRange()
	if min := big.NewInt(least); lo.Cmp(min) < 0 {
		lo = min
	}
	if max := new(big.Int).SetUint64(greatest); hi.Cmp(max) > 0 {
		hi = max
	}
	if lo.Cmp(hi) > 0 {
		return intRange{1, 0}
	}
	return intRange{lowWord(lo), lowWord(hi)}
}

// firstOutside returns the index of the first integer outside the range, or -1.
func (s intRange) firstOutside(b []uint64, signed bool) int {
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

// describe formats the range for a message.
func (s intRange) describe(n number) string {
	return fmt.Sprintf("%v from %v to %v", n, wordValue(s.lo, n), wordValue(s.hi, n))
}

// encode fills dst with the encoded elements of src. First is the index of the first
// element, for messages.
func (a *affine) encode(dst, src []byte, first int) error {
	var block [blockLen]uint64
	size := a.n.size()
	for at := 0; len(src) > 0; at += blockLen {
		b := block[:min(blockLen, len(src)/size)]
		load(b, src, a.n)
		if i := a.encodable.firstOutside(b, a.n.isSigned()); i >= 0 {
			return fmt.Errorf("element %d is %v; only %s can be encoded", first+at+i, wordValue(b[i], a.n), a.encodable.describe(a.n))
		}
		for i, v := range b {
			b[i] = (v - a.offset) * a.scale
		}
		storeWords(dst, b, a.n)
		dst, src = dst[len(b)*size:], src[len(b)*size:]
	}
	return nil
}

// decode fills dst with the decoded elements of src.
func (a *affine) decode(dst, src []byte) error {
	var block [blockLen]uint64
	size := a.n.size()
	for at := 0; len(src) > 0; at += blockLen {
		b := block[:min(blockLen, len(src)/size)]
		load(b, src, a.n)
		if i := a.divide(b); i >= 0 {
			return a.decodeError(at+i, src[i*size:(i+1)*size])
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
	// ±1 divides everything, so the range of the input is checked instead of the
	// quotients.
	case a.scale == 1 || a.scale == math.MaxUint64 && a.n.isSigned():
		if i := a.decodable.firstOutside(b, a.n.isSigned()); i >= 0 {
			return i
		}
		for i, v := range b {
			b[i] = v * a.scale
		}
		return -1
	case a.n.isSigned():
		// A constant mask lets the compiler omit the check for shifts of 64 and more.
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
	return a.quotients.firstOutside(b, a.n.isSigned())
}

// decodeError returns the reason why an element cannot be decoded.
func (a *affine) decodeError(at int, element []byte) error {
	v := []uint64{wordOf(element, a.n)}
	if a.decodable.firstOutside(v, a.n.isSigned()) >= 0 {
		return corrupt.Errorf("element %d is %v; only %s can be decoded", at, wordValue(v[0], a.n), a.decodable.describe(a.n))
	}
	return corrupt.Errorf("element %d is %v, which the scale %v does not divide", at, wordValue(v[0], a.n), wordValue(a.scale, a.n))
}
