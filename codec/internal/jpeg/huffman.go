package jpeg

import "encoding/binary"

const lookBits = 10 // of a lookup

// huffman is a Huffman table. A symbol has the number of zeros before a coefficient, and the number of bits that follow
// with the coefficient.
type huffman struct {
	codes [1 << lookBits]uint16 // length and symbol by the next bits; 0 for longer codes
	// values is for codes whose coefficient is in the lookup too: bits of both, zeros before, and coefficient.
	values  [1 << lookBits]uint32
	limit   [17]uint32 // by length: the first code, in 16 bits, that is longer
	offset  [17]int32  // by length: place in symbols less code
	symbols [256]byte
}

// newHuffman returns the table with count[i] codes of i+1 bits. It returns false if no code has these counts.
func newHuffman(count [16]byte, symbols []byte, dc bool) (*huffman, bool) {
	t := new(huffman)
	copy(t.symbols[:], symbols)
	code, at := uint32(0), 0
	for length := 1; length <= 16; length++ {
		t.offset[length] = int32(at) - int32(code)
		for range count[length-1] {
			if code+1 >= 1<<length || dc && t.symbols[at] > 15 { // no code has only ones
				return nil, false
			}
			t.fill(code, length, t.symbols[at])
			code++
			at++
		}
		t.limit[length] = code << (16 - length)
		code <<= 1
	}
	return t, true
}

// fill sets the lookups of a code.
func (t *huffman) fill(code uint32, length int, symbol byte) {
	free := lookBits - length
	if free < 0 {
		return
	}
	size := int(symbol & 15)
	for more := range uint32(1) << free {
		i := code<<free | more
		t.codes[i] = uint16(length)<<8 | uint16(symbol)
		if size > 0 && size <= free {
			v := extend(more>>(free-size), size)
			t.values[i] = uint32(uint16(v))<<16 | uint32(symbol>>4)<<8 | uint32(length+size)
		}
	}
}

// extend returns the coefficient of size bits (figure F.12 of T.81).
func extend(v uint32, size int) int32 {
	if v>>(size-1) == 0 {
		return int32(v) - 1<<size + 1
	}
	return int32(v)
}

// bits reads the coded coefficients up to the next marker. Zero bits follow it.
type bits struct {
	src   []byte
	at    int    // of the next byte that is not in acc
	acc   uint64 // the next bits, from the highest
	n     int    // number of bits in acc
	added int    // zero bits after the end
}

// overrun reports whether bits after the end were used.
func (b *bits) overrun() bool { return b.n < b.added }

// fill makes acc have at least 57 bits.
func (b *bits) fill() {
	if b.at+8 <= len(b.src) {
		w := binary.BigEndian.Uint64(b.src[b.at:])
		const low, high = 0x0101010101010101, 0x8080808080808080
		if (^w-low)&w&high == 0 { // no byte is FF
			b.acc |= w >> b.n
			k := (64 - b.n) >> 3
			b.at += k
			b.n += k << 3
			return
		}
	}
	for b.n <= 56 {
		c, ok := b.next()
		if !ok {
			b.added += 8
		}
		b.acc |= uint64(c) << (56 - b.n)
		b.n += 8
	}
}

// next returns the next byte, or false at a marker.
func (b *bits) next() (byte, bool) {
	if b.at >= len(b.src) {
		return 0, false
	}
	c := b.src[b.at]
	if c != 0xff {
		b.at++
		return c, true
	}
	end := b.at + 1
	for end < len(b.src) && b.src[end] == 0xff {
		end++
	}
	if end < len(b.src) && b.src[end] == 0 {
		b.at = end + 1
		return c, true
	}
	return 0, false
}

// take returns the next size bits, at most 16.
func (b *bits) take(size int) uint32 {
	if b.n < size {
		b.fill()
	}
	v := b.acc >> 1 >> (63 - size)
	b.acc <<= size
	b.n -= size
	return uint32(v)
}

// symbol decodes a symbol, or returns false.
func (b *bits) symbol(t *huffman) (byte, bool) {
	if b.n < 16 {
		b.fill()
	}
	if e := t.codes[b.acc>>(64-lookBits)]; e != 0 {
		b.acc <<= e >> 8
		b.n -= int(e >> 8)
		return byte(e), true
	}
	return b.longSymbol(t)
}

func (b *bits) longSymbol(t *huffman) (byte, bool) {
	code := uint32(b.acc >> 48)
	for length := lookBits + 1; length <= 16; length++ {
		if code < t.limit[length] {
			b.acc <<= length
			b.n -= length
			return t.symbols[int32(code>>(16-length))+t.offset[length]], true
		}
	}
	return 0, false
}
