package blosc

import (
	"github.com/klauspost/compress/snappy"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/inflate"
	"varve/codec/internal/lz4"
	"varve/codec/internal/zstd"
)

// decodeStream decodes one stream, which must fill dst.
func decodeStream(dst, src []byte, c compressor) error {
	if len(src) == len(dst) { // stored: encoders keep only shorter results of compression
		copy(dst, src)
		return nil
	}
	n, err := decompress(dst, src, c)
	if err != nil {
		return err
	}
	if n != len(dst) {
		return corrupt.Errorf("%v: decoded size %d, %d bytes are expected", c, n, len(dst))
	}
	return nil
}

// decompress decodes a stream of compressor c to the beginning of dst and returns its length.
func decompress(dst, src []byte, c compressor) (int, error) {
	switch c {
	case compBlosclz:
		return decodeBlosclz(dst, src)
	case compLZ4:
		return lz4.Decode(dst, src)
	case compSnappy:
		return decodeSnappy(dst, src)
	case compZlib:
		return inflate.Zlib(dst, src)
	case compZstd:
		return zstd.Decode(dst, src)
	}
	return 0, unsupported("compressor %v", c)
}

// decodeSnappy decodes a snappy block. It checks the length first, because snappy.Decode
// allocates memory for a result that does not fit.
func decodeSnappy(dst, src []byte) (int, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return 0, corrupt.Errorf("snappy: %w", err)
	}
	if n > len(dst) {
		return 0, corrupt.Errorf("snappy: decoded size %d, at most %d bytes are expected", n, len(dst))
	}
	if _, err := snappy.Decode(dst[:n], src); err != nil {
		return 0, corrupt.Errorf("snappy: %w", err)
	}
	return n, nil
}
