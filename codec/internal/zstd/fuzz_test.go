package zstd

import (
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// addFrames seeds a fuzz target with frames of all kinds of blocks, without checksums, so that
// what is flipped in them counts.
func addFrames(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, data := range samples(rng) {
		for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedBestCompression} {
			f.Add(compressed(f, data[:min(len(data), 3000)], zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false)))
		}
	}
	two := compressed(f, []byte("two frames, and one to skip"))
	f.Add(append(append(two[:len(two):len(two)], "\x51\x2a\x4d\x18\x03\x00\x00\x00abc"...), two...))
}

// FuzzDecode holds Decode to klauspost's decoder: the same bytes, or an error from both.
func FuzzDecode(f *testing.F) {
	addFrames(f)
	f.Fuzz(func(t *testing.T, src []byte) { check(t, src, 1<<16) })
}
