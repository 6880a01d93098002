// Package grib decodes the values of GRIB messages, editions 1 and 2.
//
// A reader of GRIB finds the sections of a message and puts them into a Field. Describe returns
// the packing and the number of values. The caller compares this number with its limits before
// it allocates the values:
//
//	info, err := field.Describe()
//	values := make([]float64, info.Values)
//	err = grib.Decode(values, field)
//
// A field of a few bytes can claim any number of points: a constant field stores no bits per
// value, and run-length packing stores a few bits per run. Describe allocates nothing per value.
// Info.Constant marks constant fields, which need not be decoded. Decode allocates a small
// multiple of the sizes of the input and dst.
//
// Values are in the order of the message, whatever the scanning mode is. A missing value is the
// NaN with the bits 0x7ff8000000000000. Numbers such as 9999 are ordinary values.
//
// The results equal those of ecCodes 2.50 bit for bit: (X × 2^E + R) × 10^-D in float64, rounded
// after each of the three operations. The value of a constant field of simple packing is R, as in
// ecCodes, although the WMO's manual scales it.
package grib

import (
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// Field is a packed field of a message.
type Field struct {
	Edition int // 1 or 2
	Points  int // points of the grid, by its description

	Section5 []byte // edition 2: how the values are packed, the whole section
	Section7 []byte // edition 2: the packed values, the whole section
	Section4 []byte // edition 1: both, the whole section

	// DecimalScale is D of edition 1, from octets 27–28 of section 1.
	DecimalScale int

	// Bitmap has one bit per point, the first in the highest bit of the first byte. It is nil if
	// every point has a value. Bitmap1 and Bitmap2 read it from its section.
	Bitmap []byte

	// Columns is the length of a row in scanning order, if all rows have the same length. Rows are
	// the lengths of the rows of a reduced grid. Packings that depend on rows need them.
	Columns int
	Rows    []int

	// Truncation is J, K and M of spherical harmonics; or N, M and the type (code table 3.25) of
	// the truncation of bi-Fourier coefficients.
	Truncation [3]int
}

// Info describes the packing of a field, with ecCodes' names, and its values.
type Info struct {
	Packing      string  // packingType: "grid_simple"
	Template     int     // dataRepresentationTemplateNumber of edition 2
	BitsPerValue int     // bitsPerValue; -1 if the message does not contain it
	Reference    float64 // referenceValue
	BinaryScale  int     // binaryScaleFactor
	DecimalScale int     // decimalScaleFactor
	Management   int     // missingValueManagementUsed: 0, 1 or 2
	Coded        int     // numberOfValues: the number of packed values
	Values       int     // the number of values that Decode returns
	Constant     bool    // all values equal Value, and none is missing
	Value        float64
}

// packing is a method of packing values, with parameters that have been read and checked.
type packing interface {
	// decode fills dst with the first len(dst) packed values. There may be more.
	decode(dst []float64) error
}

// Decode fills dst with the values of a field. The length of dst must be Info.Values.
//
// Errors are corrupt (codec.ErrCorrupt) or errors.ErrUnsupported.
func Decode(dst []float64, f *Field) error {
	p, info, err := f.open()
	if err != nil {
		return err
	}
	if len(dst) != info.Values {
		return fmt.Errorf("grib: dst has %d elements, and the field has %d values", len(dst), info.Values)
	}
	if err := f.fill(dst, p, info); err != nil {
		return fmt.Errorf("%s: %w", info.Packing, err)
	}
	if p, ok := p.(interface{ straighten([]float64) error }); ok {
		if err := p.straighten(dst); err != nil {
			return fmt.Errorf("%s: %w", info.Packing, err)
		}
	}
	return nil
}

// Describe returns how a field is packed, without unpacking it.
func (f *Field) Describe() (Info, error) {
	_, info, err := f.open()
	return info, err
}

// open reads the parameters of the packing.
func (f *Field) open() (packing, Info, error) {
	var info Info
	if f.Points < 0 {
		return nil, info, fmt.Errorf("grib: a field of %d points", f.Points)
	}
	var p packing
	var err error
	switch f.Edition {
	case 1:
		p, err = f.open1(&info)
	case 2:
		p, err = f.open2(&info)
	default:
		err = fmt.Errorf("grib: edition %d: %w", f.Edition, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, info, err
	}
	info.Values = info.Coded
	if f.Bitmap != nil {
		if len(f.Bitmap) < bytesOf(f.Points) {
			return nil, info, corrupt.Errorf("grib: a bitmap of %d bytes for %d points", len(f.Bitmap), f.Points)
		}
		info.Values = f.Points
		if info.Coded > f.Points && f.Edition == 2 {
			return nil, info, corrupt.Errorf("%s: %d values are packed, and the grid has %d points", info.Packing, info.Coded, f.Points)
		}
		if f.Edition == 1 {
			info.Coded = min(info.Coded, countBits(f.Bitmap, f.Points))
		}
	}
	if c, ok := p.(constant); ok && f.Bitmap == nil {
		info.Constant, info.Value = true, float64(c)
	}
	return p, info, nil
}

// fill decodes into dst, whose length is info.Values.
func (f *Field) fill(dst []float64, p packing, info Info) error {
	if f.Bitmap == nil {
		return p.decode(dst)
	}
	present := countBits(f.Bitmap, f.Points)
	if info.Coded == 0 {
		present = 0 // whatever the bitmap says
	}
	if present > info.Coded {
		return corrupt.Errorf("%d points of the bitmap have a value, and %d values are packed", present, info.Coded)
	}
	if present == 0 {
		setMissing(dst)
		return nil
	}
	// Decode to the end of dst: spread writes from the start of dst, and overwrites only values that
	// it has copied.
	tail := dst[len(dst)-present:]
	if err := p.decode(tail); err != nil {
		return err
	}
	spread(dst, tail, f.Bitmap)
	return nil
}
