package inflate

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"varve/codec/internal/corrupt"
)

const (
	gzipHeader  = 10 // up to OS
	gzipTrailer = 8  // CRC-32 and ISIZE
)

// Bits of FLG, RFC 1952 section 2.3.1. FTEXT (1) is ignored.
const (
	flagHeaderCRC = 1 << 1
	flagExtra     = 1 << 2
	flagName      = 1 << 3
	flagComment   = 1 << 4
	flagReserved  = 7 << 5
)

// Gzip decodes all members of a gzip file to dst, concatenated, and returns the decoded length. It
// verifies their checksums and sizes. A file has at least one member. Zero bytes between members and
// at the end are allowed, as in the gzip program and in Python (and so in numcodecs); other bytes are
// an error.
func Gzip(dst, src []byte) (n int, err error) { return gzipWith(dst, src, blocks) }

// gzipWith is Gzip with a function that decodes the blocks of a member.
func gzipWith(dst, src []byte, decode blockDecoder) (n int, err error) {
	for at := 0; ; {
		m, end, err := member(dst[n:], src, at, decode)
		n += m
		if err != nil {
			return n, err
		}
		if at = skipZeros(src, end); at == len(src) {
			return n, nil
		}
	}
}

// member decodes the member at src[at:]. It returns the decoded length and the end of the member.
func member(dst, src []byte, at int, decode blockDecoder) (n, end int, err error) {
	if at, err = gzipBody(src, at); err != nil {
		return 0, at, err
	}
	n, end, err = decode(dst, src, at)
	if err != nil {
		return n, end, err
	}
	if len(src)-end < gzipTrailer {
		return n, end, corrupt.Errorf("gzip: input ends at offset %d within the trailer", len(src))
	}
	want, size := binary.LittleEndian.Uint32(src[end:]), binary.LittleEndian.Uint32(src[end+4:])
	if got := crc32.ChecksumIEEE(dst[:n]); got != want {
		return n, end, corrupt.Errorf("gzip: CRC-32 is %08x at offset %d, but the decoded bytes have %08x", want, end, got)
	}
	if uint32(n) != size {
		return n, end, corrupt.Errorf("gzip: ISIZE is %d at offset %d, but the member has %d bytes", size, end+4, n)
	}
	return n, end + gzipTrailer, nil
}

// gzipBody checks the header at src[at:] and returns the start of the DEFLATE stream.
func gzipBody(src []byte, at int) (int, error) {
	start := at
	if len(src)-at < gzipHeader {
		return at, corrupt.Errorf("gzip: input ends at offset %d within a header", len(src))
	}
	if src[at] != 0x1f || src[at+1] != 0x8b {
		return at, corrupt.Errorf("gzip: no member at offset %d: found %02x%02x, a member begins 1f8b", at, src[at], src[at+1])
	}
	if method := src[at+2]; method != 8 {
		return at, corrupt.Errorf("gzip: compression method is %d at offset %d, only 8 (deflate) is defined", method, at+2)
	}
	flags := src[at+3]
	if flags&flagReserved != 0 {
		return at, corrupt.Errorf("gzip: flags are %02x at offset %d, bits 5 to 7 must be zero", flags, at+3)
	}
	at, ok := skipFields(src, at+gzipHeader, flags)
	if !ok {
		return at, corrupt.Errorf("gzip: input ends at offset %d within a header", len(src))
	}
	if flags&flagHeaderCRC != 0 {
		return skipHeaderCRC(src, start, at)
	}
	return at, nil
}

// skipFields returns the position after the extra field, the file's name and the comment. ok is false
// if src ends within them.
func skipFields(src []byte, at int, flags byte) (end int, ok bool) {
	if flags&flagExtra != 0 {
		if len(src)-at < 2 {
			return at, false
		}
		at += 2 + int(binary.LittleEndian.Uint16(src[at:]))
		if at > len(src) {
			return at, false
		}
	}
	for _, text := range []byte{flagName, flagComment} {
		if flags&text == 0 {
			continue
		}
		length := bytes.IndexByte(src[at:], 0)
		if length < 0 {
			return at, false
		}
		at += length + 1
	}
	return at, true
}

// skipHeaderCRC verifies the header's checksum at src[at:], the low half of the CRC-32 of
// src[start:at]. It returns the position after it.
func skipHeaderCRC(src []byte, start, at int) (int, error) {
	if len(src)-at < 2 {
		return at, corrupt.Errorf("gzip: input ends at offset %d within a header", len(src))
	}
	got, want := uint16(crc32.ChecksumIEEE(src[start:at])), binary.LittleEndian.Uint16(src[at:])
	if got != want {
		return at, corrupt.Errorf("gzip: CRC-16 is %04x at offset %d, but the header has %04x", want, at, got)
	}
	return at + 2, nil
}

// skipZeros returns the position of the next byte that is not zero, or len(src).
func skipZeros(src []byte, at int) int {
	for at < len(src) && src[at] == 0 {
		at++
	}
	return at
}
