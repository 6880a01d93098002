package codec

import (
	"fmt"

	"varve/codec/internal/hdf4"
)

// newHDF4RLE returns the decoder of HDF4's run-length encoding.
//
// Specification: HDF Specification and Developer's Guide 4.2, chapter 10; crle.c.
//
//	{"name": "hdf4.rle"}
func newHDF4RLE(*config, Form) (Codec, error) {
	return &decoder{key: "hdf4.rle", decode: hdf4.DecodeRLE}, nil
}

// newHDF4Nbit returns the decoder of HDF4's n-bit numbers.
//
// Specification: HDF Specification and Developer's Guide 4.2, chapter 10; cnbit.c. The
// fields are those of the header: the size of the numbers, the highest stored bit, the
// number of stored bits, and the rule for the other bits.
//
//	{"name": "hdf4.nbit", "configuration": {"size": 2, "first": 11, "bits": 12,
//	  "extend_sign": false, "fill_ones": false}}
func newHDF4Nbit(c *config, _ Form) (Codec, error) {
	p := hdf4.Nbit{
		Size: c.integer("size", 0, 0, 8), First: c.integer("first", 0, 0, 63), Bits: c.integer("bits", 0, 0, 64),
		ExtendSign: c.boolean("extend_sign", false), FillOnes: c.boolean("fill_ones", false),
	}
	if c.err != nil {
		return nil, c.err
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("codec %q: %w", c.codec, err)
	}
	return &decoder{key: fmt.Sprint("hdf4.nbit", p), decode: p.Decode}, nil
}

// newHDF4SkippingHuffman returns the decoder of HDF4's skipping Huffman coding: one
// adaptive code for each byte position of a number.
//
// Specification: HDF Specification and Developer's Guide 4.2, chapter 10; cskphuff.c.
//
//	{"name": "hdf4.skphuff", "configuration": {"size": 4}}
func newHDF4SkippingHuffman(c *config, _ Form) (Codec, error) {
	p := hdf4.SkippingHuffman{Size: c.integer("size", 1, 1, 64)}
	if c.err != nil {
		return nil, c.err
	}
	return &decoder{key: fmt.Sprint("hdf4.skphuff", p), decode: p.Decode}, nil
}
