package blosc

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/lz4"
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
		return decodeZlib(dst, src)
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

// An inflater decodes zlib streams one after the other without allocating.
type inflater struct {
	src  bytes.Reader
	zlib io.ReadCloser
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

func decodeZlib(dst, src []byte) (int, error) {
	f := inflaters.Get().(*inflater)
	defer inflaters.Put(f)
	n, err := f.decode(dst, src)
	if err != nil {
		return 0, corrupt.Errorf("zlib: after %d bytes: %w", n, err)
	}
	return n, nil
}

func (f *inflater) decode(dst, src []byte) (n int, err error) {
	f.src.Reset(src)
	defer f.src.Reset(nil)
	if f.zlib == nil {
		f.zlib, err = zlib.NewReader(&f.src)
	} else {
		err = f.zlib.(zlib.Resetter).Reset(&f.src, nil)
	}
	if err != nil {
		return 0, err
	}
	n, err = io.ReadFull(f.zlib, dst)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && len(dst) == 0 {
		return n, nil // shorter than dst; a stream that is cut says so itself
	}
	if err != nil {
		return n, err
	}
	// The end of the stream holds its checksum, and it must not have more to say.
	var one [1]byte
	if _, err = io.ReadFull(f.zlib, one[:]); err == nil {
		return n, corrupt.Errorf("more than the expected %d bytes", len(dst))
	} else if !errors.Is(err, io.EOF) {
		return n, err
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
	out, err := d.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return 0, corrupt.Errorf("zstd: %w", err)
	}
	return len(out), nil
}
