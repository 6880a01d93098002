package codec

import (
	"errors"
	"fmt"
	"slices"

	"varve/codec/internal/blosc"
	"varve/codec/internal/corrupt"
)

// bloscCodec is a Blosc 1 container: bytes shuffled and compressed in blocks.
//
// Specification: Zarr v3, codecs/blosc; numcodecs.blosc; HDF5's filter 32001. All three
// store the same container, whose header has everything that decoding needs, so the
// configuration matters for encoding only. Zarr names the shuffle; numcodecs numbers it,
// and −1 means bit shuffle for elements of one byte and byte shuffle for others.
//
//	{"name": "blosc", "configuration": {"typesize": 4, "cname": "zstd", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}}
//	{"name": "numcodecs.blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}}
//
// The default typesize is the size of the elements; Zarr's default shuffle equals −1 of
// numcodecs. Containers with snappy are decoded only.
type bloscCodec struct {
	*starts
	options blosc.Options
}

const snappy = "snappy"

var bloscCompressors = []string{"blosclz", "lz4", "lz4hc", snappy, "zlib", "zstd"}

func newBlosc(c *config, in Form) (Codec, error) {
	shuffle := c.choice("shuffle", autoShuffle(in), "noshuffle", "shuffle", "bitshuffle")
	return newBloscWith(c, in, "zstd", shuffle)
}

func newNumcodecsBlosc(c *config, in Form) (Codec, error) {
	shuffle := c.integer("shuffle", int(blosc.ByteShuffle), -1, 2)
	if shuffle == -1 {
		shuffle = autoShuffle(in)
	}
	return newBloscWith(c, in, "lz4", shuffle)
}

// autoShuffle returns the shuffle that clients use by default.
func autoShuffle(in Form) int {
	if in.Type.Size == 1 {
		return int(blosc.BitShuffle)
	}
	return int(blosc.ByteShuffle)
}

// newBloscWith reads the fields that both spellings have.
func newBloscWith(c *config, in Form, compressor string, shuffle int) (Codec, error) {
	const maxBlock = 1<<31 - 1
	name := c.choice("cname", slices.Index(bloscCompressors, compressor), bloscCompressors...)
	return &bloscCodec{&bloscStarts, blosc.Options{
		Compressor: bloscCompressors[max(0, name)],
		Level:      c.integer("clevel", 5, 0, 9),
		Shuffle:    blosc.Shuffle(max(0, shuffle)),
		TypeSize:   c.integer("typesize", max(1, in.Type.Size), 1, maxBlock),
		BlockSize:  c.integer("blocksize", 0, 0, maxBlock),
	}}, nil
}

func (b *bloscCodec) DecodeKey() string { return "blosc" }

func (b *bloscCodec) EncodedSize(int) (int, bool) { return 0, false }

func (b *bloscCodec) Encode(dst, src []byte) ([]byte, error) {
	return blosc.Append(dst, src, b.options)
}

func (b *bloscCodec) Decode(dst, src []byte) (int, error) { return blosc.Decode(dst, src) }

func (b *bloscCodec) decodedSize(src []byte) (int, error) { return blosc.DecodedSize(src) }

// decodeRange implements rangeDecoder.
func (b *bloscCodec) decodeRange(dst, src []byte, offset, size int) error {
	n, err := blosc.DecodedSize(src)
	if err == nil && n != size {
		err = corrupt.Errorf("decodes to %d bytes, want %d", n, size)
	}
	if err != nil {
		return err
	}
	return blosc.DecodeRange(dst, src, offset)
}

// clientsFor implements sizeClientReporter: numcodecs is built without snappy.
func (b *bloscCodec) clientsFor(int) Client {
	if b.options.Compressor == snappy {
		return NoClient
	}
	return AnyClient
}

func (b *bloscCodec) cannotEncode() error {
	if b.options.Compressor == snappy {
		return fmt.Errorf("cname: varve only decodes snappy; encode with lz4: %w", errors.ErrUnsupported)
	}
	return nil
}
