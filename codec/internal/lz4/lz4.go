// Package lz4 decodes and encodes LZ4 blocks, bare and in the two framings that chunks of
// arrays come in. (LZ4's own frame format, magic 0x184D2204, is none of these.)
//
// A block, per lz4_Block_format.md, is a row of sequences; the last one ends after its
// literals:
//
//	token  u8        literals << 4 | match - 4
//	       u8…       if literals is 15: added up, until one below 255
//	       literals
//	offset u16 LE    how far back the match begins, 1 to 65535
//	       u8…       if match - 4 is 15: likewise
//
// numcodecs.lz4 puts the decoded size in front (numcodecs/lz4.pyx):
//
//	size u32 LE | block
//
// HDF5's filter 32004 cuts the data into blocks (HDF5_LZ4.pdf, "the file format"):
//
//	total u64 BE | blockSize u32 BE | n u32 BE | block of n bytes | n | block | …
//
// where every block decodes to blockSize bytes but the last, and one whose n is its decoded
// size is stored as it is.
package lz4

import (
	"sync"

	"github.com/pierrec/lz4/v4"

	"varve/codec/internal/corrupt"
)

// Decode decodes one block, which must fill src, to the beginning of dst and returns how
// many bytes it decodes to. It never writes beyond dst.
func Decode(dst, src []byte) (int, error) {
	if len(src) == 0 {
		return 0, corrupt.Errorf("lz4 block: empty; even no bytes encode to one")
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return 0, diagnose(len(dst), src)
	}
	return n, nil
}

// Bound is the most bytes that n bytes can encode to as a block.
func Bound(n int) int { return lz4.CompressBlockBound(n) }

// The encoders come from pools: their tables are large, and cleared for each block so that
// what a block encodes to depends on its bytes only.
var (
	fast = sync.Pool{New: func() any { return new(lz4.CompressorCCompat) }}
	high = sync.Pool{New: func() any { return new(lz4.CompressorHC) }}
)

// Encode encodes src as one block at the beginning of dst and returns its length, or 0 when
// it does not fit; it always does in Bound(len(src)) bytes. The bytes are those of the
// reference implementation's LZ4_compress_fast; acceleration 1 is the slowest and best.
func Encode(dst, src []byte, acceleration int) (int, error) {
	c := fast.Get().(*lz4.CompressorCCompat)
	defer fast.Put(c)
	c.Acceleration = acceleration
	return c.CompressBlock(src, dst)
}

// EncodeHC is Encode with a search that is slower and finds more; level is 1 to 9.
func EncodeHC(dst, src []byte, level int) (int, error) {
	c := high.Get().(*lz4.CompressorHC)
	defer high.Put(c)
	c.Level = lz4.CompressionLevel(1 << (8 + min(max(level, 1), 9)))
	n, err := c.CompressBlock(src, dst)
	if err != nil && len(dst) < Bound(len(src)) {
		return 0, nil // it does not fit
	}
	return n, err
}

// diagnose walks a block that did not decode and says where it goes wrong.
func diagnose(room int, src []byte) error {
	out, at := 0, 0
	for at < len(src) {
		start := at
		token := src[at]
		at++
		literals := extend(int(token>>4), src, &at)
		if literals > len(src)-at {
			return corrupt.Errorf("lz4 block: sequence at byte %d: %d literals, %d bytes left", start, literals, len(src)-at)
		}
		if literals > room-out {
			return corrupt.Errorf("lz4 block: sequence at byte %d: %d literals, room for %d of %d bytes", start, literals, room-out, room)
		}
		at, out = at+literals, out+literals
		if at == len(src) {
			break
		}
		if len(src)-at < 2 {
			return corrupt.Errorf("lz4 block: sequence at byte %d: ends within the match offset", start)
		}
		offset := int(src[at]) | int(src[at+1])<<8
		at += 2
		if offset == 0 || offset > out {
			return corrupt.Errorf("lz4 block: sequence at byte %d: match offset %d, allowed 1 to %d", start, offset, out)
		}
		match := extend(int(token&15), src, &at) + 4
		if match > room-out {
			return corrupt.Errorf("lz4 block: sequence at byte %d: match of %d, room for %d of %d bytes", start, match, room-out, room)
		}
		out += match
	}
	return corrupt.Errorf("lz4 block: its %d bytes end within a sequence", len(src))
}

// extend adds the bytes that continue a length of 15. A length that runs into the end of src
// is noticed by what it counts not being there.
func extend(length int, src []byte, at *int) int {
	if length != 15 {
		return length
	}
	for *at < len(src) {
		b := src[*at]
		*at++
		length += int(b)
		if b != 255 {
			break
		}
	}
	return length
}
