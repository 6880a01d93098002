package grib

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/inflate"
)

// Template 5.41 stores the integers of simple packing as a PNG image: a grey one for 1, 2, 4, 8 or 16
// bits, RGB for 24 bits and RGBA for 32. An image is
//
//	0   89 50 4e 47 0d 0a 1a 0a
//	8   chunks: length, 4 bytes; type; data; CRC-32 of type and data
//
// The first chunk, IHDR, has width and height, 4 bytes each, bits of a sample, colour type,
// compression, filter, interlace. The IDAT chunks together are a zlib stream of the lines. Before each
// line is a byte that says how it is predicted.
const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	pngChunk     = 8 // before the data
	pngCRC       = 4
	pngHeader    = 13
	greyColour   = 0
	rgbColour    = 2
	rgbaColour   = 6
)

// How a line is predicted.
const (
	predictNone = iota
	predictLeft
	predictUp
	predictAverage
	predictPaeth
)

type png struct {
	scaling
	data []byte
}

func (f *Field) openPNG(info *Info) (packing, error) {
	if err := f.scaled(info, "grid_png", scaled5); err != nil {
		return nil, err
	}
	if info.BitsPerValue == 0 {
		return constant(info.Reference), nil
	}
	return &png{newScaling(info), f.Section7[header7:]}, nil
}

// image is a PNG image before it is inflated.
type image struct {
	width, height int
	bits          int // of a pixel
	compressed    []byte
}

func (p *png) decode(dst []float64) error {
	im, err := readPNG(p.data)
	if err != nil {
		return err
	}
	if pixels := im.width * im.height; pixels < len(dst) || pixels > len(dst)+len(p.data) {
		return corrupt.Errorf("the image has %d × %d pixels, and the field has %d values", im.width, im.height, len(dst))
	}
	line := bytesOf(im.width * im.bits)
	size := (line + 1) * im.height
	if size > (len(im.compressed)+1)*maxInflation {
		return corrupt.Errorf("%d × %d pixels cannot be compressed to %d bytes", im.width, im.height, len(im.compressed))
	}
	raw := make([]byte, size)
	n, err := inflate.Zlib(raw, im.compressed)
	if err != nil {
		return err
	}
	if n != size {
		return corrupt.Errorf("an image of %d × %d pixels inflates to %d bytes, %d are expected", im.width, im.height, n, size)
	}
	above := make([]byte, line)
	for y := 0; len(dst) > 0; y++ {
		start := y * (line + 1)
		this := raw[start+1 : start+1+line]
		if err := predict(raw[start], this, above, max(1, im.bits/8)); err != nil {
			return fmt.Errorf("line %d: %w", y, err)
		}
		n := min(im.width, len(dst))
		unpack(dst[:n], this, uint(im.bits), p.scaling)
		dst, above = dst[n:], this
	}
	return nil
}

// maxInflation is greater than the number of bytes that inflate can make of one byte.
const maxInflation = 1040

// readPNG reads the chunks of an image.
func readPNG(b []byte) (image, error) {
	var im image
	if len(b) < len(pngSignature) || string(b[:len(pngSignature)]) != pngSignature {
		return im, corrupt.Errorf("not a PNG image")
	}
	at := len(pngSignature)
	pieces := 0
	for {
		if len(b)-at < pngChunk+pngCRC {
			return im, corrupt.Errorf("the PNG image ends at byte %d, in a chunk", at)
		}
		n := int(binary.BigEndian.Uint32(b[at:]))
		kind := string(b[at+4 : at+pngChunk])
		if n > len(b)-at-pngChunk-pngCRC {
			return im, corrupt.Errorf("chunk %q at byte %d of the PNG image has %d bytes, and %d are left", kind, at, n, len(b)-at-pngChunk-pngCRC)
		}
		data := b[at+pngChunk : at+pngChunk+n]
		switch kind {
		case "IHDR":
			if err := im.header(data); err != nil {
				return im, err
			}
		case "IDAT":
			// The first piece has no spare capacity, so append copies it and the message does not change.
			if pieces++; pieces == 1 {
				im.compressed = data[:n:n]
			} else {
				im.compressed = append(im.compressed, data...)
			}
		case "IEND":
			if im.bits == 0 || pieces == 0 {
				return im, corrupt.Errorf("the PNG image ends without a header or data")
			}
			return im, nil
		}
		at += pngChunk + n + pngCRC
	}
}

func (im *image) header(b []byte) error {
	if len(b) != pngHeader {
		return corrupt.Errorf("the header of the PNG image has %d bytes, %d are expected", len(b), pngHeader)
	}
	width, height := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if width == 0 || height == 0 || width > 1<<31-1 || height > 1<<31-1 || uint64(width)*uint64(height) > maxPixels {
		return corrupt.Errorf("a PNG image of %d × %d pixels", width, height)
	}
	im.width, im.height = int(width), int(height)
	depth, colour, interlace := int(b[8]), b[9], b[12]
	switch {
	case interlace != 0:
		return fmt.Errorf("an interlaced PNG image: %w", errors.ErrUnsupported)
	case colour == greyColour && (depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16):
		im.bits = depth
	case colour == rgbColour && depth == 8:
		im.bits = 24
	case colour == rgbaColour && depth == 8:
		im.bits = 32
	default:
		return fmt.Errorf("a PNG image of colour type %d with %d bits: %w", colour, depth, errors.ErrUnsupported)
	}
	return nil
}

// maxPixels is greater than the number of values of any message.
const maxPixels = 1 << 40

// predict adds the prediction to each byte of a line. The prediction is made from the line above and
// from the pixel before, which has step bytes.
func predict(how byte, line, above []byte, step int) error {
	above = above[:len(line)]
	first := min(step, len(line))
	switch how {
	case predictNone:
	case predictLeft:
		for i := first; i < len(line); i++ {
			line[i] += line[i-step]
		}
	case predictUp:
		for i, b := range above {
			line[i] += b
		}
	case predictAverage:
		for i := range first {
			line[i] += above[i] / 2
		}
		for i := first; i < len(line); i++ {
			line[i] += byte((int(line[i-step]) + int(above[i])) / 2)
		}
	case predictPaeth:
		for i := range first {
			line[i] += above[i]
		}
		for i := first; i < len(line); i++ {
			line[i] += paeth(line[i-step], above[i], above[i-step])
		}
	default:
		return corrupt.Errorf("prediction %d", how)
	}
	return nil
}

// paeth returns which of left, up and corner is nearest to left + up - corner.
func paeth(left, up, corner byte) byte {
	a, b, c := int(left), int(up), int(corner)
	toLeft, toUp, toCorner := b-c, a-c, a+b-2*c
	toLeft, toUp, toCorner = max(toLeft, -toLeft), max(toUp, -toUp), max(toCorner, -toCorner)
	switch {
	case toLeft <= toUp && toLeft <= toCorner:
		return left
	case toUp <= toCorner:
		return up
	default:
		return corner
	}
}
