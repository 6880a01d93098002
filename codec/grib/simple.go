package grib

import "varve/codec/internal/corrupt"

// constant is a field whose values take no bits: all are equal.
type constant float64

func (c constant) decode(dst []float64) error {
	for i := range dst {
		dst[i] = float64(c)
	}
	return nil
}

// simple packing has integers of one width, one after the other.
type simple struct {
	scaling
	width uint
	data  []byte
}

// newSimple returns simple packing, or a constant for a width of 0. The constant is R and not
// R × 10^-D, as in ecCodes.
func newSimple(info *Info, data []byte) (packing, error) {
	if info.BitsPerValue == 0 {
		return constant(info.Reference), nil
	}
	if info.BitsPerValue > maxWidth {
		return nil, corrupt.Errorf("%s: %d bits per value, at most %d are expected", info.Packing, info.BitsPerValue, maxWidth)
	}
	return &simple{newScaling(info), uint(info.BitsPerValue), data}, nil
}

func (p *simple) decode(dst []float64) error {
	if err := checkBits(p.data, len(dst), p.width, "values"); err != nil {
		return err
	}
	unpack(dst, p.data, p.width, p.scaling)
	return nil
}
