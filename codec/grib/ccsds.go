package grib

import (
	"varve/codec/internal/aec"
	"varve/codec/internal/corrupt"
)

// Template 5.42 codes the integers of simple packing by CCSDS 121.0. In section 5, the bits per value
// are followed by
//
//	20  type of original values
//	21  flags
//	22  samples in a block
//	23  blocks in an interval, 2 bytes
//
// The flags for the layout of samples in memory are ignored.
const (
	ccsdsFlagsAt    = 21
	ccsdsBlockAt    = 22
	ccsdsIntervalAt = 23
	ccsds5          = 25
)

type ccsds struct {
	scaling
	samples aec.Samples
	data    []byte
}

func (f *Field) openCCSDS(info *Info) (packing, error) {
	if err := f.scaled(info, "grid_ccsds", ccsds5); err != nil {
		return nil, err
	}
	if info.BitsPerValue == 0 {
		return constant(info.Reference), nil
	}
	s := f.Section5
	return &ccsds{
		scaling: newScaling(info),
		samples: aec.Samples{
			Flags:    int(s[ccsdsFlagsAt]),
			Bits:     info.BitsPerValue,
			Block:    int(s[ccsdsBlockAt]),
			Interval: uint16At(s, ccsdsIntervalAt),
		},
		data: f.Section7[header7:],
	}, nil
}

// maxSamplesPerByte is the most values that a byte can code: the code of a whole segment of zero
// blocks takes about 6 bits.
const maxSamplesPerByte = 64 * 64 * 2

func (p *ccsds) decode(dst []float64) error {
	if len(dst) > (len(p.data)+1)*maxSamplesPerByte {
		return corrupt.Errorf("%d values cannot be coded in %d bytes", len(dst), len(p.data))
	}
	// ecCodes reads signed samples as unsigned integers of 1, 2 or 4 bytes.
	mask := uint32(0xffffffff)
	switch {
	case p.samples.Bits <= 8:
		mask = 0xff
	case p.samples.Bits <= 16:
		mask = 0xffff
	}
	return aec.DecodeSamples(p.data, len(dst), p.samples, func(line []uint32) {
		for i, v := range line {
			dst[i] = p.of(float64(int64(v & mask)))
		}
		dst = dst[len(line):]
	})
}
