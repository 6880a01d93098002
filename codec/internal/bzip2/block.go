package bzip2

import (
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

const (
	groupSize    = 50
	runA         = 0
	runB         = 1
	maxSelectors = 18002 // the most that 900,000 symbols can use; further ones are ignored
)

// block decodes a block, after its magic and checksum, to dst. It returns the number of bytes.
func (d *decoder) block(dst []byte, maxSymbols int) (int, error) {
	at := d.Offset()
	if d.Take(1) == 1 {
		return 0, fmt.Errorf("bzip2: block at byte %d is randomised, a feature of bzip2 before 0.9.5; recompress it: %w", at, errors.ErrUnsupported)
	}
	origin := int(d.Take(24))
	used, err := d.usedBytes()
	if err != nil {
		return 0, err
	}
	codes := int(d.Take(3))
	if codes < 2 || codes > len(d.codes) {
		return 0, corrupt.Errorf("bzip2: %d Huffman codes at byte %d, must be 2 to 6", codes, d.Offset())
	}
	if err := d.readSelectors(codes); err != nil {
		return 0, err
	}
	for i := range d.codes[:codes] {
		if err := d.codes[i].read(&d.Reader, used+2); err != nil {
			return 0, err
		}
	}
	// A count of repeats follows four equal bytes, so at least four of five symbols are bytes of
	// the text. A text that fits in dst has no more symbols than this, which bounds the scratch.
	limit := min(maxSymbols, len(dst)+len(dst)/4+1)
	if d.isPart {
		limit = maxSymbols
	}
	symbols, err := d.readSymbols(used, limit)
	if err != nil {
		return 0, err
	}
	if origin >= symbols {
		return 0, corrupt.Errorf("bzip2: origin %d of the block at byte %d, which has only %d symbols", origin, at, symbols)
	}
	return d.text(dst, origin, symbols)
}

// usedBytes reads the set of bytes that occur in the block, and makes the move-to-front list of
// them. It returns their number.
func (d *decoder) usedBytes() (int, error) {
	rows := d.Take(16)
	n := 0
	for i := range 16 {
		if rows>>(15-i)&1 == 0 {
			continue
		}
		row := d.Take(16)
		for j := range 16 {
			if row>>(15-j)&1 == 1 {
				d.front[n] = byte(16*i + j)
				n++
			}
		}
	}
	if n == 0 {
		return 0, corrupt.Errorf("bzip2: no byte occurs in the block before byte %d", d.Offset())
	}
	return n, nil
}

// readSelectors reads the number of the Huffman code of each group of symbols.
func (d *decoder) readSelectors(codes int) error {
	n := int(d.Take(15))
	if n == 0 {
		return corrupt.Errorf("bzip2: no selectors at byte %d", d.Offset())
	}
	if d.selectors == nil {
		d.selectors = make([]uint8, 0, maxSelectors)
	}
	d.selectors = d.selectors[:0]
	list := [6]uint8{0, 1, 2, 3, 4, 5} // selectors are coded as positions in a move-to-front list
	for range n {
		j := 0
		for d.Take(1) == 1 {
			if j++; j >= codes {
				return corrupt.Errorf("bzip2: selector %d at byte %d, but there are only %d Huffman codes", j, d.Offset(), codes)
			}
		}
		code := list[j]
		copy(list[1:j+1], list[:j])
		list[0] = code
		if len(d.selectors) < maxSelectors {
			d.selectors = append(d.selectors, code)
		}
	}
	if d.Overrun() {
		return d.truncated()
	}
	return nil
}

// readSymbols decodes the last column to d.column, and counts its bytes in d.counts. It returns
// the length of the column, at most limit.
func (d *decoder) readSymbols(used, limit int) (int, error) {
	if cap(d.column) < limit {
		d.column = make([]uint32, limit)
	}
	column := d.column[:limit]
	clear(d.counts[:])
	end := uint16(used + 1)
	n, run, weight := 0, 0, 1
	for _, selector := range d.selectors {
		code := &d.codes[selector]
		for range groupSize {
			symbol := code.symbol(&d.Reader)
			if symbol <= runB {
				// The length of a run is written in bijective base 2, the lowest digit first:
				// runA is the digit 1, runB the digit 2.
				run += weight << symbol
				if weight <<= 1; run > limit-n {
					return 0, d.tooLong(limit)
				}
				continue
			}
			if run > 0 {
				n = d.fill(column, n, run)
				run, weight = 0, 1
			}
			if symbol >= end {
				return d.endSymbols(n, symbol == end)
			}
			if n == limit {
				return 0, d.tooLong(limit)
			}
			b := d.toFront(int(symbol - 1))
			column[n] = uint32(b)
			d.counts[b]++
			n++
		}
		if d.Overrun() {
			return 0, d.truncated()
		}
	}
	return 0, corrupt.Errorf("bzip2: %d selectors are too few for the block's symbols, at byte %d", len(d.selectors), d.Offset())
}

// fill appends a run of the front byte to the column[:n] and returns the new length.
func (d *decoder) fill(column []uint32, n, run int) int {
	b := d.front[0]
	d.counts[b] += uint32(run)
	for i := range column[n : n+run] {
		column[n+i] = uint32(b)
	}
	return n + run
}

// toFront moves the byte at position i of the list to its front.
func (d *decoder) toFront(i int) byte {
	b := d.front[i]
	if i < 16 { // most positions are small, and a loop is then faster than a call of copy
		for ; i > 0; i-- {
			d.front[i] = d.front[i-1]
		}
	} else {
		copy(d.front[1:i+1], d.front[:i])
	}
	d.front[0] = b
	return b
}

// endSymbols checks the end of a block: isEnd is true if the end symbol was read, and false
// if bits that are no code were read.
func (d *decoder) endSymbols(n int, isEnd bool) (int, error) {
	if d.Overrun() {
		return 0, d.truncated()
	}
	if !isEnd {
		return 0, corrupt.Errorf("bzip2: the bits before byte %d are not a Huffman code", d.Offset())
	}
	return n, nil
}

func (d *decoder) tooLong(limit int) error {
	return corrupt.Errorf("bzip2: more than %d symbols in the block before byte %d", limit, d.Offset())
}

// text inverts the Burrows-Wheeler transform, expands repeats and writes the text to dst. It
// returns the length of the text.
func (d *decoder) text(dst []byte, origin, symbols int) (int, error) {
	column := d.column[:symbols]
	// The first column is the last one sorted. counts becomes the start of each byte's rows in
	// the first column. Then each row gets a link to the row of the next byte of the text.
	var sum uint32
	for b, count := range &d.counts {
		d.counts[b] = sum
		sum += count
	}
	for i, v := range column {
		b := byte(v)
		column[d.counts[b]] |= uint32(i) << 8
		d.counts[b]++
	}
	n, equal, last := 0, 0, -1
	at := column[origin] >> 8
	for range symbols {
		if n == len(dst) && d.isPart {
			return n, nil
		}
		v := column[at]
		at = v >> 8
		b := byte(v)
		if equal == 4 { // the byte after four equal bytes is a number of repeats
			repeats := int(b)
			if repeats > len(dst)-n {
				if !d.isPart {
					return n, d.tooMuch(len(dst))
				}
				repeats = len(dst) - n
			}
			run := dst[n : n+repeats]
			for i := range run {
				run[i] = byte(last)
			}
			n += len(run)
			equal, last = 0, -1
			continue
		}
		if int(b) != last {
			equal, last = 0, int(b)
		}
		if n >= len(dst) {
			return n, d.tooMuch(len(dst))
		}
		equal++
		dst[n] = b
		n++
	}
	return n, nil
}

func (d *decoder) tooMuch(room int) error {
	return corrupt.Errorf("bzip2: the block before byte %d has more than the %d bytes that are expected", d.Offset(), room)
}
