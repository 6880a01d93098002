package codec

import (
	"encoding/json"
	"errors"
	"fmt"

	"varve/codec/internal/fits"
	"varve/codec/internal/inflate"
	"varve/grid"
)

// newFITSRice returns the decoder of FITS' RICE_1: integers in the form of a plain image.
//
// Specification: FITS Standard 4.0, section 10.4.1; CFITSIO's ricecomp.c. The fields are
// the size of the compressed integers (BYTEPIX), BLOCKSIZE and the size of the image's
// integers.
//
//	{"name": "fits.rice", "configuration": {"bytes": 2, "block": 32, "size": 2}}
func newFITSRice(c *config, _ Form) (Codec, error) {
	p := fits.Rice{Bytes: c.integer("bytes", 4, 0, 8), Block: c.integer("block", 32, 0, 1<<30), Size: c.integer("size", 0, 0, 8)}
	return newChecked(c, fmt.Sprint("fits.rice", p), p)
}

// newFITSPLIO returns the decoder of FITS' PLIO_1, a compression of masks.
//
// Specification: FITS Standard 4.0, section 10.4.3; CFITSIO's pliocomp.c. CFITSIO adds an
// offset to integers that may be negative.
//
//	{"name": "fits.plio", "configuration": {"size": 2, "offset": 32768}}
func newFITSPLIO(c *config, _ Form) (Codec, error) {
	p := fits.PLIO{Size: c.integer("size", 0, 0, 8), Offset: c.integer("offset", 0, 0, 1<<30)}
	return newChecked(c, fmt.Sprint("fits.plio", p), p)
}

// newFITSHCompress returns the decoder of FITS' HCOMPRESS_1, without smoothing.
//
// Specification: FITS Standard 4.0, section 10.4.4; CFITSIO's fits_hdecompress.c.
//
//	{"name": "fits.hcompress", "configuration": {"size": 2}}
func newFITSHCompress(c *config, _ Form) (Codec, error) {
	p := fits.HCompress{Size: c.integer("size", 0, 0, 8)}
	return newChecked(c, fmt.Sprint("fits.hcompress", p), p)
}

// newChecked returns the codec of a decoder whose parameters are valid.
func newChecked[D interface {
	Check() error
	Decode(dst, src []byte) (int, error)
}](c *config, key string, d D) (Codec, error) {
	if c.err != nil {
		return nil, c.err
	}
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("codec %q: %w", c.codec, err)
	}
	return &decoder{key: key, decode: d.Decode}, nil
}

// fitsQuantized decodes a whole FITS image of floats that were compressed as integers.
// Its chunk is the table of all tiles, since the scale and zero point of a tile are in
// the rows of the table, apart from the tile's bytes.
//
// Specification: FITS Standard 4.0, sections 10.1 and 10.2. The fields are the positions
// of the columns in a row.
//
//	{"name": "fits.quantized", "configuration": {
//	  "rows": 100, "row": 24, "heap": 2400, "tile": [1, 200], "coder": "RICE_1", "bytes": 4, "block": 32,
//	  "method": "SUBTRACTIVE_DITHER_1", "seed": 42, "data": {"at": 0, "wide": false, "size": 1},
//	  "scale": {"kind": "D", "at": 8}, "zero": {"kind": "D", "at": 16}, "blank": {"all": "-2147483648"}}}
type fitsQuantized struct {
	noEncoder
	key   string
	table fits.Quantized
}

func newFITSQuantized(c *config, in Form) (Codec, error) {
	q := &fitsQuantized{table: fits.Quantized{Inflate: inflate.Gzip}}
	raw, err := json.Marshal(c.fields)
	if err == nil {
		c.fields = nil
		err = unmarshalStrict(raw, &q.table)
	}
	if err == nil {
		err = q.table.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("codec %q: %w", c.codec, err)
	}
	key, err := json.Marshal(&q.table)
	q.key = "fits.quantized" + string(key)
	return q, errors.Join(err, q.Accepts(in))
}

func (q *fitsQuantized) DecodeKey() string { return q.key }

// Accepts returns an error unless the elements are floats and the tiles have the chunk's
// rank.
func (q *fitsQuantized) Accepts(in Form) error {
	if in.Type.Kind != Float || in.Type.Size < 4 {
		return fmt.Errorf("elements of %v, not float32 or float64", in.Type)
	}
	if len(in.Shape) == 0 || len(in.Shape) != len(q.table.Tile) {
		return fmt.Errorf("tiles of shape %v do not fit a chunk of shape %v", q.table.Tile, in.Shape)
	}
	return nil
}

func (q *fitsQuantized) EncodedSize(Form) (int, bool) { return 0, false }

func (q *fitsQuantized) Encode(dst []byte, _ Elems, _ Form) ([]byte, error) {
	return dst, q.cannotEncode()
}

func (q *fitsQuantized) Decode(dst Elems, src []byte, in Form) error {
	all := grid.Whole(in.Shape)
	list, err := q.table.Find(src, int64(len(src)), in.Shape, all.Origin, all.Shape)
	if err != nil {
		return err
	}
	for i := range list {
		t := &list[i]
		if err := q.decodeTile(windowOf(dst, in), all, t, src[t.At:][:t.Length]); err != nil {
			return err
		}
	}
	return nil
}

// decodeTile decodes the intersection of a tile and a region into a window.
func (q *fitsQuantized) decodeTile(into window, region grid.Region, t *fits.Tile, stored []byte) error {
	tile := grid.Region{Origin: t.Origin, Shape: t.Shape}
	floats, ok := Elems{}, region.Contains(tile)
	if ok {
		floats, ok = into.slice(tile)
	}
	// The tile is not contiguous in the window, or is cut by the region: decode it whole
	// and copy the intersection.
	if !ok {
		form := Form{Type: Type{Kind: Float, Size: into.unit}, Shape: t.Shape}
		if err := form.CheckGrowth(t.Length); err != nil {
			return err
		}
		floats = NewElems(form)
	}
	if err := q.table.DecodeTile(floats.Fixed, t, stored, into.unit); err != nil || ok {
		return err
	}
	met := grid.MakeRegion(tile.Rank())
	met.Intersect(region, tile)
	return into.copyFrom(window{floats, tile, into.unit}, met)
}
