package zstd

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"varve/codec/internal/access/accesstest"
	"varve/fixtures/soak"
)

var format = accesstest.Format{
	Points: Points,
	Resume: func(room []byte, size int, _, src []byte, _ int) ([]byte, error) { return Resume(room, size, src) },
	Room:   ResumeSize,
}

// frames returns the data as frames of random lengths and options, with skippable frames between them.
func frames(t testing.TB, rng *rand.Rand, data []byte) (src []byte) {
	for len(data) > 0 {
		n := 1 + rng.IntN(min(len(data), 1<<rng.IntN(20)))
		src = append(src, compressed(t, data[:n], zstd.WithEncoderCRC(rng.IntN(2) == 0), zstd.WithSingleSegment(rng.IntN(2) == 0))...)
		data = data[n:]
		if rng.IntN(4) == 0 {
			src = binary.LittleEndian.AppendUint32(src, skipMagic+3)
			src = append(binary.LittleEndian.AppendUint32(src, 5), "varve"...)
		}
	}
	return src
}

func TestSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(soak.Seed(t), 1))
	for name, data := range samples(rng) {
		if len(data) == 0 {
			continue
		}
		src := frames(t, rng, data)
		format.Check(t, name, data, src, 100)
		format.Check(t, name+", one frame", data, compressed(t, data), 20)
		format.Damage(t, data, src, 50)
	}
}

func FuzzResume(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	f.Add(frames(f, rng, samples(rng)["text"][:3000]), 100)
	f.Fuzz(func(t *testing.T, src []byte, size int) { format.Fuzz(t, size, 0, nil, src) })
}
