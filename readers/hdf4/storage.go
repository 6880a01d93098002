package hdf4

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"

	"varve/codec"
	"varve/readers"
	"varve/readers/source"
)

// The limits of values that lie in blocks here and there.
const (
	maxInline  = 64 << 10 // bytes of a variable that are read with the metadata
	maxJoined  = 16 << 20 // bytes of a variable's chunks that are joined
	joinedCost = 256      // what each counts as besides, for what it takes in memory
	maxChunks  = 1 << 20
)

// stored is how the element of a variable's values is stored.
type stored struct {
	descriptor
	kind     uint16 // 0 for one that is not special
	bytes    int64  // of its values; -1 if none were written
	runs     []run  // unless it is external or in chunks; of what is compressed, if it is
	external readers.ExternalFile
	coder    coder
	chunks   *chunkHead
}

// coder is how bytes are compressed.
type coder struct {
	number uint16
	values string // what else stands in the header
}

// stored reads how an element is stored.
func (f *file) stored(ctx context.Context, d descriptor) (*stored, error) {
	s := &stored{descriptor: d, bytes: d.length}
	if !d.special {
		var err error
		s.runs, err = f.runs(ctx, d)
		return s, err
	}
	kind, c, err := f.special(ctx, d)
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
		c.take(2)
		s.bytes = c.int32()
		s.runs, err = f.compressedRuns(ctx, c.uint16())
		s.coder = c.coder()
		if err == nil {
			err = c.err
		}
		if len(s.runs) == 0 {
			s.bytes = -1
		}
	case chunked:
		s.chunks, err = c.chunkHead()
		if err == nil {
			s.bytes = s.chunks.bytes
		}
	default:
		err = c.fail(unsupported("element %d/%d is special, of kind %d", d.tag, d.ref, kind))
	}
	return s, err
}

// compressedRuns returns where compressed bytes are; nothing if none were written.
func (f *file) compressedRuns(ctx context.Context, ref uint16) ([]run, error) {
	d, ok := f.find(tagCompressed, ref)
	if !ok {
		return nil, nil
	}
	return f.runs(ctx, d)
}

// coder reads the head of what is compressed, and takes all that is left.
func (c *cursor) coder() coder {
	c.take(2) // the model, of which there is one
	n := c.uint16()
	return coder{n, string(c.take(int64(len(c.b))))}
}

// filters returns what undoes a coder (hcomp.h).
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
		f.Err = unsupported("varve does not decode HDF4's %s; hrepack -t '*:GZIP 6' makes a file that it reads", f.Name)
	}
	return []readers.Filter{f}
}

// nbit is the codec for a number type(4), whether to extend the sign(2), whether to fill with
// ones(2), the highest bit(4), and how many bits there are(4).
func (k coder) nbit() (codec.Spec, error) {
	if len(k.values) < 16 {
		return codec.Spec{}, readers.Corruptf("the head of NBIT has %d bytes of 16", len(k.values))
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

// skippingHuffman is the codec for the size of a number(4).
func (k coder) skippingHuffman() (codec.Spec, error) {
	if len(k.values) < 4 {
		return codec.Spec{}, readers.Corruptf("the head of skipping Huffman has %d bytes of 4", len(k.values))
	}
	config := fmt.Sprintf(`{"size":%d}`, binary.BigEndian.Uint32([]byte(k.values)))
	return codec.Spec{Name: "hdf4.skphuff", Config: json.RawMessage(config)}, nil
}

// sizeOf is how many bytes elements of a type and shape take.
func sizeOf(t *readers.Type, shape []uint64) (int64, error) {
	size := uint64(t.Size)
	for _, n := range shape {
		hi, lo := bits.Mul64(size, n)
		if hi != 0 || lo > math.MaxInt64 {
			return 0, readers.Corruptf("shape %v takes more than 2^63 bytes", shape)
		}
		size = lo
	}
	return int64(size), nil
}

// place says where the values of a variable are.
func (b *builder) place(v *readers.Variable, s *stored) error {
	out := &v.Storage
	size, err := sizeOf(v.Type, v.Shape)
	switch {
	case err != nil:
		return err
	case s == nil || s.bytes < 0 || size == 0:
		return nil // nothing was written
	case s.kind == chunked:
		return b.placeChunks(v, s)
	case s.bytes < size:
		return b.fail(s.at, readers.Corruptf("the values take %d bytes, of which %d are there", size, s.bytes))
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
		return b.placeRuns(v, within(s.runs, 0, size))
	}
	return nil
}

func setFilters(s *readers.Storage, k coder) {
	s.Pipeline.Filters = k.filters()
	for _, f := range s.Pipeline.Filters {
		s.Undecodable = f.Err
	}
}

// placeRuns places values that lie in runs. Where there are several, a chunk is a row of the
// first axis.
func (b *builder) placeRuns(v *readers.Variable, runs []run) error {
	out := &v.Storage
	size := total(runs)
	out.Bytes = uint64(size)
	switch {
	case len(runs) == 1 && runs[0].offset >= 0:
		out.Layout, out.Offset = readers.Contiguous, runs[0].offset
		return nil
	case size <= maxInline || len(v.Shape) == 0:
		var err error
		out.Layout = readers.Inline
		out.Data, err = b.join(b.ctx, runs)
		return err
	case v.Shape[0] > maxChunks:
		out.Undecodable = unsupported("%d rows in blocks of their own, more than %d; hrepack puts them together", v.Shape[0], maxChunks)
		return nil
	}
	out.Layout, out.Index = readers.Chunked, "linked blocks"
	out.ChunkShape = append([]uint64{1}, v.Shape[1:]...)
	b.readRows(v, runs)
	return nil
}

// openBeside opens a file that this one names: one in its folder or below, or in a folder that
// was allowed.
func (f *file) openBeside(ctx context.Context, name string) (*source.Source, error) {
	here, err := source.LocalPath(f.src.Name())
	if err != nil {
		return nil, unsupported("the file %q is beside one that is not local, which takes copies of both in a folder", name)
	}
	return source.OpenBeside(here, name, func(place string) (*source.Source, error) {
		return source.OpenWithin(ctx, place, append([]string{filepath.Dir(here)}, f.allow...)...)
	})
}
