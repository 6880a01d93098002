// Package lz4 decodes and encodes LZ4 blocks (Decode, Encode) and chunks that contain them:
// numcodecs.lz4 (DecodeSized, AppendSized) and HDF5's filter 32004 (DecodeHDF5, AppendHDF5). It does
// not support LZ4's frame format, whose magic is 0x184D2204.
//
// A block (lz4_Block_format.md) is a list of sequences. The last sequence ends after its literals:
//
//	token   u8        L << 4 | M
//	        u8…       if L is 15: added to L, up to and including the first byte below 255
//	        L bytes   literals
//	offset  u16 LE    distance of the match, 1 to 65535 bytes back
//	        u8…       if M is 15: added to M in the same way; the match has M+4 bytes
//
// For example, "abcabcabcavwxyz" can be 3 literals and a match of 7 bytes 3 back, then 5 literals:
//
//	33 61 62 63 03 00 │ 50 76 77 78 79 7a
//
// A numcodecs.lz4 chunk (numcodecs/lz4.pyx) is a block after its decoded size:
//
//	size u32 LE | block
//
// A chunk of HDF5's filter 32004 (HDF5_LZ4.pdf, "the file format") is a list of blocks:
//
//	total u64 BE | blockSize u32 BE | n u32 BE | block of n bytes | n | block | …
//
// All blocks except the last decode to blockSize bytes. A block is stored uncompressed if n is its
// decoded size.
package lz4

import (
	"sync"

	"github.com/pierrec/lz4/v4"

	"varve/codec/internal/corrupt"
)

// Decode decodes one block, which must fill src, to the beginning of dst and returns the decoded
// length. It never writes past dst.
func Decode(dst, src []byte) (int, error) {
	if len(src) == 0 {
		return 0, corrupt.Errorf("lz4 block: it is empty, must have at least one byte")
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return 0, diagnose(len(dst), src)
	}
	return n, nil
}

// Bound returns the maximum length of a block that encodes n bytes.
func Bound(n int) int { return lz4.CompressBlockBound(n) }

// Encoders are pooled because their tables are large. They clear the tables for each block, so that
// the encoded block depends only on its bytes.
var (
	fast = sync.Pool{New: func() any { return new(lz4.CompressorCCompat) }}
	high = sync.Pool{New: func() any { return new(lz4.CompressorHC) }}
)

// Encode encodes src as one block to the beginning of dst and returns its length, or 0 if it does not
// fit. It always fits in Bound(len(src)) bytes. The result is byte for byte that of LZ4_compress_fast
// of the reference implementation. Acceleration 1 is the slowest and compresses best.
func Encode(dst, src []byte, acceleration int) (int, error) {
	c := fast.Get().(*lz4.CompressorCCompat)
	defer fast.Put(c)
	c.Acceleration = acceleration
	return c.CompressBlock(src, dst)
}

// EncodeHC is Encode with a slower search that compresses better. level is 1 to 9.
func EncodeHC(dst, src []byte, level int) (int, error) {
	c := high.Get().(*lz4.CompressorHC)
	defer high.Put(c)
	c.Level = lz4.CompressionLevel(1 << (8 + min(max(level, 1), 9)))
	n, err := c.CompressBlock(src, dst)
	if err != nil && len(dst) < Bound(len(src)) {
		return 0, nil // the library reports a block that does not fit as an error
	}
	return n, err
}

// diagnose returns the error for a block that the library could not decode. The library does not
// report the offset or the reason.
func diagnose(room int, src []byte) error {
	out, at := 0, 0
	for at < len(src) {
		start := at
		token := src[at]
		at++
		literals := extend(int(token>>4), src, &at)
		if literals > len(src)-at {
			return corrupt.Errorf("lz4 block: sequence at byte %d: %d literals, only %d bytes are left", start, literals, len(src)-at)
		}
		if literals > room-out {
			return corrupt.Errorf("lz4 block: sequence at byte %d: %d literals, only %d of %d bytes are expected", start, literals, room-out, room)
		}
		at, out = at+literals, out+literals
		if at == len(src) {
			break
		}
		if len(src)-at < 2 {
			return corrupt.Errorf("lz4 block: sequence at byte %d: truncated in the match offset", start)
		}
		offset := int(src[at]) | int(src[at+1])<<8
		at += 2
		if offset == 0 || offset > out {
			return corrupt.Errorf("lz4 block: sequence at byte %d: match offset %d, must be 1 to %d", start, offset, out)
		}
		match := extend(int(token&15), src, &at) + leastMatch
		if match > room-out {
			return corrupt.Errorf("lz4 block: sequence at byte %d: match of %d bytes, only %d of %d bytes are expected", start, match, room-out, room)
		}
		out += match
	}
	return corrupt.Errorf("lz4 block: truncated at byte %d, in a sequence", len(src))
}

// extend adds the bytes that continue a length of 15. If src ends within them, the caller notices
// that the literals or the offset are missing.
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
