package codec

import (
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"

	frames "varve/codec/internal/zstd"
)

// zstdCodec is Zstandard: one or more frames.
//
// Specification: RFC 8878; Zarr v3, codecs/zstd (zarr-extensions); numcodecs.zstd; HDF5's
// filter 32015. All three store the same frames.
//
//	{"name": "zstd", "configuration": {"level": 0, "checksum": false}}
//
// Level 0 means 3, and negative levels are faster, as in libzstd. A checksum in a frame
// is verified whatever the configuration says.
type zstdCodec struct {
	*starts
	encoders *sync.Pool
}

func newZstd(c *config, _ Form) (Codec, error) {
	c.refuseNull("level", "checksum")
	level := c.integer("level", 0, math.MinInt32, 22)
	sum := c.boolean("checksum", false)
	if level == 0 {
		level = 3
	}
	effort := zstd.EncoderLevelFromZstd(level)
	return &zstdCodec{&zstdStarts, encoderKind{"zstd", int(effort), sum}.pool(func() any {
		e, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(effort),
			zstd.WithEncoderCRC(sum),
			// With a single segment the frame header contains the decoded size.
			zstd.WithSingleSegment(true),
			zstd.WithZeroFrames(true),
			zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})}, nil
}

func (z *zstdCodec) DecodeKey() string { return "zstd" }

func (z *zstdCodec) EncodedSize(int) (int, bool) { return 0, false }

func (z *zstdCodec) Encode(dst, src []byte) ([]byte, error) {
	e := z.encoders.Get().(*zstd.Encoder)
	defer z.encoders.Put(e)
	return e.EncodeAll(src, dst), nil
}

func (z *zstdCodec) Decode(dst, src []byte) (int, error) { return frames.Decode(dst, src) }
