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
	key     string
	decode  func(dst, src []byte) (int, error)
	points  func(dst, src []byte, every int) (int, []inflate.Point, error)
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
	return &deflate{"gzip", inflate.Gzip, inflate.GzipPoints, encoderKind{"gzip", level, false}.pool(func() any {
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
	return &deflate{"zlib", inflate.Zlib, inflate.ZlibPoints, encoderKind{"zlib", level, false}.pool(func() any {
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

func (d *deflate) findPoints(dst, src []byte, every int) (n int, points []AccessPoint, windows [][]byte, err error) {
	n, found, err := d.points(dst, src, every)
	for _, p := range found {
		points = append(points, AccessPoint{int64(p.Out), int64(p.Bit), p.Window != nil})
		windows = append(windows, p.Window)
	}
	return n, points, windows, err
}

func (d *deflate) spanRoom(size int) int { return inflate.ResumeSize(size) }

func (d *deflate) decodeSpan(room []byte, size int, window, src []byte, bit int) ([]byte, error) {
	return inflate.Resume(room, size, window, src, bit, d.key == "gzip")
}

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
