package fits

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"varve/codec"
	"varve/readers"
)

// tileStorage returns the storage of a compressed image. Integers and unquantized floats have one
// chunk for each tile. The scale and zero of a tile of quantized floats are in its row, and no ref
// can cover both the row and the tile's bytes; such an image is one chunk, and its bytes are the
// whole table.
func (b *builder) tileStorage(t *tiles) (s readers.Storage, err error) {
	s = plainStorage(t.element())
	if product(t.axes) == 0 {
		return s, nil // no elements: Unallocated
	}
	s.Layout, s.Bytes, s.InOrder = readers.Chunked, t.size, true
	refs := b.tileRefs
	if t.isQuantized() {
		s.Index, s.ChunkShape = "table", reversed(t.axes)
		s.Pipeline.Bytes.Name = "fits.quantized"
		s.Pipeline.Bytes.Config, err = t.quantizedConfig()
		refs = b.tableRef
	} else {
		s.Index, s.ChunkShape = "tiles", reversed(t.tile)
		if !t.grid.IsRegular() {
			s.Grid, s.ChunkShape = t.grid, nil
		}
		s.Pipeline.Filters, err = t.filters()
		if size := t.element().Size; t.storedSize > size {
			kind := map[int]string{1: "|u1", 2: "<i2"}[size]
			// CFITSIO widened the integers before gzip, so they are narrowed after it.
			s.Pipeline.Arrays = []codec.Spec{{Name: "numcodecs.astype", Config: json.RawMessage(`{"encode_dtype":"<i4","decode_dtype":"` + kind + `"}`)}}
			s.Pipeline.Bytes = codec.InOrder(codec.BigEndian)
		}
	}
	masks := t.masks(s.Pipeline.Filters)
	s.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			if err := cmp.Or(ctx.Err(), b.checkTableEnd(t.hdu)); err != nil {
				yield(nil, err)
				return
			}
			refs(ctx, newTileReader(t, masks), yield)
		}
	}
	return s, err
}

// tableRef yields the position of the whole table.
func (b *builder) tableRef(_ context.Context, t *tileReader, yield func(*readers.Ref, error) bool) {
	t.ref.Offset, t.ref.Size = t.end, t.size
	yield(&t.ref, nil)
}

// checkTableEnd returns an error if the file ends before the table does.
func (b *builder) checkTableEnd(u *hdu) error {
	if end := uint64(u.end) + u.size; end > uint64(b.src.Size()) {
		return b.locate(readers.Corruptf("file is truncated: the data end at offset %d, but the file at %d; fetch it again", end, b.src.Size()))
	}
	return nil
}

const (
	gzipFilter    = "GZIP"
	shuffleFilter = "shuffle"
)

// filters returns the filters of all tiles: first the gzip of tiles that are not compressed by the
// image's method, then this method. Masks select between them.
func (t *tiles) filters() ([]readers.Filter, error) {
	size := t.element().Size
	gzip := readers.Filter{Name: gzipFilter, Codec: codec.Spec{Name: "numcodecs.gzip", Config: json.RawMessage(`{"level":1}`)}}
	shuffle := readers.Filter{Name: shuffleFilter, Codec: codec.Spec{Name: "numcodecs.shuffle", Config: configOf("elementsize", t.storedSize)}}
	switch {
	// GZIP_2 sorts the bytes by significance before gzip; for one byte that changes nothing.
	case t.coder == "GZIP_2" && t.storedSize > 1:
		return []readers.Filter{shuffle, gzip}, nil
	case t.coder == "GZIP_1" || t.coder == "GZIP_2":
		return []readers.Filter{gzip}, nil
	}
	var list []readers.Filter
	// Tiles that the method cannot compress are gzipped instead.
	if t.gzip != nil {
		list = append(list, gzip)
	}
	switch t.coder {
	case "RICE_1", "RICE_ONE":
		bytes, block, err := t.rice()
		if err != nil {
			return nil, err
		}
		return append(list, readers.Filter{Name: t.coder, Codec: codec.Spec{Name: "fits.rice", Config: configOf("bytes", bytes, "block", block, "size", size)}}), nil
	case "PLIO_1":
		offset := 0
		if zero, ok := t.lookup("BZERO").number(); ok && zero == 1<<15 {
			offset = 1 << 15 // CFITSIO adds it, because PLIO has no negative numbers
		}
		return append(list, readers.Filter{Name: t.coder, Codec: codec.Spec{Name: "fits.plio", Config: configOf("size", size, "offset", offset)}}), nil
	case "HCOMPRESS_1":
		return append(list, readers.Filter{Name: t.coder, Codec: codec.Spec{Name: "fits.hcompress", Config: configOf("size", size)}}), nil
	}
	return list, nil
}

// rice returns the parameters of RICE_1.
func (t *tiles) rice() (bytes, block int, err error) {
	value := func(name string, absent uint64) (int, error) {
		c := t.parameter(name)
		if c == nil {
			return int(absent), nil
		}
		n, err := c.int(1, 1<<30)
		return int(n), err
	}
	if block, err = value("BLOCKSIZE", 32); err != nil {
		return 0, 0, err
	}
	if bytes, err = value("BYTEPIX", 4); err == nil && bytes != 1 && bytes != 2 && bytes != 4 {
		err = unsupported("RICE_1 with integers of %d bytes (BYTEPIX); decompress the file with funpack", bytes)
	}
	return bytes, block, err
}

// configOf returns a configuration of names and numbers.
func configOf(pairs ...any) json.RawMessage {
	out := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%d", pairs[i], pairs[i+1])
	}
	return append(out, '}')
}

// masks returns the filter masks of tiles in the three columns: compressed by the image's method,
// gzipped, and plain.
func (t *tiles) masks(filters []readers.Filter) (out [3]uint32) {
	for i, f := range filters {
		if f.Name == gzipFilter && !t.isLossless() {
			out[0] |= 1 << i
		}
		if f.Name != gzipFilter {
			out[1] |= 1 << i
		}
		out[2] |= 1 << i
	}
	if t.coder == "NOCOMPRESS" {
		out[0] = out[2]
	}
	return out
}

// quantizedConfig returns the configuration of the codec for quantized tables: the positions of
// columns in a row.
func (t *tiles) quantizedConfig() (json.RawMessage, error) {
	type heap struct {
		At   uint64 `json:"at"`
		Wide bool   `json:"wide"`
		Size int    `json:"size"`
	}
	column := func(f *field) *heap {
		if f == nil {
			return nil
		}
		return &heap{f.offset, f.typ.Size == 16, f.typ.Base.Size}
	}
	config := map[string]any{
		"rows": t.hdu.axes[1], "row": t.hdu.axes[0], "heap": t.heap, "tile": reversed(t.tile), "coder": t.coder,
		"data": column(t.compressed), "gzip": column(t.gzip), "raw": column(t.plain),
	}
	var err error
	if t.coder == "RICE_1" || t.coder == "RICE_ONE" {
		config["coder"] = "RICE_1"
		if config["bytes"], config["block"], err = t.rice(); err != nil {
			return nil, err
		}
	}
	if config["method"], config["seed"], err = t.dithering(); err != nil {
		return nil, err
	}
	for _, number := range [][2]string{{"scale", "ZSCALE"}, {"zero", "ZZERO"}, {"blank", "ZBLANK"}} {
		if config[number[0]], err = t.tileNumber(number[1]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(config)
}

// dithering returns the dithering method and the start index in the sequence of random numbers.
func (t *tiles) dithering() (method string, seed uint64, err error) {
	switch method = t.string("ZQUANTIZ"); method {
	case "":
		return "NO_DITHER", 0, nil
	case "NO_DITHER":
		return method, 0, nil
	case "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2":
		seed, err = t.int("ZDITHER0", true, 1, 10000)
		return method, seed, err
	}
	return "", 0, unsupported("floats quantized by %q (ZQUANTIZ); decompress the file with funpack", method)
}

// tileNumber returns the position of a number of each tile: a column, or else a keyword for all
// tiles.
func (t *tiles) tileNumber(name string) (map[string]any, error) {
	if f := t.column(name); f != nil {
		form := t.string(column("TFORM", f.number))
		kind := form[len(form)-1:]
		if len(f.shape) > 0 || f.isVarying || f.size == 0 || codes[kind[0]] == nil || kind == "L" || kind == "C" || kind == "M" {
			return nil, readers.Corruptf("%s = %q of column %s is not a number", column("TFORM", f.number), form, name)
		}
		return map[string]any{"kind": kind, "at": f.offset}, nil
	}
	c := t.lookup(name)
	// Some images have BLANK instead of ZBLANK.
	if c == nil && name == "ZBLANK" {
		c = t.lookup("BLANK")
	}
	if c == nil {
		return nil, nil
	}
	v, ok := c.number()
	if !ok {
		return nil, readers.Corruptf("%s is not a number", name)
	}
	return map[string]any{"all": strconv.FormatFloat(v, 'g', -1, 64)}, nil
}

// tileReader reads the descriptors of tiles.
type tileReader struct {
	*tiles
	masks  [3]uint32 // filter masks by column
	coords []int64
	ref    readers.Ref
}

func newTileReader(t *tiles, masks [3]uint32) *tileReader {
	return &tileReader{tiles: t, masks: masks, coords: make([]int64, len(t.axes)), ref: readers.Ref{Index: make([]uint64, len(t.axes))}}
}

// rowsAtOnce is the approximate size of the rows that are read together, in bytes.
const rowsAtOnce = 256 << 10

// tileRefs yields the positions of tiles in the order of rows, which is C order.
func (b *builder) tileRefs(ctx context.Context, t *tileReader, yield func(*readers.Ref, error) bool) {
	row, all := int64(t.hdu.axes[0]), t.grid.Chunks()
	per := min(max(rowsAtOnce/row, 1), all)
	buf := make([]byte, per*row)
	for first := int64(0); first < all; first += per {
		rows := buf[:min(per, all-first)*row]
		if _, err := b.src.ReadAt(ctx, rows, t.end+first*row); err != nil {
			yield(nil, err)
			return
		}
		for number := first; len(rows) > 0; number++ {
			ref, err := t.locate(number, rows[:row])
			if err != nil {
				err = &readers.Error{Source: b.src.Name(), Offset: t.end + number*row, Err: fmt.Errorf("tile %d: %w", number+1, err)}
			}
			if !yield(ref, err) || err != nil {
				return
			}
			rows = rows[row:]
		}
	}
}

// locate returns the position of a tile's bytes: in the column of the image's method, or else in
// another. The ref is valid until the next call.
func (t *tileReader) locate(number int64, row []byte) (*readers.Ref, error) {
	for i, f := range []*field{t.compressed, t.gzip, t.plain} {
		if f == nil {
			continue
		}
		count, offset := f.descriptor(row)
		// An empty descriptor means that the tile is in another column.
		if count == 0 {
			continue
		}
		room := t.size - t.heap
		if offset > room || count > (room-offset)/uint64(f.typ.Base.Size) {
			return nil, readers.Corruptf("%d elements of %d bytes at offset %d are outside the heap of %d bytes (column %s)", count, f.typ.Base.Size, offset, room, f.name)
		}
		t.grid.Coords(number, t.coords)
		for k, n := range t.coords {
			t.ref.Index[k] = uint64(n)
		}
		t.ref.Offset, t.ref.Size, t.ref.Mask = t.end+int64(t.heap+offset), count*uint64(f.typ.Base.Size), t.masks[i]
		return &t.ref, nil
	}
	return nil, readers.Corruptf("no column has its bytes")
}

// descriptor returns the number of elements in the heap and their offset, for a column of varying
// length. Negative numbers become too large for any heap.
func (f *field) descriptor(row []byte) (count, offset uint64) {
	b := row[f.offset:]
	if f.typ.Size == 16 {
		return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	}
	return uint64(int64(int32(binary.BigEndian.Uint32(b)))), uint64(int64(int32(binary.BigEndian.Uint32(b[4:]))))
}
