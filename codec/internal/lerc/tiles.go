package lerc

import (
	"encoding/binary"
	"math"
	"math/bits"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// tile is a part of one sample of all pixels.
type tile struct {
	row, column, rows, columns int
	sample                     int
	valid                      int  // number of valid pixels
	differs                    bool // the values are differences to the sample before
}

// Contents of a tile, the two least bits of its first byte.
const (
	tileRaw    = iota // samples as they are
	tilePacked        // multiples of twice the error limit, above a minimum, in few bits each
	tileZero
	tileEqual // samples that are all the minimum
)

// tiles decodes the tiles of an image, from left to right and from top to bottom.
func (d *decoder) tiles() error {
	for row := 0; row < d.rows; row += d.tile {
		for column := 0; column < d.columns; column += d.tile {
			t := tile{row: row, column: column, rows: min(d.tile, d.rows-row), columns: min(d.tile, d.columns-column)}
			t.valid = t.rows * t.columns
			if d.mask != nil {
				t.valid = 0
				for y := row; y < row+t.rows; y++ {
					t.valid += d.mask.count(y*d.columns+column, t.columns)
				}
			}
			for t.sample = range d.depth {
				at := d.at
				if err := d.readTile(t); err != nil {
					return corrupt.Errorf("offset %d: tile at row %d, column %d: %w", at, row, column, err)
				}
			}
		}
	}
	return nil
}

func (d *decoder) readTile(t tile) error {
	// Bits 2 to 5 have the column of the tile, for a check; version 5 made bit 2 something else.
	flags, check := int(d.octet()), 15
	if d.version >= 5 {
		t.differs, check = flags&4 != 0, 14
	}
	if d.err != nil {
		return d.err
	}
	if (flags>>2^t.column>>3)&check != 0 {
		return corrupt.Errorf("flags are %#x, which are of another column", flags)
	}
	content := flags & 3
	if t.differs && (t.sample == 0 || content == tileRaw) {
		return corrupt.Errorf("flags are %#x, but there is nothing before it", flags)
	}
	size := d.typ.Size()
	switch content {
	case tileZero:
		d.eachRun(t, func(_, at, n int) {
			for ; n > 0; at, n = at+d.depth*size, n-1 {
				if t.differs {
					copy(d.dst[at:at+size], d.dst[at-size:])
				} else {
					clear(d.dst[at : at+size])
				}
			}
		})
		return nil
	case tileRaw:
		src := d.bytes(t.valid * size)
		if d.err != nil {
			return d.err
		}
		d.eachRun(t, func(from, at, n int) {
			spread(d.dst[at:], src[from*size:(from+n)*size], size, d.depth*size)
		})
		return nil
	}
	offset, err := d.minimum(t.differs, flags>>6)
	if err != nil {
		return err
	}
	values := d.values[:t.valid]
	if content == tileEqual {
		if !t.differs {
			value := d.sample(offset)
			d.eachRun(t, func(_, at, n int) {
				for ; n > 0; at, n = at+d.depth*size, n-1 {
					copy(d.dst[at:], value)
				}
			})
			return nil
		}
		clear(values)
	} else if err := d.unpack(values); err != nil {
		return err
	}
	s := scale{floats{offset, 2 * d.limit, d.most}, d.typ, d.depth * size}
	if d.version >= 4 && d.depth > 1 {
		s.most = number(d.maxima[t.sample*size:], d.typ)
	}
	store, back := s.put, 0
	if t.differs {
		store, back = s.add, size
	}
	if t.valid == t.rows*t.columns {
		at := ((t.row*d.columns+t.column)*d.depth + t.sample) * size
		store(d.dst[at-back:], values, t.columns, d.columns*s.apart)
		return nil
	}
	d.eachRun(t, func(from, at, n int) { store(d.dst[at-back:], values[from:from+n], n, 0) })
	return nil
}

// eachRun calls f for the runs of valid pixels in the rows of a tile: with the number of valid pixels before it in the
// tile, the offset of its first sample in dst, and its length.
func (d *decoder) eachRun(t tile, f func(from, at, n int)) {
	from, size := 0, d.typ.Size()
	for y := range t.rows {
		first := (t.row+y)*d.columns + t.column
		at := (first*d.depth + t.sample) * size
		row := ^uint64(0)
		if d.mask != nil {
			row = bitstream.At(d.mask, first)
		}
		for row &= ^uint64(0) << (64 - t.columns); row != 0; {
			n := bits.LeadingZeros64(row)
			at, row = at+n*d.depth*size, row<<n
			n = bits.LeadingZeros64(^row)
			f(from, at, n)
			from, at, row = from+n, at+n*d.depth*size, row<<n
		}
	}
}

// spread copies elements to every step-th byte.
func spread(dst, src []byte, size, step int) {
	if size == step {
		copy(dst, src)
		return
	}
	for at := 0; len(src) > 0; at, src = at+step, src[size:] {
		copy(dst[at:at+size], src)
	}
}

// minimum reads the number that is added to the values of a tile. The two bits of reduced say in which smaller type it
// is.
func (d *decoder) minimum(differs bool, reduced int) (float64, error) {
	t := int(d.typ)
	if differs && d.typ < Float32 {
		t = int(Int32)
	}
	switch Type(t) {
	case Int16, Int32:
		t -= reduced
	case Uint16, Uint32:
		t -= 2 * reduced
	case Float32:
		t = int([...]Type{Float32, Int16, Uint8, Uint8}[reduced])
	case Float64:
		t = int([...]Type{Float64, Float32, Int32, Int16}[reduced])
	}
	if t < 0 {
		return 0, corrupt.Errorf("%v cannot be reduced %d times", d.typ, reduced)
	}
	b := d.bytes(Type(t).Size())
	if d.err != nil {
		return 0, d.err
	}
	return number(b, Type(t)), nil
}

// scale computes samples from the values of a tile.
type scale struct {
	floats
	typ   Type
	apart int // bytes from a sample to the same one of the next pixel
}

// floats computes offset + step·v, but not more than most.
type floats struct{ offset, step, most float64 }

func (f floats) of(v uint32) float64 {
	// The conversion keeps a compiler from rounding only once.
	z := f.offset + float64(float64(v)*f.step)
	if f.most < z {
		return f.most
	}
	return z
}

// integers is floats if isWhole says so.
type integers struct{ offset, step, most int64 }

func (w integers) of(v uint32) int64 { return min(w.offset+int64(v)*w.step, w.most) }

// isWhole reports whether integers give the same results.
func (f *floats) isWhole() bool {
	const exact = 1 << 53
	return f.step == math.Trunc(f.step) && f.step >= 0 && f.step < math.MaxInt32 && f.most == math.Trunc(f.most) && math.Abs(f.most) < exact
}

// put stores the samples of rows of values. Rows are rowBytes apart.
func (s *scale) put(dst []byte, values []uint32, columns, rowBytes int) {
	if s.isExact() {
		s.putExact(dst, values, columns, rowBytes)
		return
	}
	if s.typ == Float32 {
		s.putFloat32(dst, values, columns, rowBytes)
		return
	}
	whole := s.typ < Float32 && s.isWhole()
	for ; len(values) > 0; values = values[columns:] {
		if whole {
			s.putWhole(dst, values[:columns])
		} else {
			s.putRow(dst, values[:columns])
		}
		dst = dst[min(rowBytes, len(dst)):]
	}
}

// isExact reports whether samples are the sums of values and the offset. Integers without loss do not get greater than
// most.
func (s *scale) isExact() bool { return s.typ < Float32 && s.step == 1 }

// putExact is put if isExact says so. Overflow does not matter.
func (s *scale) putExact(dst []byte, values []uint32, columns, rowBytes int) {
	offset, apart, size := uint32(int64(s.offset)), s.apart, s.typ.Size()
	for start := 0; len(values) > 0; start, values = start+rowBytes, values[columns:] {
		at, row := start, values[:columns]
		switch size {
		case 1:
			for _, v := range row {
				dst[at] = byte(v + offset)
				at += apart
			}
		case 2:
			for ; apart == 2 && len(row) >= 8; row = row[8:] {
				v, out := (*[8]uint32)(row), (*[16]byte)(dst[at:])
				binary.LittleEndian.PutUint64(out[0:], uint64(uint16(v[0]+offset))|uint64(uint16(v[1]+offset))<<16|
					uint64(uint16(v[2]+offset))<<32|uint64(v[3]+offset)<<48)
				binary.LittleEndian.PutUint64(out[8:], uint64(uint16(v[4]+offset))|uint64(uint16(v[5]+offset))<<16|
					uint64(uint16(v[6]+offset))<<32|uint64(v[7]+offset)<<48)
				at += 16
			}
			for _, v := range row {
				binary.LittleEndian.PutUint16(dst[at:], uint16(v+offset))
				at += apart
			}
		default:
			for ; apart == 4 && len(row) >= 4; row = row[4:] {
				v, out := (*[4]uint32)(row), (*[16]byte)(dst[at:])
				binary.LittleEndian.PutUint64(out[0:], uint64(v[0]+offset)|uint64(v[1]+offset)<<32)
				binary.LittleEndian.PutUint64(out[8:], uint64(v[2]+offset)|uint64(v[3]+offset)<<32)
				at += 16
			}
			for _, v := range row {
				binary.LittleEndian.PutUint32(dst[at:], v+offset)
				at += apart
			}
		}
	}
}

func (s *scale) putFloat32(dst []byte, values []uint32, columns, rowBytes int) {
	f, apart := s.floats, s.apart
	for start := 0; len(values) > 0; start, values = start+rowBytes, values[columns:] {
		at, row := start, values[:columns]
		for ; apart == 4 && len(row) >= 8; row = row[8:] {
			v, out := (*[8]uint32)(row), (*[32]byte)(dst[at:])
			binary.LittleEndian.PutUint32(out[0:], math.Float32bits(float32(f.of(v[0]))))
			binary.LittleEndian.PutUint32(out[4:], math.Float32bits(float32(f.of(v[1]))))
			binary.LittleEndian.PutUint32(out[8:], math.Float32bits(float32(f.of(v[2]))))
			binary.LittleEndian.PutUint32(out[12:], math.Float32bits(float32(f.of(v[3]))))
			binary.LittleEndian.PutUint32(out[16:], math.Float32bits(float32(f.of(v[4]))))
			binary.LittleEndian.PutUint32(out[20:], math.Float32bits(float32(f.of(v[5]))))
			binary.LittleEndian.PutUint32(out[24:], math.Float32bits(float32(f.of(v[6]))))
			binary.LittleEndian.PutUint32(out[28:], math.Float32bits(float32(f.of(v[7]))))
			at += 32
		}
		for _, v := range row {
			binary.LittleEndian.PutUint32(dst[at:], math.Float32bits(float32(f.of(v))))
			at += apart
		}
	}
}

// putRow is put for a row of the other types.
func (s *scale) putRow(dst []byte, values []uint32) {
	f, apart := s.floats, s.apart
	at := 0
	switch s.typ {
	case Float64:
		for ; apart == 8 && len(values) >= 4; values = values[4:] {
			v, row := (*[4]uint32)(values), (*[32]byte)(dst[at:])
			binary.LittleEndian.PutUint64(row[0:], math.Float64bits(f.of(v[0])))
			binary.LittleEndian.PutUint64(row[8:], math.Float64bits(f.of(v[1])))
			binary.LittleEndian.PutUint64(row[16:], math.Float64bits(f.of(v[2])))
			binary.LittleEndian.PutUint64(row[24:], math.Float64bits(f.of(v[3])))
			at += 32
		}
		for _, v := range values {
			binary.LittleEndian.PutUint64(dst[at:], math.Float64bits(f.of(v)))
			at += apart
		}
	default:
		for _, v := range values {
			put(dst[at:], f.of(v), s.typ)
			at += apart
		}
	}
}

// putWhole is putRow with integers.
func (s *scale) putWhole(dst []byte, values []uint32) {
	w, apart := integers{int64(s.offset), int64(s.step), int64(s.most)}, s.apart
	at := 0
	switch s.typ.Size() {
	case 1:
		for _, v := range values {
			dst[at] = byte(w.of(v))
			at += apart
		}
	case 2:
		for _, v := range values {
			binary.LittleEndian.PutUint16(dst[at:], uint16(w.of(v)))
			at += apart
		}
	default:
		for _, v := range values {
			binary.LittleEndian.PutUint32(dst[at:], uint32(w.of(v)))
			at += apart
		}
	}
}

// add stores each sample as the sum of a value and of the sample before it. The sample before the first one is at the
// start of dst.
func (s *scale) add(dst []byte, values []uint32, columns, rowBytes int) {
	offset, apart, size := uint32(int64(s.offset)), s.apart, s.typ.Size()
	before, dst := dst, dst[size:]
	isExact := s.isExact()
	for start := 0; len(values) > 0; start, values = start+rowBytes, values[columns:] {
		at, row := start, values[:columns]
		switch {
		case isExact && size == 1:
			for _, v := range row {
				dst[at] = before[at] + byte(offset+v)
				at += apart
			}
		case isExact && size == 2:
			for _, v := range row {
				binary.LittleEndian.PutUint16(dst[at:], binary.LittleEndian.Uint16(before[at:])+uint16(offset+v))
				at += apart
			}
		case isExact:
			for _, v := range row {
				binary.LittleEndian.PutUint32(dst[at:], binary.LittleEndian.Uint32(before[at:])+offset+v)
				at += apart
			}
		default:
			for _, v := range row {
				z := s.offset + float64(float64(v)*s.step) + number(before[at:], s.typ)
				if s.most < z {
					z = s.most
				}
				put(dst[at:], z, s.typ)
				at += apart
			}
		}
	}
}

// unpack reads packed integers: the number of bits of each (5 bits), whether they are in a table (1), the size of their
// number (2), and their number. A table has its size (1 byte, plus 1), the integers but for a first 0, and then the
// indexes of the integers.
func (d *decoder) unpack(values []uint32) error {
	head := d.octet()
	width, isTable := uint(head&31), head&32 != 0
	count := 0
	switch head >> 6 {
	case 0:
		count = d.integer()
	case 1:
		if b := d.bytes(2); b != nil {
			count = int(binary.LittleEndian.Uint16(b))
		}
	case 2:
		count = int(d.octet())
	default:
		return corrupt.Errorf("packed integers start with %#x", head)
	}
	if d.err != nil {
		return d.err
	}
	if count != len(values) || width == 0 {
		return corrupt.Errorf("%d packed integers of %d bits, want %d", count, width, len(values))
	}
	if !isTable {
		return d.unstuff(values, width)
	}
	last := int(d.octet()) - 1
	if d.err != nil || last < 1 {
		return corrupt.Errorf("a table of %d packed integers", last+1)
	}
	var table [256]uint32
	if err := d.unstuff(table[1:last+1], width); err != nil {
		return err
	}
	if err := d.unstuff(values, uint(bits.Len(uint(last)))); err != nil {
		return err
	}
	for i, v := range values {
		if int(v) > last {
			return corrupt.Errorf("index %d of a table of %d packed integers", v, last+1)
		}
		values[i] = table[v&255]
	}
	return nil
}

// unstuff reads integers of 1 to 31 bits each. From version 3 on they are from the least significant bit up.
func (d *decoder) unstuff(values []uint32, width uint) error {
	size := (len(values)*int(width) + 7) / 8
	if size > len(d.src)-d.at {
		return corrupt.Errorf("%d bytes are left, want %d", len(d.src)-d.at, size)
	}
	src := d.src[d.at:]
	d.at += size
	if d.version < 3 {
		swapWords(d.scratch[:], src[:size])
		at := uint(0)
		for i := range values {
			values[i] = uint32(binary.BigEndian.Uint64(d.scratch[at>>3:]) << (at & 7) >> (64 - width))
			at += width
		}
		return nil
	}
	if len(src) < size+8 {
		n := copy(d.scratch[:], src[:size])
		src = d.scratch[:n+8]
	}
	// A load has 57 bits or more.
	mask, at := uint64(1)<<width-1, uint(0)
	if width <= 14 {
		for ; len(values) >= 4; values = values[4:] {
			v := binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7)
			values[0] = uint32(v & mask)
			v >>= width & 63
			values[1] = uint32(v & mask)
			v >>= width & 63
			values[2] = uint32(v & mask)
			v >>= width & 63
			values[3] = uint32(v & mask)
			at += 4 * width
		}
	}
	for i := range values {
		values[i] = uint32(binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7) & mask)
		at += width
	}
	return nil
}

// swapWords copies words of 4 bytes in the other byte order, so that their bits follow each other from the most significant
// down. The last word may have fewer bytes, of which the first ones are missing.
func swapWords(dst, src []byte) {
	for ; len(src) >= 4; dst, src = dst[4:], src[4:] {
		binary.BigEndian.PutUint32(dst, binary.LittleEndian.Uint32(src))
	}
	for i, b := range src {
		dst[len(src)-1-i] = b
	}
}
