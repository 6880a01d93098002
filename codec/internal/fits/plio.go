package fits

import (
	"encoding/binary"
	"fmt"

	"varve/codec/internal/corrupt"
)

// PLIO says how a mask was compressed by PLIO_1, IRAF's run lengths. The words are big-endian
// int16, the first of which say how many there are; each of the others is an instruction:
//
//	─ ─ first ≤ 0 low high …  │ op(4) data(12) …        first(3) and the length low + 2^15 high
//	─ ─ ─ length              │ op(4) data(12) …        if that is positive, as old files have it
//
//	0  data zeros                     4  data times the value
//	1  value = data + 4096·next word  5  data-1 zeros, and the value
//	2  value += data                  6  value += data, and that
//	3  value -= data                  7  value -= data, and that
type PLIO struct {
	Size   int // of an integer of the image
	Offset int // what to subtract, since the format has no negative numbers
}

// Check returns an error unless there are such integers.
func (p PLIO) Check() error {
	if !isSize(p.Size) {
		return fmt.Errorf("PLIO_1 of images of %d bytes, not 1, 2 or 4", p.Size)
	}
	return nil
}

// Decode decodes src to dst, which has room for exactly the integers of the tile, and returns how
// many bytes it decodes to. What no instruction tells is zero.
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
				return 0, corrupt.Errorf("fits.plio: the last instruction lacks its second word")
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

// plioInstructions returns the words behind the head.
func plioInstructions(src []byte) ([]byte, error) {
	word := func(i int) int {
		if 2*i+2 > len(src) {
			return 0
		}
		return int(int16(binary.BigEndian.Uint16(src[2*i:])))
	}
	first, length := 3, word(2)
	if length <= 0 {
		first, length = word(1), word(4)<<15+word(3)
	}
	if first < 0 || length < max(first, 1) || 2*length > len(src) {
		return nil, corrupt.Errorf("fits.plio: instructions from word %d to %d, of %d words", first, length, len(src)/2)
	}
	return src[2*first : 2*length], nil
}

// plioLine is what the instructions have made so far.
type plioLine struct {
	out           words
	at            int
	value, offset int64
}

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
		return corrupt.Errorf("fits.plio: instruction %d is none of 0 to 7", op)
	}
	return nil
}

// repeat writes a value some times, as far as there is room.
func (l *plioLine) repeat(n int, value int64) error {
	for end := min(l.out.count(), l.at+max(n, 0)); l.at < end; l.at++ {
		if err := l.out.put(l.at, value-l.offset); err != nil {
			return err
		}
	}
	return nil
}
