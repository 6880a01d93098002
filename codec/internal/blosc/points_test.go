package blosc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"varve/codec/internal/access/accesstest"
	"varve/codec/internal/vectors"
	"varve/fixtures/soak"
)

var format = accesstest.Format{
	Points: Points,
	Resume: func(room []byte, size int, window, src []byte, _ int) ([]byte, error) {
		return room[:size], Resume(room[:size], window, src)
	},
	Room: func(size int) int { return size },
}

// permuted returns a chunk whose blocks are stored in another order, as several threads of c-blosc store them: no block
// is more than a few blocks away from its place.
func permuted(t *testing.T, rng *rand.Rand, src []byte) []byte {
	h, err := readHeader(src)
	if err != nil {
		t.Fatal(err)
	}
	if h.flags&flagStored != 0 || h.nbytes == 0 {
		return src
	}
	c := chunk1{h, src}
	order := make([]int, h.blocks())
	for i := range order {
		order[i] = i
	}
	for i := range order[1:] {
		if j := i + rng.IntN(min(4, len(order)-i)); rng.IntN(4) == 0 {
			order[i], order[j] = order[j], order[i]
		}
	}
	out := bytes.Clone(src[:HeaderSize+4*len(order)])
	for _, i := range order {
		at := int(le.Uint32(src[HeaderSize+4*i:]))
		le.PutUint32(out[HeaderSize+4*i:], uint32(len(out)))
		out = append(out, src[at:c.storedEnd(i, at)]...)
	}
	return out
}

func TestSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(soak.Seed(t), 1))
	for _, v := range recorded(t) {
		if len(v.raw) > 0 {
			format.Check(t, fmt.Sprint(v), v.raw, v.encoded, 5)
		}
	}
	points := 0
	for _, kind := range []string{"smooth", "steps", "zeros", "sparse", "noise"} {
		data := vectors.Sample(kind, 200_003)
		for i, name := range []string{"blosclz", "lz4", "zlib", "zstd"} {
			o := Options{Compressor: name, Level: 1 + rng.IntN(5), Shuffle: Shuffle((i + rng.IntN(3)) % 3), TypeSize: []int{1, 4, 8, 17}[rng.IntN(4)],
				BlockSize: 1024 * (1 + rng.IntN(20))}
			src, err := Append(nil, data, o)
			if err != nil {
				t.Fatal(err)
			}
			src = permuted(t, rng, src)
			points += format.Check(t, fmt.Sprintf("%s, %+v", kind, o), data, src, 100)
			format.Damage(t, data, src, 100)
		}
	}
	if points < 40 {
		t.Errorf("%d points in 20 chunks", points)
	}
}

func FuzzResume(f *testing.F) {
	src, err := Append(nil, vectors.Sample("smooth", 3000), Options{Compressor: "lz4", Level: 5, Shuffle: ByteShuffle, TypeSize: 4, BlockSize: 1000})
	if err != nil {
		f.Fatal(err)
	}
	_, points, err := Points(make([]byte, 3000), src, 1000)
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range points {
		f.Add(src[p.Bit/8:], p.Window, 100)
	}
	f.Fuzz(func(t *testing.T, src, window []byte, size int) { format.Fuzz(t, size, 0, window, src) })
}
