package tiff

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"varve/codec"
	"varve/readers"
)

// Numbers of the tag Compression.
const (
	uncompressed = 1
	ccittHuffman = 2
	ccittGroup3  = 3
	ccittGroup4  = 4
	lzwCoding    = 5
	jpegCoding   = 7
	deflate      = 8
	deflateOld   = 32946
	packBits     = 32773
	lzmaCoding   = 34925
	lercCoding   = 34887
	zstdCoding   = 50000
	webpCoding   = 50001
)

// Numbers of the tag SampleFormat.
const (
	unsignedSamples = 1
	signedSamples   = 2
	floatSamples    = 3
	unknownSamples  = 4
	complexIntegers = 5
	complexFloats   = 6
)

// Numbers of the tag Predictor.
const (
	differences      = 2
	floatDifferences = 3
)

// Numbers of the tag PhotometricInterpretation.
const (
	rgb   = 2
	cmyk  = 5
	yCbCr = 6
)

const maxSide = 1 << 31 // of an image, in pixels

// image is what the tags of a directory say of its pixels.
type image struct {
	*directory
	width, height uint64
	samples       int
	bits          int   // of a sample
	allBits       []int // of each sample
	format        int   // of a sample
	allFormats    []int
	compression   int
	photometric   int // −1 without the tag
	predictor     int
	reversed      bool // FillOrder 2: the first bit of a byte is its least significant one
	separate      bool // each sample has tiles or strips of its own
	tiled         bool
	rows, columns uint64 // of a tile or strip
	depth         uint64 // of the image, and of a tile: more than 1 in SGI's volumes
	depthOfTile   uint64
	options       int // T4Options
	tables        []byte
	kind          uint64 // NewSubfileType
}

// image decodes the tags that say how pixels are stored.
func (d *directory) image(ctx context.Context) (*image, error) {
	m := &image{directory: d}
	var err error
	number := func(tag uint16, absent uint64) uint64 {
		v, e := d.number(ctx, tag, absent)
		if e != nil && err == nil {
			err = e
		}
		return v
	}
	m.width, m.height = number(imageWidth, 0), number(imageLength, 0)
	m.depth, m.depthOfTile = number(imageDepth, 1), number(tileDepth, 1)
	samples := number(samplesPerPixel, 1)
	compression, predictor := number(compressionTag, uncompressed), number(predictorTag, 1)
	m.reversed = number(fillOrderTag, 1) == 2
	m.separate = number(planarTag, 1) == 2 && samples > 1
	m.options = int(number(t4Options, 0) & 7)
	if m.photometric = -1; d.lookup(photometricTag) != nil {
		m.photometric = int(number(photometricTag, 0) & math.MaxUint16)
	}
	m.kind = number(newSubfileType, 0)
	if d.lookup(newSubfileType) == nil && number(subfileType, 0) == 2 {
		m.kind = 1
	}
	m.tiled = d.lookup(tileWidth) != nil && d.lookup(tileOffsets) != nil
	m.columns, m.rows = m.width, min(number(rowsPerStrip, math.MaxUint32), m.height)
	if m.tiled {
		m.columns, m.rows = number(tileWidth, 0), number(tileLength, 0)
	}
	if err != nil {
		return nil, err
	}
	if m.tables, err = d.bytes(ctx, jpegTables); err != nil {
		return nil, err
	}
	switch {
	case m.width == 0 || m.height == 0 || m.width > maxSide || m.height > maxSide:
		return nil, d.fail(imageWidth, readers.Corruptf("the image has %d × %d pixels", m.width, m.height))
	case samples == 0 || samples > math.MaxUint16:
		return nil, d.fail(samplesPerPixel, readers.Corruptf("a pixel has %d samples", samples))
	case m.rows == 0 || m.columns == 0 || m.rows > maxSide || m.columns > maxSide:
		return nil, d.fail(rowsPerStrip, readers.Corruptf("tiles or strips have %d × %d pixels", m.columns, m.rows))
	case m.depth == 0 || m.depth > maxSide || m.depthOfTile == 0 || m.depthOfTile > maxSide:
		return nil, d.fail(imageDepth, readers.Corruptf("the image has %d planes, a tile %d", m.depth, m.depthOfTile))
	}
	m.samples, m.compression, m.predictor = int(samples), int(compression&math.MaxUint16), int(predictor&math.MaxUint16)
	return m, m.readSamples(ctx)
}

// readSamples decodes bits and format of the samples. Files may say them once for all.
func (m *image) readSamples(ctx context.Context) error {
	for _, f := range []struct {
		tag    uint16
		absent uint64
		to     *[]int
		first  *int
	}{{bitsPerSample, 1, &m.allBits, &m.bits}, {sampleFormatTag, unsignedSamples, &m.allFormats, &m.format}} {
		list, err := m.numbers(ctx, f.tag)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			list = []uint64{f.absent}
		}
		for _, v := range list[:min(len(list), m.samples)] {
			*f.to = append(*f.to, int(v&math.MaxUint16))
		}
		*f.first = (*f.to)[0]
	}
	if m.format == unknownSamples || m.format == 0 {
		m.format = unsignedSamples
	}
	return nil
}

// element returns the type of a sample in memory.
func (m *image) element() (*readers.Type, error) {
	if slices.ContainsFunc(m.allBits, func(n int) bool { return n != m.bits }) {
		return nil, unsupported("samples of different sizes (%v bits)", m.allBits)
	}
	if slices.ContainsFunc(m.allFormats, func(n int) bool { return n != m.allFormats[0] }) {
		return nil, unsupported("samples of different types (SampleFormat %v)", m.allFormats)
	}
	order := readers.LittleEndian
	if m.file.endian() == codec.BigEndian {
		order = readers.BigEndian
	}
	size := m.bits / 8
	isWhole := m.bits%8 == 0 && size > 0 && size <= 8 && bits.OnesCount(uint(size)) == 1
	switch {
	case m.format == unsignedSamples && m.bits > 0 && m.bits <= 32 && !isWhole:
		// Fewer bits than the type has: codecs write them to memory.
		size = 1 << bits.Len(uint((m.bits-1)/8))
		return readers.Int(size, readers.LittleEndian, false), nil
	case m.format == unsignedSamples && isWhole:
		return readers.Int(size, order, false), nil
	case m.format == signedSamples && isWhole:
		return readers.Int(size, order, true), nil
	case m.format == floatSamples && isWhole && size > 1:
		return readers.IEEEFloat(size, order), nil
	case m.format == floatSamples && m.bits == 24:
		return readers.IEEEFloat(4, readers.LittleEndian), nil
	case m.format == complexFloats && (m.bits == 64 || m.bits == 128):
		part := readers.IEEEFloat(m.bits/16, order)
		return &readers.Type{Class: readers.Complex, Size: m.bits / 8, Base: part}, nil
	case m.format == complexIntegers && (m.bits == 32 || m.bits == 64):
		part := readers.Int(m.bits/16, order, true)
		return &readers.Type{Class: readers.Compound, Size: m.bits / 8, Members: []readers.Member{{Name: "real", Type: part}, {Name: "imag", Offset: part.Size, Type: part}}}, nil
	}
	return nil, unsupported("samples of %d bits (SampleFormat %d)", m.bits, m.format)
}

// isPacked reports whether samples do not fill whole bytes, or not a number of them that a type has.
func (m *image) isPacked() bool {
	return m.format == unsignedSamples && (m.bits < 8 || m.bits%8 != 0 || bits.OnesCount(uint(m.bits/8)) != 1)
}

// planes returns the number of samples that have tiles or strips of their own.
func (m *image) planes() uint64 {
	if m.separate {
		return uint64(m.samples)
	}
	return 1
}

// pixel returns the number of samples that a tile or strip has of each pixel.
func (m *image) pixel() uint64 {
	if m.separate {
		return 1
	}
	return uint64(m.samples)
}

func ceil(a, b uint64) uint64 { return (a + b - 1) / b }

// counts returns the number of tiles or strips along each axis of a plane.
func (m *image) counts() (layers, down, across uint64) {
	return ceil(m.depth, m.depthOfTile), ceil(m.height, m.rows), ceil(m.width, m.columns)
}

// chunks returns the number of tiles or strips, or false if it is more than a file can hold.
func (m *image) chunks() (uint64, bool) {
	layers, down, across := m.counts()
	n := uint64(1)
	for _, k := range []uint64{m.planes(), layers, down, across} {
		hi, lo := bits.Mul64(n, k)
		if hi != 0 || lo > math.MaxInt64/16 {
			return 0, false
		}
		n = lo
	}
	return n, true
}

// rowsOf returns the rows that a tile or strip of a row of them has.
func (m *image) rowsOf(y uint64) uint64 {
	if m.tiled {
		return m.rows
	}
	return min(m.rows, m.height-y*m.rows)
}

// rawSize returns the bytes of a tile or strip with the given rows, without compression.
func (m *image) rawSize(rows uint64) uint64 {
	row := (m.columns*m.pixel()*uint64(m.bits) + 7) / 8
	hi, n := bits.Mul64(row, rows*m.depthOfTile)
	if hi != 0 {
		return math.MaxUint64
	}
	return n
}
