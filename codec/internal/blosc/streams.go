package blosc

import (
	"github.com/klauspost/compress/snappy"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/inflate"
	"varve/codec/internal/lz4"
	"varve/codec/internal/zstd"
)

// decodeStream fills dst from one stream.
func decodeStream(dst, src []byte, c compressor) error {
	if len(src) == len(dst) {
		copy(dst, src)
		return nil
	}
	n, err := decompress(dst, src, c)
	if err != nil {
		return err
	}
	if n != len(dst) {
		return corrupt.Errorf("%v decodes to %d bytes, %d are expected", c, n, len(dst))
	}
	return nil
}

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

func decodeSnappy(dst, src []byte) (int, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return 0, corrupt.Errorf("snappy: %w", err)
	}
	if n > len(dst) {
		return 0, corrupt.Errorf("snappy: decodes to %d bytes, at most %d are expected", n, len(dst))
	}
	if _, err := snappy.Decode(dst[:n], src); err != nil {
		return 0, corrupt.Errorf("snappy: %w", err)
	}
	return n, nil
}
