package codec

import (
	"bytes"
	"fmt"

	"varve/codec/internal/inflate"
	"varve/codec/internal/lerc"
	"varve/codec/internal/zstd"
)

// lercCodec is Esri's Limited Error Raster Compression, which bounds the errors of numbers, of version 2.
//
// Specification: github.com/Esri/lerc; imagecodecs' lerc. The chunk is an array of bands, rows, columns and samples,
// in this order. Invalid pixels are 0, as in imagecodecs. The level is the largest error; it, the version and planar
// matter for encoding only.
//
//	{"name": "imagecodecs_lerc", "configuration": {"level": 0.01, "version": 4, "compression": "zstd"}}
//
// "tiff.lerc" decodes the same bytes as libtiff does: the order is rows, columns, samples, invalid pixels of floats are
// NaN, and the last sample of bytes may be the opacity. In a file whose byte order is big-endian, the numbers that are
// compressed have their bytes reversed.
//
//	{"name": "tiff.lerc", "configuration": {"endian": "big"}}
//
// Both decode a chunk that zstd or zlib compressed after LERC. As in imagecodecs, its first bytes say so.
type lercCodec struct {
	noEncoder
	typ       lerc.Type
	tiff, big bool
}

func newLERC(c *config, in Form) (Codec, error) {
	l := &lercCodec{tiff: c.codec == "tiff.lerc"}
	if l.tiff {
		l.big = c.choice("endian", 0, "little", "big") == 1
	} else {
		c.ignore("level", "version", "planar", "compressionargs")
		c.choice("compression", 0, "zstd", "deflate")
	}
	types := map[string]lerc.Type{}
	for t := lerc.Int8; t <= lerc.Float64; t++ {
		types[t.String()] = t
	}
	var ok bool
	if l.typ, ok = types[in.Type.String()]; !ok {
		c.unsupported("elements of %v; it takes integers of up to 32 bits, float32 and float64", in.Type)
	}
	return l, c.err
}

func (l *lercCodec) DecodeKey() string { return fmt.Sprint("lerc ", l.tiff, l.big) }

// Accepts takes every form that newLERC takes.
func (l *lercCodec) Accepts(Form) error { return nil }

func (l *lercCodec) EncodedSize(Form) (int, bool) { return 0, false }

func (l *lercCodec) Encode(dst []byte, _ Elems, _ Form) ([]byte, error) {
	return dst, l.cannotEncode()
}

func (l *lercCodec) Decode(dst Elems, src []byte, in Form) error {
	if unpack := compressionAfterLERC(src); unpack != nil {
		a := getArena()
		defer a.release()
		// LERC adds at most a header, a mask and a byte for each tile to samples that it stores as they are.
		blobs := a.bytes(1<<10 + 3*len(dst.Fixed))
		n, err := unpack(blobs, src)
		if err != nil {
			return fmt.Errorf("compression after LERC: %w", err)
		}
		src = blobs[:n]
	}
	decode := lerc.Decode
	if l.tiff {
		decode = lerc.DecodeTIFF
	}
	if _, err := decode(dst.Fixed, src, l.typ, in.Shape); err != nil {
		return err
	}
	if l.big {
		reverseWords(dst.Fixed, in.Type.Size)
	}
	return nil
}

// compressionAfterLERC returns the decoder of what src is compressed by, or nil.
func compressionAfterLERC(src []byte) func(dst, src []byte) (int, error) {
	for _, start := range []string{"\x78\x01", "\x78\x5e", "\x78\x9c", "\x78\xda"} {
		if bytes.HasPrefix(src, []byte(start)) {
			return inflate.Zlib
		}
	}
	if bytes.HasPrefix(src, []byte("\x28\xb5\x2f\xfd")) {
		return zstd.Decode
	}
	return nil
}
