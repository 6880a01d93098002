package bzip2

import "varve/codec/internal/corrupt"

const (
	maxBits    = 20
	tableBits  = 10
	noSymbol   = 1<<11 - 1 // higher than any symbol
	maxSymbols = 258
)

// huffman is a canonical code: shorter codes first, equal lengths in the order of
// their symbols.
type huffman struct {
	table   [1 << tableBits]uint16 // symbol<<5 | length of the code that the bits start with
	limit   [maxBits + 1]uint32    // by length: the first code past it, as maxBits bits
	first   [maxBits + 1]int32     // by length: where in symbols, less the first code
	symbols [maxSymbols]uint16
}

// read reads the lengths of a code for n symbols and makes the code.
func (h *huffman) read(r *bitReader, n int) error {
	var lengths [maxSymbols]uint8
	length := int(r.take(5))
	for i := range lengths[:n] {
		for {
			if length < 1 || length > maxBits {
				return corrupt.Errorf("bzip2: code of %d bits at byte %d, which should be 1 to %d", length, r.offset(), maxBits)
			}
			if r.take(1) == 0 {
				break
			}
			length += 1 - 2*int(r.take(1))
		}
		lengths[i] = uint8(length)
	}
	if r.overrun() {
		return corrupt.Errorf("bzip2: truncated at byte %d", len(r.src))
	}
	if !h.build(lengths[:n]) {
		return corrupt.Errorf("bzip2: more codes than their lengths allow before byte %d", r.offset())
	}
	return nil
}

// build makes the code of the given lengths, unless there are too many.
func (h *huffman) build(lengths []uint8) bool {
	for i := range h.table {
		h.table[i] = noSymbol << 5
	}
	code, n := uint32(0), 0
	for length := 1; length <= maxBits; length++ {
		h.first[length] = int32(n) - int32(code)
		for symbol, l := range lengths {
			if int(l) != length {
				continue
			}
			h.symbols[n] = uint16(symbol)
			n++
			if length <= tableBits && code < 1<<length {
				low := code << (tableBits - length)
				for i := range 1 << (tableBits - length) {
					h.table[int(low)+i] = uint16(symbol)<<5 | uint16(length)
				}
			}
			code++
		}
		if code > 1<<length {
			return false
		}
		h.limit[length] = code << (maxBits - length)
		code <<= 1
	}
	return true
}

// symbol decodes the next symbol, or noSymbol where the bits are no code.
func (h *huffman) symbol(r *bitReader) uint16 {
	if r.n < maxBits {
		r.refill()
	}
	e := h.table[r.acc>>(64-tableBits)]
	if e>>5 == noSymbol {
		return h.long(r)
	}
	r.acc <<= e & 31
	r.n -= uint(e & 31)
	return e >> 5
}

// long decodes a code of more than tableBits bits.
func (h *huffman) long(r *bitReader) uint16 {
	bits := uint32(r.acc >> (64 - maxBits))
	for length := tableBits + 1; length <= maxBits; length++ {
		if bits < h.limit[length] {
			r.acc <<= length
			r.n -= uint(length)
			return h.symbols[h.first[length]+int32(bits>>(maxBits-length))]
		}
	}
	return noSymbol
}
