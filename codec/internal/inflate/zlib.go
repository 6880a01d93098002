package inflate

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/inflate/adler32"
)

const (
	zlibHeader  = 2 // CMF and FLG
	zlibTrailer = 4 // Adler-32
)

// Zlib decodes one zlib stream to dst, verifies its checksum and returns the decoded length. Bytes
// after the stream are ignored, as in libhdf5 and numcodecs. A stream that needs a preset dictionary is
// errors.ErrUnsupported.
func Zlib(dst, src []byte) (n int, err error) { return zlibWith(dst, src, blocks) }

// blockDecoder decodes the DEFLATE stream at src[at:] as blocks does.
type blockDecoder func(dst, src []byte, at int) (n, end int, err error)

// zlibWith is Zlib with a function that decodes the blocks.
func zlibWith(dst, src []byte, decode blockDecoder) (n int, err error) {
	if err := checkZlibHeader(src); err != nil {
		return 0, err
	}
	n, end, err := decode(dst, src, zlibHeader)
	if err != nil {
		return n, err
	}
	if len(src)-end < zlibTrailer {
		return n, corrupt.Errorf("zlib: input ends at offset %d within the Adler-32", len(src))
	}
	want := binary.BigEndian.Uint32(src[end:])
	if got := adler32.Checksum(dst[:n]); got != want {
		return n, corrupt.Errorf("zlib: Adler-32 is %08x at offset %d, but the decoded bytes have %08x", want, end, got)
	}
	return n, nil
}

// checkZlibHeader returns an error unless src begins with a header of a supported stream.
func checkZlibHeader(src []byte) error {
	if len(src) < zlibHeader {
		return corrupt.Errorf("zlib: input ends at offset %d within the header", len(src))
	}
	cmf, flg := src[0], src[1]
	switch {
	case (uint(cmf)<<8|uint(flg))%31 != 0:
		return corrupt.Errorf("zlib: header %02x%02x at offset 0 is not a multiple of 31", cmf, flg)
	case cmf&15 != 8:
		return corrupt.Errorf("zlib: compression method is %d at offset 0, only 8 (deflate) is defined", cmf&15)
	case cmf>>4 > 7:
		return corrupt.Errorf("zlib: window size is 2^%d at offset 0, at most 2^15 is allowed", cmf>>4+8)
	case flg&0x20 != 0:
		return presetDictionary(src)
	}
	return nil
}

// presetDictionary returns the error for a stream that needs a preset dictionary.
func presetDictionary(src []byte) error {
	if len(src) < zlibHeader+4 {
		return corrupt.Errorf("zlib: input ends at offset %d within the dictionary's id", len(src))
	}
	id := binary.BigEndian.Uint32(src[zlibHeader:])
	return fmt.Errorf("zlib: the stream needs the preset dictionary %08x, which no file contains: %w", id, errors.ErrUnsupported)
}
