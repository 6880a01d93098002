package blosc

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"varve/codec/internal/lz4"
)

// A method compresses streams. Two methods may produce the same format, as lz4 and lz4hc do.
type method struct {
	format compressor
	// compress returns the compressed length, or 0 if it is greater than len(dst).
	compress func(dst, src []byte, level int) (int, error)
}

// method returns the method that o.Compressor names.
func (o Options) method() (method, error) {
	switch o.Compressor {
	case "blosclz":
		return method{compBlosclz, compressBlosclz}, nil
	case "lz4":
		return method{compLZ4, compressLZ4}, nil
	case "lz4hc":
		return method{compLZ4, lz4.EncodeHC}, nil
	case "zlib":
		return method{compZlib, compressZlib}, nil
	case "zstd":
		return method{compZstd, compressZstd}, nil
	case "snappy":
		return method{}, unsupported("encoding with snappy, which can only be decoded")
	}
	return method{}, fmt.Errorf("blosc: compressor %q, allowed blosclz, lz4, lz4hc, zlib, zstd", o.Compressor)
}

// compressLZ4 converts the level to LZ4's acceleration with the formula of c-blosc.
func compressLZ4(dst, src []byte, level int) (int, error) {
	return lz4.Encode(dst, src, 10-level)
}

// A deflater writes zlib streams of one level to memory of fixed size.
type deflater struct {
	out  []byte
	n    int
	zlib *zlib.Writer
}

var deflaters [10]sync.Pool // by level

// errFull is returned by deflater.Write if the compressed bytes do not fit.
var errFull = errors.New("the compressed bytes do not fit")

// Write appends p to the output. It is called by d.zlib.
func (d *deflater) Write(p []byte) (int, error) {
	if len(p) > len(d.out)-d.n {
		return 0, errFull
	}
	d.n += copy(d.out[d.n:], p)
	return len(p), nil
}

func compressZlib(dst, src []byte, level int) (int, error) {
	d, _ := deflaters[level].Get().(*deflater)
	if d == nil {
		d = new(deflater)
		w, err := zlib.NewWriterLevel(d, level)
		if err != nil {
			return 0, fmt.Errorf("blosc: zlib: %w", err)
		}
		d.zlib = w
	}
	defer deflaters[level].Put(d)
	d.out, d.n = dst, 0
	defer func() { d.out = nil }() // a pooled deflater must not keep the caller's memory
	d.zlib.Reset(d)
	_, err := d.zlib.Write(src)
	if err == nil {
		err = d.zlib.Close()
	}
	if errors.Is(err, errFull) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("blosc: zlib: %w", err)
	}
	return d.n, nil
}

var zstdEncoders [zstd.SpeedBestCompression + 1]sync.Pool // by speed

// compressZstd maps the Blosc level to a zstd level as c-blosc does, and uses the nearest
// level that the encoder has.
func compressZstd(dst, src []byte, level int) (int, error) {
	reference := 2*level - 1
	if level == 9 {
		reference = 22
	}
	speed := zstd.EncoderLevelFromZstd(reference)
	e, _ := zstdEncoders[speed].Get().(*zstd.Encoder)
	if e == nil {
		var err error
		e, err = zstd.NewWriter(io.Discard, zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return 0, fmt.Errorf("blosc: zstd: %w", err)
		}
	}
	defer zstdEncoders[speed].Put(e)
	out := e.EncodeAll(src, dst[:0:len(dst)])
	if len(out) > len(dst) {
		return 0, nil
	}
	return copy(dst, out), nil // EncodeAll may have moved to larger memory of its own
}
