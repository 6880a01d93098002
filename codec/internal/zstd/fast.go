package zstd

import (
	"encoding/binary"
	"math/bits"
)

const (
	// fastBits is the number of bits that must be left so that a window of 8 bytes can be loaded.
	fastBits = 64
	// windowBits is the minimum number of bits in a window, and stateBits the maximum number of them that
	// lead to the next states.
	windowBits = 57
	stateBits  = 9 + 9 + 8
	// fastOut is the number of bytes that may be written past a sequence.
	fastOut = 32
)

// portableFast executes usual sequences: a sequence that is not the last one, whose bits fit in one window of the
// stream, and that is not near the end of a buffer. It stops before the first sequence that is not usual.
func (s *sequencer) portableFast() {
	ll, ml, of := &s.tables[lengths].entries, &s.tables[matches].entries, &s.tables[offsets].entries
	op, lp, left := s.op, s.lp, s.left
	for s.count > 1 && left >= fastBits {
		l, m, o := ll[s.states[lengths]&511], ml[s.states[matches]&511], of[s.states[offsets]&511]
		extra := l.extra() + m.extra() + o.extra()
		if extra > windowBits-stateBits {
			break
		}
		// One load serves all fields of the sequence and the bits of the next states.
		end := (left + 7) >> 3
		w := binary.LittleEndian.Uint64(s.src[end-8:end:end]) << (-left & 7)
		w, offset := draw(w, o.extra(), o.value())
		w, length := draw(w, m.extra(), m.value())
		w, literals := draw(w, l.extra(), l.value())
		recent := s.recent
		switch {
		case offset > 3:
			offset -= 3
			recent = [3]int{offset, recent[0], recent[1]}
		default:
			k := offset - 1
			if literals == 0 {
				k++
			}
			switch k {
			case 0:
			case 1:
				recent[0], recent[1] = recent[1], recent[0]
			case 2:
				recent[0], recent[1], recent[2] = recent[2], recent[0], recent[1]
			default:
				recent[0], recent[1], recent[2] = recent[0]-1, recent[0], recent[1]
			}
			offset = recent[0]
		}
		to := op + literals
		if literals > s.most-lp || literals+length > len(s.dst)-fastOut-op || uint(offset-1) >= uint(to-s.start) {
			break
		}
		s.recent = recent
		copyLiterals(s.dst[op:], s.literals[lp:], literals)
		lp += literals
		copyMatch(s.dst, to, offset, length)
		op = to + length
		var state int
		w, state = draw(w, l.width(), uint32(l.next()))
		s.states[lengths] = uint(state)
		w, state = draw(w, m.width(), uint32(m.next()))
		s.states[matches] = uint(state)
		_, state = draw(w, o.width(), uint32(o.next()))
		s.states[offsets] = uint(state)
		left -= int(extra + l.width() + m.width() + o.width())
		s.count--
	}
	s.op, s.lp, s.left = op, lp, left
}

// draw returns base plus the first n bits of a window, and the window rotated so that the bits after them are at the
// top.
func draw(w uint64, n uint, base uint32) (uint64, int) {
	w = bits.RotateLeft64(w, int(n))
	return w, int(uint64(base) + w&(1<<(n&63)-1))
}

// copyLiterals copies n bytes. It may copy up to 15 more.
func copyLiterals(dst, src []byte, n int) {
	*(*[16]byte)(dst) = *(*[16]byte)(src)
	for i := 16; i < n; i += 16 {
		*(*[16]byte)(dst[i:]) = *(*[16]byte)(src[i:])
	}
}

// copyMatch copies n bytes to dst[op:] from offset bytes before. It may write up to 31 more.
func copyMatch(dst []byte, op, offset, n int) {
	end := op + n
	for ; offset < 16; offset *= 2 {
		copy16(dst, op, offset)
		if op += offset; op >= end {
			return
		}
	}
	for ; op < end; op += 16 {
		copy16(dst, op, offset)
	}
}

// copy16 copies 16 bytes to dst[op:] from offset bytes before. It reads all before it writes.
func copy16(dst []byte, op, offset int) {
	*(*[16]byte)(dst[op : op+16]) = *(*[16]byte)(dst[op-offset : op-offset+16])
}
