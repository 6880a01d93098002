package codec

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"varve/codec/internal/ccitt"
	"varve/codec/internal/corrupt"
	"varve/codec/internal/lzw"
	"varve/codec/internal/tiff"
)

// tiffLZW is the LZW of TIFF.
//
// Specification: TIFF 6.0, section 13; imagecodecs' lzw.
//
//	{"name": "imagecodecs_lzw"}
type tiffLZW struct{}

func newLZW(*config, Form) (Codec, error) { return tiffLZW{}, nil }

func (tiffLZW) DecodeKey() string { return "lzw" }

func (tiffLZW) EncodedSize(int) (int, bool) { return 0, false }

func (tiffLZW) Encode(dst, src []byte) ([]byte, error) { return lzw.Append(dst, src), nil }

func (tiffLZW) Decode(dst, src []byte) (int, error) { return lzw.Decode(dst, src) }

// tiffPackBits is the run-length coding of TIFF, which it shares with the Macintosh.
//
// Specification: TIFF 6.0, section 9; imagecodecs' packbits.
//
//	{"name": "imagecodecs_packbits"}
type tiffPackBits struct{}

func newTIFFPackBits(c *config, _ Form) (Codec, error) {
	c.ignore("axis") // numcodecs' writer stores it; decoding does not need it
	return tiffPackBits{}, nil
}

func (tiffPackBits) DecodeKey() string { return "tiff packbits" }

func (tiffPackBits) EncodedSize(int) (int, bool) { return 0, false }

func (tiffPackBits) Encode(dst, src []byte) ([]byte, error) {
	return tiff.AppendPackBits(dst, src), nil
}

func (tiffPackBits) Decode(dst, src []byte) (int, error) { return tiff.DecodePackBits(dst, src) }

// newBitOrder returns the codec that reverses the bits of each byte: the fill order 2 of TIFF.
//
//	{"name": "tiff.bitorder"}
func newBitOrder(*config, Form) (Codec, error) { return bitOrder{}, nil }

type bitOrder struct{}

func (bitOrder) DecodeKey() string { return "bitorder" }

func (bitOrder) EncodedSize(n int) (int, bool) { return n, true }

func (bitOrder) Encode(dst, src []byte) ([]byte, error) {
	for _, b := range src {
		dst = append(dst, bits.Reverse8(b))
	}
	return dst, nil
}

func (bitOrder) Decode(dst, src []byte) (int, error) {
	n := min(len(dst), len(src))
	for i, b := range src[:n] {
		dst[i] = bits.Reverse8(b)
	}
	if n < len(src) {
		return n, corrupt.Errorf("%d bytes, want at most %d", len(src), n)
	}
	return n, nil
}

// tiffBand is one sample of each pixel: the last axis of the stored chunk, which a chunk lacks, has the samples. It does not encode,
// because the other samples are not known.
//
//	{"name": "tiff.band", "configuration": {"band": 0, "samples": 3}}
type tiffBand struct{ band, samples int }

func newTIFFBand(c *config, in Form) (Codec, error) {
	b := tiffBand{c.integer("band", 0, 0, 1<<16-1), c.integer("samples", 1, 1, 1<<16-1)}
	if b.band >= b.samples {
		c.fail("band", "%d of %d samples; the first one is 0", b.band, b.samples)
	}
	if in.Type.Varies() {
		c.unsupported("elements of %v; it takes elements of one size", in.Type)
	}
	return b, c.err
}

func (b tiffBand) DecodeKey() string { return fmt.Sprint("tiff band ", b.band, " of ", b.samples) }

func (tiffBand) cannotEncode() error {
	return fmt.Errorf("the other samples of each pixel are not known: %w", errors.ErrUnsupported)
}

func (b tiffBand) Encoded(in Form) (Form, error) {
	in.Shape = append(slices.Clone(in.Shape), int64(b.samples))
	return in, nil
}

func (b tiffBand) Encode(Elems, Elems, Form) error { return b.cannotEncode() }

func (b tiffBand) Decode(dst, src Elems, in Form) error {
	size := in.Type.Size
	for to, from := 0, b.band*size; to < len(dst.Fixed); to, from = to+size, from+b.samples*size {
		copy(dst.Fixed[to:to+size], src.Fixed[from:])
	}
	return nil
}

// predictor holds what the two predictors of TIFF share: elements along one axis of a chunk follow each other at a
// distance of all elements of the later axes, "dist" times.
type predictor struct{ axis, dist int }

// newPredictor reads the axis, counted from the last one (−1), and the distance. In Zarr 2 the codec does not know the
// chunk: its configuration has shape and dtype, which varve does not write, so there it has no name.
func newPredictor(c *config, in Form) (p predictor) {
	p = predictor{c.integer("axis", -1, -32, 31), c.integer("dist", 1, 1, 1<<16)}
	if p.axis >= 0 {
		p.axis -= len(in.Shape)
	}
	if p.axis < -len(in.Shape) || p.axis >= 0 {
		c.fail("axis", "an array of %d axes does not have it", len(in.Shape))
	}
	return p
}

// row returns the elements of a row, and the distance of two that follow each other along the axis.
func (p predictor) row(in Form) (elements, distance int) {
	stride, at := 1, len(in.Shape)+p.axis
	for _, n := range in.Shape[at+1:] {
		stride *= int(n)
	}
	return stride * int(in.Shape[at]), stride * p.dist
}

// tiffDelta stores the difference of each element to the one before it along an axis: predictor 2. Floats are subtracted
// as integers.
//
// Specification: TIFF 6.0, section 14; imagecodecs' delta.
//
//	{"name": "imagecodecs_delta", "configuration": {"axis": -1, "dist": 1}}
type tiffDelta struct{ predictor }

func newTIFFDelta(c *config, in Form) (Codec, error) {
	p := newPredictor(c, in)
	switch in.Type.Kind {
	case Int, Uint, Float:
		return &tiffDelta{p}, c.err
	}
	c.unsupported("elements of %v; it takes integers and floating-point numbers", in.Type)
	return nil, c.err
}

func (d *tiffDelta) DecodeKey() string { return fmt.Sprint("tiff delta ", d.predictor) }

func (d *tiffDelta) Encoded(in Form) (Form, error) { return in, nil }

func (d *tiffDelta) Encode(dst, src Elems, in Form) error {
	copy(dst.Fixed, src.Fixed)
	if row, dist := d.row(in); row > 0 {
		tiff.Difference(dst.Fixed, in.Type.Size, row, dist)
	}
	return nil
}

func (d *tiffDelta) Decode(dst, src Elems, in Form) error {
	copy(dst.Fixed, src.Fixed)
	if row, dist := d.row(in); row > 0 {
		tiff.Sum(dst.Fixed, in.Type.Size, row, dist)
	}
	return nil
}

// tiffFloats stores the bytes of equal significance of a row together, as differences: predictor 3.
//
// Specification: Adobe Photoshop TIFF Technical Note 3; imagecodecs' floatpred.
//
//	{"name": "imagecodecs_floatpred", "configuration": {"axis": -1, "dist": 1}}
type tiffFloats struct{ predictor }

func newTIFFFloats(c *config, in Form) (Codec, error) {
	p := newPredictor(c, in)
	if in.Type.Kind != Float {
		c.unsupported("elements of %v; it takes floating-point numbers", in.Type)
	}
	return &tiffFloats{p}, c.err
}

func (f *tiffFloats) DecodeKey() string { return fmt.Sprint("tiff floats ", f.predictor) }

func (f *tiffFloats) Accepts(Form) error { return nil }

func (f *tiffFloats) EncodedSize(in Form) (int, bool) { return in.Bytes(), true }

func (f *tiffFloats) Encode(dst []byte, src Elems, in Form) ([]byte, error) {
	out := make([]byte, len(src.Fixed))
	if row, dist := f.row(in); row > 0 {
		tiff.SplitFloats(out, src.Fixed, in.Type.Size, row, dist)
	}
	return append(dst, out...), nil
}

func (f *tiffFloats) Decode(dst Elems, src []byte, in Form) error {
	if len(src) != len(dst.Fixed) {
		return &LengthError{Have: len(src), Need: len(dst.Fixed), form: in}
	}
	if row, dist := f.row(in); row > 0 {
		a := getArena()
		defer a.release()
		tiff.JoinFloats(dst.Fixed, append(a.bytes(len(src))[:0], src...), in.Type.Size, row, dist)
	}
	return nil
}

// packedInts stores integers in fewer bits than their type has.
//
// Specification: imagecodecs' packints. Each run of "runlen" elements starts at a byte.
//
//	{"name": "imagecodecs_packints", "configuration": {"bitspersample": 12, "runlen": 100}}
type packedInts struct{ bits, run int }

func newPackedInts(c *config, in Form) (Codec, error) {
	p := &packedInts{c.integer("bitspersample", 8, 1, 64), c.integer("runlen", 0, 0, 1<<31-1)}
	if c.text("bitorder", ">") != ">" {
		c.fail("bitorder", `is not ">"; varve needs the most significant bit first`)
	}
	if in.Type.Kind != Uint && in.Type.Kind != Bool || p.bits > 8*in.Type.Size {
		c.unsupported("elements of %v in %d bits; it takes unsigned integers of at least these", in.Type, p.bits)
	}
	if p.run > 0 && in.Count()%p.run != 0 {
		c.fail("runlen", "%d does not divide the %d elements of a chunk", p.run, in.Count())
	}
	return p, c.err
}

func (p *packedInts) DecodeKey() string { return fmt.Sprint("packints ", *p) }

func (p *packedInts) Accepts(Form) error { return nil }

func (p *packedInts) EncodedSize(in Form) (int, bool) {
	return tiff.PackedSize(in.Count(), p.bits, p.run), true
}

func (p *packedInts) Encode(dst []byte, src Elems, in Form) ([]byte, error) {
	size := in.Type.Size
	for at := 0; at < len(src.Fixed); at += size {
		for k := p.bits; k < 8*size; k++ {
			if src.Fixed[at+k>>3]>>(k&7)&1 != 0 {
				return nil, fmt.Errorf("element %d needs more than %d bits", at/size, p.bits)
			}
		}
	}
	n, _ := p.EncodedSize(in)
	out := make([]byte, n)
	tiff.Pack(out, src.Fixed, size, p.bits, p.run)
	return append(dst, out...), nil
}

func (p *packedInts) Decode(dst Elems, src []byte, in Form) error {
	if n, _ := p.EncodedSize(in); len(src) != n {
		return &LengthError{Have: len(src), Need: n, form: in}
	}
	if len(dst.Fixed) > 0 {
		tiff.Unpack(dst.Fixed, src, in.Type.Size, p.bits, p.run)
	}
	return nil
}

// newCCITT returns the constructor of a decoder of facsimile images: bytes of 0 for white and 1 for black.
//
// Specification: ITU-T T.4 and T.6; imagecodecs' ccittrle, ccittfax3 and ccittfax4.
//
//	{"name": "imagecodecs_ccittfax3", "configuration": {"t4options": 1}}
func newCCITT(coding ccitt.Coding) func(*config, Form) (Codec, error) {
	return func(c *config, in Form) (Codec, error) {
		f := fax{Params: ccitt.Params{Coding: coding}}
		if coding == ccitt.Group3 {
			f.Options = c.integer("t4options", 0, 0, 7)
		}
		n := len(in.Shape)
		if n < 2 || in.Type.Kind != Uint && in.Type.Kind != Bool || in.Type.Size != 1 {
			c.unsupported("chunks of shape %v of %v; it takes images of uint8", in.Shape, in.Type)
			return nil, c.err
		}
		f.Height, f.Width = int(in.Shape[n-2]), int(in.Shape[n-1])
		if in.Count() != f.Height*f.Width {
			c.unsupported("chunks of shape %v; it takes one image", in.Shape)
		}
		return f, c.err
	}
}

type fax struct {
	ccitt.Params
	noEncoder
}

func (f fax) DecodeKey() string { return fmt.Sprint("ccitt ", f.Params) }

func (f fax) Accepts(Form) error { return nil }

func (f fax) EncodedSize(Form) (int, bool) { return 0, false }

func (f fax) Encode([]byte, Elems, Form) ([]byte, error) { return nil, f.cannotEncode() }

func (f fax) Decode(dst Elems, src []byte, in Form) error {
	n, err := ccitt.Decode(dst.Fixed, src, f.Params)
	if err == nil && n < len(dst.Fixed) {
		return &LengthError{Have: n, Need: len(dst.Fixed), form: in}
	}
	return err
}
