package xz

import (
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

const (
	states       = 12
	literalSize  = 0x300
	maxContext   = 4 // lc + lp, as in liblzma
	minMatch     = 2
	lastDistance = 1<<32 - 1 // the distance of the end marker
)

// lzma decodes LZMA data to out. Specification: lzma-specification.txt of the LZMA SDK.
type lzma struct {
	rangeDecoder
	out      []byte
	at, base int  // index in out of the next byte, and of the first byte that matches may refer to
	isPart   bool // out may end within the text

	lc, lp, pb uint
	state      uint32    // kinds of the last few symbols
	distances  [4]uint32 // the last four distances, less 1

	isMatch   [states << 4]prob
	isRep     [states]prob
	isRep0    [states]prob // 0: the last distance
	isRep1    [states]prob
	isRep2    [states]prob
	isLong    [states << 4]prob // 0: one byte at the last distance
	slots     [4][64]prob
	special   [128]prob // trees of the low bits of slots 4 to 13, concatenated
	align     [16]prob
	matchSize lengths
	repSize   lengths
	literals  [literalSize << maxContext]prob
}

// lengths are the trees of a match's length, less minMatch.
type lengths struct {
	choice, choice2 prob
	low, mid        [16][8]prob
	high            [256]prob
}

// setPackedProperties sets the properties from the byte that holds all three.
func (z *lzma) setPackedProperties(b byte) error {
	if b >= 9*5*5 {
		return corrupt.Errorf("xz: LZMA properties %d, must be less than %d", b, 9*5*5)
	}
	return z.setProperties(int(b%9), int(b/9%5), int(b/45))
}

// setProperties sets the properties, see Filter.
func (z *lzma) setProperties(lc, lp, pb int) error {
	if lc < 0 || lp < 0 || pb < 0 || pb > 4 {
		return corrupt.Errorf("xz: LZMA properties lc %d, lp %d, pb %d; must not be negative, and pb at most 4", lc, lp, pb)
	}
	if lc+lp > maxContext {
		return fmt.Errorf("xz: LZMA properties lc %d and lp %d, their sum must be at most %d: %w", lc, lp, maxContext, errors.ErrUnsupported)
	}
	z.lc, z.lp, z.pb = uint(lc), uint(lp), uint(pb)
	return nil
}

// resetState sets the state and all probabilities to their initial values.
func (z *lzma) resetState() {
	z.state = 0
	z.distances = [4]uint32{}
	for _, probs := range [][]prob{
		z.isMatch[:], z.isRep[:], z.isRep0[:], z.isRep1[:], z.isRep2[:], z.isLong[:],
		z.slots[0][:], z.slots[1][:], z.slots[2][:], z.slots[3][:], z.special[:], z.align[:],
		z.literals[:literalSize<<(z.lc+z.lp)],
	} {
		reset(probs)
	}
	z.matchSize.reset()
	z.repSize.reset()
}

func (l *lengths) reset() {
	l.choice, l.choice2 = even, even
	for i := range l.low {
		reset(l.low[i][:])
		reset(l.mid[i][:])
	}
	reset(l.high[:])
}

// isFull reports whether all wanted bytes of a part are decoded.
func (z *lzma) isFull() bool { return z.isPart && z.at == len(z.out) }

// run decodes symbols until out[:end] is full, or until the end marker.
func (z *lzma) run(end int) (atMarker bool, err error) {
	mask := 1<<z.pb - 1
	for z.at < end {
		position := uint32((z.at - z.base) & mask)
		if z.bit(&z.isMatch[z.state<<4|position]) == 0 {
			z.literal()
			continue
		}
		size, distance := z.match(position)
		if distance == lastDistance {
			return true, nil
		}
		// Data past the end reads as zeros, so a truncated stream often shows as a bad distance.
		if int(distance) >= z.at-z.base || z.pos > len(z.data) {
			return false, z.damaged()
		}
		if int(size) > end-z.at && z.isPart && end == len(z.out) {
			size = uint32(end - z.at)
		}
		if int(size) > end-z.at {
			return false, corrupt.Errorf("xz: the match before byte %d of the data has %d bytes, only %d are expected", z.pos, size, end-z.at)
		}
		z.copy(int(distance)+1, int(size))
	}
	if z.pos > len(z.data) {
		return false, z.damaged()
	}
	return false, nil
}

// marker returns an error unless the next symbol is the end marker.
func (z *lzma) marker() error {
	position := uint32((z.at - z.base) & (1<<z.pb - 1))
	if z.bit(&z.isMatch[z.state<<4|position]) == 1 {
		if _, distance := z.match(position); distance == lastDistance {
			return nil
		}
	}
	if z.pos > len(z.data) {
		return z.damaged()
	}
	return corrupt.Errorf("xz: the text has more than the %d bytes that are expected", len(z.out))
}

// damaged returns the error for data that no encoder writes. LZMA data has no checksum, so the damage may be
// anywhere before the current byte.
func (z *lzma) damaged() error {
	if z.pos > len(z.data) {
		return corrupt.Errorf("xz: LZMA data truncated at byte %d", len(z.data))
	}
	return corrupt.Errorf("xz: LZMA data damaged before byte %d", z.pos)
}

// literal decodes a literal byte.
func (z *lzma) literal() {
	last := byte(0)
	if z.at > z.base {
		last = z.out[z.at-1]
	}
	context := uint(z.at-z.base)&(1<<z.lp-1)<<z.lc | uint(last)>>(8-z.lc)
	probs := z.literals[literalSize*context:][:literalSize]
	if z.state < 7 {
		z.out[z.at] = byte(z.tree(probs, 8))
	} else {
		// distances[0] was checked when it was used, and z.at only grows.
		z.out[z.at] = z.matchedByte(probs, uint32(z.out[z.at-1-int(z.distances[0])]))
	}
	z.at++
	switch {
	case z.state < 4:
		z.state = 0
	case z.state < 10:
		z.state -= 3
	default:
		z.state -= 6
	}
}

// match decodes a match, after its isMatch bit. It returns the size, and the distance less 1.
func (z *lzma) match(position uint32) (size, distance uint32) {
	if z.bit(&z.isRep[z.state]) == 0 {
		size = z.size(&z.matchSize, position)
		z.distances[3], z.distances[2], z.distances[1] = z.distances[2], z.distances[1], z.distances[0]
		z.distances[0] = z.distance(min(size, 3))
		z.after(7, 10)
		return size + minMatch, z.distances[0]
	}
	if z.bit(&z.isRep0[z.state]) == 0 {
		if z.bit(&z.isLong[z.state<<4|position]) == 0 {
			z.after(9, 11)
			return 1, z.distances[0]
		}
	} else {
		z.recall()
	}
	size = z.size(&z.repSize, position)
	z.after(8, 11)
	return size + minMatch, z.distances[0]
}

// recall moves one of the earlier three distances to the front.
func (z *lzma) recall() {
	i := 1
	if z.bit(&z.isRep1[z.state]) == 1 {
		i = 2 + int(z.bit(&z.isRep2[z.state]))
	}
	d := z.distances[i]
	copy(z.distances[1:i+1], z.distances[:i])
	z.distances[0] = d
}

// after sets the state after a match: to literal if the previous symbol was a literal, else to match.
func (z *lzma) after(literal, match uint32) {
	if z.state < 7 {
		z.state = literal
	} else {
		z.state = match
	}
}

// size decodes a match's length, less minMatch.
func (z *lzma) size(l *lengths, position uint32) uint32 {
	if z.bit(&l.choice) == 0 {
		return z.tree(l.low[position][:], 3)
	}
	if z.bit(&l.choice2) == 0 {
		return 8 + z.tree(l.mid[position][:], 3)
	}
	return 16 + z.tree(l.high[:], 8)
}

// distance decodes the distance, less 1, of a match of the given size class.
func (z *lzma) distance(class uint32) uint32 {
	slot := z.tree(z.slots[class][:], 6)
	if slot < 4 {
		return slot
	}
	low := uint(slot>>1 - 1)
	high := (2 | slot&1) << low
	if slot < 14 {
		return high + z.reverse(z.special[high-slot:], low)
	}
	high += z.direct(low-4) << 4
	return high + z.reverse(z.align[:], 4)
}

// copy copies size bytes from distance bytes back. The ranges may overlap.
func (z *lzma) copy(distance, size int) {
	from, to := z.at-distance, z.at
	z.at += size
	if distance >= size {
		copy(z.out[to:z.at], z.out[from:])
		return
	}
	text := z.out[from:z.at]
	for i := distance; i < len(text); i++ {
		text[i] = text[i-distance]
	}
}
