package grib

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// Section 4 of edition 1 starts with
//
//	0   length of the section, 3 bytes (the caller knows the true one)
//	3   flags, 4 bits; unused bits at the end, 4 bits
//	4   binary scale E, sign and magnitude
//	6   reference value R, a float of IBM
//	10  bits a value
//
// and what comes then depends on the flags.
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

// open1 reads the parameters of edition 1.
func (f *Field) open1(info *Info) (packing, error) {
	s := f.Section4
	if len(s) < header1 {
		return nil, corrupt.Errorf("section 4: %d bytes, at least %d are expected", len(s), header1)
	}
	info.BinaryScale = signed16(s[binary1At:])
	info.Reference = ibm32(s[reference1At:])
	info.BitsPerValue = int(s[bits1At])
	info.DecimalScale = f.DecimalScale
	switch flags := s[flags1At]; {
	case flags&(flagSpectral|flagComplex|flagAdditional) == 0:
		return f.openSimple1(info)
	default:
		return nil, fmt.Errorf("section 4: flags %#02x of a packing: %w", flags>>4, errors.ErrUnsupported)
	}
}

func (f *Field) openSimple1(info *Info) (packing, error) {
	info.Packing = "grid_simple"
	data := f.Section4[header1:]
	info.Coded = f.Points
	if info.BitsPerValue > 0 {
		info.Coded = max(0, 8*len(data)-int(f.Section4[flags1At]&unusedBits)) / info.BitsPerValue
	}
	return newSimple(info, data)
}

// uint16At reads an unsigned integer of 2 bytes.
func uint16At(b []byte, at int) int { return int(binary.BigEndian.Uint16(b[at:])) }
