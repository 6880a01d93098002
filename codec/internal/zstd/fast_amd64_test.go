//go:build amd64 && !purego

package zstd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"varve/fixtures/soak"
)

// checkTwins compares the results of the assembly loops and of the portable loops.
func checkTwins(t *testing.T, src []byte, size int) {
	t.Helper()
	if !hasBMI2 {
		t.Skip("this machine has no BMI2")
	}
	run := func(fast bool) (dst []byte, outcome string) {
		hasBMI2 = fast
		defer func() { hasBMI2 = true }()
		dst = make([]byte, size)
		n, err := Decode(dst, src)
		return dst[:n], fmt.Sprint(n, err)
	}
	fast, got := run(true)
	portable, want := run(false)
	if got != want || !bytes.Equal(fast, portable) {
		t.Fatalf("in assembly: %s, portable: %s", got, want)
	}
}

// TestTwins compares the loops on frames that are valid, truncated, damaged, or too large for the buffer.
func TestTwins(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, data := range samples(rng) {
		data = data[:min(len(data), 60_000)]
		for _, opts := range levels() {
			src := compressed(t, data, append(opts, zstd.WithEncoderCRC(false))...)
			for range 5 {
				damaged := bytes.Clone(src[:len(src)-rng.IntN(2)*rng.IntN(len(src))])
				if len(damaged) > 0 && rng.IntN(2) == 0 {
					damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
				}
				checkTwins(t, damaged, len(data)-rng.IntN(2)*rng.IntN(len(data)+1))
			}
		}
	}
}

func FuzzTwins(f *testing.F) {
	addFrames(f)
	f.Fuzz(func(t *testing.T, src []byte) { checkTwins(t, src, 1<<16) })
}
