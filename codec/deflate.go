package codec

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"varve/codec/internal/inflate"
)

// deflate is a compressor of RFC 1951 data in the gzip or the zlib container.
//
// Specification: Zarr v3, codecs/gzip (RFC 1952); numcodecs.zlib (RFC 1950), which is
// also HDF5's filter 1. The level matters for encoding only.
//
//	{"name": "gzip", "configuration": {"level": 5}}
//	{"name": "numcodecs.zlib", "configuration": {"level": 1}}
type deflate struct {
	*starts
	key     string
	decode  func(dst, src []byte) (int, error)
	writers *sync.Pool
}

// resetWriter is the common interface of gzip and zlib writers.
type resetWriter interface {
	io.WriteCloser
	Reset(io.Writer)
}

func newGzip(c *config, _ Form) (Codec, error) {
	absent, least := 5, 0
	if c.codec == "numcodecs.gzip" {
		absent, least = 1, gzip.DefaultCompression
	}
	c.refuseNull("level")
	level := c.integer("level", absent, least, 9)
	return &deflate{&gzipStarts, "gzip", inflate.Gzip, encoderKind{"gzip", level, false}.pool(func() any {
		w, err := gzip.NewWriterLevel(io.Discard, level)
		if err != nil {
			panic(err) // every level from -1 to 9 is allowed
		}
		return w
	})}, nil
}

func newZlib(c *config, _ Form) (Codec, error) {
	c.refuseNull("level")
	level := c.integer("level", 1, -1, 9)
	return &deflate{&zlibStarts, "zlib", inflate.Zlib, encoderKind{"zlib", level, false}.pool(func() any {
		w, err := zlib.NewWriterLevel(io.Discard, level)
		if err != nil {
			panic(err) // every level from -1 to 9 is allowed
		}
		return w
	})}, nil
}

func (d *deflate) DecodeKey() string { return d.key }

func (d *deflate) EncodedSize(int) (int, bool) { return 0, false }

func (d *deflate) Decode(dst, src []byte) (int, error) { return d.decode(dst, src) }

func (d *deflate) Encode(dst, src []byte) ([]byte, error) {
	out := &appender{dst}
	w := d.writers.Get().(resetWriter)
	defer d.writers.Put(w)
	w.Reset(out)
	if _, err := w.Write(src); err != nil {
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	return out.b, nil
}

// appender is an io.Writer that appends to a slice.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
