package jpeg

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

const (
	maxScans = 100 // of an image, as in libtiff
	// maxUnseen limits the coefficients, in bytes, of a progressive image with more rows than the chunk. An image of up to
	// eight times the chunk may have more.
	maxUnseen = 32 << 20
)

// scan is a scan header, and the state of its entropy decoding.
type scan struct {
	components []*component
	first      int // number of the first coefficient
	end        int // number of the last coefficient
	high, low  int // lowest bit that is known before and after the scan
	run        int // further blocks without coefficients
	untilMark  int // MCUs until the next restart marker
	mark       byte
}

// readScan reads a scan header.
func (d *decoder) readScan() error {
	s, err := d.segment()
	if err != nil {
		return err
	}
	if len(s) < 1 || s[0] < 1 || s[0] > maxComponents || len(s) != 4+2*int(s[0]) {
		return d.errorf("scan header of %d bytes", len(s))
	}
	n := int(s[0])
	last := s[1+2*n:]
	d.scan = scan{first: int(last[0]), end: int(last[1]), high: int(last[2] >> 4), low: int(last[2] & 15), untilMark: d.restart}
	blocks := 0
	for i := range n {
		id, tables := s[1+2*i], s[2+2*i]
		k := slices.IndexFunc(d.components, func(c component) bool { return c.id == id })
		if k < 0 || slices.Contains(d.scan.components, &d.components[k]) {
			return d.errorf("scan of component %d, which the frame or the rest of the scan has not", id)
		}
		c := &d.components[k]
		c.dc, c.ac, c.pred = tables>>4, tables&15, 0
		if c.dc > 3 || c.ac > 3 {
			return d.errorf("Huffman tables %d and %d", c.dc, c.ac)
		}
		if c.quant == nil {
			if c.quant = d.quant[c.table]; c.quant == nil {
				return d.errorf("quantization table %d is missing", c.table)
			}
		} else if !d.Progressive {
			return d.errorf("second scan of component %d", id)
		}
		blocks += c.h * c.v
		d.scan.components = append(d.scan.components, c)
	}
	if n > 1 && blocks > 10 {
		return d.errorf("%d blocks in an MCU, at most 10 are allowed", blocks)
	}
	if !d.Progressive {
		d.scan.first, d.scan.end, d.scan.high, d.scan.low = 0, 63, 0, 0 // as libjpeg, whatever the header has
	}
	return d.checkScan()
}

// checkScan checks the coefficients of a scan, and that its Huffman tables exist.
func (d *decoder) checkScan() error {
	s := &d.scan
	dc := s.first == 0
	if d.Progressive {
		if dc != (s.end == 0) || s.end < s.first || s.end > 63 || !dc && len(s.components) > 1 || s.high != 0 && s.low != s.high-1 || s.low > 13 {
			return d.errorf("progressive scan of coefficients %d to %d, bits %d and %d", s.first, s.end, s.high, s.low)
		}
		for _, c := range s.components {
			for k := s.first; k <= s.end; k++ {
				c.low[k] = int8(s.low)
			}
		}
	} else {
		for class, tables := range standardTables() {
			for slot, t := range tables {
				d.huffman[class][slot] = cmp.Or(d.huffman[class][slot], t)
			}
		}
	}
	for _, c := range s.components {
		if dc && s.high == 0 && d.huffman[0][c.dc] == nil {
			return d.errorf("Huffman table %d for DC is missing", c.dc)
		}
		if s.end > 0 && d.huffman[1][c.ac] == nil {
			return d.errorf("Huffman table %d for AC is missing", c.ac)
		}
	}
	return nil
}

// readScans decodes the scans. It calls each for each MCU row of a sequential image.
func (d *decoder) readScans(each func(row int, of []*component)) error {
	for n := 0; ; n++ {
		if n == maxScans {
			return d.errorf("more than %d scans", maxScans)
		}
		if err := d.readScan(); err != nil {
			return err
		}
		if err := d.allocate(n); err != nil {
			return err
		}
		if err := d.readRows(each); err != nil {
			return err
		}
		if !d.Progressive && len(d.scan.components) == d.Components {
			return nil // bytes after the image do not matter
		}
		more, err := d.nextScan()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	return d.checkEnd()
}

// checkEnd checks that all components had scans, and that a progressive image without all coefficients ends with EOI.
func (d *decoder) checkEnd() error {
	for i := range d.components {
		c := &d.components[i]
		if c.quant == nil {
			return d.errorf("component %d has no scan", c.id)
		}
		exact := !d.Progressive || c.low == [64]int8{}
		if !exact && (d.at < 2 || d.src[d.at-2] != 0xff || d.src[d.at-1] != markEOI) {
			return d.errorf("stream ends before all coefficients of component %d, and without EOI", c.id)
		}
	}
	return nil
}

// allocate allocates the coefficients of a scan: of an MCU row, or of the image before the first scan of a progressive one.
func (d *decoder) allocate(scans int) error {
	if !d.Progressive {
		for _, c := range d.scan.components {
			c.blocks, c.last = make([][64]int16, c.stride*c.v), make([]uint8, c.stride*c.v)
		}
		return nil
	}
	if scans > 0 {
		return nil
	}
	all, seen := 0, 0
	for i := range d.components {
		c := &d.components[i]
		all += c.stride * c.v * d.mcuRows * 128
		seen += c.stride * c.v * d.neededRows() * 128
	}
	if all > 8*seen+maxUnseen {
		return fmt.Errorf("jpeg: progressive image of %d rows for a chunk of %d: %w", d.Rows, d.rows, errors.ErrUnsupported)
	}
	for i := range d.components {
		c := &d.components[i]
		n := c.stride * c.v * d.mcuRows
		c.blocks, c.last = make([][64]int16, n), make([]uint8, n)
	}
	return nil
}

// neededRows returns the number of MCU rows that the image needs. Interpolation of rows needs the row after the last.
func (d *decoder) neededRows() int {
	if d.vMax == 1 {
		return divideUp(d.rows, 8)
	}
	return min(d.mcuRows, d.rows/(8*d.vMax)+1)
}

// readRows decodes a scan.
func (d *decoder) readRows(each func(row int, of []*component)) error {
	d.bits = bits{src: d.src, at: d.at}
	s := &d.scan
	rows, first := d.mcuRows, 0
	if !d.Progressive && len(s.components) == d.Components {
		rows = d.neededRows()
	}
	for row := range rows {
		if d.Progressive {
			first = row
		} else {
			for _, c := range s.components {
				clear(c.blocks)
				clear(c.last)
			}
		}
		ok := true
		if len(s.components) == 1 {
			c := s.components[0]
			for y := 0; ok && y < min(c.v, c.rows-row*c.v); y++ {
				ok = d.readLine((first*c.v+y)*c.stride, c.columns)
			}
		} else {
			ok = d.readMCUs(first)
		}
		d.at = d.bits.at
		if !ok {
			return d.errorf("invalid code in MCU row %d of %d", row, d.mcuRows)
		}
		if d.bits.overrun() {
			return d.errorf("coefficients end in MCU row %d of %d", row, d.mcuRows)
		}
		if each != nil {
			each(row, s.components)
		}
	}
	return nil
}

// readLine decodes n blocks of a scan of one component.
func (d *decoder) readLine(at, n int) bool {
	c := d.scan.components[0]
	for i := at; i < at+n; i++ {
		if !d.passMark() || !d.readBlock(c, i) {
			return false
		}
	}
	return true
}

// readMCUs decodes an MCU row of a scan of several components. Row is its place in their coefficients.
func (d *decoder) readMCUs(row int) bool {
	for column := range d.mcuColumns {
		if !d.passMark() {
			return false
		}
		for _, c := range d.scan.components {
			for y := range c.v {
				at := (row*c.v+y)*c.stride + column*c.h
				for x := range c.h {
					if !d.readBlock(c, at+x) {
						return false
					}
				}
			}
		}
	}
	return true
}

// passMark moves past a restart marker if one is due. It returns false if another marker is there, or if the coefficients
// before it end too early.
func (d *decoder) passMark() bool {
	s := &d.scan
	if d.restart == 0 {
		return true
	}
	if s.untilMark == 0 {
		if d.bits.overrun() {
			return false
		}
		d.at = d.bits.at
		if mark, _ := d.nextMarker(); mark != markRST0+s.mark {
			return false
		}
		s.mark = (s.mark + 1) & 7
		s.untilMark = d.restart
		s.run = 0
		for _, c := range s.components {
			c.pred = 0
		}
		d.bits = bits{src: d.src, at: d.at}
	}
	s.untilMark--
	return true
}

// readBlock decodes what a scan has of a block.
func (d *decoder) readBlock(c *component, at int) bool {
	block, last := &c.blocks[at], &c.last[at]
	s := &d.scan
	switch {
	case !d.Progressive:
		return d.readSequential(c, block, last)
	case s.first > 0 && s.high > 0:
		return d.refine(d.huffman[1][c.ac], block, last)
	case s.first > 0:
		return d.readBand(d.huffman[1][c.ac], block, last)
	case s.high > 0:
		block[0] |= int16(d.bits.take(1) << s.low)
		return true
	}
	if !d.readDC(d.huffman[0][c.dc], c) {
		return false
	}
	block[0] = int16(c.pred << s.low)
	return true
}

// readDC decodes the difference of the DC coefficient to the one before.
func (d *decoder) readDC(t *huffman, c *component) bool {
	size, ok := d.bits.symbol(t)
	if ok && size > 0 {
		c.pred += extend(d.bits.take(int(size)), int(size))
	}
	return ok
}

// readSequential decodes all coefficients of a block.
func (d *decoder) readSequential(c *component, block *[64]int16, last *uint8) bool {
	if !d.readDC(d.huffman[0][c.dc], c) {
		return false
	}
	block[0] = int16(c.pred)
	t, b := d.huffman[1][c.ac], &d.bits
	acc, n, k := b.acc, b.n, 0
	for k < 63 {
		if n < 32 {
			b.acc, b.n = acc, n
			b.fill()
			acc, n = b.acc, b.n
		}
		look := acc >> (64 - lookBits)
		if e := t.values[look]; e != 0 {
			k += int(e>>8&15) + 1
			if k > 63 {
				return false
			}
			acc <<= e & 63
			n -= int(e & 63)
			block[zigzag[k]] = int16(e >> 16)
			continue
		}
		e := t.codes[look]
		if e != 0 {
			acc <<= e >> 8
			n -= int(e >> 8)
		} else {
			b.acc, b.n = acc, n
			symbol, ok := b.longSymbol(t)
			if !ok {
				return false
			}
			e = uint16(symbol)
			acc, n = b.acc, b.n
		}
		zeros, size := int(e>>4&15), int(e&15)
		if size == 0 {
			if zeros < 15 {
				break
			}
			k += 16
			continue
		}
		if k += zeros + 1; k > 63 {
			return false
		}
		block[zigzag[k]] = int16(extend(uint32(acc>>(64-size)), size))
		acc <<= size
		n -= size
	}
	b.acc, b.n, *last = acc, n, uint8(min(k, 63))
	return true
}

// readBand decodes the first bits of the AC coefficients of a progressive scan.
func (d *decoder) readBand(t *huffman, block *[64]int16, last *uint8) bool {
	s, b := &d.scan, &d.bits
	if s.run > 0 {
		s.run--
		return true
	}
	for k := s.first; k <= s.end; k++ {
		symbol, ok := b.symbol(t)
		if !ok {
			return false
		}
		zeros, size := int(symbol>>4), int(symbol&15)
		if size == 0 && zeros < 15 {
			s.run = 1<<zeros + int(b.take(zeros)) - 1
			return true
		}
		k += zeros
		if size == 0 {
			continue
		}
		if k > s.end {
			return false
		}
		block[zigzag[k]] = int16(extend(b.take(size), size) << s.low)
		*last = max(*last, uint8(k))
	}
	return true
}

// refine decodes one more bit of the AC coefficients of a progressive scan.
func (d *decoder) refine(t *huffman, block *[64]int16, last *uint8) bool {
	s, b := &d.scan, &d.bits
	bit := int16(1) << s.low
	k := s.first
	for ; s.run == 0 && k <= s.end; k++ {
		symbol, ok := b.symbol(t)
		if !ok {
			return false
		}
		zeros, size, value := int(symbol>>4), int(symbol&15), int16(0)
		if size == 0 && zeros < 15 {
			s.run = 1<<zeros + int(b.take(zeros))
			break
		}
		if size > 1 {
			return false
		}
		if size == 1 {
			if value = -bit; b.take(1) == 1 {
				value = bit
			}
		}
		if k = d.refineZeros(block, k, s.end, zeros); k > s.end {
			if value != 0 {
				return false
			}
			break
		}
		if value != 0 {
			block[zigzag[k]] = value
			*last = max(*last, uint8(k))
		}
	}
	if s.run > 0 {
		d.refineZeros(block, k, min(s.end, int(*last)), 64)
		s.run--
	}
	return true
}

// refineZeros refines the coefficients from number k to end until it has passed n zeros. It returns the number of the zero
// after them, or end + 1.
func (d *decoder) refineZeros(block *[64]int16, k, end, n int) int {
	bit := int16(1) << d.scan.low
	for ; k <= end; k++ {
		v := &block[zigzag[k]]
		if *v == 0 {
			if n--; n < 0 {
				break
			}
		} else if d.bits.take(1) == 1 && *v&bit == 0 {
			if *v > 0 {
				*v += bit
			} else {
				*v -= bit
			}
		}
	}
	return k
}
