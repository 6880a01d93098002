package grib

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// Section 5 of edition 2 starts with
//
//	0   length of the section, 4 bytes
//	4   5, the number of the section
//	5   packed values, 4 bytes
//	9   number of the template, 2 bytes
//
// and nearly every template with
//
//	11  reference value R, an IEEE float
//	15  binary scale E, sign and magnitude
//	17  decimal scale D, sign and magnitude
//	19  bits per value
//
// Section 7 has its length, 4 bytes, and its number before the data.
const (
	coded2At     = 5
	template2At  = 9
	reference2At = 11
	binary2At    = 15
	decimal2At   = 17
	bits2At      = 19
	header5      = 11
	scaled5      = 20
	header7      = 5
)

// The templates of section 5, code table 5.0. A template named "old" was in use before the WMO
// assigned a number to the packing.
const (
	templateSimple         = 0
	templateMatrix         = 1
	templateComplex        = 2
	templateDifferenced    = 3
	templateIEEE           = 4
	templateJPEG           = 40
	templatePNG            = 41
	templateCCSDS          = 42
	templateSpectralSimple = 50
	templateSpectral       = 51
	templateBiFourier      = 53
	templateLogarithmic    = 61
	templateRuns           = 200
	templateOldJPEG        = 40000
	templateOldPNG         = 40010
	templateSpectralIEEE   = 50000
	templateSecondOrder    = 50001
	templateSecondOrderB   = 50002 // has a flag for boustrophedonic order
)

// open2 reads the parameters of edition 2.
func (f *Field) open2(info *Info) (packing, error) {
	if len(f.Section5) < header5 {
		return nil, corrupt.Errorf("section 5: %d bytes, at least %d are expected", len(f.Section5), header5)
	}
	if len(f.Section7) < header7 {
		return nil, corrupt.Errorf("section 7: %d bytes, at least %d are expected", len(f.Section7), header7)
	}
	info.Coded = int(binary.BigEndian.Uint32(f.Section5[coded2At:]))
	info.Template = uint16At(f.Section5, template2At)
	switch info.Template {
	case templateSimple:
		return f.openSimple2(info)
	case templateMatrix:
		return nil, fmt.Errorf("data representation template 5.1, a matrix of values at each point: %w", errors.ErrUnsupported)
	case templateComplex, templateDifferenced:
		return f.openComplex(info, info.Template == templateDifferenced)
	case templateIEEE:
		return f.openIEEE2(info)
	case templateJPEG, templateOldJPEG:
		return f.openJPEG(info)
	case templatePNG, templateOldPNG:
		return f.openPNG(info)
	case templateCCSDS:
		return f.openCCSDS(info)
	case templateSpectralSimple:
		return f.openSpectralSimple2(info)
	case templateSpectral:
		return f.openSpectralComplex2(info)
	case templateBiFourier:
		return f.openBiFourier(info)
	case templateSpectralIEEE:
		return f.openSpectralIEEE(info)
	case templateLogarithmic:
		return f.openLogarithmic(info)
	case templateRuns:
		return f.openRuns(info)
	case templateSecondOrder, templateSecondOrderB:
		return f.openExtended2(info, info.Template == templateSecondOrderB)
	default:
		return nil, fmt.Errorf("data representation template 5.%d: %w", info.Template, errors.ErrUnsupported)
	}
}

// scaled reads the parameters that nearly every template starts with. It returns an error if
// section 5 has fewer than need bytes.
func (f *Field) scaled(info *Info, name string, need int) error {
	info.Packing = name
	s := f.Section5
	if len(s) < need {
		return corrupt.Errorf("section 5: %d bytes, at least %d are expected of %s", len(s), need, name)
	}
	info.Reference = ieee32(s[reference2At:])
	info.BinaryScale = signed16(s[binary2At:])
	info.DecimalScale = signed16(s[decimal2At:])
	info.BitsPerValue = int(s[bits2At])
	return nil
}

func (f *Field) openSimple2(info *Info) (packing, error) {
	if err := f.scaled(info, "grid_simple", scaled5); err != nil {
		return nil, err
	}
	return newSimple(info, f.Section7[header7:])
}
