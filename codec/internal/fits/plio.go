package fits

import (
	"encoding/binary"
	"fmt"

	"varve/codec/internal/corrupt"
)

// PLIO decodes tiles compressed with PLIO_1 (FITS Standard 4.0, section 10.4.3), IRAF's run-length
// encoding of masks. A tile is a list of big-endian int16 words: a header, then instructions. Words
// count from 0:
//
//	0 1 2       3    4     first…                    new header, if word 2 is not positive:
//	- first ≤0  low  high  op(4 bits) data(12 bits)  length = low + 2^15·high words
//
//	0 1 2       3…                                   old header
//	- - length  op(4 bits) data(12 bits)             length in words
//
// An instruction writes pixels or changes the current value, which is 1 at first:
//
//	op                                 op
//	0  write data zeros                4  write the value data times
//	1  value = data + 4096·next word   5  write data-1 zeros, then the value
//	2  value += data                   6  value += data, then write the value
//	3  value -= data                   7  value -= data, then write the value
type PLIO struct {
	Size   int // bytes per integer of the image: 1, 2 or 4
	Offset int // subtracted from decoded values, because the format has no negative numbers
}

// Check returns an error unless Size is valid.
func (p PLIO) Check() error {
	if !isSize(p.Size) {
		return fmt.Errorf("PLIO_1: image with integers of %d bytes, must be 1, 2 or 4", p.Size)
	}
	return nil
}

// Decode decodes src to dst, whose length must be the size of the tile, and returns that size.
// Pixels after the last instruction are zero.
func (p PLIO) Decode(dst, src []byte) (int, error) {
	line := plioLine{out: words{dst: dst, size: p.Size}, value: 1, offset: int64(p.Offset)}
	instructions, err := plioInstructions(src)
	if err != nil {
		return 0, err
	}
	n := line.out.count()
	for i := 0; i < len(instructions) && line.at < n; i += 2 {
		word := binary.BigEndian.Uint16(instructions[i:])
		op, data := word>>12, int64(word&0xfff)
		if op == 1 {
			if i += 2; i >= len(instructions) {
				return 0, corrupt.Errorf("fits.plio: truncated in the last instruction, which has two words")
			}
			line.value = data + int64(int16(binary.BigEndian.Uint16(instructions[i:])))<<12
			continue
		}
		if err := line.do(op, data); err != nil {
			return 0, err
		}
	}
	if err := line.repeat(n-line.at, 0); err != nil {
		return 0, err
	}
	return n * p.Size, nil
}

// plioInstructions returns the words after the header.
func plioInstructions(src []byte) ([]byte, error) {
	word := func(i int) int {
		if 2*i+2 > len(src) {
			return 0 // the check of length below rejects a truncated header
		}
		return int(int16(binary.BigEndian.Uint16(src[2*i:])))
	}
	first, length := 3, word(2)
	if length <= 0 {
		first, length = word(1), word(4)<<15+word(3)
	}
	if first < 0 || length < max(first, 1) || 2*length > len(src) {
		return nil, corrupt.Errorf("fits.plio: the header gives instructions from word %d to %d, but the tile has %d words", first, length, len(src)/2)
	}
	return src[2*first : 2*length], nil
}

// plioLine is the state of decoding a tile.
type plioLine struct {
	out           words
	at            int // index of the next pixel
	value, offset int64
}

// do executes an instruction other than op 1, which has two words.
func (l *plioLine) do(op uint16, data int64) error {
	switch op {
	case 0:
		return l.repeat(int(data), 0)
	case 2:
		l.value += data
	case 3:
		l.value -= data
	case 4:
		return l.repeat(int(data), l.value)
	case 5:
		if err := l.repeat(int(data)-1, 0); err != nil || data == 0 {
			return err
		}
		return l.repeat(1, l.value)
	case 6:
		l.value += data
		return l.repeat(1, l.value)
	case 7:
		l.value -= data
		return l.repeat(1, l.value)
	default:
		return corrupt.Errorf("fits.plio: instruction %d, must be 0 to 7", op)
	}
	return nil
}

// repeat writes a value n times, or fewer if the tile is full. CFITSIO also ignores the excess.
func (l *plioLine) repeat(n int, value int64) error {
	for end := min(l.out.count(), l.at+max(n, 0)); l.at < end; l.at++ {
		if err := l.out.put(l.at, value-l.offset); err != nil {
			return err
		}
	}
	return nil
}
