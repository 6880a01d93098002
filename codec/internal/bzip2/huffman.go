package bzip2

import (
	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

const (
	maxBits    = 20
	tableBits  = 10
	noSymbol   = 1<<11 - 1 // greater than any symbol
	maxSymbols = 258
)

// huffman is a canonical Huffman code: shorter codes first, codes of equal length in the order
// of their symbols.
type huffman struct {
	table   [1 << tableBits]uint16 // for the next tableBits bits: symbol<<5 | length of its code
	limit   [maxBits + 1]uint32    // by length: the end of its codes, padded to maxBits bits
	first   [maxBits + 1]int32     // by length: add this to a code for its index in symbols
	symbols [maxSymbols]uint16
}

// read reads the code lengths of n symbols and builds the code.
func (h *huffman) read(r *bitstream.Reader, n int) error {
	var lengths [maxSymbols]uint8
	length := int(r.Take(5))
	// Each length is coded as steps of 1 from the previous one.
	for i := range lengths[:n] {
		for {
			if length < 1 || length > maxBits {
				return corrupt.Errorf("bzip2: Huffman code of %d bits at byte %d, must be 1 to %d", length, r.Offset(), maxBits)
			}
			if r.Take(1) == 0 {
				break
			}
			length += 1 - 2*int(r.Take(1))
		}
		lengths[i] = uint8(length)
	}
	if r.Overrun() {
		return corrupt.Errorf("bzip2: truncated at byte %d", len(r.Src))
	}
	if !h.build(lengths[:n]) {
		return corrupt.Errorf("bzip2: the Huffman code before byte %d is over-subscribed", r.Offset())
	}
	return nil
}

// build builds the code of the given lengths. It returns false if there are more codes than the
// lengths allow. Fewer are accepted, as bzip2 does.
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
			// A short code is in the table once for each continuation of its bits.
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

// symbol decodes the next symbol. It returns noSymbol if the bits are no code.
func (h *huffman) symbol(r *bitstream.Reader) uint16 {
	if r.N < maxBits {
		r.Refill()
	}
	e := h.table[r.Acc>>(64-tableBits)]
	if e>>5 == noSymbol {
		return h.long(r)
	}
	r.Acc <<= e & 31
	r.N -= uint(e & 31)
	return e >> 5
}

// long decodes a code of more than tableBits bits.
func (h *huffman) long(r *bitstream.Reader) uint16 {
	bits := uint32(r.Acc >> (64 - maxBits))
	for length := tableBits + 1; length <= maxBits; length++ {
		if bits < h.limit[length] {
			r.Acc <<= length
			r.N -= uint(length)
			return h.symbols[h.first[length]+int32(bits>>(maxBits-length))]
		}
	}
	return noSymbol
}
