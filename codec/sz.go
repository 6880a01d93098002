package codec

import "varve/codec/internal/sz"

// newSZ returns the decoder of HDF5's filter 32017: SZ 2, an error-bounded compressor of
// floating-point fields.
//
// Specification: SZ 2.1 and its filter H5Z-SZ. The client values are the rank, the type
// and the lengths of a chunk.
//
//	{"name": "hdf5.sz", "configuration": {"cd_values": [3, 0, 128, 8, 8]}}
func newSZ(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "sz", sz.Parse)
}
