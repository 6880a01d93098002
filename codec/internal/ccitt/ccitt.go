// Package ccitt decodes the codings of facsimile machines that TIFF has: modified Huffman, T.4 (group 3) and T.6
// (group 4).
//
// Specification: ITU-T T.4 and T.6; TIFF 6.0, sections 10 and 11. A row is a sequence of runs, white and black in turn.
// In one dimension each run has a code; in two, a row says how it differs from the row above.
package ccitt

import (
	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// Coding is one of the three codings.
type Coding uint16

// The codings, by the numbers that TIFF gives them.
const (
	Huffman     Coding = 2     // rows in one dimension that start at a byte
	Group3      Coding = 3     // rows after codes that end a line, in one or two dimensions
	Group4      Coding = 4     // rows in two dimensions
	HuffmanWord Coding = 32771 // as Huffman, but rows start at a word of 16 bits
)

// Options of group 3, the bits of TIFF's tag T4Options.
const (
	TwoDimensions = 1 // a bit after the end of a line says whether the next row is in one dimension
	uncompressed  = 2
)

// Params describe an image.
type Params struct {
	Coding        Coding
	Width, Height int
	Options       int // of group 3
}

// Decode writes one byte per pixel, 1 for black, and returns their number. Rows that are missing at the end are not
// written.
func Decode(dst, src []byte, p Params) (int, error) {
	if p.Options&uncompressed != 0 && p.Coding == Group3 {
		return 0, corrupt.Errorf("T4Options %d: pixels that are not compressed are not supported", p.Options)
	}
	d := decoder{Params: p, Reader: bitstream.Reader{Src: src}, tables: runTables()}
	// A row of n pixels has at most n changes of colour; the last entries are the end of the row.
	d.above, d.row = make([]int, 0, p.Width+4), make([]int, 0, p.Width+4)
	d.endRow()
	n := 0
	for y := 0; y < p.Height && n+p.Width <= len(dst); y++ {
		more, err := d.next()
		if err != nil {
			return n, corrupt.Errorf("row %d: %w", y, err)
		}
		if !more {
			break
		}
		d.paint(dst[n : n+p.Width])
		n += p.Width
	}
	return n, nil
}

type decoder struct {
	Params
	bitstream.Reader
	tables     *[2][1 << codeBits]runCode
	above, row []int // where the colour changes; the first change is to black
}

// next decodes a row. It returns false at the end of the data.
func (d *decoder) next() (bool, error) {
	d.above, d.row = d.row, d.above[:0]
	flat := d.Coding != Group4
	switch d.Coding {
	case Group3:
		ends := d.skipLineEnds()
		if d.Overrun() || ends > 1 && d.Options&TwoDimensions == 0 {
			return false, nil // several ends in a row end the image
		}
		if d.Options&TwoDimensions != 0 && ends > 0 {
			if flat = d.Take(1) == 1; d.peek(12) == 1 {
				return false, nil
			}
		}
	case HuffmanWord:
		if d.Align(); d.Offset()&1 != 0 {
			d.Take(8)
		}
	case Huffman:
		d.Align()
	}
	if d.Bit() >= 8*len(d.Src) {
		return false, nil
	}
	if flat {
		return true, d.flatRow()
	}
	return d.differentRow()
}

// peek returns the next n bits without skipping them.
func (d *decoder) peek(n uint) uint64 {
	if d.N < n {
		d.Refill()
	}
	return d.Acc >> (64 - n)
}

// skipLineEnds skips the codes that end a line, with the zeros before them, and returns their number.
func (d *decoder) skipLineEnds() int {
	n := 0
	for d.peek(11) == 0 && !d.Overrun() {
		before := d.Reader
		d.Zeros()
		if d.Overrun() {
			d.Reader = before
			d.Next, d.N, d.Acc = len(d.Src)+1, 0, 0
			return n
		}
		if n++; d.Options&TwoDimensions != 0 {
			return n // the bit of the next row follows
		}
	}
	return n
}

// run decodes the length of a run.
func (d *decoder) run(colour int) (int, error) {
	total := 0
	for {
		c := d.tables[colour][d.peek(codeBits)]
		if c.run < 0 {
			return 0, corrupt.Errorf("bit %d: no code of a run of %s pixels starts with %013b", d.Bit(), [...]string{"white", "black"}[colour], d.peek(codeBits))
		}
		d.Take(uint(c.size))
		if total += int(c.run); total > d.Width {
			return 0, corrupt.Errorf("bit %d: a run of %d pixels, but a row has %d", d.Bit(), total, d.Width)
		}
		if c.run < 64 {
			return total, nil
		}
	}
}

// flatRow decodes a row in one dimension.
func (d *decoder) flatRow() error {
	at, colour := 0, 0
	for at < d.Width {
		var err error
		if at, err = d.addRun(at, colour); err != nil {
			return err
		}
		colour ^= 1
	}
	d.endRow()
	return nil
}

// addRun decodes a run that starts at a pixel, and returns the pixel after it.
func (d *decoder) addRun(at, colour int) (int, error) {
	n, err := d.run(colour)
	switch at += n; {
	case err != nil:
		return at, err
	case at > d.Width:
		return at, corrupt.Errorf("bit %d: runs of %d pixels, but a row has %d", d.Bit(), at, d.Width)
	case d.Overrun():
		return at, corrupt.Errorf("the data end after %d pixels", at)
	}
	d.row = append(d.row, at)
	return at, nil
}

// endRow appends the end of the row, where all changes are that it does not have.
func (d *decoder) endRow() { d.row = append(d.row, d.Width, d.Width, d.Width) }

// differentRow decodes a row that says how it differs from the row above.
func (d *decoder) differentRow() (bool, error) {
	at, colour := 0, 0
	first := true
	b := 0 // the first change above to the right of at, of the other colour
	for at < d.Width {
		// A change above to the other colour has an index of the parity of colour.
		b = max(0, b-2)
		if b&1 != colour {
			b++
		}
		for d.above[b] < d.Width && (d.above[b] < at || d.above[b] == at && !first) {
			b += 2
		}
		shift := 0
		switch v := d.peek(7); {
		case v>>6 == 1:
			d.Take(1)
		case v>>4 == 0b011:
			d.Take(3)
			shift = 1
		case v>>4 == 0b010:
			d.Take(3)
			shift = -1
		case v>>4 == 0b001: // two runs
			d.Take(3)
			for k := range 2 {
				var err error
				if at, err = d.addRun(at, colour^k); err != nil {
					return false, err
				}
			}
			first = false
			continue
		case v>>3 == 0b0001: // both changes above are passed over
			d.Take(4)
			at = d.above[b+1]
			first = false
			continue
		case v>>1 == 0b000011:
			d.Take(6)
			shift = 2
		case v>>1 == 0b000010:
			d.Take(6)
			shift = -2
		case v == 0b0000011:
			d.Take(7)
			shift = 3
		case v == 0b0000010:
			d.Take(7)
			shift = -3
		default:
			if at == 0 && (d.peek(24) == 0x001001 || d.peek(12) == 1 || d.Bit()+7 > 8*len(d.Src)) {
				return false, nil // the end of the image
			}
			return false, corrupt.Errorf("bit %d: no code starts with %07b", d.Bit(), v)
		}
		if d.Overrun() {
			return false, corrupt.Errorf("the data end after %d pixels", at)
		}
		to := d.above[b] + shift
		if to < at || to > d.Width {
			return false, corrupt.Errorf("bit %d: a change at pixel %d after pixel %d of %d", d.Bit(), to, at, d.Width)
		}
		at, first = to, false
		d.row = append(d.row, at)
		colour ^= 1
	}
	d.endRow()
	return true, nil
}

// paint writes the pixels of the row.
func (d *decoder) paint(dst []byte) {
	clear(dst)
	for i := 0; i+1 < len(d.row) && d.row[i] < d.Width; i += 2 {
		black := dst[d.row[i]:d.row[i+1]]
		for k := range black {
			black[k] = 1
		}
	}
}
