package grib

import (
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
	"varve/codec/internal/glibc"
)

// Template 5.53 packs the bi-Fourier coefficients of limited-area models. For each wave number j from
// 0 to M, wave numbers i go from 0 to a limit that depends on the type of the truncation. Each
// coefficient is four numbers. As in complex packing of spherical harmonics, some coefficients are
// floats; the others are multiplied by (i² + j²)^P and packed as integers. In section 5, the bits per
// value are followed by
//
//	20  type of the truncation within which coefficients are floats
//	21  1: coefficients with i = 0 or j = 0 are floats as well
//	22  P × 1000000, sign and magnitude
//	26  its N and M, 2 bytes each
//	30  number of floats, 4 bytes
//	34  their precision
//
// The floats come first, in their order.
const (
	subTypeAt      = 20
	keepAxesAt     = 21
	biLaplaceAt    = 22
	subNAt         = 26
	subMAt         = 28
	biPrecisionAt  = 34
	biFourier5     = 35
	perCoefficient = 4
)

// The types of truncations, code table 3.25.
const (
	truncationRectangle = 77
	truncationEllipse   = 88
	truncationDiamond   = 99
)

// biFourier is complex packing of bi-Fourier coefficients.
type biFourier struct {
	scaling
	n, m, kind          int
	subN, subM, subKind int
	keepAxes            bool
	laplace             float64
	width               uint
	float               func([]byte) float64
	floatBytes          int
	data                []byte
}

func (f *Field) openBiFourier(info *Info) (packing, error) {
	if err := f.scaled(info, "bifourier_complex", biFourier5); err != nil {
		return nil, err
	}
	s := f.Section5
	p := &biFourier{
		scaling: newScaling(info),
		n:       f.Truncation[0], m: f.Truncation[1], kind: f.Truncation[2],
		subN: uint16At(s, subNAt), subM: uint16At(s, subMAt), subKind: int(s[subTypeAt]),
		keepAxes: s[keepAxesAt] != 0,
		laplace:  float64(signed32(s[biLaplaceAt:])) / laplace2Scale,
		width:    uint(info.BitsPerValue),
		data:     f.Section7[header7:],
	}
	var err error
	if p.float, p.floatBytes, err = floatOf(s[biPrecisionAt]); err != nil {
		return nil, fmt.Errorf("%s: %w", info.Packing, err)
	}
	for _, t := range [][3]int{{p.n, p.m, p.kind}, {p.subN, p.subM, p.subKind}} {
		if t[0] < 0 || t[1] < 0 || t[0] > maxTruncation || t[1] > maxTruncation {
			return nil, corrupt.Errorf("%s: truncation %d × %d, at most %d is expected", info.Packing, t[0], t[1], maxTruncation)
		}
		if t[2] != truncationRectangle && t[2] != truncationEllipse && t[2] != truncationDiamond {
			return nil, fmt.Errorf("%s: truncation of type %d: %w", info.Packing, t[2], errors.ErrUnsupported)
		}
	}
	if p.width > maxWidth {
		return nil, corrupt.Errorf("%s: %d bits per value, at most %d are expected", info.Packing, p.width, maxWidth)
	}
	count := 0
	for j := range p.m + 1 {
		count += perCoefficient * (limit(p.kind, p.n, p.m, j) + 1)
	}
	if count != info.Coded {
		return nil, corrupt.Errorf("%s: %d values are packed, and the truncation has %d", info.Packing, info.Coded, count)
	}
	return p, nil
}

// limit returns the highest i of a truncation at j, or -1.
func limit(kind, n, m, j int) int {
	switch {
	case kind == truncationRectangle:
		return n
	case kind == truncationDiamond && m == 0:
		return -1
	case kind == truncationDiamond:
		return n - j*n/m
	case j == 0:
		return n
	case j == m:
		return 0
	default:
		return int(float64(float64(n)/float64(m)*math.Sqrt(float64(m*m-j*j))) + 1e-10)
	}
}

// isFloat reports whether a coefficient is a float.
func (p *biFourier) isFloat(i, j int) bool {
	if p.keepAxes && (i == 0 || j == 0) {
		return true
	}
	return i <= p.subN && j <= p.subM && i <= limit(p.subKind, p.subN, p.subM, j) && j <= limit(p.subKind, p.subM, p.subN, i)
}

func (p *biFourier) decode(dst []float64) error {
	floats := 0
	for j := range p.m + 1 {
		for i := range limit(p.kind, p.n, p.m, j) + 1 {
			if p.isFloat(i, j) {
				floats += perCoefficient
			}
		}
	}
	if floats*p.floatBytes > len(p.data) {
		return corrupt.Errorf("%d floats do not fit in %d bytes", floats, len(p.data))
	}
	packed := p.data[floats*p.floatBytes:]
	if err := checkBits(packed, len(dst)-floats, p.width, "values"); err != nil {
		return err
	}
	at, bit := 0, 0
	for j := range p.m + 1 {
		for i := range limit(p.kind, p.n, p.m, j) + 1 {
			if len(dst) < perCoefficient {
				return corrupt.Errorf("%d values are left for a coefficient of %d", len(dst), perCoefficient)
			}
			if p.isFloat(i, j) {
				for k := range perCoefficient {
					dst[k] = p.float(p.data[at:])
					at += p.floatBytes
				}
			} else {
				by := glibc.Pow(float64(i*i+j*j), p.laplace)
				for k := range perCoefficient {
					dst[k] = p.of(float64(bitstream.Field(packed, bit, p.width))) / by
					bit += int(p.width)
				}
			}
			dst = dst[perCoefficient:]
		}
	}
	return nil
}
