// Package jpeg decodes the JPEG images of TIFF's strips and tiles to the bytes that libjpeg-turbo gives. Use ParseTables
// for the tables that strips share, then Image.Decode.
//
// A stream is a sequence of segments. A segment is a marker, FF and a code, and mostly a length of 16 bits, which counts
// itself, and that many bytes. Numbers are big-endian:
//
//	FF D8                                   SOI, start of image
//	FF DB  length  {P|T  64 × Q}…           DQT: quantization tables in zigzag order, of 8 (P = 0) or 16 bits
//	FF C4  length  {C|T  16 × n  symbols}…  DHT: Huffman tables, C = 1 for AC; n codes of 1 to 16 bits
//	FF C0  length  P  Y  X  N  {C  H|V  T}… SOF: bits, rows, columns, components; also C1 and C2
//	FF DD  length  MCUs                     DRI: restart interval
//	FF DA  length  N  {C  D|A}…  Ss Se Ah|Al  SOS: scan header; coded coefficients follow
//	…                                       more scans
//	FF D9                                   EOI, end of image
//
// In coded coefficients, a byte 00 follows each byte FF. TIFF stores tables that all strips share in an abbreviated
// stream without frame, in the tag JPEGTables.
//
// A minimum coded unit (MCU) has H × V blocks of 8 × 8 coefficients of each component of a scan, or one block if the
// scan has one component. Decoding has four steps, each with the arithmetic of a file of libjpeg-turbo 3: entropy decoding
// (jdhuff.c, jdphuff.c), the inverse transform (jidctint.c), upsampling by interpolation (jdsample.c), and the conversion of
// colours (jdcolor.c). Smoothing (jdcoefct.c) estimates coefficients that a progressive image does not have.
//
// Unlike libjpeg-turbo, which fills the rest of a damaged image with grey, the decoder reports damage as an error. It has
// no arithmetic coding and no lossless coding. Coefficients that no image of the precision has may give other samples.
//
// The arithmetic, its constants and the weights of the estimates come from libjpeg-turbo, and are written again in Go.
// The package is based in part on the work of the Independent JPEG Group. Nothing is taken from Go's image/jpeg.
package jpeg

import (
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// Space is the colour space of samples. Detect leaves the choice to the stream's markers, as libjpeg does.
type Space uint8

// The colour spaces.
const (
	Detect Space = iota
	Gray
	RGB
	YCbCr
	CMYK
	YCCK
)

// samples returns the number of samples of a pixel, or 0 for Detect.
func (s Space) samples() int { return [...]int{0, 1, 3, 3, 4, 4}[s] }

// Image describes the decoded image. Any number of goroutines may use it.
type Image struct {
	Shape          []int64 // rows, columns and samples; axes of length 1 do not matter
	SampleBytes    int     // 1 for streams of 8 bits, 2 for those of 12 bits
	Stored, Wanted Space   // of the stream and of the decoded samples
	Tables         *Tables
}

// Header is the frame header of a stream.
type Header struct {
	Rows, Columns, Components, Precision int
	Progressive                          bool
}

// ParseHeader returns the frame header of a stream.
func ParseHeader(src []byte) (Header, error) {
	d := decoder{src: src}
	if err := d.readHeader(); err != nil {
		return Header{}, err
	}
	return d.Header, nil
}

// Decode decodes src to dst. It writes rows of pixels, with interleaved samples, to all of dst. Samples of 12 bits are
// little-endian 16-bit numbers. It ignores rows of the stream beyond those of the image.
func (m *Image) Decode(dst, src []byte) error {
	d := decoder{src: src, image: m}
	if m.Tables != nil {
		d.Tables = *m.Tables
	}
	if err := d.readHeader(); err != nil {
		return err
	}
	if err := d.chooseSpaces(); err != nil {
		return err
	}
	if err := d.checkShape(len(dst)); err != nil {
		return err
	}
	if d.Precision == 8 {
		return decode[uint8](&d, dst)
	}
	return decode[uint16](&d, dst)
}

// checkShape sets the number of rows. As in imagecodecs, only the order of samples counts: the last axes together must have
// the samples of a row.
func (d *decoder) checkShape(room int) error {
	m := d.image
	if want := map[int]int{8: 1, 12: 2}[d.Precision]; want != m.SampleBytes {
		return corrupt.Errorf("jpeg: samples of %d bits, the chunk has elements of %d bytes", d.Precision, m.SampleBytes)
	}
	axis, row := len(m.Shape), 1
	for axis > 0 && row < d.Columns*d.samples {
		axis--
		row *= int(m.Shape[axis])
	}
	d.rows = 1
	for _, n := range m.Shape[:axis] {
		d.rows *= int(n)
	}
	if row != d.Columns*d.samples || d.rows > d.Rows {
		return corrupt.Errorf("jpeg: image of %d rows, %d columns and %d samples, the chunk has shape %v", d.Rows, d.Columns, d.samples, m.Shape)
	}
	if n := d.rows * row * m.SampleBytes; n != room {
		return fmt.Errorf("jpeg: buffer of %d bytes, the image has %d", room, n)
	}
	return nil
}

// chooseSpaces sets the colour spaces as default_decompress_parms of jdapimin.c, and the number of samples of a pixel.
func (d *decoder) chooseSpaces() error {
	stored, wanted := d.detectSpace()
	if d.image.Stored != Detect {
		stored, wanted = d.image.Stored, d.image.Stored
	}
	if d.image.Wanted != Detect {
		wanted = d.image.Wanted
	}
	d.convert = conversion{stored, wanted}
	if n := stored.samples(); n != d.Components && n != 0 {
		return corrupt.Errorf("jpeg: %d components, the colour space needs %d", d.Components, n)
	}
	d.samples = d.Components
	if wanted == stored {
		return nil
	}
	d.samples = wanted.samples()
	switch d.convert {
	case conversion{YCbCr, RGB}, conversion{YCbCr, Gray}, conversion{RGB, Gray}, conversion{Gray, RGB}, conversion{YCCK, CMYK}:
		return nil
	}
	return fmt.Errorf("jpeg: colour spaces %d to %d: %w", stored, wanted, errors.ErrUnsupported)
}

// detectSpace returns the colour space that the markers, or without markers the ids of the components, imply. It also
// returns the one that libjpeg converts to.
func (d *decoder) detectSpace() (stored, wanted Space) {
	switch d.Components {
	case 1:
		return Gray, Gray
	case 3:
		ids := [3]byte{d.components[0].id, d.components[1].id, d.components[2].id}
		if !d.jfif && (d.adobe && d.transform == 0 || !d.adobe && ids == [3]byte{'R', 'G', 'B'}) {
			return RGB, RGB
		}
		return YCbCr, RGB
	case 4:
		if d.adobe && d.transform != 0 {
			return YCCK, CMYK
		}
		return CMYK, CMYK
	}
	return Detect, Detect
}
