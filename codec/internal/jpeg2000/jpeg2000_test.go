package jpeg2000

import (
	"bytes"
	"compress/zlib"
	_ "embed"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

//go:embed testdata/vectors.json
var recorded []byte

// vector is an image that OpenJPEG encoded; testdata/generate.py makes them.
type vector struct {
	Name                string
	Width, Height, Bits int
	Stored              []byte
	Want                []byte // zlib of little-endian int32
}

func recordedVectors(t testing.TB) []vector {
	t.Helper()
	return vectors.Parse[vector](t, recorded)
}

func (v vector) samples(t testing.TB) []int32 {
	t.Helper()
	r, err := zlib.NewReader(bytes.NewReader(v.Want))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int32, len(b)/4)
	if _, err := binary.Decode(b, binary.LittleEndian, all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDecodeAsOpenJPEG(t *testing.T) {
	for _, v := range recordedVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			im, err := Parse(v.Stored)
			if err != nil {
				t.Fatal(err)
			}
			if im.Width != v.Width || im.Height != v.Height || im.Bits != v.Bits {
				t.Fatalf("%d × %d of %d bits, want %d × %d of %d", im.Width, im.Height, im.Bits, v.Width, v.Height, v.Bits)
			}
			got, want := make([]int32, v.Width*v.Height), v.samples(t)
			if err := im.Decode(got); err != nil {
				t.Fatal(err)
			}
			differ := 0
			for i := range got {
				if got[i] == want[i] {
					continue
				}
				if differ++; differ == 1 {
					t.Logf("sample (%d, %d) is %d, want %d", i%v.Width, i/v.Width, got[i], want[i])
				}
			}
			if differ > 0 {
				t.Errorf("%d of %d samples differ", differ, len(got))
			}
		})
	}
}

func TestTruncated(t *testing.T) {
	for i, v := range recordedVectors(t) {
		if i%5 != 0 {
			continue
		}
		for n := range len(v.Stored) {
			im, err := Parse(v.Stored[:n])
			if err == nil && im.Width*im.Height <= 1<<16 {
				err = im.Decode(make([]int32, im.Width*im.Height))
			}
			if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("%s, %d bytes: error %v wraps neither ErrCorrupt nor ErrUnsupported", v.Name, n, err)
			}
		}
	}
}

// maxPixels is the size of the largest image that the fuzz target decodes.
const maxPixels = 1 << 14

func FuzzDecode(f *testing.F) {
	for _, v := range recordedVectors(f) {
		f.Add(v.Stored)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		im, err := Parse(src)
		if err == nil && uint64(im.Width)*uint64(im.Height) <= maxPixels {
			err = im.Decode(make([]int32, im.Width*im.Height))
		}
		if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("error %v wraps neither ErrCorrupt nor ErrUnsupported", err)
		}
	})
}
