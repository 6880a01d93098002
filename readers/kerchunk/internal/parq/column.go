package parq

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"varve/readers"
	"varve/readers/source"
	"varve/readers/thrift"
)

// Supported encodings.
const (
	plainEncoding     = 0
	oldDictionary     = 2
	dictionaryIndexes = 8
)

// maxPage is the largest uncompressed page, in bytes.
const maxPage = 64 << 20

// value is one value of a column: a number, or bytes that are valid until the next page.
type value struct {
	null   bool
	number int64
	bytes  []byte
}

// column reads the values of a column in one row group, in order. It keeps one page in memory.
type column struct {
	ctx context.Context
	src *source.Source
	chunk
	optional bool
	at, end  int64

	dictionary []value
	left       int64   // remaining values of the page
	levels     hybrid  // definition levels; 1: not null
	indexes    *hybrid // indexes into the dictionary; nil: plain values
	plain      []byte
}

func newColumn(ctx context.Context, src *source.Source, c chunk, optional bool) (*column, error) {
	start := c.data
	if c.dict > 0 && c.dict < start {
		start = c.dict
	}
	if start < 0 || c.size < 0 || start > src.Size() || c.size > src.Size()-start {
		return nil, readers.Corruptf("%d bytes at offset %d are outside the file of %d bytes", c.size, start, src.Size())
	}
	if c.kind != int32Column && c.kind != int64Column && c.kind != byteArrayColumn {
		return nil, fmt.Errorf("values of type %v: %w", c.kind, errors.ErrUnsupported)
	}
	return &column{ctx: ctx, src: src, chunk: c, optional: optional, at: start, end: start + c.size}, nil
}

// next returns the next value.
func (c *column) next() (value, error) {
	for c.left == 0 {
		if err := c.page(); err != nil {
			return value{}, err
		}
	}
	c.left--
	if c.optional {
		level, err := c.levels.next()
		if err != nil || level == 0 {
			return value{null: true}, err
		}
	}
	if c.indexes == nil {
		return c.plainValue(&c.plain)
	}
	i, err := c.indexes.next()
	if err == nil && int64(i) >= int64(len(c.dictionary)) {
		err = readers.Corruptf("dictionary index %d of %d", i, len(c.dictionary))
	}
	if err != nil {
		return value{}, err
	}
	return c.dictionary[i], nil
}

// page reads the next page.
func (c *column) page() error {
	if c.at >= c.end {
		return readers.Corruptf("column has fewer values than rows")
	}
	head, err := c.src.View(c.ctx, c.at, int(min(c.end-c.at, 8<<10)))
	if err != nil {
		return err
	}
	t := thrift.NewReader(head)
	h := readPageHead(t)
	if t.Err() != nil {
		return fmt.Errorf("page at offset %d: %w", c.at, t.Err())
	}
	at := c.at
	c.at += int64(t.Offset())
	switch {
	case h.compressed < 0 || h.compressed > c.end-c.at || h.uncompressed < 0 || h.values < 0:
		err = readers.Corruptf("%d values in %d bytes are out of range (%d bytes remain)", h.values, h.compressed, c.end-c.at)
	case h.uncompressed > maxPage:
		err = fmt.Errorf("%d bytes (limit %d): %w", h.uncompressed, maxPage, errors.ErrUnsupported)
	default:
		err = c.load(&h)
	}
	c.at += h.compressed
	if err != nil {
		return fmt.Errorf("page at offset %d: %w", at, err)
	}
	return nil
}

func (c *column) load(h *pageHead) error {
	stored := make([]byte, h.compressed)
	if _, err := c.src.ReadAt(c.ctx, stored, c.at); err != nil {
		return err
	}
	switch h.kind {
	case dictionaryPage:
		data, err := c.decompress(stored, h.uncompressed)
		if err != nil {
			return err
		}
		return c.readDictionary(data, h)
	case dataPage:
		data, err := c.decompress(stored, h.uncompressed)
		if err != nil {
			return err
		}
		return c.data1(data, h)
	case dataPage2:
		return c.data2(stored, h)
	}
	return nil // an index page, or a later addition
}

func (c *column) readDictionary(data []byte, h *pageHead) error {
	if h.encoding != plainEncoding && h.encoding != oldDictionary {
		return fmt.Errorf("dictionary in encoding %d: %w", h.encoding, errors.ErrUnsupported)
	}
	c.dictionary = nil
	// Appending bounds the memory by the bytes that exist, not by the count in the header.
	for range h.values {
		v, err := c.plainValue(&data)
		if err != nil {
			return err
		}
		c.dictionary = append(c.dictionary, v)
	}
	return nil
}

// data1 splits a page of version 1: levels with their length, values.
func (c *column) data1(data []byte, h *pageHead) error {
	if c.optional {
		n := uint64(0)
		if len(data) >= 4 {
			n = uint64(binary.LittleEndian.Uint32(data))
		}
		if len(data) < 4 || n > uint64(len(data)-4) {
			return readers.Corruptf("levels of %d bytes do not fit in %d", n, len(data))
		}
		c.levels = hybrid{data: data[4 : 4+n], width: 1}
		data = data[4+n:]
	}
	return c.values(data, h)
}

// data2 splits a page of version 2: levels, which are not compressed, and values.
func (c *column) data2(stored []byte, h *pageHead) error {
	size := int64(len(stored))
	if h.levels < 0 || h.repeats != 0 || h.levels > size || h.levels > h.uncompressed {
		return readers.Corruptf("levels of %d and %d bytes do not fit in %d", h.repeats, h.levels, size)
	}
	c.levels = hybrid{data: stored[:h.levels], width: 1}
	data := stored[h.levels:]
	if !h.plain {
		var err error
		if data, err = c.decompress(data, h.uncompressed-h.levels); err != nil {
			return err
		}
	}
	return c.values(data, h)
}

// values sets the page's values as the next ones.
func (c *column) values(data []byte, h *pageHead) error {
	c.left, c.indexes, c.plain = h.values, nil, data
	switch h.encoding {
	case plainEncoding:
		return nil
	case oldDictionary, dictionaryIndexes:
		// All values are null, so there are no indexes.
		if len(data) == 0 {
			c.indexes = &hybrid{}
			return nil
		}
		if data[0] > 32 {
			return readers.Corruptf("indexes of %d bits (limit 32)", data[0])
		}
		c.indexes = &hybrid{data: data[1:], width: int(data[0])}
		return nil
	}
	return fmt.Errorf("encoding %d (supported: PLAIN and RLE_DICTIONARY, as in fsspec): %w", h.encoding, errors.ErrUnsupported)
}

// plainValue takes a plain value off the start of data.
func (c *column) plainValue(data *[]byte) (v value, err error) {
	n := 4
	if c.kind == int64Column {
		n = 8
	}
	if len(*data) < n {
		return v, readers.Corruptf("only %d bytes remain for another value", len(*data))
	}
	head := (*data)[:n]
	*data = (*data)[n:]
	switch c.kind {
	case int64Column:
		v.number = int64(binary.LittleEndian.Uint64(head))
	case int32Column:
		v.number = int64(int32(binary.LittleEndian.Uint32(head)))
	default:
		size := uint64(binary.LittleEndian.Uint32(head))
		if size > uint64(len(*data)) {
			return v, readers.Corruptf("value has %d bytes, but only %d remain", size, len(*data))
		}
		v.bytes, *data = (*data)[:size:size], (*data)[size:]
	}
	return v, nil
}

// decompress returns a page of a known size.
func (c *column) decompress(stored []byte, size int64) ([]byte, error) {
	out, err := decompress(c.codec, stored, int(size))
	if err == nil && int64(len(out)) != size {
		err = readers.Corruptf("%d bytes uncompressed (want %d)", len(out), size)
	}
	return out, err
}

func decompress(codec int64, stored []byte, size int) ([]byte, error) {
	var out []byte
	var err error
	switch codec {
	case 0:
		return stored, nil
	case 1:
		var n int
		if n, err = snappy.DecodedLen(stored); err == nil && n != size {
			return nil, readers.Corruptf("snappy: %d bytes (want %d)", n, size)
		} else if err == nil {
			out, err = snappy.Decode(nil, stored)
		}
	case 2:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(stored)); err == nil {
			out, err = io.ReadAll(io.LimitReader(z, int64(size)+1))
		}
	case 6:
		var d *zstd.Decoder
		if d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(size, 1<<20)))); err == nil {
			out, err = d.DecodeAll(stored, nil)
			d.Close()
		}
	case 7:
		var n int
		out = make([]byte, size)
		n, err = lz4.UncompressBlock(stored, out)
		out = out[:max(n, 0)]
	default:
		names := map[int64]string{3: "LZO", 4: "Brotli", 5: "the old LZ4"}
		return nil, fmt.Errorf("compression %d (%s): %w", codec, names[codec], errors.ErrUnsupported)
	}
	if err != nil {
		return nil, readers.Corruptf("compressed page: %w", err)
	}
	return out, nil
}

// hybrid decodes numbers of a fixed width, in runs of equal or of packed numbers:
//
//	varint n<<1      a number, n times
//	varint n<<1 | 1  8·n numbers, each of width bits, the lowest first
//
// For example, with width 1, 06 01 is three ones, and 03 05 is 1, 0, 1, 0, 0, 0, 0, 0.
type hybrid struct {
	data  []byte
	width int

	equal  uint64 // remaining numbers of a run of equal ones
	number uint32
	packed uint64 // remaining numbers of a run of packed ones
	bit    uint64 // position in data of the next packed number
}

var errRuns = readers.Corruptf("run of numbers is truncated")

func (h *hybrid) next() (uint32, error) {
	for h.equal == 0 && h.packed == 0 {
		if err := h.run(); err != nil {
			return 0, err
		}
	}
	if h.equal > 0 {
		h.equal--
		return h.number, nil
	}
	v := uint32(0)
	for i := range h.width {
		at := h.bit + uint64(i)
		v |= uint32(h.data[at/8]>>(at%8)&1) << i
	}
	h.bit += uint64(h.width)
	if h.packed--; h.packed == 0 {
		h.data, h.bit = h.data[h.bit/8:], 0
	}
	return v, nil
}

// run reads the header of a run.
func (h *hybrid) run() error {
	n, size := binary.Uvarint(h.data)
	if size <= 0 {
		return errRuns
	}
	h.data = h.data[size:]
	if n&1 == 0 {
		bytes := (h.width + 7) / 8
		if len(h.data) < bytes {
			return errRuns
		}
		h.number = 0
		for i := range bytes {
			h.number |= uint32(h.data[i]) << (8 * i)
		}
		h.data, h.equal = h.data[bytes:], n>>1
		return nil
	}
	// The last run may be truncated after the numbers that count.
	groups := n >> 1
	if h.width > 0 {
		groups = min(groups, uint64(len(h.data)/h.width))
	}
	if h.packed = 8 * groups; h.packed == 0 && n>>1 > 0 {
		return errRuns
	}
	return nil
}
