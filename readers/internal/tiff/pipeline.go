package tiff

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"varve/codec"
	"varve/readers"
)

// setPipeline sets the codecs of an image's tiles or strips, from samples to stored bytes.
func (m *image) setPipeline(s *readers.Storage, t *readers.Type) error {
	_, endian, _ := t.Plain()
	s.Plain = true
	s.Pipeline = readers.Pipeline{Bytes: codec.InOrder(endian)}
	axis := -1
	if m.pixel() > 1 {
		axis = -2
	}
	row := m.columns * m.pixel()
	switch {
	case m.isPacked():
		s.Pipeline.Bytes = codec.Spec{Name: "imagecodecs_packints", Config: config("bitspersample", m.bits, "runlen", row)}
	case m.format == floatSamples && m.bits == 24:
		s.Pipeline.Bytes = codec.Spec{Name: "imagecodecs_float24", Config: config("byteorder", map[string]string{codec.BigEndian: ">"}[m.file.endian()])}
	}
	if m.canPredict() {
		switch m.predictor {
		case 0, 1:
		case differences:
			if m.isPacked() || m.bits == 24 || m.bits > 64 {
				return unsupported("differences (Predictor 2) of samples of %d bits", m.bits)
			}
			s.Pipeline.Arrays = []codec.Spec{{Name: "imagecodecs_delta", Config: config("axis", axis, "dist", 1)}}
		case floatDifferences:
			if m.format != floatSamples || m.bits == 24 {
				return unsupported("differences of floating-point numbers (Predictor 3) of samples of %d bits (SampleFormat %d)", m.bits, m.format)
			}
			s.Pipeline.Bytes = codec.Spec{Name: "imagecodecs_floatpred", Config: config("axis", axis, "dist", 1)}
		default:
			return unsupported("Predictor %d", m.predictor)
		}
	}
	if err := m.setCompression(s); err != nil {
		return err
	}
	if m.reversed && m.compression != jpegCoding && m.compression != lercCoding && m.compression != webpCoding {
		s.Pipeline.Filters = append(s.Pipeline.Filters, readers.Filter{Name: "fill order", Codec: codec.Spec{Name: "tiff.bitorder"}})
	}
	return nil
}

// endian returns the byte order of numbers of more than one byte, as the codec "bytes" names it.
func (f *file) endian() string {
	if f.order.Uint16([]byte{0, 1}) == 1 {
		return codec.BigEndian
	}
	return codec.LittleEndian
}

// canPredict reports whether the tag Predictor counts: other compressions ignore it.
func (m *image) canPredict() bool {
	switch m.compression {
	case lzwCoding, deflate, deflateOld, zstdCoding, lzmaCoding:
		return true
	}
	return false
}

// setCompression sets the codec of the compression.
func (m *image) setCompression(s *readers.Storage) error {
	filter := func(name, codecName string, c json.RawMessage) {
		s.Pipeline.Filters = append(s.Pipeline.Filters, readers.Filter{ID: m.compression, Name: name, Codec: codec.Spec{Name: codecName, Config: c}})
	}
	images := func(what, codecName string, c json.RawMessage) error {
		if m.pixel() != 1 && m.compression != jpegCoding && m.compression != lercCoding && m.compression != webpCoding {
			return unsupported("%s of pixels of %d samples", what, m.samples)
		}
		s.Pipeline.Bytes = codec.Spec{Name: codecName, Config: c}
		return nil
	}
	switch m.compression {
	case uncompressed:
	case lzwCoding:
		filter("LZW", "imagecodecs_lzw", nil)
	case packBits:
		filter("PackBits", "imagecodecs_packbits", nil)
	case deflate, deflateOld:
		filter("Deflate", "numcodecs.zlib", config("level", 6))
	case zstdCoding:
		filter("ZSTD", "numcodecs.zstd", config("level", 9))
	case lzmaCoding:
		filter("LZMA", "numcodecs.lzma", config("format", 1))
	case ccittHuffman:
		return images("CCITT RLE", "imagecodecs_ccittrle", nil)
	case ccittGroup3:
		var c json.RawMessage
		if m.options != 0 {
			c = config("t4options", m.options)
		}
		return images("CCITT group 3", "imagecodecs_ccittfax3", c)
	case ccittGroup4:
		return images("CCITT group 4", "imagecodecs_ccittfax4", nil)
	case jpegCoding:
		return images("JPEG", "imagecodecs_jpeg", m.jpegConfig())
	case lercCoding:
		// imagecodecs knows neither GDAL's NaN for invalid pixels of floats, nor numbers that are stored big-endian.
		if m.format != floatSamples && m.pixel() == 1 && m.file.endian() == codec.LittleEndian {
			return images("LERC", "imagecodecs_lerc", nil)
		}
		return images("LERC", "tiff.lerc", config("endian", m.file.endian()))
	case webpCoding:
		return images("WebP", "imagecodecs_webp", nil)
	default:
		return unsupported("compression %s; copy the file with gdal_translate -co COMPRESS=ZSTD", compressionName(m.compression))
	}
	return nil
}

// jpegConfig returns the configuration of the JPEG codec. Only the tags say which colours the samples are, and that YCbCr
// becomes red, green and blue, as all readers of TIFF do.
func (m *image) jpegConfig() json.RawMessage {
	pairs := []any{"bitspersample", m.bits}
	if m.tables != nil {
		pairs = append(pairs, "tables", base64.StdEncoding.EncodeToString(m.tables))
	}
	switch {
	case m.photometric == rgb && m.pixel() == 3:
		pairs = append(pairs, "colorspace_jpeg", "RGB", "colorspace_data", "RGB")
	case m.photometric == yCbCr && m.pixel() == 3:
		pairs = append(pairs, "colorspace_jpeg", "YCBCR", "colorspace_data", "RGB")
	case m.photometric == cmyk && m.pixel() == 4:
		pairs = append(pairs, "colorspace_jpeg", "CMYK", "colorspace_data", "CMYK")
	}
	return config(pairs...)
}

// compressionName returns the number of a compression that varve does not decode, and its name.
func compressionName(n int) string {
	names := map[int]string{
		6: "JPEG as of 1992", 32766: "NeXT", 32771: "CCITT RLEW", 32809: "ThunderScan", 32909: "PixarLog", 33003: "JPEG 2000", 33004: "JPEG 2000", 33005: "JPEG 2000",
		34676: "SGILog", 34677: "SGILog24", 34712: "JPEG 2000", 34892: "lossy JPEG of DNG", 34933: "PNG", 34934: "JPEG XR", 22610: "JPEG XR", 50002: "JPEG XL", 52546: "JPEG XL",
	}
	if name, ok := names[n]; ok {
		return fmt.Sprintf("%d (%s)", n, name)
	}
	return fmt.Sprint(n)
}

// config returns a configuration of pairs of names and values.
func config(pairs ...any) json.RawMessage {
	object := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		object[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err) // numbers and texts always have a JSON form
	}
	return raw
}
