package fits

import (
	"math"
	"math/bits"
	"strings"

	"varve/grid"
	"varve/readers"
)

// tiles describes a compressed image (section 10.1): a binary table with a row for each tile.
type tiles struct {
	*hdu
	bitpix      int
	axes        []uint64 // ZNAXIS1, ZNAXIS2, …
	tile        []uint64 // ZTILE1, ZTILE2, …, at most the length of the axis
	grid        *grid.Grid
	coder       string // ZCMPTYPE
	fields      []field
	compressed  *field // COMPRESSED_DATA
	gzip, plain *field // columns of tiles in another form: GZIP_COMPRESSED_DATA, UNCOMPRESSED_DATA; nil if absent
	storedSize  int    // bytes of an integer in gzipped tiles
	heap        uint64 // offset of the heap from the first row
}

// tiles decodes from a header how an image was compressed.
func (u *hdu) tiles() (*tiles, error) {
	t := &tiles{hdu: u, coder: u.string("ZCMPTYPE")}
	bitpix := u.lookup("ZBITPIX")
	if bitpix == nil || bitpix.kind != integer || bitpixTypes[int(int64(bitpix.bits))] == nil {
		return nil, readers.Corruptf("ZBITPIX is not one of 8, 16, 32, 64, -32, -64")
	}
	t.bitpix = int(int64(bitpix.bits))
	if err := t.readAxes(); err != nil {
		return nil, err
	}
	if err := t.readTable(); err != nil {
		return nil, err
	}
	return t, t.check()
}

func (t *tiles) readAxes() error {
	n, err := t.int("ZNAXIS", true, 0, maxAxes)
	if err != nil {
		return err
	}
	size := uint64(t.element().Size)
	for i := 1; i <= int(n); i++ {
		length, err := t.int(column("ZNAXIS", i), true, 0, math.MaxInt64/2)
		if err != nil {
			return err
		}
		tile := length // the default: whole rows of the first axis
		if i > 1 {
			// The default tile is one row of the image.
			tile = 1
		}
		if t.lookup(column("ZTILE", i)) != nil {
			if tile, err = t.int(column("ZTILE", i), true, 1, math.MaxInt64); err != nil {
				return err
			}
		}
		hi, lo := bits.Mul64(size, max(length, 1))
		if size = lo; hi != 0 || lo > math.MaxInt64/2 {
			return readers.Corruptf("image takes more than 2^62 bytes")
		}
		// Writers may give tiles larger than the image.
		t.axes, t.tile = append(t.axes, length), append(t.tile, min(tile, max(length, 1)))
	}
	return t.divide()
}

// readTable finds the columns and the heap.
func (t *tiles) readTable() (err error) {
	if t.fields, err = t.hdu.fields(); err != nil {
		return err
	}
	t.compressed, t.gzip, t.plain = t.column("COMPRESSED_DATA"), t.column("GZIP_COMPRESSED_DATA"), t.column("UNCOMPRESSED_DATA")
	for _, f := range []*field{t.compressed, t.gzip, t.plain} {
		if f != nil && (!f.isVarying || f.size != uint64(f.typ.Size)) {
			return readers.Corruptf("%s = %q of column %s is not a descriptor of bytes in the heap", column("TFORM", f.number), t.string(column("TFORM", f.number)), f.name)
		}
	}
	if t.compressed == nil {
		return readers.Corruptf("compressed image has no column COMPRESSED_DATA")
	}
	rows := product(t.hdu.axes)
	if t.heap = rows; t.lookup("THEAP") != nil {
		t.heap, err = t.int("THEAP", true, rows, math.MaxInt64)
	}
	if err == nil && t.heap > t.size {
		err = readers.Corruptf("the heap starts at byte %d of %d bytes of data", t.heap, t.size)
	}
	// Extra rows do no harm, because tiles are found by their row number.
	if n := uint64(t.grid.Chunks()); err == nil && product(t.axes) > 0 && t.hdu.axes[1] < n {
		err = readers.Corruptf("table has %d rows for %d tiles", t.hdu.axes[1], n)
	}
	return err
}

// column returns the column with a name, or nil.
func (t *tiles) column(name string) *field {
	for i := range t.fields {
		if strings.EqualFold(t.string(column("TTYPE", t.fields[i].number)), name) {
			return &t.fields[i]
		}
	}
	return nil
}

// check returns an error for features that are not decoded.
func (t *tiles) check() error {
	switch t.coder {
	case "RICE_1", "RICE_ONE", "GZIP_1", "GZIP_2", "NOCOMPRESS", "PLIO_1":
	case "HCOMPRESS_1":
		if smooth, _ := t.parameter("SMOOTH").number(); smooth != 0 {
			return unsupported("HCOMPRESS_1 with smoothing (SMOOTH = %v); decompress the file with funpack", smooth)
		}
	default:
		return unsupported("image compressed by %q (ZCMPTYPE); decompress the file with funpack", t.coder)
	}
	gzipped := t.isLossless()
	switch scaled := t.has("ZSCALE") && t.has("ZZERO"); {
	case t.lookup("ZMASKCMP") != nil:
		return unsupported("compressed image with a mask of missing pixels (ZMASKCMP); decompress the file with funpack")
	case t.bitpix > 0 && (t.has("ZSCALE") || t.has("ZZERO")):
		return unsupported("compressed integers with a scale for each tile (ZSCALE); decompress the file with funpack")
	case t.bitpix > 0 && t.column("ZBLANK") != nil:
		return unsupported("compressed integers with a fill value for each tile (ZBLANK); decompress the file with funpack")
	case t.bitpix == 64 && !gzipped:
		return unsupported("integers of 64 bits compressed by %s; decompress the file with funpack", t.coder)
	case t.bitpix < 0 && t.string("ZQUANTIZ") == "NONE" && t.has("ZSCALE"):
		return readers.Corruptf("floats are not quantized (ZQUANTIZ = 'NONE'), but have a scale (ZSCALE)")
	case t.bitpix < 0 && !scaled && !gzipped:
		return readers.Corruptf("floats compressed by %s have no scale or zero (ZSCALE, ZZERO)", t.coder)
	}
	return nil
}

// isLossless reports whether the compression accepts elements of any type.
func (t *tiles) isLossless() bool {
	return strings.HasPrefix(t.coder, "GZIP") || t.coder == "NOCOMPRESS"
}

// has reports whether there is a column or a keyword with a name.
func (t *tiles) has(name string) bool { return t.column(name) != nil || t.lookup(name) != nil }

// isQuantized reports whether the image has floats that are stored as integers.
func (t *tiles) isQuantized() bool { return t.bitpix < 0 && t.has("ZSCALE") && t.has("ZZERO") }

// parameter returns the card of a compression parameter: ZVALn, where ZNAMEn is its name.
func (t *tiles) parameter(name string) *card {
	for i := 1; i <= maxAxes; i++ {
		c := t.lookup(column("ZNAME", i))
		if c == nil {
			return nil
		}
		if strings.EqualFold(t.string(column("ZNAME", i)), name) {
			return t.lookup(column("ZVAL", i))
		}
	}
	return nil
}

func (t *tiles) element() *readers.Type { return bitpixTypes[t.bitpix] }

// divide makes the grid of tiles. Edge tiles end at the edge of the image.
func (t *tiles) divide() error {
	var dims []grid.Dimension
	for k := len(t.axes) - 1; k >= 0; k-- {
		length, tile := int64(t.axes[k]), int64(t.tile[k])
		edges := []grid.Run{grid.Times(tile, length/tile)}
		if rest := length % tile; rest > 0 {
			edges = append(edges, grid.Times(rest, 1))
		}
		var dim grid.Dimension
		var err error
		if len(edges) == 1 {
			dim, err = grid.NewFixed(tile, length)
		} else {
			dim, err = grid.NewVarying(edges, length)
		}
		if err != nil {
			return readers.Corruptf("axis %d: %w", k+1, err)
		}
		dims = append(dims, dim)
	}
	var err error
	if t.grid, err = grid.New(dims...); err != nil {
		return readers.Corruptf("%w", err)
	}
	return nil
}
