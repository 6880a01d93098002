package codec

import (
	"fmt"

	"varve/codec/internal/aec"
)

// newSzip returns the decoder of HDF5's filter 4: the adaptive entropy coding of CCSDS
// 121.0, after the decoded size.
//
// Specification: CCSDS 121.0-B-3; H5Zszip.c; imagecodecs' szip. The fields are the four
// client values of the filter.
//
//	{"name": "imagecodecs_szip", "configuration": {"options_mask": 141, "pixels_per_block": 32,
//	  "bits_per_pixel": 32, "pixels_per_scanline": 256, "header": true}}
func newSzip(c *config, _ Form) (Codec, error) {
	const most = 1<<31 - 1
	p := aec.Params{
		Options:           uint32(c.integer("options_mask", 0, 0, most)),
		PixelsPerBlock:    c.integer("pixels_per_block", 0, 0, most),
		BitsPerPixel:      c.integer("bits_per_pixel", 0, 0, most),
		PixelsPerScanline: c.integer("pixels_per_scanline", 0, 0, most),
	}
	if !c.boolean("header", true) {
		c.fail("header", "is false; varve needs the decoded size before the data")
	}
	if c.err != nil {
		return nil, c.err
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("codec %q: %w", c.codec, err)
	}
	return &decoder{key: fmt.Sprint("szip", p), decode: func(dst, src []byte) (int, error) {
		return aec.DecodeSized(dst, src, p)
	}}, nil
}
