// Package lerc decodes Esri's Limited Error Raster Compression, which TIFF stores as compression 34887.
//
// Specification: the library LERC 4.2 (github.com/Esri/lerc), Lerc2.cpp and fpl_*.cpp. A chunk is one blob for each
// band. All numbers are little-endian:
//
//	"Lerc2 "  version (4)  checksum (4; from version 3 on)
//	rows (4)  columns (4)  depth (4; from version 4 on)  valid pixels (4)  tile side (4)  size (4)  type (4)
//	further bands (4)  has a no-data value, is integer, 0, 0 (1 each)                   from version 6 on
//	error limit (8)  minimum (8)  maximum (8)
//	no-data value that is stored (8)  no-data value (8)                                 from version 6 on
//	size of the mask (4)  mask
//	minimum of each sample, maximum of each sample                                      from version 4 on
//	1 = samples as they are; 0 = tiles, or a coding (1; see decoder.samples)  data
//
// Nothing follows the mask if no pixel is valid or if all samples are equal, and nothing follows the minimums and
// maximums if they are equal. A pixel has depth samples, which are next to each other.
//
// LERC 1, whose blobs start with "CntZImage ", is not decoded.
package lerc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve/codec/internal/corrupt"
)

// Type is the type of a sample.
type Type uint8

// The types, by the numbers in a blob.
const (
	Int8 Type = iota
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Float32
	Float64
)

// Size returns the bytes of a sample.
func (t Type) Size() int { return [...]int{1, 1, 2, 2, 4, 4, 4, 8}[t] }

// String returns NumPy's name of the type.
func (t Type) String() string {
	return [...]string{"int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"}[t]
}

// Decode fills dst with little-endian samples in the order bands, rows, columns, depth, as imagecodecs does. The shape
// is the same, but for lengths of 1. Invalid pixels are 0, and Decode reports whether there are any; if version 6 codes
// all bits of floats, invalid pixels are what the writer had there.
func Decode(dst, src []byte, t Type, shape []int64) (masked bool, err error) {
	blobs, err := parse(src, t)
	if err != nil {
		return false, err
	}
	h := &blobs[0]
	if err := checkShape(shape, len(blobs), h.rows, h.columns, h.depth); err != nil {
		return false, err
	}
	size := h.rows * h.columns * h.depth * t.Size()
	if len(dst) != len(blobs)*size {
		return false, corrupt.Errorf("%d bands of %d bytes for %d bytes", len(blobs), size, len(dst))
	}
	d := decoder{chunk: src}
	for i := range blobs {
		if err := d.blob(&blobs[i], dst[i*size:(i+1)*size]); err != nil {
			return false, fmt.Errorf("band %d: %w", i, err)
		}
		masked = masked || blobs[i].valid < h.rows*h.columns
	}
	return masked, nil
}

// DecodeTIFF fills dst with little-endian samples in the order rows, columns, samples, as libtiff does. The shape is
// the same, but for lengths of 1. A sample of a pixel is in the depth of a blob or in a band of its own. Invalid pixels
// of floats are NaN, of integers 0. If unsigned bytes have one sample more than the blob, the last one is opacity: 255
// for valid pixels, 0 for others.
func DecodeTIFF(dst, src []byte, t Type, shape []int64) (masked bool, err error) {
	blobs, err := parse(src, t)
	if err != nil {
		return false, err
	}
	h := &blobs[0]
	pixels, samples := h.rows*h.columns, len(blobs)*h.depth
	opacity := t == Uint8 && len(dst) == pixels*(samples+1)
	if opacity {
		samples++
	}
	if err := checkShape(shape, 1, h.rows, h.columns, samples); err != nil {
		return false, err
	}
	size, step := h.depth*t.Size(), samples*t.Size()
	if len(dst) != pixels*step {
		return false, corrupt.Errorf("%d pixels of %d bytes for %d bytes", pixels, step, len(dst))
	}
	d := decoder{chunk: src}
	if opacity {
		clear(dst)
	}
	band := dst
	if size != step {
		band = make([]byte, pixels*size)
	}
	for i := range blobs {
		if err := d.blob(&blobs[i], band); err != nil {
			return false, fmt.Errorf("band %d: %w", i, err)
		}
		masked = masked || blobs[i].valid < pixels
		if t >= Float32 {
			d.setNaN(band, size)
		}
		if size == step {
			break
		}
		for k := range pixels {
			copy(dst[k*step+i*size:k*step+i*size+size], band[k*size:])
		}
	}
	if opacity {
		for k, n := d.mask.run(0, pixels); n > 0; k, n = d.mask.run(k+n, pixels) {
			for at := k; at < k+n; at++ {
				dst[at*step+step-1] = 255
			}
		}
	}
	return masked, nil
}

// checkShape returns an error unless the shapes differ in lengths of 1 only.
func checkShape(shape []int64, lengths ...int) error {
	at := 0
	for _, n := range shape {
		if n == 1 {
			continue
		}
		for at < len(lengths) && lengths[at] == 1 {
			at++
		}
		if at == len(lengths) || int64(lengths[at]) != n {
			return corrupt.Errorf("the blobs hold an array of shape %v, want %v", lengths, shape)
		}
		at++
	}
	if slices.ContainsFunc(lengths[at:], func(n int) bool { return n != 1 }) {
		return corrupt.Errorf("the blobs hold an array of shape %v, want %v", lengths, shape)
	}
	return nil
}

// header is the header of a blob.
type header struct {
	version              int
	checksum             uint32
	rows, columns, depth int
	valid                int // number of valid pixels
	tile                 int // rows and columns of a tile
	start, body, end     int // of the blob and of what follows the header, in the chunk
	typ                  Type
	further              int  // bands after this one, from version 6 on
	hasNoData            bool // noData stands for givenNoData
	limit, least, most   float64
	noData, givenNoData  float64
}

const (
	key         = "Lerc2 "
	firstKey    = "CntZImage " // of LERC 1
	lastVersion = 6
	maxTile     = 32
	summed      = len(key) + 8 // what the checksum covers starts here
)

// parse reads the headers of all bands.
func parse(src []byte, t Type) ([]header, error) {
	var list []header
	for at := 0; at < len(src) || at == 0; {
		h, err := parseHeader(src, at)
		if err != nil {
			return nil, fmt.Errorf("band %d: %w", len(list), err)
		}
		if h.typ != t {
			return nil, corrupt.Errorf("offset %d: band %d has samples of %v, want %v", at, len(list), h.typ, t)
		}
		if len(list) > 0 {
			if f := list[0]; h.rows != f.rows || h.columns != f.columns || h.depth != f.depth {
				return nil, corrupt.Errorf("offset %d: band %d has %d × %d pixels of %d samples, band 0 has %d × %d of %d",
					at, len(list), h.rows, h.columns, h.depth, f.rows, f.columns, f.depth)
			}
		}
		list, at = append(list, h), h.end
		if h.version >= 6 && (h.further > 0) != (at < len(src)) {
			return nil, corrupt.Errorf("offset %d: %d bytes follow band %d, after which there are %d bands", at, len(src)-at, len(list)-1, h.further)
		}
	}
	return list, nil
}

func parseHeader(src []byte, at int) (h header, err error) {
	r := reader{src: src, at: at}
	if len(src)-at >= len(firstKey) && string(src[at:at+len(firstKey)]) == firstKey {
		return h, fmt.Errorf("offset %d: LERC 1 is not decoded; write the file with version 2 or later: %w", at, errors.ErrUnsupported)
	}
	if string(r.bytes(len(key))) != key {
		return h, corrupt.Errorf("offset %d: no %q starts the blob", at, key)
	}
	h.start, h.version, h.depth = at, r.integer(), 1
	if r.err == nil && (h.version < 1 || h.version > lastVersion) {
		return h, fmt.Errorf("offset %d: LERC of version %d is not decoded, only 1 to %d: %w", at+len(key), h.version, lastVersion, errors.ErrUnsupported)
	}
	if h.version >= 3 {
		h.checksum = uint32(r.integer())
	}
	dimensions := r.at
	h.rows, h.columns = r.integer(), r.integer()
	if h.version >= 4 {
		h.depth = r.integer()
	}
	h.valid, h.tile = r.integer(), r.integer()
	size, typ := r.integer(), r.integer()
	if h.version >= 6 {
		h.further = r.integer()
		flags := r.bytes(4)
		h.hasNoData = r.err == nil && flags[0] != 0
	}
	h.limit, h.least, h.most = r.float(), r.float(), r.float()
	if h.version >= 6 {
		h.noData, h.givenNoData = r.float(), r.float()
	}
	h.body, h.end = r.at, at+size
	switch {
	case r.err != nil:
		return h, r.err
	case typ < 0 || typ > int(Float64):
		return h, corrupt.Errorf("offset %d: samples of type %d, want 0 to %d", dimensions, typ, Float64)
	case size < h.body-at || size > len(src)-at:
		return h, corrupt.Errorf("offset %d: a blob of %d bytes where %d are left", dimensions, size, len(src)-at)
	case h.tile < 1 || h.tile > maxTile:
		return h, corrupt.Errorf("offset %d: tiles of %d pixels, want 1 to %d", dimensions, h.tile, maxTile)
	case h.rows < 1 || h.columns < 1 || h.depth < 1:
		return h, corrupt.Errorf("offset %d: %d × %d pixels of %d samples", dimensions, h.rows, h.columns, h.depth)
	}
	h.typ = Type(typ)
	// LERC has the same limit. The first comparison keeps the products of the second from overflowing.
	if pixel := int64(h.depth) * int64(h.typ.Size()); int64(h.rows)*int64(h.columns) > math.MaxInt32 ||
		pixel > math.MaxInt32 || int64(h.rows)*int64(h.columns)*pixel > math.MaxInt32 {
		return h, corrupt.Errorf("offset %d: %d × %d pixels of %d samples are more than 2 GiB", dimensions, h.rows, h.columns, h.depth)
	}
	if h.valid < 0 || h.valid > h.rows*h.columns {
		return h, corrupt.Errorf("offset %d: %d of %d pixels are valid", dimensions, h.valid, h.rows*h.columns)
	}
	return h, nil
}

// reader reads numbers in order. After an error it returns zeros.
type reader struct {
	src []byte
	at  int
	err error
}

// bytes returns the next n bytes, or nil.
func (r *reader) bytes(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.src)-r.at {
		r.err = corrupt.Errorf("offset %d: %d bytes are left, want %d", r.at, len(r.src)-r.at, n)
		return nil
	}
	r.at += n
	return r.src[r.at-n : r.at]
}

func (r *reader) octet() byte {
	if r.err == nil && r.at < len(r.src) {
		r.at++
		return r.src[r.at-1]
	}
	r.bytes(1)
	return 0
}

func (r *reader) integer() int {
	if b := r.bytes(4); b != nil {
		return int(int32(binary.LittleEndian.Uint32(b)))
	}
	return 0
}

func (r *reader) float() float64 {
	if b := r.bytes(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// sum returns Fletcher's checksum of bytes as LERC computes it. Sums are reduced to 16 bits after every sumBlock words and
// at the end. The result depends on that: the sum of an odd last byte may need 17 bits.
func sum(b []byte) uint32 {
	const sumBlock = 359
	first, second := uint32(0xffff), uint32(0xffff)
	reduce := func() {
		first = first&0xffff + first>>16
		second = second&0xffff + second>>16
	}
	for len(b) > 1 {
		block := b[:min(2*sumBlock, len(b)&^1)]
		b = b[len(block):]
		for ; len(block) >= 8; block = block[8:] {
			v := binary.BigEndian.Uint64(block)
			a, b, c, d := uint32(v>>48), uint32(v>>32)&0xffff, uint32(v>>16)&0xffff, uint32(v)&0xffff
			second += 4*(first+a) + 3*b + 2*c + d
			first += a + b + c + d
		}
		for ; len(block) > 1; block = block[2:] {
			first += uint32(binary.BigEndian.Uint16(block))
			second += first
		}
		reduce()
	}
	if len(b) > 0 {
		first += uint32(b[0]) << 8
		second += first
	}
	reduce()
	return second<<16 | first
}
