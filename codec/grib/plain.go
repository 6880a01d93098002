package grib

import (
	"fmt"
	"math"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
	"varve/codec/internal/glibc"
)

// IEEE floats are template 5.4 of edition 2, and a packing of edition 1 that only ecCodes defines.
// The precision is of code table 5.7.
//
//	edition 1: 11 precision   12 floats
//	edition 2: 11 precision   in section 5
const (
	ieeePrecision1At = 11
	ieeeData1        = 12
	ieeePrecision2At = 11
	ieee5            = 12
)

// floats are IEEE floats of 4 or 8 bytes.
type floats struct {
	size int
	data []byte
}

func (f *Field) openIEEE1(info *Info) (packing, error) {
	info.Packing = "grid_ieee"
	s := f.Section4
	if len(s) < ieeeData1 {
		return nil, corrupt.Errorf("section 4: %d bytes, at least %d are expected of %s", len(s), ieeeData1, info.Packing)
	}
	p, err := newFloats(info, s[ieeePrecision1At], s[ieeeData1:])
	if err != nil {
		return nil, err
	}
	info.Coded = len(p.data) / p.size
	return p, nil
}

func (f *Field) openIEEE2(info *Info) (packing, error) {
	info.Packing = "grid_ieee"
	if len(f.Section5) < ieee5 {
		return nil, corrupt.Errorf("section 5: %d bytes, at least %d are expected of %s", len(f.Section5), ieee5, info.Packing)
	}
	return newFloats(info, f.Section5[ieeePrecision2At], f.Section7[header7:])
}

func newFloats(info *Info, precision byte, data []byte) (*floats, error) {
	_, size, err := floatOf(precision)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	return &floats{size, data}, nil
}

func (p *floats) decode(dst []float64) error {
	if len(dst) > len(p.data)/p.size {
		return corrupt.Errorf("%d values of %d bytes do not fit in %d bytes", len(dst), p.size, len(p.data))
	}
	if p.size == 4 {
		for i := range dst {
			dst[i] = ieee32(p.data[4*i:])
		}
	} else {
		for i := range dst {
			dst[i] = ieee64(p.data[8*i:])
		}
	}
	for i, v := range dst {
		if v != v {
			dst[i] = Missing // whatever the bits of the NaN are
		}
	}
	return nil
}

// logarithmic is simple packing of ln(value + offset), template 5.61. The offset, a float, follows
// the bits per value.
type logarithmic struct {
	of     packing
	offset float64
}

func (f *Field) openLogarithmic(info *Info) (packing, error) {
	if err := f.scaled(info, "grid_simple_log_preprocessing", scaled5+4); err != nil {
		return nil, err
	}
	p, err := newSimple(info, f.Section7[header7:])
	if err != nil {
		return nil, err
	}
	offset := ieee32(f.Section5[scaled5:])
	if c, ok := p.(constant); ok {
		return constant(glibc.Exp(float64(c)) - offset), nil
	}
	return &logarithmic{p, offset}, nil
}

func (p *logarithmic) decode(dst []float64) error {
	if err := p.of.decode(dst); err != nil {
		return err
	}
	for i, v := range dst {
		dst[i] = glibc.Exp(v) - p.offset
	}
	return nil
}

// Run-length packing, template 5.200, stores runs of equal levels. Section 5:
//
//	11  bits of a number
//	12  highest level in use, 2 bytes
//	14  levels, 2 bytes
//	16  decimal scale D of the levels, sign and magnitude
//	17  the levels, 2 bytes each
//
// Section 7 has numbers. One up to the highest level begins a run of this level; level 0 is a missing
// value. Greater numbers after it are digits of the length of the run less one, the lowest digit
// first. The number after the highest level is digit 0; the base is the count of such numbers.
const (
	runBitsAt    = 11
	runHighestAt = 12
	runLevelsAt  = 14
	runScaleAt   = 16
	run5         = 17
	maxRunBits   = 16
)

type runs struct {
	width   uint
	highest int
	levels  []float64
	data    []byte
}

func (f *Field) openRuns(info *Info) (packing, error) {
	info.Packing = "grid_run_length"
	s := f.Section5
	if len(s) < run5 {
		return nil, corrupt.Errorf("section 5: %d bytes, at least %d are expected of %s", len(s), run5, info.Packing)
	}
	info.BitsPerValue = int(s[runBitsAt])
	info.DecimalScale = int(s[runScaleAt])
	scale := info.DecimalScale
	if scale > 127 {
		scale = -(scale - 128)
	}
	p := &runs{width: uint(info.BitsPerValue), highest: uint16At(s, runHighestAt), data: f.Section7[header7:]}
	n := uint16At(s, runLevelsAt)
	switch {
	case p.width == 0 || p.width > maxRunBits:
		return nil, corrupt.Errorf("%s: numbers of %d bits, 1 to %d are expected", info.Packing, p.width, maxRunBits)
	case len(s) < run5+2*n:
		return nil, corrupt.Errorf("section 5: %d levels do not fit in %d bytes", n, len(s)-run5)
	case p.highest > n:
		return nil, corrupt.Errorf("%s: level %d of %d", info.Packing, p.highest, n)
	case p.highest >= 1<<p.width-1:
		return nil, corrupt.Errorf("%s: %d levels leave no number of %d bits for lengths", info.Packing, p.highest, p.width)
	}
	by := power(10, -scale)
	p.levels = make([]float64, n+1)
	p.levels[0] = Missing
	for i := range n {
		p.levels[i+1] = float64(uint16At(s, run5+2*i)) * by
	}
	return p, nil
}

func (p *runs) decode(dst []float64) error {
	left := 8 * len(p.data) / int(p.width)
	if left == 0 || p.highest == 0 {
		setMissing(dst)
		return nil
	}
	base := 1<<p.width - 1 - p.highest
	at := 0
	for at < left && len(dst) > 0 {
		level := p.number(at)
		if level > p.highest {
			return corrupt.Errorf("number %d is %d, a digit without a level", at, level)
		}
		length, unit := 1, 1
		for at++; at < left; at++ {
			digit := p.number(at)
			if digit <= p.highest {
				break
			}
			// Beyond the range of lengths any digit but 0 is too much.
			if digit -= p.highest + 1; digit > 0 && (unit > math.MaxInt32 || digit*unit > len(dst)) {
				return corrupt.Errorf("the run that ends at number %d is longer than the %d values that are left", at, len(dst))
			}
			length += digit * unit
			unit = min(unit*base, math.MaxInt32+1)
		}
		if length > len(dst) {
			return corrupt.Errorf("a run of %d values before number %d, and %d are left", length, at, len(dst))
		}
		for i := range dst[:length] {
			dst[i] = p.levels[level]
		}
		dst = dst[length:]
	}
	if len(dst) > 0 {
		return corrupt.Errorf("the runs end %d values too early", len(dst))
	}
	return nil
}

func (p *runs) number(i int) int { return int(bitstream.Field(p.data, i*int(p.width), p.width)) }
