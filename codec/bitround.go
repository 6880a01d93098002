package codec

import "encoding/binary"

// bitRound keeps a few mantissa bits of each float and sets the others to 0, so that the
// chunk compresses better. Decoding changes nothing.
//
// Specification: numcodecs.bitround,
// https://numcodecs.readthedocs.io/en/stable/filter/bitround.html; Klöwer et al. 2021,
// https://doi.org/10.1038/s43588-021-00156-2.
//
//	{"name": "numcodecs.bitround", "configuration": {"keepbits": 7}}
//
// Ties go to even. A NaN stays NaN; numcodecs rounds some NaNs to infinity or −0.
type bitRound struct {
	elementwise
	n    number
	drop int // mantissa bits that become 0
}

func newBitRound(c *config, in Form) (Codec, error) {
	n := c.elements(in)
	if c.err == nil && !n.isFloat() {
		c.unsupported("elements of %v; it takes floats", in.Type)
	}
	if c.err != nil {
		return nil, c.err
	}
	bits := mantissaBits(n)
	keep := c.integer("keepbits", -1, 0, bits)
	if keep < 0 && c.err == nil {
		c.fail("keepbits", "missing; want an integer from 0 to %d", bits)
	}
	return &bitRound{n: n, drop: bits - keep}, c.err
}

// mantissaBits returns the number of stored mantissa bits of a float type.
func mantissaBits(n number) int {
	switch n {
	case numFloat16:
		return 10
	case numFloat32:
		return 23
	}
	return 52
}

func (*bitRound) DecodeKey() string { return "" }

func (*bitRound) Encoded(in Form) (Form, error) { return in, nil }

func (*bitRound) Decode(dst, src Elems, _ Form) error {
	copy(dst.Fixed, src.Fixed)
	return nil
}

func (r *bitRound) Encode(dst, src Elems, _ Form) error {
	d, s := dst.Fixed, src.Fixed
	switch {
	case r.drop == 0:
		copy(d, s)
	case r.n == numFloat16:
		for ; len(s) >= 2; d, s = d[2:], s[2:] {
			binary.LittleEndian.PutUint16(d, roundBits(binary.LittleEndian.Uint16(s), r.drop, 0x7c00))
		}
	case r.n == numFloat32:
		for ; len(s) >= 4; d, s = d[4:], s[4:] {
			binary.LittleEndian.PutUint32(d, roundBits(binary.LittleEndian.Uint32(s), r.drop, 0x7f80_0000))
		}
	default:
		for ; len(s) >= 8; d, s = d[8:], s[8:] {
			binary.LittleEndian.PutUint64(d, roundBits(binary.LittleEndian.Uint64(s), r.drop, 0x7ff0_0000_0000_0000))
		}
	}
	return nil
}

// roundBits rounds the bits of a float. A carry out of the mantissa increments the
// exponent, which is the correct result. A NaN that would become another value becomes
// the quiet NaN.
func roundBits[W uint16 | uint32 | uint64](v W, drop int, infinity W) W {
	// Add half a unit minus one, plus the last kept bit: a tie is rounded up only if that
	// bit is 1.
	r := (v + v>>drop&1 + 1<<(drop-1) - 1) >> drop << drop
	// infinity&-infinity is its lowest bit, and the sum of both the sign bit.
	if sign := infinity + infinity&-infinity; v&^sign > infinity && r&^sign <= infinity {
		return v&sign | infinity | infinity&-infinity>>1
	}
	return r
}
