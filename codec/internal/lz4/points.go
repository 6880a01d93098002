package lz4

import (
	"encoding/binary"

	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
)

// WindowSize is the number of bytes before a point to which later matches can refer: their greatest distance is 65,535.
const WindowSize = 1 << 16

// A place describes where in a chunk decoding starts. It is the beginning of a point's window, as varints in the order
// of its fields; match is left out at the start of a sequence. The bytes to which matches refer follow it.
//
// A point may be within literals: bytes that do not compress are one sequence, however many there are.
type place struct {
	blockSize int // decoded size of the blocks that follow; 0 if this is the last one
	total     int // decoded bytes up to the end of the chunk
	stored    int // stored bytes up to the end of the block; 0 at the length of a block
	decoded   int // decoded bytes up to the end of the block
	literals  int // 1 + the number of literals before the next match, or 0 at the start of a sequence
	match     int // the token's 4 bits with the length of the next match
}

func (p place) append(b []byte) []byte {
	for _, v := range []int{p.blockSize, p.total, p.stored, p.decoded, p.literals} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	if p.literals > 0 {
		b = binary.AppendUvarint(b, uint64(p.match))
	}
	return b
}

// isStored reports whether the bytes of a block are stored uncompressed, for the place where it starts.
func (p place) isStored() bool { return p.blockSize > 0 && p.stored == p.decoded }

// parsePlace reads a place, and returns the bytes after it.
func parsePlace(window []byte) (p place, rest []byte, err error) {
	fields := []*int{&p.blockSize, &p.total, &p.stored, &p.decoded, &p.literals, &p.match}
	rest = window
	for i, f := range fields {
		if i == len(fields)-1 && p.literals == 0 {
			break
		}
		v, after, ok := access.Uvarint(rest)
		if !ok || v > 1<<40 {
			return p, nil, corrupt.Errorf("window: field %d of its place is missing or too large", i)
		}
		*f, rest = int(v), after
	}
	if p.match > 15 {
		return p, nil, corrupt.Errorf("window: match length %d of a token, at most 15 is allowed", p.match)
	}
	return p, rest, nil
}

// SizedPoints decodes as DecodeSized does, and returns points that are about every bytes apart.
func SizedPoints(dst, src []byte, every int) (n int, points []access.Point, err error) {
	if n, err = DecodeSized(dst, src); err != nil {
		return n, nil, err
	}
	m := marker{dst: dst[:n], src: src, every: every, used: access.NewUsed(WindowSize)}
	m.block(place{total: n, stored: len(src) - sizedHeader, decoded: n}, sizedHeader, 0)
	return n, m.points, nil
}

// HDF5Points decodes as DecodeHDF5 does, and returns points that are about every bytes apart.
func HDF5Points(dst, src []byte, every int) (n int, points []access.Point, err error) {
	if n, err = DecodeHDF5(dst, src); err != nil {
		return n, nil, err
	}
	m := marker{dst: dst[:n], src: src, every: every, used: access.NewUsed(WindowSize)}
	blockSize := int(binary.BigEndian.Uint32(src[8:]))
	at := hdf5Header
	for done := 0; done < n; {
		p := place{blockSize: blockSize, total: n - done, stored: int(binary.BigEndian.Uint32(src[at:])), decoded: min(blockSize, n-done)}
		m.block(p, at+4, done)
		at, done = at+4+p.stored, done+p.decoded
	}
	return n, m.points, nil
}

// marker collects points. The chunk is valid: it was decoded before.
type marker struct {
	dst, src []byte
	every    int
	points   []access.Point
	used     *access.Used
}

// due returns the decoded position from which on the next point belongs.
func (m *marker) due() int {
	if len(m.points) == 0 {
		return 0
	}
	return m.points[len(m.points)-1].Out + m.every
}

// block adds the points within a block, which begins at byte at of src and byte out of dst.
func (m *marker) block(p place, at, out int) {
	blockStart := out // matches do not refer to bytes before it
	end, outEnd := at+p.stored, out+p.decoded
	// mark adds a point at the current position.
	mark := func(literals, match int) {
		rest := place{p.blockSize, p.total - (out - blockStart), end - at, outEnd - out, literals, match}
		m.used.Reset()
		m.trace(rest, at)
		before := m.dst[max(blockStart, out-WindowSize):out]
		m.points = append(m.points, access.Point{Out: out, Bit: 8 * at, Window: m.used.AppendWindow(rest.append(nil), before)})
	}
	// pass advances by literals, which may contain several points.
	pass := func(n, match int) {
		for n > 0 {
			if out >= m.due() {
				mark(1+n, match)
			}
			step := min(n, m.due()-out)
			at, out, n = at+step, out+step, n-step
		}
	}
	if p.isStored() {
		pass(p.decoded, 0)
		return
	}
	for at < end {
		if out >= m.due() {
			mark(0, 0)
		}
		token := m.src[at]
		at++
		literals := extend(int(token>>4), m.src[:end], &at)
		pass(literals, int(token&15))
		if at == end {
			return
		}
		at += 2
		out += extend(int(token&15), m.src[:end], &at) + leastMatch
	}
}

// trace marks the bytes before a place to which the matches of the next WindowSize bytes refer.
func (m *marker) trace(p place, at int) {
	end := at + p.stored
	match, literals := p.match, p.literals-1
	for out := 0; out < WindowSize && at < end; {
		if literals < 0 {
			token := m.src[at]
			at++
			literals, match = extend(int(token>>4), m.src[:end], &at), int(token&15)
		}
		at, out = at+literals, out+literals
		literals = -1
		if at >= end {
			return
		}
		offset := int(binary.LittleEndian.Uint16(m.src[at:]))
		at += 2
		length := extend(match, m.src[:end], &at) + leastMatch
		if back := offset - out; back > 0 {
			m.used.Mark(back, length)
		}
		out += length
	}
}
