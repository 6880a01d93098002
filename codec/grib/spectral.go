package grib

import (
	"errors"
	"fmt"

	"varve/codec/grib/keys"
	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
	"varve/codec/internal/glibc"
)

// Spherical harmonics are complex coefficients, each a real and then an imaginary part. For each
// zonal wave number m from 0 to the truncation J, the total wave numbers n go from m to J.
//
// Simple packing stores the real part of the first coefficient as a float, and packs the rest:
//
//	edition 1: 11 the real part, an IBM float     15 packed values
//	edition 2: 20 the real part, an IEEE float    in section 5
//
// Complex packing stores the coefficients up to a smaller truncation JS as floats. It multiplies
// the others by (n(n+1))^P and packs them as integers, so that small ones at large n keep their
// precision. The bits per value are followed by
//
//	edition 1: 11 where packed values begin   13 P × 1000, sign and magnitude   15 JS, KS, MS, 1 byte each   18 values
//	edition 2: 20 P × 1000000, sign and magnitude   24 JS, KS, MS, 2 bytes each   30 number of floats   34 their precision
//
// The floats of the smaller truncation come first in both editions.
const (
	simpleReal1    = 15
	simpleReal5    = 24
	laplace1At     = 13
	subset1At      = 15
	complexData1   = 18
	laplace2At     = 20
	subset2At      = 24
	precision2At   = 34
	spectral5      = 35
	ieeePrecision2 = 28 // of template 5.50000, which has no JS
	spectralIEEE5  = 29
	laplace1Scale  = 1000
	laplace2Scale  = 1000000
	maxTruncation  = 1 << 15
)

// The precision of floats, code table 5.7.
const (
	precision32 = 1
	precision64 = 2
)

// firstApart is simple packing after a first value that is a float.
type firstApart struct {
	first float64
	rest  packing
}

func (p *firstApart) decode(dst []float64) error {
	if len(dst) == 0 {
		return nil
	}
	dst[0] = p.first
	return p.rest.decode(dst[1:])
}

func (f *Field) openSpectralSimple1(info *Info) (packing, error) {
	info.Packing = "spectral_simple"
	s := f.Section4
	if len(s) < simpleReal1 {
		return nil, corrupt.Errorf("section 4: %d bytes, at least %d are expected of %s", len(s), simpleReal1, info.Packing)
	}
	info.Coded = 1 + packedCount(s[simpleReal1:], s[flags1At], info.BitsPerValue, f.Points-1)
	p, err := newSimple(info, s[simpleReal1:])
	if err != nil {
		return nil, err
	}
	return &firstApart{keys.IBM(s[header1:]), p}, nil
}

func (f *Field) openSpectralSimple2(info *Info) (packing, error) {
	if err := f.scaled(info, "spectral_simple", simpleReal5); err != nil {
		return nil, err
	}
	n, err := f.coefficients()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	p, err := newSimple(info, f.Section7[header7:])
	if err != nil {
		return nil, err
	}
	info.Coded = n
	return &firstApart{ieee32(f.Section5[scaled5:]), p}, nil
}

// coefficients returns the number of values of a triangular truncation.
func (f *Field) coefficients() (int, error) {
	t := f.Truncation
	switch {
	case t[0] != t[1] || t[0] != t[2]:
		return 0, fmt.Errorf("truncation J = %d, K = %d, M = %d is not triangular: %w", t[0], t[1], t[2], errors.ErrUnsupported)
	case t[0] < 0 || t[0] > maxTruncation:
		return 0, corrupt.Errorf("truncation %d, at most %d is expected", t[0], maxTruncation)
	}
	return (t[0] + 1) * (t[0] + 2), nil
}

// harmonics is complex packing of spherical harmonics.
type harmonics struct {
	scaling
	truncation int
	subset     int
	laplace    float64
	width      uint
	float      func([]byte) float64
	floatBytes int
	data       []byte

	// scaledLast is true if the last float of each m is scaled as well. ECMWF has always written
	// edition 1 so.
	scaledLast bool
}

func (f *Field) openSpectralComplex1(info *Info) (packing, error) {
	info.Packing = "spectral_complex"
	s := f.Section4
	if len(s) < complexData1 {
		return nil, corrupt.Errorf("section 4: %d bytes, at least %d are expected of %s", len(s), complexData1, info.Packing)
	}
	subset := s[subset1At:]
	return f.openHarmonics(info, &harmonics{
		subset:     int(subset[0]),
		laplace:    float64(signed16(s[laplace1At:])) / laplace1Scale,
		float:      keys.IBM,
		floatBytes: 4,
		data:       s[complexData1:],
		scaledLast: true,
	}, subset[0] == subset[1] && subset[0] == subset[2])
}

func (f *Field) openSpectralComplex2(info *Info) (packing, error) {
	if err := f.scaled(info, "spectral_complex", spectral5); err != nil {
		return nil, err
	}
	s := f.Section5
	float, size, err := floatOf(s[precision2At])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	j := uint16At(s, subset2At)
	return f.openHarmonics(info, &harmonics{
		subset:     j,
		laplace:    float64(signed32(s[laplace2At:])) / laplace2Scale,
		float:      float,
		floatBytes: size,
		data:       f.Section7[header7:],
	}, j == uint16At(s, subset2At+2) && j == uint16At(s, subset2At+4))
}

// openSpectralIEEE opens template 5.50000 of ECMWF: all coefficients are floats.
func (f *Field) openSpectralIEEE(info *Info) (packing, error) {
	if err := f.scaled(info, "spectral_ieee", spectralIEEE5); err != nil {
		return nil, err
	}
	float, size, err := floatOf(f.Section5[ieeePrecision2])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	return f.openHarmonics(info, &harmonics{
		subset:     f.Truncation[0],
		float:      float,
		floatBytes: size,
		data:       f.Section7[header7:],
	}, true)
}

func (f *Field) openHarmonics(info *Info, p *harmonics, triangular bool) (packing, error) {
	n, err := f.coefficients()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	info.Coded = n
	p.truncation = f.Truncation[0]
	p.scaling = newScaling(info)
	p.width = uint(info.BitsPerValue)
	switch {
	case !triangular:
		return nil, fmt.Errorf("%s: the truncation of the floats is not triangular: %w", info.Packing, errors.ErrUnsupported)
	case p.subset > p.truncation:
		return nil, corrupt.Errorf("%s: the floats have truncation %d, greater than %d of all coefficients", info.Packing, p.subset, p.truncation)
	case p.width > maxWidth:
		return nil, corrupt.Errorf("%s: %d bits per value, at most %d are expected", info.Packing, p.width, maxWidth)
	}
	return p, nil
}

// floatOf returns a function that reads a float of a precision of code table 5.7, and the size of
// the float in bytes.
func floatOf(precision byte) (func([]byte) float64, int, error) {
	switch precision {
	case precision32:
		return ieee32, 4, nil
	case precision64:
		return ieee64, 8, nil
	default:
		return nil, 0, fmt.Errorf("floats of precision %d: %w", precision, errors.ErrUnsupported)
	}
}

func (p *harmonics) decode(dst []float64) error {
	if want := (p.truncation + 1) * (p.truncation + 2); len(dst) != want {
		return corrupt.Errorf("%d values, and the truncation has %d", len(dst), want)
	}
	floats := p.floatBytes * (p.subset + 1) * (p.subset + 2)
	if floats > len(p.data) {
		return corrupt.Errorf("%d bytes of floats do not fit in %d bytes", floats, len(p.data))
	}
	if p.subset == p.truncation {
		return p.allFloats(dst)
	}
	packed := p.data[floats:]
	if err := checkBits(packed, len(dst)-(p.subset+1)*(p.subset+2), p.width, "values"); err != nil {
		return err
	}
	scales := p.scales()
	at, bit := 0, 0
	for m := range p.truncation + 1 {
		n := m
		for ; m <= p.subset && n <= p.subset; n++ {
			dst[0], dst[1] = p.float(p.data[at:]), p.float(p.data[at+p.floatBytes:])
			if p.scaledLast && n == p.subset {
				dst[0] *= scales[n]
				dst[1] *= scales[n]
			}
			dst, at = dst[2:], at+2*p.floatBytes
		}
		for ; n <= p.truncation; n++ {
			dst[0] = p.packed(packed, bit, scales[n])
			if dst[1] = p.packed(packed, bit+int(p.width), scales[n]); m == 0 {
				dst[1] = 0 // no imaginary part for m = 0, whatever is packed
			}
			dst, bit = dst[2:], bit+2*int(p.width)
		}
	}
	return nil
}

// packed returns a packed value. It multiplies in the same order as ecCodes.
func (p *harmonics) packed(src []byte, bit int, scale float64) float64 {
	x := float64(bitstream.Field(src, bit, p.width))
	return p.d * (float64(x*p.s) + p.r) * scale
}

// scales returns 1/(n(n+1))^P for each n, and 0 for n = 0.
func (p *harmonics) scales() []float64 {
	all := make([]float64, p.truncation+1)
	for n := 1; n <= p.truncation; n++ {
		if by := glibc.Pow(float64(n*(n+1)), p.laplace); by != 0 {
			all[n] = 1 / by
		}
	}
	return all
}

// allFloats decodes a field whose coefficients are all floats. In this case they are IEEE floats in
// edition 1 too.
func (p *harmonics) allFloats(dst []float64) error {
	for i := range dst {
		b := p.data[i*p.floatBytes:]
		if p.floatBytes == 8 {
			dst[i] = ieee64(b) * p.d
		} else {
			dst[i] = ieee32(b) * p.d
		}
	}
	return nil
}
