package zstd

import (
	"math/bits"

	"varve/codec/internal/corrupt"
)

// maxHuffLog is the maximum number of bits of a literal's code.
const maxHuffLog = 11

// A huffTable maps the next maxHuffLog bits to a literal (high byte) and the length of its code (low byte).
type huffTable [1 << maxHuffLog]uint16

// readHuff reads a Huffman code (RFC 8878, section 4.2.1) and returns the number of bytes read.
func (d *decoder) readHuff(src []byte) (used int, err error) {
	d.hasHuff = false
	if len(src) == 0 {
		return 0, corrupt.Errorf("truncated in a Huffman code")
	}
	n, symbols := int(src[0]), 0
	if n >= 128 { // weights of four bits each
		symbols = n - 127
		n = (symbols + 1) / 2
		if n > len(src)-1 {
			return 0, corrupt.Errorf("Huffman code of %d bytes, only %d are left", n, len(src)-1)
		}
		for i := range symbols {
			d.weights[i] = src[1+i/2] >> (4 * (1 - i%2)) & 15
		}
	} else {
		if n > len(src)-1 {
			return 0, corrupt.Errorf("Huffman code of %d bytes, only %d are left", n, len(src)-1)
		}
		if symbols, err = d.readWeights(src[1 : 1+n]); err != nil {
			return 0, err
		}
	}
	if err := d.huff.build(&d.weights, symbols); err != nil {
		return 0, err
	}
	d.hasHuff = true
	return 1 + n, nil
}

// weightSymbols holds the weights as FSE symbols.
var weightSymbols = ranges(0, maxHuffLog+2, nil)

// readWeights reads FSE-coded weights and returns their number. Two states take turns. The weights end when a state
// needs more bits than are left; the other state then gives one more weight.
func (d *decoder) readWeights(src []byte) (symbols int, err error) {
	log, n, used, err := readCounts(d.counts[:maxHuffLog+2], src, 6)
	if err != nil {
		return 0, err
	}
	t := &d.ofWeights
	if err := t.build(d.counts[:n], log, weightSymbols); err != nil {
		return 0, err
	}
	var r backward
	if err := r.begin(src[used:]); err != nil {
		return 0, err
	}
	states := [2]uint64{r.take(log), r.take(log)}
	if r.left < 0 {
		return 0, corrupt.Errorf("truncated in the weights of a Huffman code")
	}
	for i := 0; ; i ^= 1 {
		if symbols > 253 {
			return 0, corrupt.Errorf("Huffman code with more than 255 weights")
		}
		e := t.entries[states[i]]
		d.weights[symbols] = uint8(e.value())
		symbols++
		states[i] = uint64(e.next()) + r.take(e.width())
		if r.left < 0 {
			d.weights[symbols] = uint8(t.entries[states[i^1]].value())
			return symbols + 1, nil
		}
	}
}

// build builds the table from the weights of all symbols except the last, whose weight follows from the others. A
// symbol of weight w > 0 has the share 1<<(w-1) of all codes.
func (t *huffTable) build(weights *[256]uint8, symbols int) error {
	total, ranks := uint(0), [maxHuffLog + 2]int{}
	for _, w := range weights[:symbols] {
		if w > maxHuffLog {
			return corrupt.Errorf("weight %d in a Huffman code, must be at most %d", w, maxHuffLog)
		}
		ranks[w]++
		total += 1 << w >> 1
	}
	log := bits.Len(total)
	rest := uint(1)<<log - total
	if total == 0 || log > maxHuffLog || rest&(rest-1) != 0 {
		return corrupt.Errorf("Huffman code: no weight of the last symbol completes the sum %d to a power of two up to %d", total, 1<<maxHuffLog)
	}
	weights[symbols] = uint8(bits.Len(rest))
	ranks[weights[symbols]]++
	if ranks[1] < 2 {
		return corrupt.Errorf("Huffman code with %d codes of the greatest length, must be at least 2", ranks[1])
	}
	t.fill(weights[:symbols+1], uint(log), &ranks)
	return nil
}

// fill fills the table: symbols of low weights first, symbols of equal weight in ascending order.
func (t *huffTable) fill(weights []uint8, log uint, ranks *[maxHuffLog + 2]int) {
	var starts [maxHuffLog + 2]uint
	scale := maxHuffLog - log
	for w, at := uint(1), uint(0); w <= log; w++ {
		starts[w] = at
		at += uint(ranks[w]) << (w - 1 + scale)
	}
	for s, w := range weights {
		if w == 0 {
			continue
		}
		at, n := starts[w], uint(1)<<(uint(w)-1+scale)
		starts[w] += n
		fill16(t[at:at+n], uint16(s)<<8|uint16(log+1-uint(w)))
	}
}

// fill16 sets all elements of b to v.
func fill16(b []uint16, v uint16) {
	for ; len(b) >= 8; b = b[8:] {
		w := b[:8:8]
		w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7] = v, v, v, v, v, v, v, v
	}
	for i := range b {
		b[i] = v
	}
}
