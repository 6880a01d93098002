package codec

import (
	"fmt"

	"varve/codec/internal/webp"
)

// webpImage is a WebP image of 3 or 4 samples a pixel.
//
// Specification: RFC 9649; imagecodecs' webp. The fields other than hasalpha are for encoding.
//
//	{"name": "imagecodecs_webp"}
type webpImage struct {
	noEncoder
	width, height, samples int
}

func newWebP(c *config, in Form) (Codec, error) {
	c.ignore("level", "lossless", "method", "hasalpha")
	w, n := &webpImage{}, len(in.Shape)
	if n < 3 || in.Type.Kind != Uint || in.Type.Size != 1 || in.Shape[n-1] != 3 && in.Shape[n-1] != 4 {
		c.unsupported("chunks of shape %v of %v; it takes images of 3 or 4 samples of uint8", in.Shape, in.Type)
		return nil, c.err
	}
	w.height, w.width, w.samples = int(in.Shape[n-3]), int(in.Shape[n-2]), int(in.Shape[n-1])
	if in.Count() != w.height*w.width*w.samples {
		c.unsupported("chunks of shape %v; it takes one image", in.Shape)
	}
	return w, c.err
}

func (w *webpImage) DecodeKey() string { return fmt.Sprint("webp ", w.width, w.height, w.samples) }

func (w *webpImage) Accepts(Form) error { return nil }

func (w *webpImage) EncodedSize(Form) (int, bool) { return 0, false }

func (w *webpImage) Encode([]byte, Elems, Form) ([]byte, error) { return nil, w.cannotEncode() }

func (w *webpImage) Decode(dst Elems, src []byte, _ Form) error {
	return webp.Decode(dst.Fixed, src, w.width, w.height, w.samples)
}
