package zstd

import (
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// addFrames seeds a fuzz target with frames of all kinds of blocks. They have no checksums, so that flipped bits
// reach the decoder's own checks.
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

// FuzzDecode compares Decode with klauspost's decoder: both must return the same bytes, or an error.
func FuzzDecode(f *testing.F) {
	addFrames(f)
	f.Fuzz(func(t *testing.T, src []byte) { check(t, src, 1<<16) })
}
