package ccitt

import (
	"bytes"
	_ "embed"
	"errors"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

// sample is an image that GDAL wrote; samples.py makes the file. Pixels has eight pixels in a byte, and rows start at a
// byte.
type sample struct {
	Name          string
	Coding        Coding
	Options       int
	Height, Width int
	Data, Pixels  []byte
}

//go:embed testdata/samples.jsonl
var stored []byte

func samples(t testing.TB) []sample { return vectors.Samples[sample](t, stored, 50) }

func TestDecode(t *testing.T) {
	for _, s := range samples(t) {
		got := make([]byte, s.Height*s.Width)
		n, err := Decode(got, s.Data, Params{s.Coding, s.Width, s.Height, s.Options})
		want := make([]byte, 0, len(got))
		for y := range s.Height {
			row := s.Pixels[y*((s.Width+7)/8):]
			for x := range s.Width {
				want = append(want, row[x/8]>>(7-x%8)&1)
			}
		}
		if err != nil || n != len(got) || !bytes.Equal(got, want) {
			t.Errorf("%s: %d of %d pixels, %v, equal: %v", s.Name, n, len(got), err, bytes.Equal(got, want))
		}
	}
}

// TestTwoDimensions decodes an image of group 3 in two dimensions, which GDAL does not write: a row in one dimension
// of 3 white, 2 black and 3 white pixels, and a row whose changes are at the same places and one to the right.
func TestTwoDimensions(t *testing.T) {
	const lineEnd = "000000000001"
	bits := lineEnd + "1" + "1000" + "11" + "1000" + lineEnd + "0" + "1" + "011" + "1" + lineEnd + "1" + lineEnd + "1" + lineEnd + "1"
	src := make([]byte, (len(bits)+7)/8)
	for i, b := range bits {
		src[i/8] |= byte(b-'0') << (7 - i%8)
	}
	got := make([]byte, 24)
	n, err := Decode(got, src, Params{Group3, 8, 3, TwoDimensions})
	if want := "\x00\x00\x00\x01\x01\x00\x00\x00" + "\x00\x00\x00\x01\x01\x01\x00\x00"; err != nil || string(got[:n]) != want {
		t.Errorf("%v, %v", got[:n], err)
	}
}

func TestBroken(t *testing.T) {
	for name, c := range map[string]struct {
		src string
		p   Params
	}{
		"no code":                  {"\x01", Params{Huffman, 8, 1, 0}},
		"a run over the row":       {"\xd8\xd8", Params{Huffman, 8, 1, 0}},
		"cut off":                  {"\x80", Params{Huffman, 8, 1, 0}},
		"no mode":                  {"\x80\x7f\xff", Params{Group4, 8, 2, 0}},
		"a change before the last": {"\x2e\x10", Params{Group4, 8, 1, 0}},
		"pixels not compressed":    {"", Params{Group3, 8, 1, uncompressed}},
	} {
		if n, err := Decode(make([]byte, 16), []byte(c.src), c.p); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.Data, int(s.Coding), s.Width, s.Height, s.Options)
	}
	f.Fuzz(func(t *testing.T, src []byte, coding, width, height, options int) {
		if width < 1 || width > 3000 || height < 0 || height > 50 {
			return
		}
		room := make([]byte, width*height+8)
		n, _ := Decode(room[:width*height:width*height], src, Params{Coding(coding), width, height, options})
		if n > width*height || !bytes.Equal(room[width*height:], make([]byte, 8)) {
			t.Error("bytes were written past the end")
		}
		for _, b := range room[:n] {
			if b > 1 {
				t.Fatalf("a pixel is %d", b)
			}
		}
	})
}
