//go:build !(libdeflate && cgo)

package inflate

import (
	"bytes"
	"compress/flate"
	"fmt"
	"math/rand/v2"
	"testing"

	"varve/fixtures/soak"
)

// checkTwins compares the results of the assembly loop and of the portable loop.
func checkTwins(t *testing.T, src []byte, size int) {
	t.Helper()
	if !hasBMI2 {
		t.Skip("this machine has no BMI2")
	}
	run := func(fast bool) (dst []byte, outcome string) {
		hasBMI2 = fast
		defer func() { hasBMI2 = true }()
		dst = make([]byte, size)
		n, end, err := decode(dst, src, 0)
		return dst[:n], fmt.Sprint(n, end, err)
	}
	fast, got := run(true)
	portable, want := run(false)
	if got != want || !bytes.Equal(fast, portable) {
		t.Fatalf("in assembly: %s, portable: %s", got, want)
	}
}

// TestTwins compares the two loops on streams that are valid, truncated, damaged, or too large for the buffer.
func TestTwins(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for name, data := range samples(rng) {
		for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
			src := deflate(t, data, level)
			for range 10 {
				damaged := bytes.Clone(src[:len(src)-rng.IntN(2)*rng.IntN(len(src))])
				if len(damaged) > 0 && rng.IntN(2) == 0 {
					damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
				}
				t.Logf("seed %d: %s, level %d", seed, name, level)
				checkTwins(t, damaged, len(data)-rng.IntN(2)*rng.IntN(len(data)))
			}
		}
	}
}

func FuzzTwins(f *testing.F) {
	addStreams(f)
	f.Fuzz(func(t *testing.T, src []byte) { checkTwins(t, src, 1<<16) })
}
