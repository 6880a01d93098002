// Package jpegls decodes JPEG-LS chunks of HDF5's filter 32018: EUMETSAT's FCIDECOMP, for the images
// of Meteosat Third Generation. Use Parse, then Image.Decode.
//
// A chunk is one JPEG-LS stream, ITU-T T.87 (ISO/IEC 14495-1). Numbers are big-endian:
//
//	FF D8                                                 SOI, start of image
//	FF F7  length  P  Y  X  Nf  {C 11 0}…                 SOF55: bits, lines, columns, components
//	FF F8  length  1  MAXVAL  T1  T2  T3  RESET           LSE: coding parameters, 0 is the default
//	FF DD  length  lines                                  DRI: lines between restarts
//	FF DA  length  Ns  {C 0}…  NEAR  ILV  0               SOS: scan header; coded samples follow
//	…                                                     more scans if components are not interleaved
//	FF D9                                                 EOI, end of image
//
// P, Nf, Ns, C, NEAR and ILV have 8 bits, the others 16. After a byte FF of coded samples, a bit 0
// is inserted at the top of the next byte. So FF followed by a byte of 80 or more is a marker.
//
// A sample x is coded in one of two ways. In a run, it equals the previous sample a. Otherwise it is
// predicted from its neighbours
//
//	c b d
//	a x
//
// and the error of the prediction, in steps of 2 NEAR + 1, is Golomb-coded. The parameter of the
// Golomb code and the mean error are learnt separately in 365 contexts, which the differences d-b,
// b-c and c-a select.
//
// The filter uses CharLS 2.1. For a MAXVAL below 2^P - 1 and a RESET above 255 it differs from T.87,
// in its encoder too. This decoder does the same as CharLS 2.1.
//
// The filter has 13 parameters of 32 bits. Decoding needs only the first four, for the size of a
// chunk; the stream has the others:
//
//	[0] bytes of an element  [1] components  [2] lines  [3] columns
//	[4] bits of a sample  [5] components  [6] ILV  [7] NEAR  [8] MAXVAL  [9] T1  [10] T2  [11] T3  [12] RESET
//
// For example, the image of 4×4 samples in annex H.3 of T.87, 0 0 90 74, 68 50 43 205, 64 145 145 145, 100 145 145 145, is
//
//	ff d8 │ ff f7 00 0b 08 0004 0004 01 01 11 00 │ ff da 00 08 01 01 00 00 00 00 │
//	c0 00 00 6c 80 20 8e 01 c0 00 00 57 40 00 00 6e e6 00 00 01 bc 18 00 00 05 d8 00 00 91 60 │ ff d9
package jpegls

import (
	"encoding/binary"
	"fmt"
	"sync"

	"varve/codec/internal/corrupt"
)

const parameters = 13 // H5Z_FILTER_JPEGLS_NPARAMS

// Image holds the parameters of the filter. Any number of goroutines may use it.
type Image struct {
	values int // number of parameters
	dims   [4]uint32
}

// Parse returns the Image for the filter's parameters in a file. It accepts all parameters, and Decode
// checks them: FCIDECOMP skips chunks whose type or shape it cannot encode, and leaves parameters that
// no image has.
func Parse(values []uint32) *Image {
	m := &Image{values: len(values)}
	copy(m.dims[:], values)
	return m
}

// Decode decodes a chunk to the beginning of dst and returns the decoded length. Samples of more than 8
// bits become little-endian 16-bit numbers. The order of components is that of the stream: all samples
// of the first, then of the second, or interleaved.
func (m *Image) Decode(dst, src []byte) (int, error) {
	size, err := m.size(len(dst))
	if err != nil {
		return 0, err
	}
	s := stream{src: src}
	if err := s.readStart(); err != nil {
		return 0, err
	}
	sc, err := s.readHeader()
	if err != nil {
		return 0, err
	}
	if got := s.frame.bytes(); got != uint64(size) {
		return 0, corrupt.Errorf("jpegls: image of %d × %d × %d samples of %d bits, the chunk has %d bytes",
			s.frame.components, s.frame.height, s.frame.width, s.frame.bits, size)
	}
	return size, s.decode(dst[:size], sc)
}

// size returns the bytes of a decoded chunk. More than room bytes are an error.
func (m *Image) size(room int) (int, error) {
	if m.values != parameters {
		return 0, corrupt.Errorf("jpegls: %d filter parameters, must be %d", m.values, parameters)
	}
	size := uint64(1)
	for _, n := range m.dims {
		// Both factors are below 2^32, so the product does not overflow.
		if size *= uint64(n); size > uint64(room) || size >= 1<<32 {
			return 0, corrupt.Errorf("jpegls: filter parameters %d give a chunk of more than the expected %d bytes", m.dims, room)
		}
	}
	return int(size), nil
}

// decode decodes the scan sc, whose header has been read, and all further scans.
func (s *stream) decode(dst []byte, sc scan) error {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	defer d.release()
	if sc.interleave != ilvNone {
		return d.scan(s, sc, dst)
	}
	plane := len(dst) / s.frame.components
	for c := 0; ; c++ {
		if err := d.scan(s, sc, dst[c*plane:(c+1)*plane]); err != nil {
			return fmt.Errorf("component %d: %w", c, err)
		}
		if c == s.frame.components-1 {
			return nil
		}
		var err error
		if sc, err = s.readHeader(); err != nil {
			return fmt.Errorf("component %d: %w", c+1, err)
		}
		if sc.interleave != ilvNone {
			return corrupt.Errorf("jpegls: byte %d: interleave mode %d after a scan of one component", s.at, sc.interleave)
		}
	}
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// put16 writes samples as little-endian 16-bit numbers, one every step bytes.
func put16(dst []byte, line []int32, step int) {
	for i, v := range line {
		binary.LittleEndian.PutUint16(dst[i*step:], uint16(v))
	}
}

// put8 writes samples as bytes, one every step bytes.
func put8(dst []byte, line []int32, step int) {
	for i, v := range line {
		dst[i*step] = byte(v)
	}
}
