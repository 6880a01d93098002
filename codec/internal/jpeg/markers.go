package jpeg

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// The markers.
const (
	markSOF0  = 0xc0 // baseline
	markSOF1  = 0xc1 // extended sequential
	markSOF2  = 0xc2 // progressive
	markDHT   = 0xc4
	markRST0  = 0xd0
	markRST7  = 0xd7
	markSOI   = 0xd8
	markEOI   = 0xd9
	markSOS   = 0xda
	markDQT   = 0xdb
	markDNL   = 0xdc
	markDRI   = 0xdd
	markAPP0  = 0xe0
	markAPP14 = 0xee
	markAPP15 = 0xef
	markCOM   = 0xfe
	markTEM   = 0x01
)

// frames names the codings that the package does not decode.
var frames = map[byte]string{
	0xc3: "lossless coding (SOF3)", 0xc5: "hierarchical coding (SOF5)", 0xc6: "hierarchical coding (SOF6)",
	0xc7: "hierarchical coding (SOF7)", 0xc9: "arithmetic coding (SOF9)", 0xca: "arithmetic coding (SOF10)",
	0xcb: "arithmetic coding (SOF11)", 0xcc: "arithmetic coding (DAC)", 0xcd: "arithmetic coding (SOF13)",
	0xce: "arithmetic coding (SOF14)", 0xcf: "arithmetic coding (SOF15)",
}

// zigzag gives the place in a block, in rows, of the coefficient with a number.
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// Tables are the quantization tables, in rows, and Huffman tables of a stream. Tables that are nil are not defined.
type Tables struct {
	quant   [4]*[64]int32
	huffman [2][4]*huffman // DC and AC
}

// component is an entry of the frame header, with sizes as jdinput.c computes them, and the blocks.
type component struct {
	id      byte
	h, v    int // sampling factors
	table   byte
	quant   *[64]int32 // table of the first scan; nil before it
	dc, ac  byte       // Huffman tables of the scan
	columns int        // in blocks, without those that only fill the last MCU
	rows    int
	stride  int // blocks of a row, with those that fill the last MCU
	width   int // in samples
	height  int
	blocks  [][64]int16 // of an MCU row, or of the image if it is progressive
	last    []uint8     // number of the last coefficient of each block that may not be 0
	pred    int32       // the DC coefficient before
	low     [64]int8    // of each coefficient of a progressive image, the lowest bit that is known; -1 for none
}

// decoder decodes one stream.
type decoder struct {
	Header
	Tables
	image      *Image
	rows       int // that the chunk has
	samples    int // of a decoded pixel
	src        []byte
	at         int // of the next byte
	components []component
	hMax, vMax int
	mcuColumns int // of an interleaved scan
	mcuRows    int
	restart    int // MCUs between restart markers, or 0
	jfif       bool
	adobe      bool
	transform  byte
	convert    conversion
	scan       scan
	bits       bits
}

func (d *decoder) errorf(format string, args ...any) error {
	return corrupt.Errorf("jpeg: byte %d: %s", d.at, fmt.Sprintf(format, args...))
}

// nextMarker returns the code of the next marker and moves past it. Bytes before it are ignored, as in libjpeg.
func (d *decoder) nextMarker() (byte, bool) {
	for d.at+1 < len(d.src) {
		if d.src[d.at] == 0xff && d.src[d.at+1] != 0 && d.src[d.at+1] != 0xff {
			d.at += 2
			return d.src[d.at-1], true
		}
		d.at++
	}
	d.at = len(d.src)
	return 0, false
}

// segment returns the bytes of a segment, without its length, and moves past it.
func (d *decoder) segment() ([]byte, error) {
	if len(d.src)-d.at < 2 {
		return nil, d.errorf("stream ends in the length of a segment")
	}
	n := int(binary.BigEndian.Uint16(d.src[d.at:]))
	if n < 2 || n > len(d.src)-d.at {
		return nil, d.errorf("segment of %d bytes, %d follow", n, len(d.src)-d.at)
	}
	d.at += n
	return d.src[d.at-n+2 : d.at], nil
}

// ParseTables returns the tables of an abbreviated stream, TIFF's tag JPEGTables.
func ParseTables(src []byte) (*Tables, error) {
	d := decoder{src: src}
	if err := d.readStart(); err != nil {
		return nil, err
	}
	for {
		mark, ok := d.nextMarker()
		if !ok || mark == markEOI {
			return &d.Tables, nil
		}
		if mark == markSOS {
			return nil, d.errorf("a scan in the tables")
		}
		if err := d.readSegment(mark); err != nil {
			return nil, err
		}
	}
}

func (d *decoder) readStart() error {
	if len(d.src) < 2 || d.src[0] != 0xff || d.src[1] != markSOI {
		return d.errorf("stream does not begin with FF D8")
	}
	d.at = 2
	return nil
}

// readHeader reads all segments up to the first scan.
func (d *decoder) readHeader() error {
	if err := d.readStart(); err != nil {
		return err
	}
	for {
		mark, ok := d.nextMarker()
		if !ok || mark == markEOI {
			return d.errorf("stream ends before the first scan")
		}
		if mark == markSOS {
			if d.components == nil {
				return d.errorf("scan before the frame header")
			}
			return nil
		}
		if err := d.readSegment(mark); err != nil {
			return err
		}
	}
}

// nextScan reads all segments up to the next scan. It returns false at the end of the image.
func (d *decoder) nextScan() (bool, error) {
	for {
		mark, ok := d.nextMarker()
		if !ok || mark == markEOI {
			return false, nil
		}
		if mark == markSOS {
			return true, nil
		}
		if err := d.readSegment(mark); err != nil {
			return false, err
		}
	}
}

// readSegment reads the segment of a marker other than SOS and EOI.
func (d *decoder) readSegment(mark byte) error {
	if what := frames[mark]; what != "" {
		return fmt.Errorf("jpeg: byte %d: %s: %w", d.at-2, what, errors.ErrUnsupported)
	}
	switch {
	case mark >= markRST0 && mark <= markRST7, mark == markTEM:
		return nil
	case mark == markSOI:
		return d.errorf("second start of image")
	}
	s, err := d.segment()
	if err != nil {
		return err
	}
	switch mark {
	case markDQT:
		return d.readQuant(s)
	case markDHT:
		return d.readHuffman(s)
	case markSOF0, markSOF1, markSOF2:
		return d.readFrame(s, mark == markSOF2)
	case markDRI:
		if len(s) != 2 {
			return d.errorf("restart interval of %d bytes, must be 2", len(s))
		}
		d.restart = int(binary.BigEndian.Uint16(s))
	case markAPP0:
		d.jfif = d.jfif || len(s) >= 14 && string(s[:5]) == "JFIF\x00"
	case markAPP14:
		if len(s) >= 12 && string(s[:5]) == "Adobe" {
			d.adobe, d.transform = true, s[11]
		}
	default:
		if mark != markDNL && mark != markCOM && (mark < markAPP0 || mark > markAPP15) {
			return d.errorf("unknown marker FF %02X", mark)
		}
	}
	return nil
}

func (d *decoder) readQuant(s []byte) error {
	for len(s) > 0 {
		size, slot := 1, s[0]&15
		if s[0]>>4 != 0 {
			size = 2
		}
		if slot > 3 || len(s) < 1+64*size {
			return d.errorf("quantization table %d with %d bytes", slot, len(s)-1)
		}
		t := new([64]int32)
		for k, at := range zigzag {
			if size == 1 {
				t[at] = int32(s[1+k])
			} else {
				t[at] = int32(binary.BigEndian.Uint16(s[1+2*k:]))
			}
		}
		d.quant[slot] = t
		s = s[1+64*size:]
	}
	return nil
}

func (d *decoder) readHuffman(s []byte) error {
	for len(s) > 0 {
		class, slot := s[0]>>4, s[0]&15
		if class > 1 || slot > 3 || len(s) < 17 {
			return d.errorf("Huffman table %d of class %d with %d bytes", slot, class, len(s)-1)
		}
		symbols := 0
		for _, n := range s[1:17] {
			symbols += int(n)
		}
		if symbols > 256 || symbols > len(s)-17 {
			return d.errorf("Huffman table of %d symbols, %d bytes follow", symbols, len(s)-17)
		}
		t, ok := newHuffman([16]byte(s[1:17]), s[17:17+symbols], class == 0)
		if !ok {
			return d.errorf("invalid Huffman table")
		}
		d.huffman[class][slot] = t
		s = s[17+symbols:]
	}
	return nil
}

const (
	maxComponents = 4 // of a scan
	maxDimension  = 65500
)

// readFrame reads a frame header.
func (d *decoder) readFrame(s []byte, progressive bool) error {
	if d.components != nil {
		return d.errorf("second frame header")
	}
	if len(s) < 6 || len(s) != 6+3*int(s[5]) {
		return d.errorf("frame header of %d bytes", len(s))
	}
	d.Header = Header{int(binary.BigEndian.Uint16(s[1:])), int(binary.BigEndian.Uint16(s[3:])), int(s[5]), int(s[0]), progressive}
	if d.Precision != 8 && d.Precision != 12 {
		return fmt.Errorf("jpeg: byte %d: samples of %d bits: %w", d.at, d.Precision, errors.ErrUnsupported)
	}
	if d.Components > maxComponents {
		return fmt.Errorf("jpeg: byte %d: %d components: %w", d.at, d.Components, errors.ErrUnsupported)
	}
	if d.Rows == 0 || d.Columns == 0 || d.Components == 0 || d.Rows > maxDimension || d.Columns > maxDimension {
		return d.errorf("image of %d rows, %d columns and %d components", d.Rows, d.Columns, d.Components)
	}
	d.components = make([]component, d.Components)
	for i := range d.components {
		f := s[6+3*i:]
		c := &d.components[i]
		c.id, c.h, c.v, c.table = f[0], int(f[1]>>4), int(f[1]&15), f[2]
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 || c.table > 3 {
			return d.errorf("component %d has sampling factors %d and %d and quantization table %d", c.id, c.h, c.v, c.table)
		}
		d.hMax, d.vMax = max(d.hMax, c.h), max(d.vMax, c.v)
	}
	d.mcuColumns, d.mcuRows = divideUp(d.Columns, 8*d.hMax), divideUp(d.Rows, 8*d.vMax)
	for i := range d.components {
		c := &d.components[i]
		if d.hMax%c.h != 0 || d.vMax%c.v != 0 {
			return fmt.Errorf("jpeg: byte %d: sampling factors %d of %d and %d of %d: %w", d.at, c.h, d.hMax, c.v, d.vMax, errors.ErrUnsupported)
		}
		c.columns, c.rows = divideUp(d.Columns*c.h, 8*d.hMax), divideUp(d.Rows*c.v, 8*d.vMax)
		c.width, c.height = divideUp(d.Columns*c.h, d.hMax), divideUp(d.Rows*c.v, d.vMax)
		c.stride = d.mcuColumns * c.h
		for k := range c.low {
			c.low[k] = -1
		}
	}
	return nil
}

func divideUp(a, b int) int { return (a + b - 1) / b }
