package codec

import "varve/codec/internal/bzip2"

// newBzip2 makes the decoder of bzip2 streams, one behind another.
//
// Specification: numcodecs.bz2; HDF5's filter 307. The level only matters for encoding.
//
//	{"name": "numcodecs.bz2", "configuration": {"level": 1}}
func newBzip2(c *config, _ Form) (Codec, error) {
	c.integer("level", 1, 1, 9)
	return &foreign{key: "bz2", decode: bzip2.Decode}, nil
}
