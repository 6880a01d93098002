package hdf4

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"

	"varve/codec"
	"varve/readers"
	"varve/readers/source"
)

// Limits of values that are stored in many blocks.
const (
	maxInline       = 64 << 10 // size of values that are read with the metadata
	maxJoined       = 16 << 20 // size of all joined chunks of a variable
	joinedChunkCost = 256      // memory of a joined chunk besides its bytes
	maxChunks       = 1 << 20
)

// stored describes how the element of a variable's values is stored.
type stored struct {
	descriptor
	kind     uint16 // storage kind; 0 for elements that are not special
	bytes    int64  // size of the values; -1 if none were written
	runs     []run  // positions, unless the element is external or chunked; of compressed bytes, if it is compressed
	external readers.ExternalFile
	coder    coder
	chunks   *chunkHead
}

// coder is a compression method.
type coder struct {
	number uint16
	values string // parameters in the header
}

// readStored reads how an element is stored.
func (f *file) readStored(ctx context.Context, d descriptor) (*stored, error) {
	s := &stored{descriptor: d, bytes: d.length}
	if !d.isSpecial {
		var err error
		s.runs, err = f.runs(ctx, d)
		return s, err
	}
	kind, c, err := f.readSpecial(ctx, d)
	if err != nil {
		return nil, err
	}
	switch s.kind = kind; kind {
	case linked:
		s.runs, err = f.linkedRuns(ctx, c)
		s.bytes = total(s.runs)
	case external:
		s.bytes = c.int32()
		s.external = readers.ExternalFile{Offset: uint64(max(c.int32(), 0)), Size: uint64(max(s.bytes, 0))}
		s.external.Name, err = cText(c.take(c.int32())), c.err
	case compressed:
		// The version of the header has always been 0.
		c.take(2)
		s.bytes = c.int32()
		s.runs, err = f.compressedRuns(ctx, c.uint16())
		s.coder = c.coder()
		if err == nil {
			err = c.err
		}
		// The header is written before the first compressed bytes.
		if len(s.runs) == 0 {
			s.bytes = -1
		}
	case chunked:
		s.chunks, err = c.chunkHead()
		if err == nil {
			s.bytes = s.chunks.bytes
		}
	default:
		err = c.fail(unsupported("element %d/%d has the special storage kind %d", d.tag, d.ref, kind))
	}
	return s, err
}

// compressedRuns returns the positions of compressed bytes, or nil if none were written.
func (f *file) compressedRuns(ctx context.Context, ref uint16) ([]run, error) {
	d, ok := f.find(tagCompressed, ref)
	if !ok {
		return nil, nil
	}
	return f.runs(ctx, d)
}

// coder reads the compression method at the end of a header.
func (c *cursor) coder() coder {
	c.take(2) // the model; only one is defined
	n := c.uint16()
	return coder{n, string(c.take(int64(len(c.b))))}
}

// filters returns the filter that decodes a compression method (hcomp.h).
func (k coder) filters() []readers.Filter {
	f := readers.Filter{ID: int(k.number)}
	switch k.number {
	case 0:
		return nil
	case 1:
		f.Name, f.Codec = "RLE", codec.Spec{Name: "hdf4.rle"}
	case 2:
		f.Name = "NBIT"
		f.Codec, f.Err = k.nbit()
	case 3:
		f.Name = "skipping Huffman"
		f.Codec, f.Err = k.skippingHuffman()
	case 4:
		f.Name, f.Codec = "deflate", codec.Spec{Name: "numcodecs.zlib", Config: json.RawMessage(`{"level":6}`)}
	case 5:
		f.Name = "szip"
	case 7:
		f.Name = "JPEG"
	default:
		f.Name = fmt.Sprint("coder ", k.number)
	}
	if f.Codec.Name == "" && f.Err == nil {
		f.Err = unsupported("HDF4's %s compression has no decoder in varve; rewrite the file with hrepack -t '*:GZIP 6'", f.Name)
	}
	return []readers.Filter{f}
}

// nbit returns the codec of the parameters: number type(4), sign extension(2), fill with ones(2),
// highest bit(4), number of bits(4).
func (k coder) nbit() (codec.Spec, error) {
	if len(k.values) < 16 {
		return codec.Spec{}, readers.Corruptf("NBIT parameters have %d bytes (want 16)", len(k.values))
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32([]byte(k.values[at:])) }
	t, _, err := typeOf(uint16(word(0)) &^ littleEndian)
	if err != nil {
		return codec.Spec{}, err
	}
	flags := word(4)
	config := fmt.Sprintf(`{"size":%d,"first":%d,"bits":%d,"extend_sign":%t,"fill_ones":%t}`, t.Size, word(8), word(12), flags>>16 == 1, flags&0xffff == 1)
	return codec.Spec{Name: "hdf4.nbit", Config: json.RawMessage(config)}, nil
}

// skippingHuffman returns the codec of the parameter: size of a number(4).
func (k coder) skippingHuffman() (codec.Spec, error) {
	if len(k.values) < 4 {
		return codec.Spec{}, readers.Corruptf("skipping Huffman parameters have %d bytes (want 4)", len(k.values))
	}
	config := fmt.Sprintf(`{"size":%d}`, binary.BigEndian.Uint32([]byte(k.values)))
	return codec.Spec{Name: "hdf4.skphuff", Config: json.RawMessage(config)}, nil
}

// sizeOf returns the size in bytes of elements of a type and shape.
func sizeOf(t *readers.Type, shape []uint64) (int64, error) {
	size := uint64(t.Size)
	for _, n := range shape {
		hi, lo := bits.Mul64(size, n)
		if hi != 0 || lo > math.MaxInt64 {
			return 0, readers.Corruptf("shape %v is too large", shape)
		}
		size = lo
	}
	return int64(size), nil
}

// setStorage sets the storage of a variable.
func (b *builder) setStorage(v *readers.Variable, s *stored) error {
	out := &v.Storage
	size, err := sizeOf(v.Type, v.Shape)
	switch {
	case err != nil:
		return err
	case s == nil || s.bytes < 0 || size == 0:
		return nil // nothing was written
	case s.kind == chunked:
		return b.setChunkStorage(v, s)
	case s.bytes < size:
		return b.fail(s.at, readers.Corruptf("values take %d bytes, but only %d are stored", size, s.bytes))
	}
	switch s.kind {
	case external:
		out.Layout, out.Files, out.Bytes = readers.External, []readers.ExternalFile{s.external}, uint64(size)
	case compressed:
		out.Layout, out.Index, out.ChunkShape = readers.Chunked, "single", v.Shape
		out.Bytes = uint64(total(s.runs))
		setFilters(out, s.coder)
		b.readWhole(v, s.runs)
	default:
		return b.setRunStorage(v, cutRuns(s.runs, 0, size))
	}
	return nil
}

func setFilters(s *readers.Storage, k coder) {
	s.Pipeline.Filters = k.filters()
	for _, f := range s.Pipeline.Filters {
		s.Undecodable = f.Err
	}
}

// setRunStorage sets the storage of values that are in runs. Values in several runs get one chunk for
// each row of the first dimension.
func (b *builder) setRunStorage(v *readers.Variable, runs []run) error {
	out := &v.Storage
	size := total(runs)
	out.Bytes = uint64(size)
	switch {
	case len(runs) == 1 && runs[0].offset >= 0:
		out.Layout, out.Offset = readers.Contiguous, runs[0].offset
		return nil
	// Small values in several places cost less as part of the metadata than as chunks.
	case size <= maxInline || len(v.Shape) == 0:
		var err error
		out.Layout = readers.Inline
		out.Data, err = b.join(b.ctx, runs)
		return err
	case v.Shape[0] > maxChunks:
		out.Undecodable = unsupported("%d rows in linked blocks (limit %d); rewrite the file with hrepack", v.Shape[0], maxChunks)
		return nil
	}
	out.Layout, out.Index = readers.Chunked, "linked blocks"
	out.ChunkShape = append([]uint64{1}, v.Shape[1:]...)
	b.readRows(v, runs)
	return nil
}

// openSibling opens an external file. It must be in the folder of this file or below, in its archive,
// or in an allowed folder.
func (f *file) openSibling(ctx context.Context, name string) (*source.Source, error) {
	return f.opener.OpenLocalBeside(ctx, f.src, name, f.allow...)
}
