package fits

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/inflate"
	"varve/codec/internal/vectors"
)

// testdata/generate.py makes these with the coders of CFITSIO and with astropy.
var (
	//go:embed testdata/tiles.json
	recordedTiles []byte
	//go:embed testdata/tables.json
	recordedTables []byte
)

// coded is a compressed tile.
type coded struct {
	Name, Coder        string
	Bytes, Block, Size int
	Stored, Want       []byte
}

type decoder interface {
	Check() error
	Decode(dst, src []byte) (int, error)
}

func (c coded) decoder() decoder {
	switch c.Coder {
	case "rice":
		return Rice{Bytes: c.Bytes, Block: c.Block, Size: c.Size}
	case "plio":
		return PLIO{Size: c.Size}
	}
	return HCompress{Size: c.Size}
}

// table is a compressed image of floats.
type table struct {
	Name         string
	Shape        []int64
	Size         int
	Config       json.RawMessage
	Stored, Want []byte
}

// decode decodes an image, tile by tile.
func decode(q *Quantized, dst, table []byte, shape []int64, size int) error {
	list, err := q.Find(table, int64(len(table)), shape, make([]int64, len(shape)), shape)
	if err != nil {
		return err
	}
	for i := range list {
		t := &list[i]
		floats := make([]byte, t.Count()*int64(size))
		if err := q.DecodeTile(floats, t, table[t.At:][:t.Length], size); err != nil {
			return err
		}
		place(dst, floats, t, shape, size)
	}
	return nil
}

// place copies a tile with one or two axes to its position in the image.
func place(dst, floats []byte, t *Tile, shape []int64, size int) {
	columns, first, rows := shape[len(shape)-1], int64(0), int64(1)
	if len(shape) == 2 {
		first, rows = t.Origin[0], t.Shape[0]
	}
	run := t.Shape[len(shape)-1] * int64(size)
	for i := range rows {
		copy(dst[((first+i)*columns+t.Origin[len(shape)-1])*int64(size):], floats[i*run:][:run])
	}
}

func (c table) quantized(t testing.TB) *Quantized {
	q := &Quantized{Inflate: inflate.Gzip}
	if err := json.Unmarshal(c.Config, q); err != nil {
		t.Fatal(err)
	}
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestTiles(t *testing.T) {
	for _, c := range vectors.Parse[coded](t, recordedTiles) {
		t.Run(c.Name, func(t *testing.T) {
			d := c.decoder()
			if err := d.Check(); err != nil {
				t.Fatal(err)
			}
			vectors.CheckDecode(t, c.Stored, c.Want, d.Decode)
			for n := range len(c.Stored) { // truncate at every byte
				if _, err := d.Decode(make([]byte, len(c.Want)), c.Stored[:n]); err != nil && !errors.Is(err, corrupt.Err) {
					t.Fatalf("%d bytes: %v", n, err)
				}
			}
		})
	}
}

func TestTables(t *testing.T) {
	for _, c := range vectors.Parse[table](t, recordedTables) {
		t.Run(c.Name, func(t *testing.T) {
			q := c.quantized(t)
			vectors.CheckDecode(t, c.Stored, c.Want, func(dst, src []byte) (int, error) {
				return len(dst), decode(q, dst, src, c.Shape, c.Size)
			})
			for _, n := range []int{0, 1, int(q.Heap) - 1, int(q.Heap), len(c.Stored) - 1} {
				if err := decode(q, make([]byte, len(c.Want)), c.Stored[:n], c.Shape, c.Size); !errors.Is(err, corrupt.Err) {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
		})
	}
}

// TestOtherIntegerSizes checks integers that were compressed with more or fewer bytes than the image has.
func TestOtherIntegerSizes(t *testing.T) {
	for _, c := range vectors.Parse[coded](t, recordedTiles) {
		if c.Coder != "rice" || c.Size == 4 {
			continue
		}
		d := Rice{Bytes: c.Bytes, Block: c.Block, Size: 4}
		var want []byte
		for i := 0; i < len(c.Want); i += c.Size {
			v := uint32(c.Want[i])
			if c.Size == 2 {
				v = uint32(int16(binary.BigEndian.Uint16(c.Want[i:])))
			}
			want = binary.BigEndian.AppendUint32(want, v)
		}
		vectors.CheckDecode(t, c.Stored, want, d.Decode)
	}
	wide := []byte{0, 1, 0, 0, 0} // 65536, and one block of zero differences
	if _, err := (Rice{Bytes: 4, Block: 32, Size: 2}).Decode(make([]byte, 2), wide); !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, "65536 16") {
		t.Errorf("65536 in 16 bits: %v", err)
	}
}

func TestRice(t *testing.T) {
	for name, c := range map[string]struct {
		Rice
		src  string
		size int
		says string // facts in the error, or "" without one
	}{
		"nothing":                    {Rice{1, 8, 1}, "", 0, ""},
		"one number, and no more":    {Rice{1, 8, 1}, "\x05", 1, "truncated 1"},
		"a block of one value":       {Rice{1, 8, 1}, "\x05\x00", 8, ""},
		"a second block is missing":  {Rice{1, 4, 1}, "\x05\x00", 12, "truncated 12"},
		"too many low bits":          {Rice{4, 32, 4}, "\x00\x00\x00\x05\xf8", 4, "split 31 0"},
		"zeros without an end":       {Rice{1, 8, 1}, "\x05\x20\x00\x00", 8, "truncated 4"},
		"numbers as they are, fewer": {Rice{2, 8, 2}, "\x00\x05\xf0\x00", 16, "truncated 4"},
	} {
		n, err := c.Decode(make([]byte, c.size), []byte(c.src))
		switch {
		case c.says == "" && (err != nil || n != c.size):
			t.Errorf("%s: %d, %v", name, n, err)
		case c.says != "" && (!errors.Is(err, corrupt.Err) || !vectors.Mentions(err, c.says)):
			t.Errorf("%s: %v, want one with %q", name, err, c.says)
		}
	}
	for _, p := range []Rice{{3, 32, 4}, {4, 0, 4}, {4, 32, 8}, {0, 32, 1}} {
		if p.Check() == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
}

func TestPLIO(t *testing.T) {
	words := func(list ...uint16) (b []byte) {
		for _, w := range list {
			b = binary.BigEndian.AppendUint16(b, w)
		}
		return b
	}
	head := func(list ...uint16) []byte {
		return words(append([]uint16{0, 7, 0xff9c, uint16(len(list) + 7), 0, 0, 0}, list...)...)
	}
	for name, c := range map[string]struct {
		src    []byte
		offset int
		want   string // "" for an error
	}{
		"every instruction":            {head(0x0001, 0x4001, 0x1002, 0x0000, 0x4001, 0x2003, 0x3001, 0x5002, 0x6001, 0x7002), 0, "\x00\x01\x02\x00\x04\x05\x03\x00"},
		"more pixels than fit":         {head(0x1009, 0x0000, 0x4fff), 0, "\x09\x09\x09\x09\x09\x09\x09\x09"},
		"no instructions":              {words(0, 0, 0, 0, 0), 0, ""},
		"one of three words":           {words(0, 0, 5, 0x4002, 0x2004), 0, "\x01\x01\x00\x00\x00\x00\x00\x00"},
		"no words":                     {nil, 0, ""},
		"more words than the tile has": {words(0, 7, 0xff9c, 99, 0, 0, 0, 0x4001), 0, ""},
		"half an instruction":          {head(0x1009), 0, ""},
		"an unknown instruction":       {head(0x8001), 0, ""},
		"negative":                     {head(0x3005, 0x4001), 0, ""},
		"negative by an offset":        {head(0x4001), 2, ""},
	} {
		dst := make([]byte, 8)
		n, err := PLIO{Size: 1, Offset: c.offset}.Decode(dst, c.src)
		if c.want == "" {
			if !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: %x, %v", name, dst, err)
			}
		} else if err != nil || string(dst[:n]) != c.want {
			t.Errorf("%s: %x, %v", name, dst[:n], err)
		}
	}
	dst := make([]byte, 4)
	if _, err := (PLIO{Size: 2, Offset: 1 << 15}).Decode(dst, head(0x1000, 0x0008, 0x4001)); err != nil || string(dst) != "\x00\x00\x80\x00" {
		t.Errorf("an offset: %x, %v", dst, err)
	}
	if (PLIO{Size: 8}).Check() == nil {
		t.Error("integers of 8 bytes are accepted")
	}
}

func TestHCompress(t *testing.T) {
	head := func(rows, columns, scale uint32, planes ...byte) []byte {
		b := []byte{0xdd, 0x99}
		for _, v := range []uint32{rows, columns, scale, 0, 0} {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return append(b, planes...)
	}
	for name, c := range map[string]struct {
		src  []byte
		says string
	}{
		"no magic":               {make([]byte, 30), "DD 99"},
		"a head that ends":       {head(2, 2, 0), "DD 99"},
		"another shape":          {append(head(2, 3, 0, 0, 0, 0), 0), "2 3 4"},
		"a negative shape":       {append(head(1<<32-2, 1<<32-2, 0, 0, 0, 0), 0), "-2"},
		"63 bits":                {append(head(2, 2, 0, 63, 0, 0), 0), "63"},
		"a kind of plane":        {append(head(2, 2, 0, 1, 0, 0), 0x10), "1 0 15"},
		"no planes":              {head(2, 2, 0, 1, 0, 0), "truncated planes"},
		"no codes":               {append(head(2, 2, 0, 3, 0, 0), 0x0f), "truncated planes"},
		"no zero":                {append(head(2, 2, 0, 0, 0, 0), 0x10), "zero"},
		"no signs":               {append(head(2, 2, 0, 1, 0, 0), 0x08, 0x00), "truncated signs"},
		"more than a byte holds": {append(head(2, 2, 0, 0, 0, 0)[:14], append(binary.BigEndian.AppendUint64(nil, 4096), 0, 0, 0, 0)...), "8"},
	} {
		_, err := HCompress{Size: 1}.Decode(make([]byte, 4), c.src)
		if !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, c.says) {
			t.Errorf("%s: %v, want one with %q", name, err, c.says)
		}
	}
	if _, err := (HCompress{Size: 1}).Decode(make([]byte, 8193<<13), append(head(8193, 8192, 0, 0, 0, 0), 0)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a large plane: %v", err)
	}
	if (HCompress{Size: 3}).Check() == nil {
		t.Error("integers of 3 bytes are accepted")
	}
}

// TestSequence checks the last random number, which the standard gives.
func TestSequence(t *testing.T) {
	if got, want := sequence()[randoms-1], float32(float64(1043618065)/(1<<31-1)); got != want {
		t.Errorf("the last number is %v, want %v", got, want)
	}
}

// TestConstants checks a scale, a zero point and a blank value that all tiles share, with tiles in every column.
func TestConstants(t *testing.T) {
	q := &Quantized{Rows: 3, Row: 40, Heap: 120, Tile: []int64{2}, Coder: "NOCOMPRESS", Method: noDither, Inflate: inflate.Gzip,
		Data: Heap{At: 0, Size: 1}, Gzip: &Heap{At: 8, Wide: true, Size: 1}, Raw: &Heap{At: 24, Wide: true, Size: 4},
		Unit: Number{All: "0.5"}, Zero: Number{All: "10"}, Null: Number{All: "-1"}}
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	stored := make([]byte, 120)
	binary.BigEndian.PutUint32(stored[0:], 4) // two int16
	binary.BigEndian.PutUint32(stored[40:], 2)
	binary.BigEndian.PutUint32(stored[44:], 4)
	binary.BigEndian.PutUint64(stored[80+24:], 1)
	binary.BigEndian.PutUint64(stored[80+32:], 6)
	stored = append(stored, 0, 4, 0xff, 0xff, 1, 255, 0x40, 0x49, 0, 0)
	dst := make([]byte, 20)
	if err := decode(q, dst, stored, []int64{5}, 4); err != nil {
		t.Fatal(err)
	}
	if want := "\x00\x00\x40\x41\x00\x00\xc0\x7f\x00\x00\x28\x41\x00\x80\x09\x43\x00\x00\x49\x40"; string(dst) != want {
		t.Errorf("%x, want %x", dst, want)
	}
	binary.BigEndian.PutUint64(stored[80+24:], 0)
	if err := decode(q, dst, stored, []int64{5}, 4); !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, "tile 3 descriptors") {
		t.Errorf("a tile without bytes: %v", err)
	}
	if err := decode(q, make([]byte, 28), stored, []int64{7}, 4); !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, "3 2 4") {
		t.Errorf("too few rows: %v", err)
	}
}

func TestQuantizedCheck(t *testing.T) {
	good := func() Quantized {
		return Quantized{Rows: 1, Row: 24, Heap: 24, Tile: []int64{4}, Coder: "GZIP_1", Method: noDither, Data: Heap{Size: 1},
			Unit: Number{Kind: "D", At: 8}, Zero: Number{Kind: "D", At: 16}}
	}
	if q := good(); q.Check() != nil {
		t.Fatal(q.Check())
	}
	for name, change := range map[string]func(*Quantized){
		"no row":            func(q *Quantized) { q.Row = 0 },
		"too many rows":     func(q *Quantized) { q.Rows = 1 << 60 },
		"a heap among rows": func(q *Quantized) { q.Heap = 23 },
		"a seed":            func(q *Quantized) { q.Seed = 10001 },
		"a method":          func(q *Quantized) { q.Method = "NONE" },
		"a tile of nothing": func(q *Quantized) { q.Tile = []int64{0} },
		"a descriptor":      func(q *Quantized) { q.Data.At = 17 },
		"a wide one":        func(q *Quantized) { q.Gzip = &Heap{At: 9, Wide: true, Size: 1} },
		"elements":          func(q *Quantized) { q.Raw = &Heap{} },
		"a scale":           func(q *Quantized) { q.Unit.At = 17 },
		"a type":            func(q *Quantized) { q.Zero.Kind = "L" },
		"no scale":          func(q *Quantized) { q.Unit = Number{} },
		"a word":            func(q *Quantized) { q.Null = Number{All: "none"} },
		"a coder":           func(q *Quantized) { q.Coder = "BZIP2_1" },
		"rice":              func(q *Quantized) { q.Coder = "RICE_1" },
	} {
		q := good()
		if change(&q); q.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func fuzzCoder(f *testing.F, coder string) {
	for _, c := range vectors.Parse[coded](f, recordedTiles) {
		if c.Coder == coder {
			f.Add(uint8(c.Size), uint8(c.Block), uint16(len(c.Want)/c.Size), c.Stored)
		}
	}
	f.Fuzz(func(t *testing.T, size, block uint8, n uint16, src []byte) {
		c := coded{Coder: coder, Bytes: int(size), Block: int(block), Size: int(size)}
		d := c.decoder()
		if d.Check() != nil {
			return
		}
		dst := bytes.Repeat([]byte{0xa5}, int(n)%2048*int(size)+9)
		room := dst[: len(dst)-9 : len(dst)-9]
		got, err := d.Decode(room, src)
		if err != nil && !errors.Is(err, corrupt.Err) || err == nil && got != len(room) {
			t.Errorf("%d of %d bytes, %v", got, len(room), err)
		}
		if !bytes.Equal(dst[len(room):], bytes.Repeat([]byte{0xa5}, 9)) {
			t.Error("wrote past the end")
		}
	})
}

func FuzzRice(f *testing.F)      { fuzzCoder(f, "rice") }
func FuzzPLIO(f *testing.F)      { fuzzCoder(f, "plio") }
func FuzzHCompress(f *testing.F) { fuzzCoder(f, "hcompress") }

func FuzzQuantized(f *testing.F) {
	for _, c := range vectors.Parse[table](f, recordedTables) {
		f.Add([]byte(c.Config), uint8(c.Shape[0]), uint8(c.Shape[1]), c.Size == 8, c.Stored)
	}
	f.Fuzz(func(t *testing.T, config []byte, rows, columns uint8, double bool, stored []byte) {
		q := &Quantized{Inflate: inflate.Gzip}
		if json.Unmarshal(config, q) != nil || q.Check() != nil {
			return
		}
		size := 4
		if double {
			size = 8
		}
		dst := make([]byte, int(rows)*int(columns)*size)
		if err := decode(q, dst, stored, []int64{int64(rows), int64(columns)}, size); err != nil && !errors.Is(err, corrupt.Err) {
			t.Errorf("neither an error nor a success: %v", err)
		}
	})
}

func BenchmarkRice(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	src := []byte{0, 100}
	for range 4096 { // any bits are valid input
		src = append(src, byte(rng.Uint32())|0x49)
	}
	dst := make([]byte, 4096)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Rice{Bytes: 2, Block: 32, Size: 2}).Decode(dst, src); err != nil {
			b.Fatal(err)
		}
	}
}
