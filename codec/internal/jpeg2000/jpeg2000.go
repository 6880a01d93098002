// Package jpeg2000 decodes the images of ITU-T T.800 (ISO/IEC 15444-1) that GRIB uses: one
// component of unsigned samples with up to 31 bits. The samples equal the samples of OpenJPEG 2.5,
// also where T.800 leaves a choice: how values of truncated passes are rounded, and in which order
// the floats of the irreversible transform are added.
//
// From the outside in, an image is
//
//	boxes       JP2 files only; one of them has the codestream          boxes.go
//	codestream  markers: sizes and how it is coded, then tile-parts      codestream.go
//	tiles       rectangles that are coded separately                      tile.go
//	resolutions an image, and three subbands to double its size, …       tile.go
//	packets     what a layer adds to a precinct of a resolution          packet.go, tagtree.go
//	code-blocks bit-planes of coefficients, in passes                    block.go
//	decisions   binary, arithmetically coded in contexts                 mq.go
//	samples     by the inverse wavelet transform                         wavelet.go
//
// The package rejects, with an error that names the feature: several components, signed and subsampled
// components, packed packet headers (PPM, PPT), and the high-throughput coder of T.814.
//
// For example, a codestream with one sample of 12 bits, 2006, is
//
//	ff 4f                                                            SOC, start of codestream
//	ff 51 00 29  00 00  00000001 00000001  00000000 00000000         SIZ: width and height of the image, its origin,
//	    00000001 00000001  00000000 00000000  00 01  0b 01 01        of tiles; components; bits-1, distances of samples
//	ff 52 00 0c  00  00 0001 00  00 04 04 00 01                      COD: 1 layer, 0 decompositions, code-blocks, 5-3
//	ff 5c 00 04  40 60                                               QCD: no quantization, exponent
//	ff 90 00 0a  00 00  00000014  00 01                              SOT: tile 0, bytes of the tile-part
//	ff 93  c0 7d 40 40 05 9f                                         SOD: one packet
//	ff d9                                                            EOC, end of codestream
package jpeg2000

import (
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// Image is an image whose headers have been read.
type Image struct {
	Width, Height int
	Bits          int // of a sample

	siz   siz
	tiles []*tilePart
}

// Parse reads the headers of a codestream or of a JP2 file. It allocates in proportion to
// their bytes, whatever size of image they claim.
func Parse(src []byte) (*Image, error) {
	stream, err := codestream(src)
	if err != nil {
		return nil, err
	}
	p := parser{src: stream}
	if err := p.parse(); err != nil {
		return nil, err
	}
	s := p.siz
	im := &Image{Width: s.x1 - s.x0, Height: s.y1 - s.y0, Bits: s.bits, siz: s}
	for _, t := range p.order {
		im.tiles = append(im.tiles, p.tiles[t])
	}
	if want := s.tilesWide() * s.tilesHigh(); len(im.tiles) != want {
		return nil, corrupt.Errorf("jpeg2000: %d of %d tiles are there", len(im.tiles), want)
	}
	return im, nil
}

// Decode decodes the samples, line by line, into dst, which has room for all of them. It needs
// about as much memory again if there are several tiles.
func (im *Image) Decode(dst []int32) error {
	if len(dst) != im.Width*im.Height {
		return fmt.Errorf("jpeg2000: room for %d samples of an image of %d × %d", len(dst), im.Width, im.Height)
	}
	d := newDecoder(im.siz)
	for _, part := range im.tiles {
		if err := d.tile(dst, part); err != nil {
			return fmt.Errorf("jpeg2000: tile %d: %w", part.index, err)
		}
	}
	return nil
}

func unsupported(what string, args ...any) error {
	return fmt.Errorf("jpeg2000: "+what+": %w", append(args, errors.ErrUnsupported)...)
}
