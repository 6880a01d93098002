package codec

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"varve/codec/internal/blosc"
	"varve/codec/internal/corrupt"
	"varve/codec/internal/lz4"
	"varve/codec/internal/lzf"
	"varve/codec/internal/nbit"
	"varve/codec/internal/scaleoffset"
	"varve/codec/internal/shuffle"
	"varve/codec/internal/sperr"
	"varve/codec/internal/zfp"
)

// foreign is a codec that others write and varve only reads: what only HDF5 stores, and
// compressors that are hardly met any more.
type foreign struct {
	onlyDecodes
	key    string
	decode func(dst, src []byte) (int, error)
}

func (f *foreign) DecodeKey() string { return f.key }

func (f *foreign) EncodedSize(int) (int, bool) { return 0, false }

func (f *foreign) Decode(dst, src []byte) (int, error) { return f.decode(dst, src) }

// clientValues reads the values that HDF5 keeps with a filter, one to a word.
func (c *config) clientValues(least int) []uint32 {
	list := c.integers("cd_values", 0)
	if len(list) < least && c.err == nil {
		c.fail("cd_values", "%d values, want at least %d", len(list), least)
	}
	values := make([]uint32, len(list))
	for i, v := range list {
		if v > 1<<32-1 {
			c.fail("cd_values", "%d is more than 32 bits", v)
		}
		values[i] = uint32(v)
	}
	return values
}

// fromClientValues makes the decoder of a filter whose client values say how its chunks
// are to be read.
func fromClientValues[D interface {
	Decode(dst, src []byte) (int, error)
}](c *config, key string, parse func([]uint32) (D, error)) (Codec, error) {
	values := c.clientValues(0)
	if c.err != nil {
		return nil, c.err
	}
	d, err := parse(values)
	if err != nil {
		return nil, fmt.Errorf("codec %q: cd_values: %w", c.codec, err)
	}
	return &foreign{key: fmt.Sprint(key, values), decode: d.Decode}, nil
}

// newLZF makes the decoder of HDF5's filter 32000: liblzf without a header.
//
//	{"name": "hdf5.lzf", "configuration": {"cd_values": [4, 261, 400]}}
func newLZF(c *config, _ Form) (Codec, error) {
	c.clientValues(0)
	return &foreign{key: "lzf", decode: lzf.Decode}, nil
}

// newBlosc2 makes the decoder of HDF5's filter 32026: a contiguous Blosc2 frame. Its client
// values only matter for encoding.
//
//	{"name": "hdf5.blosc2", "configuration": {"cd_values": [1, 0, 4, 400, 5, 1, 0]}}
func newBlosc2(c *config, _ Form) (Codec, error) {
	c.clientValues(0)
	return &foreign{key: "blosc2", decode: blosc.DecodeFrame}, nil
}

// newNbit makes the decoder of HDF5's filter 5, which drops the padding of numbers.
//
//	{"name": "hdf5.nbit", "configuration": {"cd_values": [8, 0, 100, 1, 4, 0, 12, 0]}}
func newNbit(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "nbit", nbit.Parse)
}

// newScaleOffset makes the decoder of HDF5's filter 6, which stores distances from the
// least value in as few bits as hold them.
//
//	{"name": "hdf5.scaleoffset", "configuration": {"cd_values": [2, 0, 100, 0, 4, …]}}
func newScaleOffset(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "scaleoffset", scaleoffset.Parse)
}

// newZFP makes the decoder of HDF5's filter 32013, whose client values hold the header of
// the stream.
//
//	{"name": "hdf5.zfp", "configuration": {"cd_values": [5570817, 91252346, 807854179, …]}}
func newZFP(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "zfp", zfp.Parse)
}

// newSperr makes the decoder of HDF5's filter 32028: SPERR, wavelets of planes and volumes.
//
//	{"name": "hdf5.sperr", "configuration": {"cd_values": [1042, 268566528, 9, 9]}}
func newSperr(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "sperr", sperr.Parse)
}

// The compressors that bitshuffle's filter can put behind the transposition.
const (
	bitshuffleAlone = 0
	bitshuffleLZ4   = 2
	bitshuffleZstd  = 3
)

// bitshuffle is HDF5's filter 32008: bits transposed in blocks, each compressed.
//
//	cd_values  version major, minor, element size, block size in elements or 0, compressor
//	alone      blocks one after another
//	LZ4, zstd  u64 BE decoded size, u32 BE block bytes or 0, then u32 BE size and data a block
//
// Elements that do not fill a group of eight stand at the end as they are.
//
//	{"name": "hdf5.bitshuffle", "configuration": {"cd_values": [0, 4, 4, 0, 2]}}
type bitshuffle struct {
	size, block int // of an element in bytes, of a block in elements
	inner       func(dst, src []byte) (int, error)
}

func newBitshuffle(c *config, _ Form) (Codec, error) {
	values := c.clientValues(3)
	if c.err != nil {
		return nil, c.err
	}
	values = append(values, 0, 0)
	b := &bitshuffle{size: int(values[2]), block: int(values[3])}
	if b.size < 1 || b.size > 1<<16 {
		c.fail("cd_values", "element size %d is not from 1 to 65536", b.size)
		return nil, c.err
	}
	if b.block == 0 {
		b.block = shuffle.BitBlockSize(b.size)
	}
	if b.block%8 != 0 {
		c.fail("cd_values", "block of %d elements is no multiple of 8", b.block)
	}
	switch values[4] {
	case bitshuffleAlone:
	case bitshuffleLZ4:
		b.inner = lz4.Decode
	case bitshuffleZstd:
		b.inner = new(zstdCodec).Decode
	default:
		c.fail("cd_values", "compressor %d is none of 0 (none), 2 (LZ4), 3 (zstd)", values[4])
	}
	key := fmt.Sprint("bitshuffle", b.size, " ", b.block, " ", values[4])
	return &foreign{key: key, decode: b.decode}, nil
}

func (b *bitshuffle) decode(dst, src []byte) (int, error) {
	if b.inner == nil {
		if len(src) > len(dst) {
			return 0, tooLong(len(src), len(dst))
		}
		shuffle.BitUnshuffleBlocks(dst[:len(src)], src, b.size, b.block)
		return len(src), nil
	}
	const header = 12
	if len(src) < header {
		return 0, corrupt.Errorf("bitshuffle: %d bytes, the header alone takes %d", len(src), header)
	}
	total, stated := binary.BigEndian.Uint64(src), int(binary.BigEndian.Uint32(src[8:]))
	if total > uint64(len(dst)) {
		return 0, tooLong(int(min(total, 1<<62)), len(dst))
	}
	block := cmp.Or(stated/b.size, shuffle.BitBlockSize(b.size)) // cameras state none, as HDF5's filter allows
	if block%8 != 0 {
		return 0, corrupt.Errorf("bitshuffle: block of %d bytes at byte 8 is no multiple of 8 elements of %d", stated, b.size)
	}
	return int(total), b.decodeBlocks(dst[:total], src[header:], block*b.size)
}

// decodeBlocks decodes the compressed blocks. The last one holds the whole groups of
// eight that are left, and what follows them is not compressed.
func (b *bitshuffle) decodeBlocks(dst, src []byte, blockBytes int) error {
	a := getArena()
	defer a.release()
	room := a.bytes(min(blockBytes, len(dst)))
	for len(dst) >= 8*b.size {
		n := min(blockBytes, len(dst)-len(dst)%(8*b.size))
		if len(src) < 4 {
			return corrupt.Errorf("bitshuffle: %d bytes left, %d to decode", len(src), len(dst))
		}
		stored := binary.BigEndian.Uint32(src)
		if uint64(stored) > uint64(len(src)-4) {
			return corrupt.Errorf("bitshuffle: block of %d bytes, %d are left", stored, len(src)-4)
		}
		planes := room[:n]
		got, err := b.inner(planes, src[4:4+stored])
		if err != nil {
			return fmt.Errorf("bitshuffle: %w", err)
		}
		if got != n {
			return corrupt.Errorf("bitshuffle: block decodes to %d bytes, want %d", got, n)
		}
		shuffle.BitUnshuffle(dst[:n], planes, b.size)
		dst, src = dst[n:], src[4+stored:]
	}
	if len(src) < len(dst) {
		return corrupt.Errorf("bitshuffle: %d bytes left, want %d that are not compressed", len(src), len(dst))
	}
	copy(dst, src)
	return nil
}
