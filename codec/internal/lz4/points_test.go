package lz4

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"varve/codec/internal/access"
	"varve/codec/internal/access/accesstest"
	"varve/codec/internal/vectors"
	"varve/fixtures/soak"
)

func formatOf(points func(dst, src []byte, every int) (int, []access.Point, error)) *accesstest.Format {
	return &accesstest.Format{
		Points: points,
		Resume: func(room []byte, size int, window, src []byte, _ int) ([]byte, error) {
			return Resume(room, size, window, src)
		},
		Room: ResumeSize,
	}
}

// TestSpans reads spans of blocks: of matches, of literals, of bytes that are stored uncompressed, and of all of them.
func TestSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(soak.Seed(t), 1))
	samples := map[string][]byte{}
	var mixed []byte
	for _, kind := range []string{"smooth", "steps", "zeros", "sparse", "noise"} {
		samples[kind] = vectors.Sample(kind, 300_000)
		mixed = append(mixed, samples[kind][:1+rng.IntN(200_000)]...)
	}
	samples["mixed"] = mixed
	samples["repeats"] = bytes.Repeat(vectors.Sample("noise", 60_000), 8)
	samples["one byte"] = []byte{7}
	for name, data := range samples {
		sized, err := AppendSized(nil, data, 1)
		if err != nil {
			t.Fatal(err)
		}
		formatOf(SizedPoints).Check(t, name, data, sized, 100)
		formatOf(SizedPoints).Damage(t, data, sized, 100)
		for _, block := range []int{0, 1 << 10, 1 << 16, 100_003} {
			src, err := AppendHDF5(nil, data, block)
			if err != nil {
				t.Fatal(err)
			}
			formatOf(HDF5Points).Check(t, fmt.Sprintf("%s in blocks of %d", name, block), data, src, 100)
			formatOf(HDF5Points).Damage(t, data, src, 100)
		}
	}
}

// TestEqualSizes reads a block that has as many bytes as it decodes to: in an HDF5 chunk it would be stored uncompressed.
func TestEqualSizes(t *testing.T) {
	literals := "abcdefghijklmno"
	data := []byte(literals + literals[:5] + "vwxyz")
	block := []byte("\xf1\x00" + literals + "\x0f\x00" + "\x50vwxyz")
	if len(block) != len(data) {
		t.Fatalf("%d bytes decode to %d", len(block), len(data))
	}
	src := append([]byte{byte(len(data)), 0, 0, 0}, block...)
	formatOf(SizedPoints).Check(t, "equal sizes", data, src, 50)
}

func FuzzResume(f *testing.F) {
	src, err := AppendHDF5(nil, vectors.Sample("smooth", 3000), 1000)
	if err != nil {
		f.Fatal(err)
	}
	_, points, err := HDF5Points(make([]byte, 3000), src, 700)
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range points {
		f.Add(src[p.Bit/8:], p.Window, 100)
	}
	f.Fuzz(func(t *testing.T, src, window []byte, size int) { formatOf(HDF5Points).Fuzz(t, size, 0, window, src) })
}
