package grib

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/grib/keys"
	"varve/codec/internal/corrupt"
)

// Section 4 of edition 1 starts with
//
//	0   length of the section, 3 bytes (the caller knows the true one)
//	3   flags, 4 bits; unused bits at the end, 4 bits
//	4   binary scale E, sign and magnitude
//	6   reference value R, an IBM float
//	10  bits per value
//
// The rest depends on the flags.
const (
	flags1At     = 3
	binary1At    = 4
	reference1At = 6
	bits1At      = 10
	header1      = 11
)

// The flags of section 4, code table 11.
const (
	flagSpectral   = 0x80
	flagComplex    = 0x40 // or second-order
	flagIntegers   = 0x20 // the original values were integers; with flagAdditional, ecCodes' IEEE
	flagAdditional = 0x10 // octet 14 has more flags: a matrix of values
	unusedBits     = 0x0f
)

// If each point has a matrix of values, such as a wave spectrum, the bits per value are followed by
//
//	11  where values begin
//	13  more flags: 8 is a matrix, otherwise there is one value per point
//	14  rows, columns, 2 bytes each
//	18  how the first dimension is defined
//	19  its coefficients
//	20  how the second dimension is defined
//	21  its coefficients
//	22  what the dimensions are
//	24  the coefficients, IBM floats
const (
	matrixFlags1At   = 13
	matrixRows1At    = 14
	matrixColumns1At = 16
	coefficients1At  = 19
	coefficients2At  = 21
	matrix1          = 24
	matrixOfValues   = 0x08
)

// open1 reads the parameters of edition 1.
func (f *Field) open1(info *Info) (packing, error) {
	s := f.Section4
	if len(s) < header1 {
		return nil, corrupt.Errorf("section 4: %d bytes, at least %d are expected", len(s), header1)
	}
	info.BinaryScale = signed16(s[binary1At:])
	info.Reference = keys.IBM(s[reference1At:])
	info.BitsPerValue = int(s[bits1At])
	info.DecimalScale = f.DecimalScale
	switch flags := s[flags1At]; flags & (flagSpectral | flagComplex | flagAdditional) {
	case 0:
		return f.openSimple1(info)
	case flagComplex, flagComplex | flagAdditional:
		return f.openSecondOrder1(info)
	case flagSpectral:
		return f.openSpectralSimple1(info)
	case flagSpectral | flagComplex:
		return f.openSpectralComplex1(info)
	case flagAdditional:
		if flags&flagIntegers != 0 {
			return f.openIEEE1(info)
		}
		return f.openMatrix1(info)
	default:
		return nil, fmt.Errorf("section 4: flags %#x of an unknown packing: %w", flags>>4, errors.ErrUnsupported)
	}
}

func (f *Field) openSimple1(info *Info) (packing, error) {
	info.Packing = "grid_simple"
	data := f.Section4[header1:]
	info.Coded = packedCount(data, f.Section4[flags1At], info.BitsPerValue, f.Points)
	return newSimple(info, data)
}

// packedCount returns the number of values that are packed in data. The flags contain the number of
// unused bits at the end of data. If values take no bits, packedCount returns points.
func packedCount(data []byte, flags byte, width, points int) int {
	if width == 0 {
		return max(0, points)
	}
	return max(0, 8*len(data)-int(flags&unusedBits)) / width
}

// openMatrix1 opens simple packing that has the parameters of a matrix of values but only one value
// per point.
func (f *Field) openMatrix1(info *Info) (packing, error) {
	info.Packing = "grid_simple_matrix"
	s := f.Section4
	if len(s) < matrix1 {
		return nil, corrupt.Errorf("section 4: %d bytes, at least %d are expected of %s", len(s), matrix1, info.Packing)
	}
	if s[matrixFlags1At]&matrixOfValues != 0 {
		return nil, fmt.Errorf("section 4, %s: a matrix of %d by %d values at each point: %w",
			info.Packing, uint16At(s, matrixRows1At), uint16At(s, matrixColumns1At), errors.ErrUnsupported)
	}
	start := matrix1 + 4*(int(s[coefficients1At])+int(s[coefficients2At]))
	if len(s) < start {
		return nil, corrupt.Errorf("section 4: %d bytes, at least %d are expected of %s", len(s), start, info.Packing)
	}
	data := s[start:]
	info.Coded = packedCount(data, s[flags1At], info.BitsPerValue, f.Points)
	return newSimple(info, data)
}

// uint16At reads an unsigned integer of 2 bytes.
func uint16At(b []byte, at int) int { return int(binary.BigEndian.Uint16(b[at:])) }
