package grib

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// Second-order packing of edition 1 splits values into groups, as complex packing of edition 2
// does. In section 4, the bits per value are the width of first-order values. They are followed by
//
//	11  where first-order values begin (N1, not needed)
//	13  more flags
//	14  where second-order values begin (N2, not needed)
//	16  groups, 2 bytes
//	18  second-order values, 2 bytes
//	20  more groups, in units of 65536
//
// In three older packings these parts follow, each from the next whole byte on:
//
//	widths of the groups, 1 byte each            or one width for all
//	a bit per value, set where a group begins    unless each row is a group
//	first-order values of the groups
//	second-order values
//
// The general extended packing, which GRIBEX and ecCodes write, has
//
//	21  bits of a width
//	22  bits of a length
//	23  where lengths begin (NL, not needed)
//	25  bits of a descriptor              if there are spatial differences
//	26  descriptors: the first values (as many as the order), the bias
//
// then the widths, the lengths and the first-order values of all groups, each part from the
// next whole byte on, and the second-order values.
const (
	moreFlags1At     = 13
	groups1At        = 16
	secondOrder1At   = 18
	moreGroups1At    = 20
	secondOrder1     = 21
	widthBits1At     = 21
	lengthBits1At    = 22
	extended1        = 25
	maxSpatialOrder  = 3
	groupsPerMore    = 1 << 16
	maxCodedOfGroups = 1 << 32
)

// The flags of octet 14, which the WMO's manual leaves out.
const (
	flagMatrix           = 0x40
	flagSecondaryBitmap  = 0x20
	flagWidths           = 0x10 // groups have widths of their own
	flagExtended         = 0x08
	flagBoustrophedonic1 = 0x04
	orderMask            = 0x03
)

// Templates 5.50001 and 5.50002 are ECMWF's: the general extended packing in edition 2. In section 5,
// the bits per value are followed by
//
//	20  width of first-order values
//	21  groups, 4 bytes
//	25  second-order values, 4 bytes
//	29  bits of a width
//	30  bits of a length
//	31  flags: 80 is boustrophedonic        template 5.50002 only
//	31  order of spatial differences         32 in template 5.50002
//	32  bits of a descriptor, descriptors    33, 34
//
// Section 7 has the widths, the lengths, the first-order values and the second-order values.
const (
	firstWidth2At  = 20
	groups2At      = 21
	widthBits2At   = 29
	lengthBits2At  = 30
	afterLength2At = 31

	flagBoustrophedonic2 = 0x80
)

// groupsOf1 returns the number of groups of section 4.
func groupsOf1(s []byte) int {
	return uint16At(s, groups1At) + groupsPerMore*int(s[moreGroups1At])
}

func (f *Field) openSecondOrder1(info *Info) (packing, error) {
	s := f.Section4
	if len(s) < secondOrder1 {
		return nil, corrupt.Errorf("section 4: %d bytes, at least %d are expected of second-order packing", len(s), secondOrder1)
	}
	info.BitsPerValue = -1 // the message does not contain it
	flags := s[moreFlags1At]
	if flags&flagMatrix != 0 {
		return nil, fmt.Errorf("section 4: second-order packing of a matrix of values at each point: %w", errors.ErrUnsupported)
	}
	switch kind := flags & (flagSecondaryBitmap | flagWidths | flagExtended); kind {
	case flagWidths | flagExtended:
		return f.openExtended1(info, flags)
	case flagWidths:
		return f.openRows1(info)
	case flagWidths | flagSecondaryBitmap:
		return f.openBitmapped1(info, "grid_second_order_general_grib1", flags)
	case flagSecondaryBitmap:
		return f.openBitmapped1(info, "grid_second_order_constant_width", flags)
	default:
		return nil, fmt.Errorf("section 4: second-order packing with flags %#02x: %w", flags, errors.ErrUnsupported)
	}
}

// extended is the general extended packing.
type extended struct {
	scaling
	boustrophedonic
	width, widthBits, lengthBits uint
	count                        int
	descriptors                  []int64 // the first values, then the bias; none without differences
	widths, lengths, first       []byte
	values                       []byte
}

// secondOrderNames are ecCodes' names by the order of spatial differences. The packings that ecCodes
// itself writes are named grid_second_order instead.
var secondOrderNames = [maxSpatialOrder + 1]string{
	"grid_second_order_no_SPD", "grid_second_order_SPD1", "grid_second_order_SPD2", "grid_second_order_SPD3",
}

func (f *Field) openExtended1(info *Info, flags byte) (packing, error) {
	s := f.Section4
	order := int(flags & orderMask)
	info.Packing = secondOrderNames[order]
	if order == 2 {
		info.Packing = "grid_second_order"
	}
	if len(s) < extended1 {
		return nil, corrupt.Errorf("section 4: %d bytes, at least %d are expected of %s", len(s), extended1, info.Packing)
	}
	p := &extended{
		scaling:    newScaling(info),
		width:      uint(s[bits1At]),
		count:      groupsOf1(s),
		widthBits:  uint(s[widthBits1At]),
		lengthBits: uint(s[lengthBits1At]),
	}
	if flags&flagBoustrophedonic1 != 0 {
		p.boustrophedonic = boustrophedonic{f}
	}
	rest, err := p.readDescriptors(s[extended1:], order)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	return p.split(info, rest)
}

func (f *Field) openExtended2(info *Info, flagged bool) (packing, error) {
	s := f.Section5
	if err := f.scaled(info, "grid_second_order", lengthBits2At+1); err != nil {
		return nil, err
	}
	if info.BitsPerValue == 0 && !flagged {
		return constant(info.Reference), nil // nothing follows
	}
	p := &extended{
		scaling:    newScaling(info),
		width:      uint(s[firstWidth2At]),
		count:      int(binary.BigEndian.Uint32(s[groups2At:])),
		widthBits:  uint(s[widthBits2At]),
		lengthBits: uint(s[lengthBits2At]),
	}
	s = s[afterLength2At:]
	if flagged && len(s) > 0 {
		if s[0]&flagBoustrophedonic2 != 0 {
			p.boustrophedonic = boustrophedonic{f}
		}
		s = s[1:]
	}
	if len(s) == 0 {
		return nil, corrupt.Errorf("section 5 ends at the order of spatial differences of %s", info.Packing)
	}
	order := int(s[0])
	if order > maxSpatialOrder {
		return nil, fmt.Errorf("%s: differences of order %d: %w", info.Packing, order, errors.ErrUnsupported)
	}
	if !flagged {
		info.Packing = secondOrderNames[order]
	}
	if _, err := p.readDescriptors(s[1:], order); err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	return p.split(info, f.Section7[header7:])
}

// readDescriptors reads the first values and the bias of spatial differences. It returns the bytes
// after them.
func (p *extended) readDescriptors(s []byte, order int) ([]byte, error) {
	if order == 0 {
		return s, nil
	}
	if len(s) < 1 {
		return nil, corrupt.Errorf("the section ends at the descriptors")
	}
	width := uint(s[0])
	s = s[1:]
	if width > maxWidth {
		return nil, corrupt.Errorf("descriptors of %d bits, at most %d are expected", width, maxWidth)
	}
	if err := checkBits(s, order+1, width, "descriptors"); err != nil {
		return nil, err
	}
	p.descriptors = make([]int64, order+1)
	for i := range order {
		p.descriptors[i] = int64(bitstream.Field(s, i*int(width), width))
	}
	p.descriptors[order] = signMagnitude(bitstream.Field(s, order*int(width), width), width)
	return s[bytesOf((order+1)*int(width)):], nil
}

// split finds the widths, lengths, first-order and second-order values, and counts the values.
func (p *extended) split(info *Info, data []byte) (packing, error) {
	if p.width > maxWidth || p.widthBits > maxWidth || p.lengthBits > maxWidth {
		return nil, corrupt.Errorf("%s: first-order values, widths and lengths of %d, %d and %d bits, at most %d are expected",
			info.Packing, p.width, p.widthBits, p.lengthBits, maxWidth)
	}
	for _, part := range []struct {
		of   *[]byte
		bits uint
		what string
	}{{&p.widths, p.widthBits, "widths"}, {&p.lengths, p.lengthBits, "lengths"}, {&p.first, p.width, "first-order values"}} {
		if err := checkBits(data, p.count, part.bits, part.what); err != nil {
			return nil, fmt.Errorf("%s: %w", info.Packing, err)
		}
		n := bytesOf(p.count * int(part.bits))
		*part.of, data = data[:n], data[n:]
	}
	p.values = data
	coded := uint64(max(0, len(p.descriptors)-1))
	if p.lengthBits > 0 {
		for g := range p.count {
			length := bitstream.Field(p.lengths, g*int(p.lengthBits), p.lengthBits)
			if coded += length; length > maxCodedOfGroups || coded > maxCodedOfGroups {
				return nil, corrupt.Errorf("%s: group %d has %d values, at most %d are expected in all", info.Packing, g, length, int64(maxCodedOfGroups))
			}
		}
	}
	if p.count == 0 {
		coded = 0 // as in ecCodes, whatever the order
	}
	info.Coded = int(coded)
	return p, nil
}

func (p *extended) decode(dst []float64) error {
	x := integers(dst)
	order := max(0, len(p.descriptors)-1)
	if err := p.unpack(x[min(order, len(x)):]); err != nil {
		return err
	}
	if order > 0 {
		copy(x, p.descriptors[:order])
		integrate(x, order, p.descriptors[order])
	}
	for i := range dst {
		dst[i] = p.of(float64(x[i]))
	}
	return nil
}

func (p *extended) unpack(x []int64) error {
	if p.lengthBits == 0 {
		return nil // every group is empty
	}
	at := 0
	for g := 0; g < p.count && len(x) > 0; g++ {
		width := uint(bitstream.Field(p.widths, g*int(p.widthBits), p.widthBits))
		length := int(bitstream.Field(p.lengths, g*int(p.lengthBits), p.lengthBits))
		first := int64(bitstream.Field(p.first, g*int(p.width), p.width))
		n := min(length, len(x))
		if err := secondOrder(x[:n], p.values, at, width, first); err != nil {
			return fmt.Errorf("group %d: %w", g, err)
		}
		x = x[n:]
		at += n * int(width)
	}
	return nil
}

// secondOrder unpacks the integers of one group, of width bits each from bit at on.
func secondOrder(x []int64, src []byte, at int, width uint, first int64) error {
	switch {
	case width == 0:
		for i := range x {
			x[i] = first
		}
		return nil
	case width > maxWidth:
		return corrupt.Errorf("values of %d bits, at most %d are expected", width, maxWidth)
	case at > 8*len(src) || len(x) > (8*len(src)-at)/int(width):
		return corrupt.Errorf("%d values of %d bits, and the section ends after %d bits", len(x), width, max(0, 8*len(src)-at))
	}
	addBits(x, src, at, width, first)
	return nil
}

// integrate undoes differences of an order from 1 to 3. x begins with the first values.
func integrate(x []int64, order int, bias int64) {
	if len(x) <= order {
		return
	}
	switch order {
	case 1:
		y := x[0]
		for i := 1; i < len(x); i++ {
			y += x[i] + bias
			x[i] = y
		}
	case 2:
		z, y := x[1], x[1]-x[0]
		for i := 2; i < len(x); i++ {
			y += x[i] + bias
			z += y
			x[i] = z
		}
	case 3:
		w, y := x[2], x[2]-x[1]
		z := y - (x[1] - x[0])
		for i := 3; i < len(x); i++ {
			z += x[i] + bias
			y += z
			w += y
			x[i] = w
		}
	}
}

// rows is second-order packing whose groups are the rows of the grid.
type rows struct {
	scaling
	f             *Field
	width         uint
	count         int
	widths, first []byte
	values        []byte
}

func (f *Field) openRows1(info *Info) (packing, error) {
	info.Packing = "grid_second_order_row_by_row"
	s := f.Section4
	p := &rows{scaling: newScaling(info), f: f, width: uint(s[bits1At]), count: groupsOf1(s)}
	s = s[secondOrder1:]
	var err error
	if p.widths, p.first, p.values, err = firstOrder(s, p.count, p.count, p.width); err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	n := 0
	if n, err = f.rowCount(); err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	if n != p.count {
		return nil, corrupt.Errorf("%s: %d groups, and the grid has %d rows", info.Packing, p.count, n)
	}
	info.Coded = f.Points
	if f.Bitmap != nil && len(f.Bitmap) >= bytesOf(f.Points) {
		info.Coded = countBits(f.Bitmap, f.Points)
	}
	return p, nil
}

// firstOrder returns the widths and first-order values of an older packing, and the bytes after them.
func firstOrder(s []byte, widths, count int, width uint) (w, first, rest []byte, err error) {
	if len(s) < widths {
		return nil, nil, nil, corrupt.Errorf("%d widths do not fit in %d bytes", widths, len(s))
	}
	w, s = s[:widths], s[widths:]
	if width > maxWidth {
		return nil, nil, nil, corrupt.Errorf("first-order values of %d bits, at most %d are expected", width, maxWidth)
	}
	if err := checkBits(s, count, width, "first-order values"); err != nil {
		return nil, nil, nil, err
	}
	n := bytesOf(count * int(width))
	return w, s[:n], s[n:], nil
}

func (p *rows) decode(dst []float64) error {
	x := integers(dst)
	at, point := 0, 0
	for g := range p.count {
		n := p.f.rowLength(g)
		length := n
		if p.f.Bitmap != nil {
			length = countBitsFrom(p.f.Bitmap, point, n)
		}
		point += n
		if length > len(x) {
			return corrupt.Errorf("row %d has %d values, and %d are left", g, length, len(x))
		}
		width := uint(p.widths[g])
		if err := secondOrder(x[:length], p.values, at, width, int64(bitstream.Field(p.first, g*int(p.width), p.width))); err != nil {
			return fmt.Errorf("row %d: %w", g, err)
		}
		x = x[length:]
		at += length * int(width)
	}
	for i, v := range integers(dst) {
		dst[i] = p.of(float64(v))
	}
	return nil
}

// bitmapped is second-order packing with a bit per value, which is set where a group begins.
type bitmapped struct {
	scaling
	boustrophedonic
	width  uint
	widths []byte // one for all, or one per group
	starts []byte
	first  []byte
	count  int
	values []byte
}

func (f *Field) openBitmapped1(info *Info, name string, flags byte) (packing, error) {
	info.Packing = name
	s := f.Section4
	p := &bitmapped{scaling: newScaling(info), width: uint(s[bits1At]), count: groupsOf1(s)}
	if flags&flagBoustrophedonic1 != 0 {
		p.boustrophedonic = boustrophedonic{f}
	}
	info.Coded = uint16At(s, secondOrder1At)
	widths := 1
	if flags&flagWidths != 0 {
		widths = p.count
	}
	s = s[secondOrder1:]
	n := bytesOf(info.Coded)
	if len(s) < widths+n {
		return nil, corrupt.Errorf("%s: %d widths and a bitmap of %d values do not fit in %d bytes", name, widths, info.Coded, len(s))
	}
	p.widths, p.starts = s[:widths], s[widths:widths+n]
	var err error
	if _, p.first, p.values, err = firstOrder(s[widths+n:], 0, p.count, p.width); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if info.Coded > 0 && p.starts[0]&0x80 == 0 {
		return nil, corrupt.Errorf("%s: the first value begins no group", name)
	}
	return p, nil
}

func (p *bitmapped) decode(dst []float64) error {
	x := integers(dst)
	at := 0
	for g, i := 0, 0; i < len(x); g++ {
		if g == p.count {
			return corrupt.Errorf("%d groups, and the bitmap has more", p.count)
		}
		end := i + 1
		for end < len(x) && p.starts[end>>3]<<(end&7)&0x80 == 0 {
			end++
		}
		width := uint(p.widths[min(g, len(p.widths)-1)])
		if err := secondOrder(x[i:end], p.values, at, width, int64(bitstream.Field(p.first, g*int(p.width), p.width))); err != nil {
			return fmt.Errorf("group %d: %w", g, err)
		}
		at += (end - i) * int(width)
		i = end
	}
	for i, v := range x {
		dst[i] = p.of(float64(v))
	}
	return nil
}
