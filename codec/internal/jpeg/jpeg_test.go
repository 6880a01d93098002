package jpeg

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

// sampleFile is an image that libjpeg-turbo wrote, and the hash of the pixels that it read; samples.py makes the file.
type sampleFile struct {
	Name                          string
	Rows, Columns, Samples, Bytes int
	Stored, Wanted                string
	Tables, Data                  []byte
	SHA256                        string
}

// size returns the number of bytes of the pixels.
func (s *sampleFile) size() int { return s.Rows * s.Columns * s.Samples * s.Bytes }

var spaces = map[string]Space{"": Detect, "GRAYSCALE": Gray, "RGB": RGB, "YCBCR": YCbCr, "CMYK": CMYK, "YCCK": YCCK}

func (s *sampleFile) image(t testing.TB) *Image {
	t.Helper()
	m := &Image{
		Shape: []int64{int64(s.Rows), int64(s.Columns), int64(s.Samples)}, SampleBytes: s.Bytes,
		Stored: spaces[s.Stored], Wanted: spaces[s.Wanted],
	}
	if s.Tables != nil {
		tables, err := ParseTables(s.Tables)
		if err != nil {
			t.Fatalf("%s: tables: %v", s.Name, err)
		}
		m.Tables = tables
	}
	return m
}

//go:embed testdata/samples.jsonl
var stored []byte

func samples(t testing.TB) []*sampleFile { return vectors.Samples[*sampleFile](t, stored, 400) }

func TestDecode(t *testing.T) {
	for _, s := range samples(t) {
		m := s.image(t)
		got := make([]byte, s.size())
		if err := m.Decode(got, s.Data); err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != s.SHA256 {
			t.Errorf("%s: libjpeg-turbo has other pixels", s.Name)
		}
		h, err := ParseHeader(s.Data)
		if err != nil || h.Rows != s.Rows || h.Columns != s.Columns || (h.Precision == 12) != (s.Bytes == 2) {
			t.Errorf("%s: header %+v, %v", s.Name, h, err)
		}
	}
}

// TestRows decodes chunks with less rows than the stream, and chunks with other shapes and types, which are errors.
func TestRows(t *testing.T) {
	for _, s := range samples(t) {
		m := s.image(t)
		all := make([]byte, s.size())
		if err := m.Decode(all, s.Data); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		for _, rows := range []int{0, 1, s.Rows / 2, s.Rows - 1} {
			cut := *m
			cut.Shape = []int64{1, int64(rows), int64(s.Columns), int64(s.Samples)}
			got := make([]byte, s.size()/s.Rows*rows)
			if err := cut.Decode(got, s.Data); err != nil || !bytes.Equal(got, all[:len(got)]) {
				t.Errorf("%s: %d rows: %v, or they differ", s.Name, rows, err)
			}
		}
		for _, d := range [][4]int{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, -1, 0, 0}, {0, 0, 0, 3 - 2*s.Bytes}} {
			other := *m
			other.Shape = []int64{int64(s.Rows + d[0]), int64(s.Columns + d[1]), int64(s.Samples + d[2])}
			other.SampleBytes += d[3]
			dst := make([]byte, (s.Rows+d[0])*(s.Columns+d[1])*(s.Samples+d[2])*other.SampleBytes)
			if err := other.Decode(dst, s.Data); len(dst) > 0 && !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: shape %v, %d bytes: %v", s.Name, other.Shape, other.SampleBytes, err)
			}
		}
	}
}

// TestCut checks that a stream that ends in its coefficients, or before, is an error.
func TestCut(t *testing.T) {
	for _, s := range samples(t) {
		m := s.image(t)
		dst := make([]byte, s.size())
		scan := bytes.Index(s.Data, []byte("\xff\xda"))
		for _, n := range []int{0, 1, 3, scan / 2, scan, scan + 5, scan + 14} {
			if n > len(s.Data)-3 {
				continue
			}
			if err := m.Decode(dst, s.Data[:n]); !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: %d of %d bytes: %v", s.Name, n, len(s.Data), err)
			}
		}
		// Without the last coefficients and EOI, the last MCU row, or the last scan, lacks bits. The last bits of a
		// scan may be padding.
		if err := m.Decode(dst, s.Data[:len(s.Data)-5]); len(s.Data) > scan+40 && !errors.Is(err, corrupt.Err) && !bytes.Contains([]byte(s.Name), []byte("progressive")) {
			t.Errorf("%s: without the last bytes: %v", s.Name, err)
		}
	}
}

// TestBroken changes a stream, and expects an error that names the place.
func TestBroken(t *testing.T) {
	whole := pick(t, "17x33 420")
	progressive := pick(t, "17x33 4:2:0 progressive")
	restart := pick(t, "33x31 4:2:0 restart 1")
	for name, c := range map[string]struct {
		of          *sampleFile
		old, change string
		unsupported bool
	}{
		"not JPEG":                {whole, "\xff\xd8", "\xff\xd9", false},
		"lossless":                {whole, "\xff\xc0", "\xff\xc3", true},
		"arithmetic":              {whole, "\xff\xc0", "\xff\xc9", true},
		"hierarchical":            {whole, "\xff\xc0", "\xff\xc5", true},
		"no frame":                {whole, "\xff\xc0", "\xff\xfe", false},
		"unknown marker":          {whole, "\xff\xdb", "\xff\x02", false},
		"16 bits":                 {whole, "\xff\xc0\x00\x11\x08", "\xff\xc0\x00\x11\x10", true},
		"no rows":                 {whole, "\xff\xc0\x00\x11\x08\x00\x11", "\xff\xc0\x00\x11\x08\x00\x00", false},
		"sampling of 3 in 2":      {whole, "\x02\x11\x01", "\x02\x31\x01", true},
		"sampling of 0":           {whole, "\x03\x01\x22", "\x03\x01\x02", false},
		"no quantization table":   {whole, "\x02\x11\x01", "\x02\x11\x03", false},
		"no Huffman table":        {whole, "\xff\xda\x00\x0c\x03\x01\x00", "\xff\xda\x00\x0c\x03\x01\x20", false},
		"no such component":       {whole, "\xff\xda\x00\x0c\x03\x01\x00", "\xff\xda\x00\x0c\x03\x07\x00", false},
		"a component twice":       {whole, "\xff\xda\x00\x0c\x03\x01\x00", "\xff\xda\x00\x0c\x03\x02\x00", false},
		"lost restart marker":     {restart, "\xff\xd1", "\xff\xd2", false},
		"progressive scan":        {progressive, "\x03\x10\x00\x00\x01", "\x03\x10\x00\x05\x01", false},
		"AC of three components":  {progressive, "\x03\x10\x00\x00\x01", "\x03\x10\x01\x05\x01", false},
		"too many codes":          {whole, "\xff\xc4\x00\x1f\x00\x00", "\xff\xc4\x00\x1f\x00\x07", false},
		"long segment":            {whole, "\xff\xdb\x00\x43", "\xff\xdb\xff\x43", false},
		"quantization table of 5": {whole, "\xff\xdb\x00\x43\x00", "\xff\xdb\x00\x43\x05", false},
	} {
		m := c.of.image(t)
		if !bytes.Contains(c.of.Data, []byte(c.old)) {
			t.Errorf("%s: the sample has no % x", name, c.old)
		}
		src := bytes.Replace(c.of.Data, []byte(c.old), []byte(c.change), 1)
		err := m.Decode(make([]byte, c.of.size()), src)
		if errors.Is(err, errors.ErrUnsupported) != c.unsupported || errors.Is(err, corrupt.Err) == c.unsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func pick(t testing.TB, name string) *sampleFile {
	t.Helper()
	for _, s := range samples(t) {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no sample %q", name)
	return nil
}

// TestHostile decodes streams that make small data cost much: it must end soon, in little memory.
func TestHostile(t *testing.T) {
	s := pick(t, "17x33 4:2:0 progressive")
	frame := bytes.Index(s.Data, []byte("\xff\xc2"))
	src := bytes.Clone(s.Data)
	copy(src[frame+5:], "\xff\xdc\x00\x21") // 65,500 rows
	m := s.image(t)
	dst := make([]byte, s.size())
	if err := m.Decode(dst, src); err == nil {
		t.Error("no error for a progressive image of 65,500 rows")
	}
	scan := bytes.LastIndex(s.Data, []byte("\xff\xda"))
	src = s.Data[:len(s.Data)-2]
	for range 200 {
		src = append(src[:len(src):len(src)], s.Data[scan:len(s.Data)-2]...)
	}
	if err := m.Decode(dst, src); !errors.Is(err, corrupt.Err) {
		t.Errorf("210 scans: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.Data, s.Tables, s.Rows, s.Columns, s.Samples, s.Bytes == 2, byte(spaces[s.Stored]), byte(spaces[s.Wanted]))
	}
	f.Fuzz(func(t *testing.T, src, tables []byte, rows, columns, samples int, wide bool, stored, wanted byte) {
		if min(rows, columns, samples) < 0 || max(rows, columns) > 300 || samples > 4 || max(stored, wanted) > byte(YCCK) {
			return
		}
		m := &Image{Shape: []int64{int64(rows), int64(columns), int64(samples)}, SampleBytes: 1, Stored: Space(stored), Wanted: Space(wanted)}
		if wide {
			m.SampleBytes = 2
		}
		if len(tables) > 0 {
			var err error
			if m.Tables, err = ParseTables(tables); err != nil {
				return
			}
		}
		size := rows * columns * samples * m.SampleBytes
		room := make([]byte, size+8)
		err := m.Decode(room[:size:size], src)
		if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("error of no kind: %v", err)
		}
		if !bytes.Equal(room[size:], make([]byte, 8)) {
			t.Error("bytes were written past the end")
		}
	})
}
