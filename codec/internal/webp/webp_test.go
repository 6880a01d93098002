package webp

import (
	"bytes"
	_ "embed"
	"errors"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

// sample is an image and what libwebp decodes from it; samples.py makes the file.
type sample struct {
	Name                   string
	Height, Width, Samples int
	Data, Pixels           []byte
}

//go:embed testdata/samples.jsonl
var stored []byte

func samples(t testing.TB) []sample { return vectors.Samples[sample](t, stored, 56) }

func TestDecode(t *testing.T) {
	for _, s := range samples(t) {
		got := make([]byte, len(s.Pixels))
		if err := Decode(got, s.Data, s.Width, s.Height, s.Samples); err != nil || !bytes.Equal(got, s.Pixels) {
			t.Errorf("%s: %v, %v, want %v", s.Name, err, got[:min(24, len(got))], s.Pixels[:min(24, len(got))])
		}
	}
}

func TestBroken(t *testing.T) {
	s := samples(t)[40]
	size := s.Width * s.Height * s.Samples
	for name, c := range map[string]struct {
		data  []byte
		width int
	}{
		"cut off":       {s.Data[:len(s.Data)/2], s.Width},
		"another width": {s.Data, s.Width + 1},
		"nothing":       {nil, s.Width},
	} {
		if err := Decode(make([]byte, size), c.data, c.width, s.Height, s.Samples); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.Data, s.Width, s.Height, s.Samples)
	}
	f.Fuzz(func(t *testing.T, src []byte, width, height, samples int) {
		if width < 1 || height < 1 || width > 200 || height > 200 || samples != 3 && samples != 4 {
			return
		}
		_ = Decode(make([]byte, width*height*samples), src, width, height, samples)
	})
}
