package codec

import "varve/codec/internal/bzip2"

// newBzip2 returns the decoder of concatenated bzip2 streams.
//
// Specification: numcodecs.bz2; HDF5's filter 307. The level matters for encoding only.
//
//	{"name": "numcodecs.bz2", "configuration": {"level": 1}}
func newBzip2(c *config, _ Form) (Codec, error) {
	c.integer("level", 1, 1, 9)
	return &startingDecoder{decoder{key: "bz2", decode: bzip2.Decode}, &bzip2Starts}, nil
}
