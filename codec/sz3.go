package codec

import "varve/codec/internal/sz3"

// newSZ3 returns the decoder of HDF5's filter 32024: SZ 3, an error-bounded compressor of
// numeric fields.
//
// Specification: SZ 3.1 and its filter H5Z-SZ3. The client values are the rank, the type
// and the lengths of a chunk.
//
//	{"name": "hdf5.sz3", "configuration": {"cd_values": [3, 0, 128, 8, 8]}}
func newSZ3(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "sz3", sz3.Parse)
}
