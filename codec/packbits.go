package codec

import (
	"encoding/binary"
	"fmt"

	"varve/codec/internal/corrupt"
)

// packBits stores booleans as bits, eight to a byte, the first one as the most
// significant.
//
//	┌───────────┬──────────┬───┬──────────┐
//	│ padding n │ 8 bits   │ … │ 8−n bits │
//	└───────────┴──────────┴───┴──────────┘
//
// Specification: numcodecs.packbits,
// https://numcodecs.readthedocs.io/en/stable/filter/packbits.html. The padding, 0 to 7
// bits, may have any value.
//
//	{"name": "numcodecs.packbits", "configuration": {}}
type packBits struct{}

func newPackBits(c *config, in Form) (Codec, error) {
	if in.Type.Kind != Bool {
		c.unsupported("elements of %v; it takes bool", in.Type)
	}
	return packBits{}, c.err
}

func (packBits) DecodeKey() string { return "packbits" }

func (packBits) Encoded(in Form) (Form, error) {
	n := in.Count()
	if n < 0 {
		return in, fmt.Errorf("chunk of shape %v is too large", in.Shape)
	}
	in.Type = Type{Kind: Uint, Size: 1}
	in.Shape = []int64{1 + int64(n/8) + int64(n%8+7)/8}
	return in, nil
}

func (packBits) Encode(dst, src Elems, _ Form) error {
	d, s := dst.Fixed, src.Fixed
	d[0] = byte(-len(s) & 7)
	for d = d[1:]; len(s) >= 8; d, s = d[1:], s[8:] {
		d[0] = pack8(s)
	}
	if len(s) > 0 {
		var last [8]byte
		copy(last[:], s)
		d[0] = pack8(last[:])
	}
	return nil
}

// pack8 packs eight booleans; any byte other than 0 is true. The multiplication moves bit
// 8·i to bit 63−i and puts nothing else in the top byte.
func pack8(b []byte) byte {
	v := binary.LittleEndian.Uint64(b)
	// Combine the eight bits of each byte in its lowest bit.
	v |= v >> 4 & 0x0f0f_0f0f_0f0f_0f0f
	v |= v >> 2 & 0x3f3f_3f3f_3f3f_3f3f
	v |= v >> 1
	return byte(v & 0x0101_0101_0101_0101 * 0x8040_2010_0804_0201 >> 56)
}

func (packBits) Decode(dst, src Elems, _ Form) error {
	d, s := dst.Fixed, src.Fixed
	if padding := -len(d) & 7; int(s[0]) != padding {
		return corrupt.Errorf("byte 0: %d padding bits, but %d booleans need %d", s[0], len(d), padding)
	}
	for s = s[1:]; len(d) >= 8; d, s = d[8:], s[1:] {
		binary.LittleEndian.PutUint64(d, unpack8(s[0]))
	}
	if len(d) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], unpack8(s[0]))
		copy(d, last[:])
	}
	return nil
}

// unpack8 returns eight bytes of 0 or 1 for the bits of a byte, the most significant
// first.
func unpack8(b byte) uint64 {
	// Copy the byte eight times and keep another bit in each copy. The addition carries a set
	// bit to the top of its byte.
	v := uint64(b) * 0x0101_0101_0101_0101 & 0x0102_0408_1020_4080
	return (v + 0x7f7e_7c78_7060_4000) >> 7 & 0x0101_0101_0101_0101
}
