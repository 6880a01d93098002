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

// decoder is a codec that varve only reads: filters that only HDF5 stores, and
// compressors that are rarely used now.
type decoder struct {
	noEncoder
	key    string
	decode func(dst, src []byte) (int, error)
}

func (f *decoder) DecodeKey() string { return f.key }

func (f *decoder) EncodedSize(int) (int, bool) { return 0, false }

func (f *decoder) Decode(dst, src []byte) (int, error) { return f.decode(dst, src) }

// clientValues reads the values that HDF5 stores with a filter (cd_values), 32 bits each.
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

// fromClientValues returns the decoder of a filter whose client values describe the
// encoding of its chunks.
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
	return &decoder{key: fmt.Sprint(key, values), decode: d.Decode}, nil
}

// newLZF returns the decoder of HDF5's filter 32000: liblzf without a header.
//
//	{"name": "hdf5.lzf", "configuration": {"cd_values": [4, 261, 400]}}
func newLZF(c *config, _ Form) (Codec, error) {
	c.clientValues(0)
	return &decoder{key: "lzf", decode: lzf.Decode}, nil
}

// newBlosc2 returns the decoder of HDF5's filter 32026: a contiguous Blosc2 frame. Its
// client values matter for encoding only.
//
//	{"name": "hdf5.blosc2", "configuration": {"cd_values": [1, 0, 4, 400, 5, 1, 0]}}
func newBlosc2(c *config, _ Form) (Codec, error) {
	c.clientValues(0)
	return &decoder{key: "blosc2", decode: blosc.DecodeFrame}, nil
}

// newNbit returns the decoder of HDF5's filter 5, which removes the padding bits of
// numbers.
//
//	{"name": "hdf5.nbit", "configuration": {"cd_values": [8, 0, 100, 1, 4, 0, 12, 0]}}
func newNbit(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "nbit", nbit.Parse)
}

// newScaleOffset returns the decoder of HDF5's filter 6, which stores the difference to
// the minimum in as few bits as needed.
//
//	{"name": "hdf5.scaleoffset", "configuration": {"cd_values": [2, 0, 100, 0, 4, …]}}
func newScaleOffset(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "scaleoffset", scaleoffset.Parse)
}

// newZFP returns the decoder of HDF5's filter 32013, whose client values contain the
// header of the stream.
//
//	{"name": "hdf5.zfp", "configuration": {"cd_values": [5570817, 91252346, 807854179, …]}}
func newZFP(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "zfp", zfp.Parse)
}

// newSperr returns the decoder of HDF5's filter 32028: SPERR, a wavelet compressor of
// planes and volumes.
//
//	{"name": "hdf5.sperr", "configuration": {"cd_values": [1042, 268566528, 9, 9]}}
func newSperr(c *config, _ Form) (Codec, error) {
	return fromClientValues(c, "sperr", sperr.Parse)
}

// The compressors that bitshuffle's filter can apply after the transposition.
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
// The elements after the last whole group of eight are stored unchanged at the end.
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
	values = append(values, 0, 0) // block size and compressor are optional
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
		c.fail("cd_values", "compressor %d, must be 0 (none), 2 (LZ4) or 3 (zstd)", values[4])
	}
	key := fmt.Sprint("bitshuffle", b.size, " ", b.block, " ", values[4])
	return &decoder{key: key, decode: b.decode}, nil
}

func (b *bitshuffle) decode(dst, src []byte) (int, error) {
	if b.inner == nil {
		if len(src) > len(dst) {
			return 0, tooLongError(len(src), len(dst))
		}
		shuffle.BitUnshuffleBlocks(dst[:len(src)], src, b.size, b.block)
		return len(src), nil
	}
	const header = 12
	if len(src) < header {
		return 0, corrupt.Errorf("bitshuffle: %d bytes, the header alone takes %d", len(src), header)
	}
	total, stated := binary.BigEndian.Uint64(src), int(binary.BigEndian.Uint32(src[8:]))
	// Check before converting to int: the size may be hostile.
	if total > uint64(len(dst)) {
		return 0, tooLongError(int(min(total, 1<<62)), len(dst))
	}
	block := cmp.Or(stated/b.size, shuffle.BitBlockSize(b.size)) // 0 means the default; some cameras write it
	if block%8 != 0 {
		return 0, corrupt.Errorf("bitshuffle: block of %d bytes at byte 8 is no multiple of 8 elements of %d", stated, b.size)
	}
	return int(total), b.decodeBlocks(dst[:total], src[header:], block*b.size)
}

// decodeBlocks decodes the compressed blocks. The last block has the remaining whole
// groups of eight elements; the elements after it are not compressed.
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
