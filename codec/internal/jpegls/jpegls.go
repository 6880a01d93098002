// Package jpegls decodes JPEG-LS as HDF5's filter 32018 stores it, which is EUMETSAT's
// FCIDECOMP for the images of Meteosat Third Generation.
//
// A chunk is one JPEG-LS stream, ITU-T T.87 (ISO/IEC 14495-1), numbers big-endian:
//
//	FF D8                                                 SOI, start of image
//	FF F7  length  P  Y  X  Nf  {C 11 0}…                 SOF55: bits, lines, columns, components
//	FF F8  length  1  MAXVAL  T1  T2  T3  RESET           LSE: coding parameters, 0 is the default
//	FF DD  length  lines                                  DRI: lines between restarts
//	FF DA  length  Ns  {C 0}…  NEAR  ILV  0               SOS, and the coded samples follow it
//	…                                                     more scans when components are apart
//	FF D9                                                 EOI, end of image
//
// P, Nf, Ns, C, NEAR and ILV are bytes, the others are 16 bits. A byte FF among coded samples
// is followed by one with its top bit 0, which is no part of them; so FF and a byte from 80 up
// is a marker.
//
// A sample is either one of a run, all equal to the sample before, or predicted from its
// neighbours
//
//	c b d
//	a x
//
// and the error of that, in steps of 2 NEAR + 1, is Golomb-coded. How many bits it takes, and
// what the prediction misses on average, is learnt in 365 contexts by the differences d-b,
// b-c and c-a.
//
// The filter is built on CharLS 2.1, which differs from T.87 in what a MAXVAL below 2^P - 1 and
// a RESET above 255 do, when it encodes too. What it stored is decoded as it means it.
//
// The parameters of the filter are 13, 32-bit each. Decoding needs only the first four, for
// the size of a chunk; the stream itself says the rest:
//
//	[0] bytes of an element  [1] components  [2] lines  [3] columns
//	[4] bits of a sample  [5] components  [6] ILV  [7] NEAR  [8] MAXVAL  [9] T1  [10] T2  [11] T3  [12] RESET
package jpegls

import (
	"encoding/binary"
	"fmt"
	"sync"

	"varve/codec/internal/corrupt"
)

const parameters = 13 // H5Z_FILTER_JPEGLS_NPARAMS

// Image says how large a chunk is. It is made by Parse, and may be used by any number of
// goroutines.
type Image struct {
	values int // how many parameters there are
	dims   [4]uint32
}

// Parse reads the filter's parameters as the file holds them. It takes any: what FCIDECOMP cannot
// encode, for its type or its shape, is stored as it is under parameters that no image has,
// so it is for Decode to complain about them.
func Parse(values []uint32) *Image {
	m := &Image{values: len(values)}
	copy(m.dims[:], values)
	return m
}

// Decode writes a chunk's elements to dst and returns how many bytes that are. Samples of more
// than 8 bits take two bytes, least significant first; components are one after another, or
// every pixel's next to each other when the stream interleaves them.
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
		return 0, corrupt.Errorf("jpegls: image of %d × %d × %d samples of %d bits, want one of %d bytes",
			s.frame.components, s.frame.height, s.frame.width, s.frame.bits, size)
	}
	return size, s.decode(dst[:size], sc)
}

// size returns the bytes of a decoded chunk, when those are at most room.
func (m *Image) size(room int) (int, error) {
	if m.values != parameters {
		return 0, corrupt.Errorf("jpegls: %d parameters, want %d", m.values, parameters)
	}
	size := uint64(1)
	for _, n := range m.dims {
		// Both are below 2^32, so the product does not overflow.
		if size *= uint64(n); size > uint64(room) || size >= 1<<32 {
			return 0, corrupt.Errorf("jpegls: parameters %d for an image of at most %d bytes", m.dims, room)
		}
	}
	return int(size), nil
}

// decode decodes the scan whose header has been read, and those that follow it.
func (s *stream) decode(dst []byte, sc scan) error {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	defer d.release()
	if sc.interleave != apart {
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
		if sc.interleave != apart {
			return corrupt.Errorf("jpegls: byte %d: interleave mode %d after a scan of one component", s.at, sc.interleave)
		}
	}
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// put16 writes samples as 16-bit numbers, every step bytes.
func put16(dst []byte, line []int32, step int) {
	for i, v := range line {
		binary.LittleEndian.PutUint16(dst[i*step:], uint16(v))
	}
}

// put8 writes samples as bytes, every step bytes.
func put8(dst []byte, line []int32, step int) {
	for i, v := range line {
		dst[i*step] = byte(v)
	}
}
