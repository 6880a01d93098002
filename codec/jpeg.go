package codec

import (
	"encoding/base64"
	"fmt"
	"strings"

	"varve/codec/internal/jpeg"
)

// jpegImage decodes a JPEG stream to a chunk of rows × columns × samples, as the strips and tiles of TIFF.
//
// Specification: ITU-T T.81; TIFF Technical Note 2; imagecodecs' jpeg8. The tables are the tag JPEGTables in base 64. A
// header, in base 64 too, comes before the bytes of each chunk.
//
//	{"name": "imagecodecs_jpeg", "configuration": {"tables": "/9j/2wBDAA…", "colorspace_jpeg": "YCBCR", "colorspace_data": "RGB"}}
type jpegImage struct {
	noEncoder
	key    string
	header []byte
	image  jpeg.Image
}

// jpegSpaces are the names of colour spaces in imagecodecs, which ignores their case.
var jpegSpaces = map[string]jpeg.Space{
	"": jpeg.Detect, "UNKNOWN": jpeg.Detect, "GRAY": jpeg.Gray, "GRAYSCALE": jpeg.Gray, "MINISWHITE": jpeg.Gray, "MINISBLACK": jpeg.Gray,
	"RGB": jpeg.RGB, "YCBCR": jpeg.YCbCr, "CMYK": jpeg.CMYK, "SEPARATED": jpeg.CMYK, "YCCK": jpeg.YCCK,
}

func newJPEG(c *config, in Form) (Codec, error) {
	c.ignore("level", "bitspersample", "subsampling", "optimize", "smoothing", "predictor", "squeeze")
	if c.boolean("lossless", false) {
		c.unsupported("lossless coding")
	}
	if !c.boolean("fancyupsampling", true) {
		c.fail("fancyupsampling", "is false; varve interpolates the samples of colours")
	}
	j := &jpegImage{header: c.base64("header"), image: jpeg.Image{Stored: c.jpegSpace("colorspace_jpeg"), Wanted: c.jpegSpace("colorspace_data")}}
	tables := c.base64("tables")
	if c.err != nil {
		return nil, c.err
	}
	if tables != nil {
		var err error
		if j.image.Tables, err = jpeg.ParseTables(tables); err != nil {
			return nil, fmt.Errorf("codec %q: tables: %w", c.codec, err)
		}
	}
	j.key = fmt.Sprintf("jpeg %x %x %d %d", tables, j.header, j.image.Stored, j.image.Wanted)
	return j, j.Accepts(in)
}

func (c *config) jpegSpace(field string) jpeg.Space {
	name := c.text(field, "")
	space, ok := jpegSpaces[strings.ToUpper(name)]
	if !ok {
		c.fail(field, "%q; varve has GRAYSCALE, RGB, YCBCR, CMYK and YCCK", name)
	}
	return space
}

// base64 reads bytes as text. It returns nil if the field is absent.
func (c *config) base64(field string) []byte {
	text := c.text(field, "")
	if text == "" {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		c.fail(field, "%v", err)
	}
	return b
}

func (j *jpegImage) DecodeKey() string { return j.key }

func (j *jpegImage) Accepts(in Form) error {
	if in.Type.Kind != Uint || in.Type.Size > 2 {
		return fmt.Errorf("JPEG chunks of %v; it takes unsigned integers of 8 and 16 bits", in.Type)
	}
	return nil
}

func (j *jpegImage) EncodedSize(Form) (int, bool) { return 0, false }

func (j *jpegImage) Encode(dst []byte, _ Elems, _ Form) ([]byte, error) { return dst, j.cannotEncode() }

func (j *jpegImage) Decode(dst Elems, src []byte, in Form) error {
	m := j.image
	m.Shape, m.SampleBytes = in.Shape, in.Type.Size
	if j.header == nil {
		return m.Decode(dst.Fixed, src)
	}
	a := getArena()
	defer a.release()
	whole := append(append(a.bytes(len(j.header) + len(src) + 2)[:0], j.header...), src...)
	return m.Decode(dst.Fixed, append(whole, 0xff, 0xd9))
}
