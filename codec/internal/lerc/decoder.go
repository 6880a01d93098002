package lerc

import (
	"bytes"
	"encoding/binary"
	"math"

	"varve/codec/internal/corrupt"
)

// decoder decodes the blobs of a chunk.
type decoder struct {
	*header
	reader
	dst    []byte // the samples of a band
	mask   mask
	maxima []byte // of each sample of a pixel, or nil

	chunk   []byte
	values  [maxTile * maxTile]uint32
	scratch [maxTile*maxTile*4 + 8]byte
}

// Codings of the samples of an image.
const (
	tiled          = 0
	deltaHuffman   = 1 // Huffman codes of the differences of bytes
	plainHuffman   = 2 // Huffman codes of bytes, from version 4 on
	floatsInPlanes = 3 // all bits of floats, from version 6 on
)

// blob decodes a band to dst.
func (d *decoder) blob(h *header, dst []byte) error {
	d.header, d.dst, d.maxima = h, dst, nil
	d.reader = reader{src: d.chunk[:h.end], at: h.body}
	if h.version >= 3 {
		if got := sum(d.src[h.start+summed:]); got != h.checksum {
			return corrupt.Errorf("offset %d: checksum is %08x, the bytes have %08x", h.start+summed-4, h.checksum, got)
		}
	}
	if err := d.readMask(); err != nil {
		return err
	}
	if d.mask != nil {
		clear(dst)
	}
	if err := d.samples(); err != nil {
		return err
	}
	if h.hasNoData && h.depth > 1 {
		d.restoreNoData()
	}
	return nil
}

// samples decodes what follows the mask.
func (d *decoder) samples() error {
	pixel := d.depth * d.typ.Size()
	if d.valid == 0 {
		return nil
	}
	if d.least == d.most {
		d.fill(bytes.Repeat(d.sample(d.least), d.depth))
		return nil
	}
	if d.version >= 4 {
		least := d.bytes(pixel)
		d.maxima = d.bytes(pixel)
		if d.err == nil && bytes.Equal(least, d.maxima) {
			if d.depth == 1 {
				least = d.sample(d.least)
			}
			d.fill(least)
			return nil
		}
	}
	at := d.at
	asTheyAre := d.octet() != 0
	if d.err != nil {
		return d.err
	}
	if asTheyAre {
		pixels := d.rows * d.columns
		for k, n := d.mask.run(0, pixels); n > 0; k, n = d.mask.run(k+n, pixels) {
			copy(d.dst[k*pixel:], d.bytes(n*pixel))
		}
		return d.err
	}
	integers := d.version >= 2 && d.typ <= Uint8 && d.limit == 0.5
	floats := d.version >= 6 && d.typ >= Float32 && d.limit == 0
	coding := byte(tiled)
	if integers || floats {
		coding = d.octet()
	}
	switch {
	case d.err != nil:
		return d.err
	case coding == tiled:
		return d.tiles()
	case coding == deltaHuffman && integers:
		return d.deltaHuffman()
	case coding == plainHuffman && integers && d.version >= 4:
		return d.plainHuffman()
	case coding == floatsInPlanes && floats:
		return d.planes()
	}
	return corrupt.Errorf("offset %d: coding %d of %v in version %d", at+1, coding, d.typ, d.version)
}

// fill sets all valid pixels to a value.
func (d *decoder) fill(pixel []byte) {
	pixels, size := d.rows*d.columns, len(pixel)
	for k, n := d.mask.run(0, pixels); n > 0; k, n = d.mask.run(k+n, pixels) {
		run := d.dst[k*size : (k+n)*size]
		// Double the filled part with each copy.
		for done := copy(run, pixel); done < len(run); {
			done += copy(run[done:], run[:done])
		}
	}
}

// setNaN sets invalid pixels of floats to NaN.
func (d *decoder) setNaN(dst []byte, size int) {
	nan := []byte{0, 0, 0xc0, 0x7f}
	if d.typ == Float64 {
		nan = []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
	}
	pixels, from := d.rows*d.columns, 0
	for from < pixels {
		k, n := d.mask.run(from, pixels)
		for at := from * size; at < k*size; at += len(nan) {
			copy(dst[at:], nan)
		}
		from = k + n
	}
}

// restoreNoData replaces the no-data value that is stored by the one of the data.
func (d *decoder) restoreNoData() {
	stored, given := d.sample(d.noData), d.sample(d.givenNoData)
	pixels, pixel, size := d.rows*d.columns, d.depth*d.typ.Size(), d.typ.Size()
	old := number(stored, d.typ)
	if old == number(given, d.typ) {
		return
	}
	for k, n := d.mask.run(0, pixels); n > 0; k, n = d.mask.run(k+n, pixels) {
		for at := k * pixel; at < (k+n)*pixel; at += size {
			if number(d.dst[at:], d.typ) == old {
				copy(d.dst[at:], given)
			}
		}
	}
}

// sample returns the bytes of a number as a sample.
func (d *decoder) sample(v float64) []byte {
	b := make([]byte, 8)
	put(b, v, d.typ)
	return b[:d.typ.Size()]
}

// put stores a number as a sample. Integers are truncated.
func put(b []byte, v float64, t Type) {
	switch t {
	case Int8, Uint8:
		b[0] = byte(int64(v))
	case Int16, Uint16:
		binary.LittleEndian.PutUint16(b, uint16(int64(v)))
	case Int32, Uint32:
		binary.LittleEndian.PutUint32(b, uint32(int64(v)))
	case Float32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v)))
	default:
		binary.LittleEndian.PutUint64(b, math.Float64bits(v))
	}
}

// number returns the first sample of b.
func number(b []byte, t Type) float64 {
	switch t {
	case Int8:
		return float64(int8(b[0]))
	case Uint8:
		return float64(b[0])
	case Int16:
		return float64(int16(binary.LittleEndian.Uint16(b)))
	case Uint16:
		return float64(binary.LittleEndian.Uint16(b))
	case Int32:
		return float64(int32(binary.LittleEndian.Uint32(b)))
	case Uint32:
		return float64(binary.LittleEndian.Uint32(b))
	case Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}
