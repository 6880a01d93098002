package codec

import "varve/codec/internal/lz4"

// numcodecsLZ4 is one LZ4 block after its decoded size.
//
// Specification: numcodecs.lz4: u32 LE size, block. HDF5's container differs.
//
//	{"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}
type numcodecsLZ4 struct {
	*starts
	acceleration int
}

func newLZ4(c *config, _ Form) (Codec, error) {
	return &numcodecsLZ4{&lz4Starts, c.integer("acceleration", 1, -1<<31, 1<<31-1)}, nil
}

func (l *numcodecsLZ4) DecodeKey() string { return "lz4" }

func (l *numcodecsLZ4) EncodedSize(int) (int, bool) { return 0, false }

func (l *numcodecsLZ4) Encode(dst, src []byte) ([]byte, error) {
	return lz4.AppendSized(dst, src, l.acceleration)
}

func (l *numcodecsLZ4) Decode(dst, src []byte) (int, error) { return lz4.DecodeSized(dst, src) }

func (l *numcodecsLZ4) decodedSize(src []byte) (int, error) { return lz4.SizedLen(src) }

// hdf5LZ4 is a sequence of LZ4 blocks. A block can be stored uncompressed.
//
// Specification: HDF5's filter 32004, as imagecodecs' lz4h5: u64 BE decoded size, u32 BE
// block size, then for each block u32 BE stored size and the block; a block as long as
// the block size is not compressed.
//
//	{"name": "imagecodecs_lz4h5", "configuration": {}}
type hdf5LZ4 struct {
	*starts
	block int
}

func newLZ4H5(c *config, _ Form) (Codec, error) {
	c.ignore("level")
	return &hdf5LZ4{&hdf5LZ4Starts, c.integer("blocksize", 1<<30, 1, 0x7e000000)}, nil
}

func (l *hdf5LZ4) DecodeKey() string { return "lz4h5" }

func (l *hdf5LZ4) EncodedSize(int) (int, bool) { return 0, false }

func (l *hdf5LZ4) Encode(dst, src []byte) ([]byte, error) {
	return lz4.AppendHDF5(dst, src, l.block)
}

func (l *hdf5LZ4) Decode(dst, src []byte) (int, error) { return lz4.DecodeHDF5(dst, src) }

func (l *hdf5LZ4) decodedSize(src []byte) (int, error) { return lz4.HDF5Len(src) }
