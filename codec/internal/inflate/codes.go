package inflate

import "varve/codec/internal/corrupt"

// precodeOrder is the order in which the lengths of the precode are stored, RFC 1951 section 3.2.7.
var precodeOrder = [precodeSyms]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// readCodes reads the codes at the beginning of a block with dynamic codes (RFC 1951, section 3.2.7)
// and builds the tables.
func (d *decoder) readCodes() error {
	d.fill()
	if d.n < 14 {
		return d.truncated()
	}
	at := d.offset()
	nlit, ndist, npre := int(d.bits&31)+257, int(d.bits>>5&31)+1, int(d.bits>>10&15)+4
	d.drop(14)
	if nlit > litlenSyms || ndist > distSyms {
		return corrupt.Errorf("deflate: offset %d: %d literal/length and %d distance codes, at most %d and %d are allowed",
			at, nlit, ndist, litlenSyms, distSyms)
	}
	var precode [precodeSize]uint64
	if err := d.readPrecode(&precode, npre); err != nil {
		return err
	}
	lens := d.lens[:nlit+ndist]
	if err := d.readLengths(&precode, lens); err != nil {
		return err
	}
	return d.buildTables(lens[:nlit], lens[nlit:], at)
}

// readPrecode reads the precode: the code in which the lengths of the other two codes are stored.
func (d *decoder) readPrecode(table *[precodeSize]uint64, count int) error {
	at := d.offset()
	var lens [precodeSyms]uint8
	for _, sym := range precodeOrder[:count] {
		if d.n < 3 {
			if d.fill(); d.n < 3 {
				return d.truncated()
			}
		}
		lens[sym] = uint8(d.bits & 7)
		d.drop(3)
	}
	d.code.sort(lens[:])
	if !d.code.isComplete() {
		return corrupt.Errorf("deflate: code length code at offset %d is %s", at, d.code.fault())
	}
	d.code.fill(table[:], precodeSymbols[:], precodeBits)
	return nil
}

// readLengths reads the lengths of both codes, which are one run-length encoded sequence.
func (d *decoder) readLengths(precode *[precodeSize]uint64, lens []uint8) error {
	for i := 0; i < len(lens); {
		if d.n < 14 {
			d.fill()
		}
		e := precode[d.bits&(precodeSize-1)]
		sym, bits := e>>valueShift, uint(e&63)
		if d.n < bits+uint(repeats[sym].bits) {
			return d.truncated()
		}
		d.drop(bits)
		if sym < 16 {
			lens[i] = uint8(sym)
			i++
			continue
		}
		if sym == 16 && i == 0 {
			return corrupt.Errorf("deflate: offset %d: the first code length is a repeat, and there is no previous one", d.offset())
		}
		r := repeats[sym]
		run := int(r.base) + int(d.bits&(1<<r.bits-1))
		d.drop(uint(r.bits))
		if run > len(lens)-i {
			return corrupt.Errorf("deflate: offset %d: repeat of %d code lengths, only %d are left", d.offset(), run, len(lens)-i)
		}
		value := uint8(0) // symbols 17 and 18 repeat zero
		if sym == 16 {
			value = lens[i-1]
		}
		for range run {
			lens[i] = value
			i++
		}
	}
	return nil
}

// repeats are, for each symbol of the precode that is a repeat, its number of extra bits and its
// smallest count.
var repeats = [precodeSyms]struct{ bits, base uint8 }{16: {2, 3}, 17: {3, 3}, 18: {7, 11}}

// buildTables builds the decoder's own tables. at is the offset of the codes, for errors.
func (d *decoder) buildTables(litlen, dist []uint8, at int) error {
	if litlen[endOfBlock] == 0 {
		return corrupt.Errorf("deflate: literal/length code at offset %d has no end of block", at)
	}
	c := &d.code
	c.sort(dist)
	// A block without matches may have no distance code; zlib accepts it.
	if !c.isComplete() && !c.isSingle() && c.used != 0 {
		return corrupt.Errorf("deflate: distance code at offset %d is %s", at, c.fault())
	}
	c.fill(d.own.dist[:], distSymbols[:], distBits)
	c.sort(litlen)
	if !c.isComplete() && !c.isSingle() {
		return corrupt.Errorf("deflate: literal/length code at offset %d is %s", at, c.fault())
	}
	c.fill(d.own.litlen[:], litlenSymbols[:], litlenBits)
	return nil
}

// fault describes a code that is not complete.
func (c *code) fault() string {
	if c.left < 0 {
		return "oversubscribed"
	}
	return "incomplete"
}
