package adler32

import (
	"bytes"
	"hash/adler32"
	"math/rand/v2"
	"testing"
)

// eachSums runs do with the assembly code of this machine and with the portable code.
func eachSums(p []byte, do func(name string, a, b uint32)) {
	a, b := sums(65520, 65520, p)
	do("machine", a, b)
	a, b = portableSums(65520, 65520, p)
	do("portable", a, b)
}

// TestSums compares the sums with the definition, also for the largest sums at the start of a run.
func TestSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, fill := range []string{"random", "ones", "zeros"} {
		for _, size := range []int{0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 176, 184, 1000, maxRun - 1, maxRun} {
			p := make([]byte, size)
			for i := range p {
				switch fill {
				case "random":
					p[i] = byte(rng.Uint32())
				case "ones":
					p[i] = 255
				}
			}
			a, b := uint32(65520), uint32(65520)
			for _, c := range p {
				a += uint32(c)
				b += a
			}
			eachSums(p, func(name string, x, y uint32) {
				if x != a || y != b {
					t.Errorf("%s, %d %s bytes: got %d, %d, want %d, %d", name, size, fill, x, y, a, b)
				}
			})
		}
	}
}

func FuzzChecksum(f *testing.F) {
	f.Add([]byte(nil), 0)
	f.Add([]byte("varve"), 1)
	f.Add(bytes.Repeat([]byte{255}, 100), 200)
	f.Fuzz(func(t *testing.T, p []byte, repeat int) {
		p = bytes.Repeat(p, 1+int(uint(repeat)%200))
		if got, want := Checksum(p), adler32.Checksum(p); got != want {
			t.Errorf("%d bytes: got %08x, want %08x", len(p), got, want)
		}
		eachSums(p[:min(len(p), maxRun)], func(name string, a, b uint32) {
			if x, y := portableSums(65520, 65520, p[:min(len(p), maxRun)]); a != x || b != y {
				t.Errorf("%s: got %d, %d, want %d, %d", name, a, b, x, y)
			}
		})
	})
}

func BenchmarkChecksum(b *testing.B) {
	p := make([]byte, 1<<20)
	b.Run("machine", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		b.ReportAllocs()
		for b.Loop() {
			Checksum(p)
		}
	})
	b.Run("portable", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			for q := p; len(q) > 0; q = q[min(len(q), maxRun):] {
				portableSums(1, 0, q[:min(len(q), maxRun)])
			}
		}
	})
	b.Run("standard library", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			adler32.Checksum(p)
		}
	})
}
