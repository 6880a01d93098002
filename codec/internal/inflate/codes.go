package inflate

import "varve/codec/internal/corrupt"

// precodeOrder is the order of section 3.2.7.
var precodeOrder = [precodeSyms]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// readCodes reads the codes at the head of a block of section 3.2.7 and builds the tables.
func (d *decoder) readCodes() error {
	d.fill()
	if d.n < 14 {
		return d.truncated()
	}
	at := d.offset()
	nlit, ndist, npre := int(d.bits&31)+257, int(d.bits>>5&31)+1, int(d.bits>>10&15)+4
	d.drop(14)
	if nlit > litlenSyms || ndist > distSyms {
		return corrupt.Errorf("deflate: %d literal/length and %d distance codes at offset %d, at most %d and %d are allowed",
			nlit, ndist, at, litlenSyms, distSyms)
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

// readPrecode reads the code that the lengths of the other two are written in.
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
	if !d.code.complete() {
		return corrupt.Errorf("deflate: code length code at offset %d is %s", at, d.code.fault())
	}
	d.code.fill(table[:], precodeSymbols[:], precodeBits)
	return nil
}

// readLengths reads the lengths of both codes, one run-length coded sequence.
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
			return corrupt.Errorf("deflate: code lengths begin with a repeat at offset %d", d.offset())
		}
		r := repeats[sym]
		run := int(r.base) + int(d.bits&(1<<r.bits-1))
		d.drop(uint(r.bits))
		if run > len(lens)-i {
			return corrupt.Errorf("deflate: %d code lengths are repeated at offset %d, %d are missing", run, d.offset(), len(lens)-i)
		}
		value := uint8(0)
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

// repeats are the extra bits and least counts of the precode's symbols.
var repeats = [precodeSyms]struct{ bits, base uint8 }{16: {2, 3}, 17: {3, 3}, 18: {7, 11}}

// buildTables builds the decoder's own tables; at is where the codes were.
func (d *decoder) buildTables(litlen, dist []uint8, at int) error {
	if litlen[endOfBlock] == 0 {
		return corrupt.Errorf("deflate: code at offset %d has no end of block", at)
	}
	c := &d.code
	c.sort(dist)
	if !c.complete() && !c.single() && c.used != 0 {
		return corrupt.Errorf("deflate: distance code at offset %d is %s", at, c.fault())
	}
	c.fill(d.own.dist[:], distSymbols[:], distBits)
	c.sort(litlen)
	if !c.complete() && !c.single() {
		return corrupt.Errorf("deflate: literal/length code at offset %d is %s", at, c.fault())
	}
	c.fill(d.own.litlen[:], litlenSymbols[:], litlenBits)
	return nil
}

// fault names what is wrong with a code that is not complete.
func (c *code) fault() string {
	if c.left < 0 {
		return "oversubscribed"
	}
	return "incomplete"
}
