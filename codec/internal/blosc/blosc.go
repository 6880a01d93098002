// Package blosc decodes and encodes Blosc1 chunks, and decodes Blosc2 chunks in contiguous
// frames.
//
// A Blosc1 chunk (README_CHUNK_FORMAT.rst of c-blosc), all integers little-endian:
//
//	 0  version    u8   2
//	 1  versionlz  u8   1, for each compressor
//	 2  flags      u8   1 byte shuffle, 2 stored, 4 bit shuffle, 16 blocks not split,
//	                    compressor << 5: 0 blosclz, 1 lz4 or lz4hc, 2 snappy, 3 zlib, 4 zstd
//	 3  typesize   u8   size of an element
//	 4  nbytes     u32  decoded size
//	 8  blocksize  u32  decoded size of a block; the last may be shorter
//	12  cbytes     u32  size of the chunk with this header
//	16  bstarts    u32  per block: where it begins, from the beginning of the chunk
//	    blocks          per stream: u32 length, then that many bytes
//
// If the flag "stored" is set, the decoded bytes follow the header directly. Otherwise each
// block is shuffled, then split into typesize streams of equal length (after a byte shuffle,
// one for each byte of an element). A block is one stream instead if the flag "blocks not
// split" is set, if it is a shorter last block, if elements are wider than 16 bytes, or if the
// block has fewer than 128 elements. A stream that is as long as its decoded bytes is stored
// uncompressed.
//
// For example, "hi", stored, is 02 01 02 01 │ 02 00 00 00 │ 02 00 00 00 │ 12 00 00 00 │ 68 69.
//
// For Blosc2 see frame.go and chunk2.go.
package blosc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

var le = binary.LittleEndian

// HeaderSize is the length of a Blosc1 chunk's header.
const HeaderSize = 16

const (
	version1 = 2 // the format version of all Blosc1 releases since 1.0

	flagShuffle    = 0x01
	flagStored     = 0x02
	flagBitShuffle = 0x04
	flagReserved   = 0x08
	flagNoSplit    = 0x10
	compressorBits = 5

	maxSplitType  = 16  // wider elements never split
	minSplitElems = 128 // nor do blocks with fewer elements
)

// A compressor is the number of a stream format in a chunk's flags.
type compressor uint8

const (
	compBlosclz compressor = iota
	compLZ4
	compSnappy
	compZlib
	compZstd
)

var compressorNames = [...]string{"blosclz", "lz4", "snappy", "zlib", "zstd"}

func (c compressor) String() string {
	if int(c) < len(compressorNames) {
		return compressorNames[c]
	}
	return fmt.Sprintf("number %d", uint8(c))
}

// A header holds the header fields that Blosc1 and Blosc2 chunks share.
type header struct {
	version, versionLZ, flags byte
	typesize                  int
	nbytes, blocksize, cbytes int
}

func (h header) compressor() compressor { return compressor(h.flags >> compressorBits) }

func (h header) blocks() int { return (h.nbytes + h.blocksize - 1) / h.blocksize }

// block returns the position and the length of block i in the decoded bytes.
func (h header) block(i int) (at, size int) {
	at = i * h.blocksize
	return at, min(h.blocksize, h.nbytes-at)
}

// readHeader reads the shared header fields, without checking them.
func readHeader(src []byte) (header, error) {
	if len(src) < HeaderSize {
		return header{}, corrupt.Errorf("blosc: the chunk has %d bytes, fewer than its header (%d bytes)", len(src), HeaderSize)
	}
	return header{
		version: src[0], versionLZ: src[1], flags: src[2], typesize: int(src[3]),
		nbytes: int(le.Uint32(src[4:])), blocksize: int(le.Uint32(src[8:])), cbytes: int(le.Uint32(src[12:])),
	}, nil
}

// DecodedSize returns the decoded size in the header of a Blosc1 chunk. It checks nothing
// except the version, so compare the size with the expected one before allocating memory.
func DecodedSize(src []byte) (int, error) {
	h, err := readHeader(src)
	if err != nil {
		return 0, err
	}
	return h.nbytes, h.checkVersion()
}

func (h header) checkVersion() error {
	switch {
	case h.version == version1:
		return nil
	case h.version > version1 && h.version <= version2Stable:
		return unsupported("a Blosc2 chunk (version %d) instead of Blosc1 (version %d)", h.version, version1)
	}
	return corrupt.Errorf("blosc: version %d at byte 0, allowed %d", h.version, version1)
}

// check returns an error if c-blosc would reject the header of a chunk of n bytes.
func (h header) check(n int) error {
	switch {
	case h.cbytes < HeaderSize || h.cbytes > n:
		return corrupt.Errorf("blosc: cbytes %d at byte 12, allowed %d to %d", h.cbytes, HeaderSize, n)
	case h.typesize == 0:
		return corrupt.Errorf("blosc: typesize 0 at byte 3, allowed 1 to 255")
	case h.nbytes == 0:
		return nil // c-blosc ignores the other fields of an empty chunk
	case h.blocksize == 0:
		return corrupt.Errorf("blosc: blocksize 0 at byte 8")
	case h.flags&flagReserved != 0:
		return unsupported("flag 0x08 at byte 2 (0x%02x)", h.flags)
	case h.flags&flagStored != 0:
		if h.nbytes != h.cbytes-HeaderSize {
			return corrupt.Errorf("blosc: stored chunk: nbytes %d at byte 4, must be cbytes - %d (cbytes is %d)", h.nbytes, HeaderSize, h.cbytes)
		}
		return nil
	}
	if err := checkStreams(h.compressor(), h.versionLZ); err != nil {
		return err
	}
	if h.blocks() > (h.cbytes-HeaderSize)/4 {
		return corrupt.Errorf("blosc: %d blocks (nbytes %d, blocksize %d), but cbytes %d is too small for their offsets",
			h.blocks(), h.nbytes, h.blocksize, h.cbytes)
	}
	return nil
}

// checkStreams returns an error unless streams of this compressor and version can be decoded.
func checkStreams(c compressor, version byte) error {
	if int(c) >= len(compressorNames) {
		return unsupported("compressor %v", c)
	}
	if version != 1 {
		return unsupported("version %d of the %v format, only version 1 is supported", version, c)
	}
	return nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("blosc: %s: %w", fmt.Sprintf(format, args...), errors.ErrUnsupported)
}
