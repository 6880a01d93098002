package fits

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"varve/readers"
)

// tilesOf returns a file with a compressed image of 2 × 4 in tiles of one row, with the given table
// rows and heap. The given cards replace cards with the same keyword.
func tilesOf(rows [][]byte, heap []byte, given ...string) []byte {
	size := len(rows[0])
	list := []string{"XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", fmt.Sprint("NAXIS1  = ", size), fmt.Sprint("NAXIS2  = ", len(rows)),
		fmt.Sprint("PCOUNT  = ", len(heap)), "GCOUNT  = 1", "TFIELDS = 1", "TTYPE1  = 'COMPRESSED_DATA'", "TFORM1  = '1PB(9)'",
		"ZIMAGE  =                    T", "ZCMPTYPE= 'NOCOMPRESS'", "ZBITPIX = 16", "ZNAXIS  = 2", "ZNAXIS1 = 4", "ZNAXIS2 = 2"}
	for _, c := range given {
		if i := slices.IndexFunc(list, func(old string) bool { return old[:8] == c[:8] }); i >= 0 {
			list[i] = c
		} else {
			list = append(list, c)
		}
	}
	data := append(bytes.Join(rows, nil), heap...)
	data = append(data, make([]byte, (blockSize-len(data)%blockSize)%blockSize)...)
	return slices.Concat(cards("SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 0"), cards(list...), data)
}

// at returns a descriptor of elements at an offset of the heap.
func at(count, offset uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, count), offset)
}

func tilesValues(t *testing.T, data []byte) (*readers.Variable, []byte, error) {
	t.Helper()
	d := open(t, data)
	if len(d.Root.Variables) != 1 {
		t.Fatalf("no variable: %v", d.Problems)
	}
	v := d.Root.Variables[0]
	value, err := v.ReadAll(context.Background(), 1<<20)
	return v, value.Data, err
}

// TestTileRefs: each tile is a chunk, and chunks are served as stored if Zarr clients have the
// codec.
func TestTileRefs(t *testing.T) {
	data := open(t, fixture(t, "compressed"))
	for _, c := range []struct {
		name, chunks, codecs string
		refs                 int
	}{
		{"RICE8", "", "bytes fits.rice", 9},
		{"RICE32", "", "bytes fits.rice", 9},
		{"UNSIGNED", "[1 20]", "bytes fits.rice", 12},
		{"GZIP1", "[6 10]", "bytes numcodecs.gzip", 4},
		{"GZIP2", "", "bytes numcodecs.shuffle numcodecs.gzip", 9},
		{"PLAIN", "[1 20]", "bytes", 12},
		{"LOSSLESS", "", "bytes numcodecs.shuffle numcodecs.gzip", 9},
		{"DITHERED", "[12 20]", "fits.quantized", 1},
	} {
		v := data.Variable(c.name)
		specs, err := v.Storage.Pipeline.Specs(0)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range specs {
			names = append(names, s.Name)
		}
		n := 0
		for ref, err := range v.Storage.Refs(context.Background()) {
			if err != nil || ref.Mask != 0 || ref.Other != nil {
				t.Fatalf("%s: %v, %v", c.name, ref, err)
			}
			n++
		}
		chunks := ""
		if v.Storage.Grid == nil {
			chunks = fmt.Sprint(v.Storage.ChunkShape)
		}
		if chunks != c.chunks || strings.Join(names, " ") != c.codecs || n != c.refs {
			t.Errorf("%s: %d chunks of %q through %v, want %d of %q through %s", c.name, n, chunks, names, c.refs, c.chunks, c.codecs)
		}
	}
}

// TestTileKeywords: a compressed image has the name and the keywords of the original image.
func TestTileKeywords(t *testing.T) {
	data := open(t, fixture(t, "compressed"))
	v := data.Variable("PRIMARY")
	if v == nil {
		t.Fatal("the first image of the file is not PRIMARY")
	}
	for _, name := range []string{"ZIMAGE", "ZCMPTYPE", "ZTILE1", "ZNAXIS", "ZVAL1", "TFORM1", "EXTNAME", "ZSIMPLE"} {
		if a := readers.Lookup(v.Attributes, name); a != nil {
			t.Errorf("%s is an attribute: %v", name, plain(*a))
		}
	}
	if a := readers.Lookup(data.Root.Attributes, "OBJECT"); a == nil || string(a.Texts[0]) != "M 31" {
		t.Error("the keywords of the first image are not attributes of the root")
	}
	named := tilesOf([][]byte{at(8, 0), at(8, 8)}, make([]byte, 16), "EXTNAME = 'COMPRESSED_IMAGE'", "ZHECKSUM= 'abc'", "CHECKSUM= 'def'", "ZBLANK  = -5")
	v, _, err := tilesValues(t, named)
	if err != nil || v.Name != "HDU1" {
		t.Errorf("%s: %v", v.Name, err)
	}
	if a := readers.Lookup(v.Attributes, "CHECKSUM"); a == nil || string(a.Texts[0]) != "abc" {
		t.Errorf("CHECKSUM is %v", a)
	}
	if a := readers.Lookup(v.Attributes, "_FillValue"); a == nil || int16(a.Type.Uint64(a.Data)) != -5 {
		t.Errorf("_FillValue is %v", a)
	}
}

func zipped(t *testing.T, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTileColumns: tiles that the method did not compress are in other columns, and their filter
// masks show it.
func TestTileColumns(t *testing.T) {
	const first, second = "\x00\x01\x00\x02\x00\x03\x00\x04", "\x00\x05\x00\x06\x00\x07\x00\x08"
	gz := zipped(t, second)
	wide := append(binary.BigEndian.AppendUint64(nil, 4), binary.BigEndian.AppendUint64(nil, 8)...)
	heap := append([]byte("\x00\x05\x00\x00\x00\x00\x00\x00"+second), gz...)
	columns := []string{"TFIELDS = 3", "TTYPE2  = 'GZIP_COMPRESSED_DATA'", "TFORM2  = '1PB'", "TTYPE3  = 'UNCOMPRESSED_DATA'", "TFORM3  = '1QI'"}
	rice := append(columns, "ZCMPTYPE= 'RICE_ONE'", "ZNAME1  = 'BYTEPIX'", "ZVAL1   = 2")
	none := slices.Concat(at(0, 0), at(0, 0), make([]byte, 16))
	for _, c := range []struct {
		name  string
		row   []byte
		cards []string
		mask  uint32
		at    int64 // offset in the error; 0: no error
	}{
		{"gzip column, Rice", slices.Concat(at(0, 0), at(uint32(len(gz)), 16), make([]byte, 16)), rice, 2, 0},
		{"plain column, Rice", slices.Concat(at(0, 0), at(0, 0), wide), rice, 3, 0},
		{"empty descriptors", none, rice, 0, 5792},
		{"beyond the heap", slices.Concat(at(0, 0), at(9, 1<<20), make([]byte, 16)), rice, 0, 5792},
		{"before the heap", slices.Concat(at(0, 0), at(9, 1<<32-1), make([]byte, 16)), rice, 0, 5792},
		{"gzip column only", slices.Concat(at(0, 0), at(uint32(len(gz)), 16), make([]byte, 16)), columns, 0, 0},
	} {
		own := slices.Concat(at(3, 0), at(0, 0), make([]byte, 16)) // 5, and a block of that
		want := "\x05\x00\x05\x00\x05\x00\x05\x00\x05\x00\x06\x00\x07\x00\x08\x00"
		if len(c.cards) == len(columns) {
			own, want = slices.Concat(at(8, 8), at(0, 0), make([]byte, 16)), "\x05\x00\x06\x00\x07\x00\x08\x00\x05\x00\x06\x00\x07\x00\x08\x00"
		}
		v, values, err := tilesValues(t, tilesOf([][]byte{own, c.row}, heap, c.cards...))
		if c.at != 0 {
			if !errors.Is(err, readers.ErrCorrupt) || !hasPosition(err, "/HDU1", c.at) {
				t.Errorf("%s: %v, want offset %d", c.name, err, c.at)
			}
			continue
		}
		var masks []uint32
		for ref, err := range v.Storage.Refs(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			masks = append(masks, ref.Mask)
		}
		if err != nil || string(values) != want || masks[1] != c.mask {
			t.Errorf("%s: %x with masks %v, %v; want %x", c.name, values, masks, err, want)
		}
	}
	if v, values, err := tilesValues(t, tilesOf([][]byte{at(8, 0), at(8, 8)}, []byte("gap"+first+second), "THEAP   = 19", "PCOUNT  = 19")); err != nil || string(values[:4]) != "\x01\x00\x02\x00" {
		t.Errorf("a gap before the heap of %s: %x, %v", v.Path, values, err)
	}
}

// TestTilesOfWiderIntegers: in gzip of old CFITSIO, integers of any image take four bytes.
func TestTilesOfWiderIntegers(t *testing.T) {
	words := "\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00\x00\x03\x00\x00\x00\x04"
	shuffled := "\x00\xff\x00\x00\x00\xff\x00\x00\x00\xff\x00\x00\x01\xfe\x03\x04"
	for coder, stored := range map[string]string{"GZIP_1": words, "GZIP_2": shuffled} {
		gz := zipped(t, stored)
		n := uint32(len(gz))
		_, values, err := tilesValues(t, tilesOf([][]byte{at(n, 0), at(n, n)}, append(bytes.Clone(gz), gz...), "ZCMPTYPE= '"+coder+"'"))
		if want := strings.Repeat("\x01\x00\xfe\xff\x03\x00\x04\x00", 2); err != nil || string(values) != want {
			t.Errorf("%s: %x, %v", coder, values, err)
		}
	}
}

// TestTilesOfUnsignedMasks: CFITSIO adds an offset for PLIO_1, which has no negative numbers.
func TestTilesOfUnsignedMasks(t *testing.T) {
	var heap []byte
	for _, w := range []uint16{0, 7, 0xff9c, 10, 0, 0, 0, 0x1005, 0x0008, 0x4004} { // four times 32773
		heap = binary.BigEndian.AppendUint16(heap, w)
	}
	_, values, err := tilesValues(t, tilesOf([][]byte{at(10, 0), at(10, 0)}, heap, "TFORM1  = '1PI'", "ZCMPTYPE= 'PLIO_1'", "BZERO   = 32768"))
	if want := strings.Repeat("\x05\x00", 8); err != nil || string(values) != want {
		t.Errorf("%x, %v", values, err)
	}
}

// TestTilesOfKeywords: scale, zero and fill value may be keywords for all tiles.
func TestTilesOfKeywords(t *testing.T) {
	heap := []byte("\x00\x01\x00\x02\xff\xff\x00\x04\x00\x05\x00\x06\x00\x07\x00\x08")
	more := []string{"ZBITPIX = -64", "ZSCALE  = 0.5", "ZZERO   = 1D1", "ZBLANK  = -1"}
	v, values, err := tilesValues(t, tilesOf([][]byte{at(8, 0), at(8, 8)}, heap, more...))
	if err != nil || v.Type.String() != ">f8" {
		t.Fatalf("%v, %v", v.Type, err)
	}
	for i, want := range []float64{10.5, 11, math.NaN(), 12, 12.5, 13, 13.5, 14} {
		if got := float(values[8*i:]); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
	}
	if _, _, err := tilesValues(t, tilesOf([][]byte{at(8, 0), at(7, 8)}, heap, more...)); !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("a byte too few: %v", err)
	}
}

// TestTilesWithoutElements: an axis of length 0, and no axes at all.
func TestTilesWithoutElements(t *testing.T) {
	_, values, err := tilesValues(t, tilesOf([][]byte{at(0, 0)}, nil, "ZNAXIS2 = 0"))
	if err != nil || len(values) != 0 {
		t.Errorf("%x, %v", values, err)
	}
	d := open(t, tilesOf([][]byte{at(0, 0)}, nil, "ZNAXIS  = 0"))
	if len(d.Problems) > 0 || len(d.Root.Variables) > 0 || len(d.Root.Groups) != 1 {
		t.Errorf("%v, %v", d.Problems, d.Root)
	}
}

func TestTilesRejected(t *testing.T) {
	rows := [][]byte{at(8, 0), at(8, 8)}
	for _, c := range []struct {
		names   string // keyword or value in the error
		corrupt bool
		cards   []string
	}{
		{"ZBITPIX", true, []string{"ZBITPIX = 7"}},
		{"ZNAXIS3", true, []string{"ZNAXIS  = 3"}},
		{"ZTILE1", true, []string{"ZTILE1  = 0"}},
		{"2^62", true, []string{"ZNAXIS1 = 1311686018427387904", "ZNAXIS2 = 1311686018427387904"}},
		{"4 tiles", true, []string{"ZTILE1  = 2"}},
		{"COMPRESSED_DATA", true, []string{"TTYPE1  = 'DATA'"}},
		{`TFORM1 = "8B"`, true, []string{"TFORM1  = '8B'"}},
		{"99", true, []string{"THEAP   = 99"}},
		{"THEAP", true, []string{"THEAP   = 15"}},
		{"BZIP2_1", false, []string{"ZCMPTYPE= 'BZIP2_1'"}},
		{"SMOOTH = 1", false, []string{"ZCMPTYPE= 'HCOMPRESS_1'", "ZNAME1  = 'SCALE'", "ZVAL1   = 2", "ZNAME2  = 'SMOOTH'", "ZVAL2   = 1"}},
		{"ZMASKCMP", false, []string{"ZMASKCMP= 'RICE_1'"}},
		{"ZSCALE", false, []string{"ZSCALE  = 2.0"}},
		{"RICE_1", false, []string{"ZBITPIX = 64", "ZCMPTYPE= 'RICE_1'"}},
		{"BYTEPIX", false, []string{"ZCMPTYPE= 'RICE_1'", "ZNAME1  = 'BYTEPIX'", "ZVAL1   = 8"}},
		{"ZVAL1", true, []string{"ZCMPTYPE= 'RICE_1'", "ZNAME1  = 'BLOCKSIZE'", "ZVAL1   = 0"}},
		{"ZSCALE, ZZERO", true, []string{"ZBITPIX = -32", "ZCMPTYPE= 'RICE_1'"}},
		{"ZQUANTIZ = 'NONE'", true, []string{"ZBITPIX = -32", "ZQUANTIZ= 'NONE'", "ZSCALE  = 1.0", "ZZERO   = 0.0"}},
		{"DITHER_3", false, []string{"ZBITPIX = -32", "ZQUANTIZ= 'DITHER_3'", "ZSCALE  = 1.0", "ZZERO   = 0.0"}},
		{"ZDITHER0", true, []string{"ZBITPIX = -32", "ZQUANTIZ= 'SUBTRACTIVE_DITHER_1'", "ZSCALE  = 1.0", "ZZERO   = 0.0"}},
		{"ZZERO", true, []string{"ZBITPIX = -32", "ZSCALE  = 1.0", "ZZERO   = 'none'"}},
	} {
		d := open(t, tilesOf(rows, make([]byte, 16), c.cards...))
		if len(d.Problems) != 1 || !strings.Contains(d.Problems[0].Err.Error(), c.names) || errors.Is(d.Problems[0].Err, readers.ErrCorrupt) != c.corrupt ||
			errors.Is(d.Problems[0].Err, errors.ErrUnsupported) == c.corrupt || !strings.Contains(d.Problems[0].Err.Error(), "test.fits") {
			t.Errorf("%v: %v, want %q", c.cards, d.Problems, c.names)
		}
	}
	wide := [][]byte{append(at(8, 0), 0, 0, 0, 0, 0, 0, 0, 0), append(at(8, 8), 0, 0, 0, 0, 0, 0, 0, 0)}
	for name, more := range map[string][]string{
		"ZBLANK":          {"TFIELDS = 2", "TTYPE2  = 'ZBLANK'", "TFORM2  = '1J'"},
		"TFORM2 = \"8A\"": {"TFIELDS = 2", "TTYPE2  = 'ZSCALE'", "TFORM2  = '8A'", "ZZERO   = 1.0", "ZBITPIX = -32"},
	} {
		if p := open(t, tilesOf(wide, make([]byte, 16), more...)).Problems; len(p) != 1 || !strings.Contains(p[0].Err.Error(), name) {
			t.Errorf("%v, want an error that names %q", p, name)
		}
	}
}

// TestTilesCutOff: a file that ends inside the heap is reported, wherever its tiles are.
func TestTilesCutOff(t *testing.T) {
	data := fixture(t, "compressed")
	d := open(t, data[:len(data)-blockSize])
	last := d.Root.Variables[len(d.Root.Variables)-1]
	if _, err := last.ReadAll(context.Background(), 1<<20); !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("%s: %v", last.Path, err)
	}
	if len(d.Problems) != 1 {
		t.Errorf("%v", d.Problems)
	}
	if _, err := d.Root.Variables[0].ReadAll(context.Background(), 10); err == nil {
		t.Errorf("more than the limit: %v", err)
	}
}
