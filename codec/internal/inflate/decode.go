package inflate

import (
	"encoding/binary"
	"errors"
	"sync"

	"varve/codec/internal/corrupt"
)

// A decoder is the state of one stream. The low n bits of cursor.bits are loaded and not yet consumed.
// The bits above them are either zero or the first bits of src[ip:], so that loading these again with
// an OR changes nothing.
type decoder struct {
	dst, src []byte
	cursor
	isPart bool // dst may end before the stream: errFull is returned then
	own    tables
	code   code
	lens   [litlenSyms + distSyms + 2]uint8
}

// A cursor is the position of a decoder in its buffers. Assembly reads and writes it.
type cursor struct {
	op, ip int    // index of the next byte of dst to write, of src to load
	bits   uint64 // loaded bits, the next one lowest
	n      uint   // number of loaded bits
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decode decodes the stream at src[at:] to dst. It returns the decoded length and the end of the
// stream in src.
func decode(dst, src []byte, at int) (n, end int, err error) {
	d := decoders.Get().(*decoder)
	d.dst, d.src, d.cursor = dst, src, cursor{ip: at}
	for final := false; err == nil && !final; {
		final, err = d.block()
	}
	n, end = d.op, d.aligned()
	d.dst, d.src = nil, nil // a pooled decoder must not keep the buffers in memory
	decoders.Put(d)
	return n, end, err
}

// offset returns the index in src of the byte that holds the next bit.
func (d *decoder) offset() int { return d.ip - int(d.n+7)>>3 }

// aligned returns the index in src of the first byte without a consumed bit.
func (d *decoder) aligned() int { return d.ip - int(d.n)>>3 }

// fill loads bits until there are at least 56, or src ends.
func (d *decoder) fill() {
	if len(d.src)-d.ip >= 8 {
		// One load of 8 bytes is faster than a loop. Only the whole bytes that fit count as loaded.
		d.bits |= binary.LittleEndian.Uint64(d.src[d.ip:]) << (d.n & 63)
		d.ip += int(7 - d.n>>3)
		d.n |= 56
		return
	}
	for d.n < 56 && d.ip < len(d.src) {
		d.bits |= uint64(d.src[d.ip]) << d.n
		d.ip++
		d.n += 8
	}
}

// drop consumes k loaded bits.
func (d *decoder) drop(k uint) {
	d.bits >>= k
	d.n -= k
}

// truncated returns the error for a stream that ends too early.
func (d *decoder) truncated() error {
	return &truncatedError{corrupt.Errorf("deflate: input ends at offset %d within a block", len(d.src))}
}

// truncatedError is the error for a stream that ends too early. A scan of a large stream tries again with more bytes.
type truncatedError struct{ error }

func (e *truncatedError) Unwrap() error { return e.error }

func isTruncated(err error) bool {
	var short *truncatedError
	return errors.As(err, &short)
}

// errFull says that dst of a decoder with isPart is full.
var errFull = errors.New("deflate: the buffer is full")

// overflow returns the error for a stream that holds more than len(dst) bytes.
func (d *decoder) overflow() error {
	if d.isPart {
		return errFull
	}
	return corrupt.Errorf("deflate: more than the expected %d bytes, noticed at offset %d", len(d.dst), d.offset())
}

// block decodes one block and reports whether it is the last.
func (d *decoder) block() (final bool, err error) {
	d.fill()
	if d.n < 3 {
		return false, d.truncated()
	}
	final = d.bits&1 != 0
	kind := d.bits >> 1 & 3
	d.drop(3)
	switch kind {
	case 0:
		return final, d.stored()
	case 1:
		return final, d.compressed(fixedTables())
	case 2:
		if err := d.readCodes(); err != nil {
			return false, err
		}
		return final, d.compressed(&d.own)
	}
	return false, corrupt.Errorf("deflate: block type is 3 at offset %d, only 0 to 2 are defined", d.offset())
}

// stored copies an uncompressed block (RFC 1951, section 3.2.4).
func (d *decoder) stored() error {
	d.ip, d.bits, d.n = d.aligned(), 0, 0
	if len(d.src)-d.ip < 4 {
		return d.truncated()
	}
	size, inverse := binary.LittleEndian.Uint16(d.src[d.ip:]), binary.LittleEndian.Uint16(d.src[d.ip+2:])
	if size != ^inverse {
		return corrupt.Errorf("deflate: stored length %04x at offset %d is followed by %04x, must be its complement", size, d.ip, inverse)
	}
	body := d.src[d.ip+4:]
	if int(size) > len(body) {
		return d.truncated()
	}
	if int(size) > len(d.dst)-d.op {
		if d.isPart {
			d.op += copy(d.dst[d.op:], body)
		}
		return d.overflow()
	}
	d.op += copy(d.dst[d.op:], body[:size])
	d.ip += 4 + int(size)
	return nil
}

// compressed decodes the symbols of a block: with the fast loop, then near the ends of the buffers
// with a careful one.
func (d *decoder) compressed(t *tables) error {
	s := fast(&d.cursor, t, d.dst, d.src)
	if s == needCare {
		s = d.careful(t)
	}
	switch s {
	case badSymbol:
		return corrupt.Errorf("deflate: invalid literal/length code at offset %d", d.offset())
	case badDistance:
		return corrupt.Errorf("deflate: invalid distance code at offset %d", d.offset())
	case tooFar:
		return corrupt.Errorf("deflate: the distance before offset %d is greater than the %d bytes decoded so far", d.offset(), d.op)
	case outOfInput:
		return d.truncated()
	case outOfSpace:
		return d.overflow()
	}
	return nil
}

// status is the reason why a loop over symbols ended. Assembly returns it.
type status uint8

const (
	blockDone   status = iota
	needCare           // too close to an end of a buffer for the fast loop
	badSymbol          // a literal/length code that has no symbol
	badDistance        // a distance code that has no symbol
	tooFar             // a distance beyond the start of the output
	outOfInput
	outOfSpace
)

// careful decodes symbols one by one and checks the ends of both buffers at each.
func (d *decoder) careful(t *tables) status {
	for {
		d.fill()
		e := t.litlen[d.bits&(1<<litlenBits-1)]
		if e&subtable == subtable {
			if d.n < litlenBits {
				return outOfInput
			}
			d.drop(litlenBits)
			e = t.litlen[subindex(e, d.bits)]
		}
		s := blockDone
		switch {
		case e&literal != 0:
			s = d.literal(e)
		case e&exceptional == 0:
			s = d.match(e, t)
		case e&blockEnd != blockEnd:
			return badSymbol
		case d.n < uint(e&63):
			return outOfInput
		default:
			d.drop(uint(e & 63))
			return blockDone
		}
		if s != blockDone {
			return s
		}
	}
}

// literal writes the byte of the entry e.
func (d *decoder) literal(e uint64) status {
	if d.n < uint(e&63) {
		return outOfInput
	}
	if d.op == len(d.dst) {
		return outOfSpace
	}
	d.drop(uint(e & 63))
	d.dst[d.op] = byte(e >> valueShift)
	d.op++
	return blockDone
}

// match copies a match: e is the entry of its length, the distance follows in the stream.
func (d *decoder) match(e uint64, t *tables) status {
	length, ok := d.value(e)
	if !ok {
		return outOfInput
	}
	d.fill()
	e = t.dist[d.bits&(1<<distBits-1)]
	if e&subtable == subtable {
		if d.n < distBits {
			return outOfInput
		}
		d.drop(distBits)
		e = t.dist[subindex(e, d.bits)]
	}
	if e&exceptional != 0 {
		return badDistance
	}
	dist, ok := d.value(e)
	switch {
	case !ok:
		return outOfInput
	case dist > d.op:
		return tooFar
	case length > len(d.dst)-d.op:
		return outOfSpace
	}
	// Each copy doubles the available source, so that a match that overlaps itself needs few copies.
	for from, end := d.op-dist, d.op+length; d.op < end; {
		d.op += copy(d.dst[d.op:end], d.dst[from:d.op])
	}
	return blockDone
}

// value consumes the code and the extra bits of a length or a distance, and returns its value. It
// returns false if src ends within them.
func (d *decoder) value(e uint64) (int, bool) {
	if d.n < uint(e&63) {
		return 0, false
	}
	v := extend(e, d.bits)
	d.drop(uint(e & 63))
	return v, true
}

// extend returns the length or distance of the entry e: its base value plus the extra bits that
// follow its code in bits.
func extend(e, bits uint64) int {
	return int(e>>valueShift + bits&(1<<(e&63)-1)>>(e>>codeShift&63))
}

// subindex returns the index of the next entry in the subtable that the entry e names. bits begins
// after the bits that indexed the main table.
func subindex(e, bits uint64) uint64 {
	return e>>valueShift&0xffff + bits&(1<<(e>>nextShift&63)-1)
}
