package grib

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// Complex packing, templates 5.2 and 5.3, splits values into groups: each has a reference, a
// width and a length. In section 5, the bits per value are the width of references. They are followed by
//
//	20  type of original values
//	21  how groups were split
//	22  missing values: 0 none, 1 primary, 2 primary and secondary
//	23  substitutes of missing values, 4 bytes each
//	31  groups, 4 bytes
//	35  reference of widths
//	36  bits of a width
//	37  reference of lengths, 4 bytes
//	41  increment of lengths
//	42  true length of the last group, 4 bytes
//	46  bits of a scaled length
//	47  order of spatial differences     template 5.3 only
//	48  bytes of a descriptor            template 5.3 only
//
// Section 7 has these parts, each from the next whole byte on:
//
//	descriptors: the first values (as many as the order), the bias (sign and magnitude)
//	references of all groups
//	widths, each less the reference of widths
//	lengths, each less the reference of lengths, divided by the increment
//	the values of each group less its reference, in the width of the group
const (
	managementAt       = 22
	groupsAt           = 31
	widthReferenceAt   = 35
	widthBitsAt        = 36
	lengthReferenceAt  = 37
	lengthIncrementAt  = 41
	lastLengthAt       = 42
	lengthBitsAt       = 46
	orderAt            = 47
	descriptorBytesAt  = 48
	complex5           = 47
	differenced5       = 49
	maxOrder           = 2
	maxDescriptorBytes = 8
)

// missing marks a missing value among packed integers, as in ecCodes.
const missing = math.MaxInt64

// groups is complex packing.
type groups struct {
	scaling
	coded      int
	management int
	count      int
	width      uint // of a group's reference

	widthReference, widthBits           uint
	lengthReference, lengthIncrement    int
	lastLength                          int
	lengthBits                          uint
	order                               int
	first                               [maxOrder]int64
	bias                                int64
	references, widths, lengths, values []byte
}

func (f *Field) openComplex(info *Info, differenced bool) (packing, error) {
	name, need := "grid_complex", complex5
	if differenced {
		name, need = "grid_complex_spatial_differencing", differenced5
	}
	if err := f.scaled(info, name, need); err != nil {
		return nil, err
	}
	s := f.Section5
	info.Management = int(s[managementAt])
	p := &groups{
		scaling:         newScaling(info),
		coded:           info.Coded,
		management:      info.Management,
		count:           int(binary.BigEndian.Uint32(s[groupsAt:])),
		width:           uint(info.BitsPerValue),
		widthReference:  uint(s[widthReferenceAt]),
		widthBits:       uint(s[widthBitsAt]),
		lengthReference: int(binary.BigEndian.Uint32(s[lengthReferenceAt:])),
		lengthIncrement: int(s[lengthIncrementAt]),
		lastLength:      int(binary.BigEndian.Uint32(s[lastLengthAt:])),
		lengthBits:      uint(s[lengthBitsAt]),
	}
	if p.count == 0 {
		return constant(info.Reference), nil
	}
	if p.management > 2 {
		return nil, fmt.Errorf("%s: missing value management %d: %w", name, p.management, errors.ErrUnsupported)
	}
	if differenced {
		p.order = int(s[orderAt])
		if p.order > maxOrder {
			return nil, fmt.Errorf("%s: differences of order %d: %w", name, p.order, errors.ErrUnsupported)
		}
	}
	if err := p.split(f.Section7[header7:], int(s[min(descriptorBytesAt, len(s)-1)])); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// split finds the parts of section 7 and reads the descriptors.
func (p *groups) split(data []byte, descriptor int) error {
	switch {
	case p.width > maxWidth || p.widthBits > maxWidth || p.lengthBits > maxWidth:
		return corrupt.Errorf("references, widths and lengths of %d, %d and %d bits, at most %d are expected",
			p.width, p.widthBits, p.lengthBits, maxWidth)
	case p.count > p.coded:
		return corrupt.Errorf("%d groups have only %d values", p.count, p.coded)
	case p.order > 0 && descriptor > maxDescriptorBytes:
		return corrupt.Errorf("descriptors of %d bytes, at most %d are expected", descriptor, maxDescriptorBytes)
	}
	if p.order > 0 {
		need := (p.order + 1) * descriptor
		if len(data) < need {
			return corrupt.Errorf("%d bytes of descriptors do not fit in %d bytes", need, len(data))
		}
		width := uint(8 * descriptor)
		for i := range p.order {
			p.first[i] = int64(bitstream.Field(data, i*int(width), width))
		}
		p.bias = signMagnitude(bitstream.Field(data, p.order*int(width), width), width)
		data = data[need:]
	}
	for _, part := range []struct {
		of   *[]byte
		bits uint
		what string
	}{{&p.references, p.width, "references"}, {&p.widths, p.widthBits, "widths"}, {&p.lengths, p.lengthBits, "lengths"}} {
		if err := checkBits(data, p.count, part.bits, part.what); err != nil {
			return err
		}
		n := bytesOf(p.count * int(part.bits))
		*part.of, data = data[:n], data[n:]
	}
	p.values = data
	return nil
}

// signMagnitude converts an integer whose highest bit is the sign.
func signMagnitude(v uint64, width uint) int64 {
	if width == 0 {
		return 0
	}
	sign := uint64(1) << (width - 1)
	if v&sign != 0 {
		return -int64(v &^ sign)
	}
	return int64(v)
}

func (p *groups) decode(dst []float64) error {
	x := integers(dst)
	if err := p.unpack(x); err != nil {
		return err
	}
	switch p.order {
	case 0:
		p.finish(dst, x)
	case 1:
		p.integrateOnce(dst, x)
	case 2:
		p.integrateTwice(dst, x)
	}
	return nil
}

// integers returns the memory of dst as int64. It holds the packed integers until they are scaled.
func integers(dst []float64) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst))
}

// unpack unpacks the integers of the groups until x is full. Values in no group are 0, as in ecCodes.
func (p *groups) unpack(x []int64) error {
	at := 0
	left := p.coded
	for g := range p.count {
		reference := int64(bitstream.Field(p.references, g*int(p.width), p.width))
		width := p.widthReference + uint(bitstream.Field(p.widths, g*int(p.widthBits), p.widthBits))
		scaled := bitstream.Field(p.lengths, g*int(p.lengthBits), p.lengthBits)
		length := p.lastLength
		if g < p.count-1 {
			if scaled > uint64(left) && p.lengthIncrement > 0 {
				return corrupt.Errorf("group %d has more values than the %d that are left", g, left)
			}
			length = int(scaled)*p.lengthIncrement + p.lengthReference
		}
		switch {
		case length > left:
			return corrupt.Errorf("group %d has %d values, and %d are left", g, length, left)
		case width > maxWidth:
			return corrupt.Errorf("group %d has values of %d bits, at most %d are expected", g, width, maxWidth)
		}
		left -= length
		n := min(length, len(x))
		if n > 0 && width > 0 && (at > 8*len(p.values) || n > (8*len(p.values)-at)/int(width)) {
			return corrupt.Errorf("group %d has %d values of %d bits, and the section ends after %d bits", g, n, width, 8*len(p.values)-at)
		}
		p.group(x[:n], at, width, reference)
		x = x[n:]
		at += length * int(width)
		if len(x) == 0 {
			return nil
		}
	}
	clear(x)
	return nil
}

// group unpacks the integers of one group.
func (p *groups) group(x []int64, at int, width uint, reference int64) {
	switch {
	case width == 0:
		if p.isSubstitute(uint64(reference), p.width) {
			reference = missing
		}
		for i := range x {
			x[i] = reference
		}
	case p.management == 0:
		addBits(x, p.values, at, width, reference)
	default:
		addBits(x, p.values, at, width, 0)
		for i, v := range x {
			if p.isSubstitute(uint64(v), width) {
				x[i] = missing
			} else {
				x[i] = v + reference
			}
		}
	}
}

// isSubstitute reports whether an integer means a missing value: all its bits are ones, or all except
// the last for a secondary missing value.
func (p *groups) isSubstitute(v uint64, width uint) bool {
	if p.management == 0 {
		return false
	}
	top := uint64(1)<<width - 1
	return v == top || p.management == 2 && v == top-1
}

// addBits sets x to integers of width bits, 1 to 64, from bit at on, each plus a base.
func addBits(x []int64, src []byte, at int, width uint, base int64) {
	i := 0
	if width <= 57 {
		shift := 64 - width
		for last := 8*(len(src)-8) + 7; i < len(x) && at <= last; i++ {
			v := binary.BigEndian.Uint64(src[at>>3:]) << (at & 7) >> (shift & 63)
			x[i] = base + int64(v)
			at += int(width)
		}
	}
	for ; i < len(x); i++ {
		x[i] = base + int64(bitstream.Field(src, at, width))
		at += int(width)
	}
}

// finish scales integers in place: dst and x are the same memory.
func (p *groups) finish(dst []float64, x []int64) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = p.value(x[i])
	}
}

func (p *groups) value(x int64) float64 {
	if x == missing {
		return Missing
	}
	return p.of(float64(x))
}

// integrateOnce undoes differences of order 1: the first value is a descriptor, the others are
// differences less the bias. Missing values are skipped.
func (p *groups) integrateOnce(dst []float64, x []int64) {
	x = x[:len(dst)]
	i := p.start(dst, x, p.first[:1])
	last := p.first[0]
	for ; i < len(dst); i++ {
		if x[i] == missing {
			dst[i] = Missing
			continue
		}
		last += x[i] + p.bias
		dst[i] = p.of(float64(last))
	}
}

// integrateTwice undoes differences of order 2.
func (p *groups) integrateTwice(dst []float64, x []int64) {
	x = x[:len(dst)]
	i := p.start(dst, x, p.first[:2])
	last, step := p.first[1], p.first[1]-p.first[0]
	for ; i < len(dst); i++ {
		if x[i] == missing {
			dst[i] = Missing
			continue
		}
		step += x[i] + p.bias
		last += step
		dst[i] = p.of(float64(last))
	}
}

// start sets the first values that are not missing to first. It returns the index of the next value.
func (p *groups) start(dst []float64, x []int64, first []int64) int {
	i := 0
	for ; i < len(dst) && len(first) > 0; i++ {
		if x[i] == missing {
			dst[i] = Missing
			continue
		}
		dst[i] = p.of(float64(first[0]))
		first = first[1:]
	}
	return i
}
