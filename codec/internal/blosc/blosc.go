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
// Stored means that the decoded bytes follow the header at once. Otherwise a block is
// shuffled, then cut into typesize streams of equal length (after a byte shuffle: one for each
// plane) or kept as one: when it is marked so, when it is the short one at the end, when
// elements are wider than 16 bytes, when a block has fewer than 128 elements. A stream as long
// as what it decodes to is stored.
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

// A compressor is the number that names a stream's format in a chunk's flags.
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

// A header is the part of a chunk's header that Blosc1 and Blosc2 share.
type header struct {
	version, versionLZ, flags byte
	typesize                  int
	nbytes, blocksize, cbytes int
}

func (h header) compressor() compressor { return compressor(h.flags >> compressorBits) }

func (h header) blocks() int { return (h.nbytes + h.blocksize - 1) / h.blocksize }

// block returns where block i begins and how long it is, decoded.
func (h header) block(i int) (at, size int) {
	at = i * h.blocksize
	return at, min(h.blocksize, h.nbytes-at)
}

func readHeader(src []byte) (header, error) {
	if len(src) < HeaderSize {
		return header{}, corrupt.Errorf("blosc: %d bytes, the header alone takes %d", len(src), HeaderSize)
	}
	return header{
		version: src[0], versionLZ: src[1], flags: src[2], typesize: int(src[3]),
		nbytes: int(le.Uint32(src[4:])), blocksize: int(le.Uint32(src[8:])), cbytes: int(le.Uint32(src[12:])),
	}, nil
}

// DecodedSize is what a Blosc1 chunk says it decodes to. Compare it with what is expected
// before making room for it: nothing else about the chunk was looked at.
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
		return unsupported("a Blosc2 chunk (version %d) where Blosc1 (version %d) is expected", h.version, version1)
	}
	return corrupt.Errorf("blosc: version %d at byte 0, allowed %d", h.version, version1)
}

// check refuses what c-blosc refuses of a header, for a chunk of n bytes.
func (h header) check(n int) error {
	switch {
	case h.cbytes < HeaderSize || h.cbytes > n:
		return corrupt.Errorf("blosc: cbytes %d at byte 12, allowed %d to %d", h.cbytes, HeaderSize, n)
	case h.typesize == 0:
		return corrupt.Errorf("blosc: typesize 0 at byte 3, allowed 1 to 255")
	case h.nbytes == 0:
		return nil
	case h.blocksize == 0:
		return corrupt.Errorf("blosc: blocksize 0 at byte 8")
	case h.flags&flagReserved != 0:
		return unsupported("flag 0x08 at byte 2 (0x%02x)", h.flags)
	case h.flags&flagStored != 0:
		if h.nbytes != h.cbytes-HeaderSize {
			return corrupt.Errorf("blosc: stored, nbytes %d at byte 4 do not match cbytes %d", h.nbytes, h.cbytes)
		}
		return nil
	}
	if err := checkStreams(h.compressor(), h.versionLZ); err != nil {
		return err
	}
	if h.blocks() > (h.cbytes-HeaderSize)/4 {
		return corrupt.Errorf("blosc: %d blocks (nbytes %d, blocksize %d), %d bytes cannot hold their offsets",
			h.blocks(), h.nbytes, h.blocksize, h.cbytes)
	}
	return nil
}

func checkStreams(c compressor, version byte) error {
	if int(c) >= len(compressorNames) {
		return unsupported("compressor %v", c)
	}
	if version != 1 {
		return unsupported("version %d of the %v format, only 1 is known", version, c)
	}
	return nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("blosc: %s: %w", fmt.Sprintf(format, args...), errors.ErrUnsupported)
}
