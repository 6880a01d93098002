package xz

import "varve/codec/internal/corrupt"

// prob is the probability of a 0 bit, in units of 1/probOne.
type prob uint16

const (
	probBits = 11
	probOne  = 1 << probBits
	even     = probOne / 2
	moveBits = 5 // a bit moves a prob by 1/32 of its distance from 0 or 1
	topRange = 1 << 24
)

// reset sets probabilities to one half.
func reset(probs []prob) {
	for i := range probs {
		probs[i] = even
	}
}

// rangeDecoder decodes bits with adaptive probabilities. Past the end of data it reads zeros, and pos exceeds
// len(data).
type rangeDecoder struct {
	data  []byte
	pos   int
	width uint32 // width of the current range
	code  uint32 // position of the data in the range
}

// startRange starts decoding at byte start of src.
func (r *rangeDecoder) startRange(src []byte, start int) error {
	if len(src)-start < 5 {
		return corrupt.Errorf("xz: LZMA data truncated at byte %d", len(src))
	}
	if src[start] != 0 {
		return corrupt.Errorf("xz: LZMA data at byte %d starts with %02x, must be 00", start, src[start])
	}
	*r = rangeDecoder{data: src, pos: start + 1, width: 1<<32 - 1}
	for range 4 {
		r.code = r.code<<8 | uint32(src[r.pos])
		r.pos++
	}
	return nil
}

// normalize keeps the range wide enough for the next bit.
func (r *rangeDecoder) normalize() {
	if r.width < topRange {
		r.width <<= 8
		r.code <<= 8
		if r.pos < len(r.data) {
			r.code |= uint32(r.data[r.pos])
		}
		r.pos++
	}
}

// atEnd reports whether all data was used. At the end of valid data it is true.
func (r *rangeDecoder) atEnd() bool { return r.code == 0 && r.pos == len(r.data) }

// bit decodes a bit and adapts its probability.
func (r *rangeDecoder) bit(p *prob) uint32 {
	r.normalize()
	bound := (r.width >> probBits) * uint32(*p)
	if r.code < bound {
		r.width = bound
		*p += (probOne - *p) >> moveBits
		return 0
	}
	r.width -= bound
	r.code -= bound
	*p -= *p >> moveBits
	return 1
}

// step decodes a bit without a branch, which the processor would often predict wrongly. below is all ones if
// the bit is 0. step takes and returns copies of the decoder's fields, so that they stay in registers.
func step(width, code uint32, p prob) (newWidth, newCode uint32, newProb prob, below uint32) {
	bound := (width >> probBits) * uint32(p)
	over := int64(code) - int64(bound)
	below = uint32(over >> 63)
	rest := width - bound
	newWidth = rest ^ (rest^bound)&below
	newCode = uint32(over) + bound&below
	newProb = p - prob((int32(p)+int32(below)&(1<<moveBits-1-probOne))>>moveBits)
	return newWidth, newCode, newProb, below
}

// tree decodes n bits, the highest first. The probability of a bit depends on the previous bits.
func (r *rangeDecoder) tree(probs []prob, n uint) uint32 {
	width, code, pos, data := r.width, r.code, r.pos, r.data
	m := uint32(1)
	probs = probs[:1<<(n&31)]
	for m < uint32(len(probs)) {
		if width < topRange {
			width <<= 8
			code <<= 8
			if pos < len(data) {
				code |= uint32(data[pos])
			}
			pos++
		}
		var below uint32
		width, code, probs[m], below = step(width, code, probs[m])
		m = m<<1 + 1 + below
	}
	r.width, r.code, r.pos = width, code, pos
	return m - uint32(len(probs))
}

// reverse is tree with the lowest bit first.
func (r *rangeDecoder) reverse(probs []prob, n uint) uint32 {
	m, v := uint32(1), uint32(0)
	for i := range n {
		b := r.bit(&probs[m])
		m = m<<1 | b
		v |= b << i
	}
	return v
}

// direct decodes n bits with the fixed probability one half, the highest first.
func (r *rangeDecoder) direct(n uint) uint32 {
	v := uint32(0)
	for range n {
		r.normalize()
		r.width >>= 1
		over := int64(r.code) - int64(r.width)
		below := uint32(over >> 63)
		r.code = uint32(over) + r.width&below
		v = v<<1 + 1 + below
	}
	return v
}

// matchedByte decodes a literal after a match. other is the byte that would have continued the match. Up to
// the first bit that differs from it, probabilities depend on the bits of other too.
func (r *rangeDecoder) matchedByte(probs []prob, other uint32) byte {
	width, code, pos, data := r.width, r.code, r.pos, r.data
	p := (*[literalSize]prob)(probs)
	m, offset := uint32(1), uint32(0x100)
	for m < 0x100 {
		if width < topRange {
			width <<= 8
			code <<= 8
			if pos < len(data) {
				code |= uint32(data[pos])
			}
			pos++
		}
		other <<= 1
		expected := other & offset
		i := offset + expected + m
		var below uint32
		width, code, p[i], below = step(width, code, p[i])
		m = m<<1 + 1 + below
		offset &= expected ^ below
	}
	r.width, r.code, r.pos = width, code, pos
	return byte(m)
}
