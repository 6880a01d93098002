// Package grib decodes the values of GRIB messages, editions 1 and 2.
//
// A reader of GRIB takes a message apart and puts what the values are packed in into a
// Field. Describe says how they are packed and how many Decode gives; the caller compares
// that number with its limits before it makes room for them:
//
//	info, err := field.Describe()
//	values := make([]float64, info.Values)
//	err = grib.Decode(values, field)
//
// A field of a few bytes may claim any number of points: a constant takes no bits per value,
// a run no more than a few. Describe allocates nothing for them and Info.Constant tells the
// first kind, so that nobody has to decode it. Decode allocates a small multiple of what the
// input and dst take.
//
// Values come in the order of the message: scanning modes are not undone. A missing point is
// the NaN with the bits 0x7ff8000000000000, and nothing else is: a field may hold 9999.
//
// The results have the bits that ecCodes 2.50 gives: (X × 2^E + R) × 10^-D in float64, with
// three roundings and none fused. ecCodes takes R alone for a constant field of simple
// packing, though the WMO's manual would scale it; so does this package.
package grib

import (
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// Field is a field as it is packed in a message. Which of its parts count depends on the edition.
type Field struct {
	Edition int // 1 or 2
	Points  int // points of the grid, by its description

	Section5 []byte // edition 2: how the values are packed, the whole section
	Section7 []byte // edition 2: the packed values, the whole section
	Section4 []byte // edition 1: both, the whole section

	// DecimalScale is D of edition 1, which stands in its section 1, octets 27–28.
	DecimalScale int

	// Bitmap has a bit a point, the first in the highest bit of the first byte; it is nil if
	// every point has a value. Bitmap1 and Bitmap2 take it from its section.
	Bitmap []byte

	// Columns are the points of a row as the grid is scanned, where all rows have as many;
	// Rows are those of each row of a reduced grid. Packings that know of rows need them.
	Columns int
	Rows    []int

	// Truncation is that of spherical harmonics: J, K, M; or of bi-Fourier coefficients: N, M and
	// its type, of code table 3.25.
	Truncation [3]int
}

// Info says how a field is packed, in ecCodes' terms, and what it unpacks to.
type Info struct {
	Packing      string  // packingType: "grid_simple"
	Template     int     // dataRepresentationTemplateNumber of edition 2
	BitsPerValue int     // bitsPerValue; -1 where the message does not say it
	Reference    float64 // referenceValue
	BinaryScale  int     // binaryScaleFactor
	DecimalScale int     // decimalScaleFactor
	Management   int     // missingValueManagementUsed: 0, 1 or 2
	Coded        int     // numberOfValues: values that are packed
	Values       int     // values that Decode gives
	Constant     bool    // all values are Value, and none is missing
	Value        float64
}

// packing is a way to pack values, with its parameters read and checked.
type packing interface {
	// decode fills dst with the first values that are packed, of which there may be more.
	decode(dst []float64) error
}

// Decode fills dst with the values of a field. Its length is what Describe says.
//
// Errors are corrupt (codec.ErrCorrupt) or errors.ErrUnsupported.
func Decode(dst []float64, f *Field) error {
	p, info, err := f.open()
	if err != nil {
		return err
	}
	if len(dst) != info.Values {
		return fmt.Errorf("grib: room for %d values of a field of %d", len(dst), info.Values)
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
			return nil, info, corrupt.Errorf("%s: %d values are packed of %d points", info.Packing, info.Coded, f.Points)
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

// fill decodes into dst, whose length is right.
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
	// The packed values go to the end of dst, where they are never overtaken by the points.
	tail := dst[len(dst)-present:]
	if err := p.decode(tail); err != nil {
		return err
	}
	spread(dst, tail, f.Bitmap)
	return nil
}
