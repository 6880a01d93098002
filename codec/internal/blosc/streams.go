package blosc

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/inflate"
	"varve/codec/internal/lz4"
)

// decodeStream fills dst from one stream. It may scribble on the capacity behind dst, so
// streams are decoded in the order in which they lie in memory.
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
		return decodeZstd(dst, src)
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

var zstdDecoders = sync.Pool{New: func() any {
	// Output is limited by dst alone; the window is never allocated when decoding at once.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(1<<31))
	if err != nil {
		return err
	}
	return d
}}

func decodeZstd(dst, src []byte) (int, error) {
	d, ok := zstdDecoders.Get().(*zstd.Decoder)
	if !ok {
		return 0, errors.New("blosc: the zstd decoder cannot be made")
	}
	defer zstdDecoders.Put(d)
	out, err := d.DecodeAll(src, dst[:0:min(cap(dst), len(dst)+slack)])
	if err != nil {
		return 0, corrupt.Errorf("zstd: %w", err)
	}
	return len(out), nil
}
