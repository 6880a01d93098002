package shuffle

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// The definitions, in the simplest code.

func plainShuffle(src []byte, size int) []byte {
	dst := bytes.Clone(src)
	n := len(src) / size
	for i := range n {
		for p := range size {
			dst[p*n+i] = src[i*size+p]
		}
	}
	return dst
}

func plainBitShuffle(src []byte, size int) []byte {
	dst := bytes.Clone(src)
	n := len(src) / size &^ 7
	clear(dst[:n*size])
	for i := range n {
		for bit := range 8 * size {
			b := src[i*size+bit/8] >> (bit % 8) & 1
			dst[bit*n/8+i/8] |= b << (i % 8)
		}
	}
	return dst
}

// eachKernel runs the test with every set of kernels that this machine supports.
func eachKernel(t *testing.T, do func(t *testing.T)) {
	had := hasAVX2
	defer func() { hasAVX2 = had }()
	if had {
		t.Run("avx2", do)
	}
	hasAVX2 = false
	t.Run("narrow", do)
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// unaligned returns n bytes that start at an odd address, inside bytes that must not change.
func unaligned(rng *rand.Rand, n int) (framed, inner []byte) {
	skip := 1 + 2*rng.IntN(16)
	framed = bytes.Repeat([]byte{0xA5}, n+skip+64)
	return framed, framed[skip : skip+n : skip+n]
}

func checkFrame(t *testing.T, framed, inner []byte) {
	t.Helper()
	clear(inner)
	if n := bytes.Count(framed, []byte{0xA5}); n != len(framed)-len(inner) {
		t.Errorf("wrote outside of dst: %d of %d bytes around it are left", n, len(framed)-len(inner))
	}
}

var lengths = []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 511, 1000, 1024,
	2047, 4096, 8191, 8192, 8193, 16384, 20011, 3*8192 + 13}

var sizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 24, 31, 32, 33, 64, 100, 128, 255, 1024, 1025, 3000}

type transform struct {
	name  string
	plain func(src []byte, size int) []byte
	there func(dst, src []byte, size int)
	back  func(dst, src []byte, size int)
}

var transforms = []transform{
	{"bytes", plainShuffle, Shuffle, Unshuffle},
	{"bits", plainBitShuffle, BitShuffle, BitUnshuffle},
}

func TestAgainstDefinition(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, tr := range transforms {
			for _, size := range sizes {
				for _, n := range lengths {
					t.Run(fmt.Sprintf("%s/size=%d/len=%d", tr.name, size, n), func(t *testing.T) {
						tr.check(t, rng, size, n)
					})
				}
			}
		}
	})
}

func (tr transform) check(t *testing.T, rng *rand.Rand, size, n int) {
	_, src := unaligned(rng, n)
	copy(src, random(rng, n))
	want := tr.plain(src, size)

	frame, got := unaligned(rng, n)
	tr.there(got, src, size)
	if !bytes.Equal(got, want) {
		t.Fatal("encoding differs from the definition")
	}
	checkFrame(t, frame, got)

	frame, got = unaligned(rng, n)
	tr.back(got, want, size)
	if !bytes.Equal(got, src) {
		t.Fatal("decoding differs from the source")
	}
	checkFrame(t, frame, got)
}

// TestKernelsAgree compares the assembly code with the Go code for every length up to several vectors, also with
// gaps between the planes.
func TestKernelsAgree(t *testing.T) {
	type kernel struct {
		name      string
		size      int
		fast, go_ func(dst, src []byte, stride, n int)
		unshuf    bool
	}
	kernels := []kernel{
		{"shuffle2", 2, shuffle2, shuffle2Go, false},
		{"shuffle4", 4, shuffle4, shuffle4Go, false},
		{"shuffle8", 8, shuffle8, shuffle8Go, false},
		{"unshuffle2", 2, unshuffle2, unshuffle2Go, true},
		{"unshuffle4", 4, unshuffle4, unshuffle4Go, true},
		{"unshuffle8", 8, unshuffle8, unshuffle8Go, true},
	}
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, k := range kernels {
			for n := range 200 {
				stride := n + rng.IntN(9)
				planes, elems := (k.size-1)*stride+n, n*k.size
				in, out := elems, planes
				if k.unshuf {
					in, out = planes, elems
				}
				src := random(rng, in)
				a, b := make([]byte, out), make([]byte, out)
				k.fast(a, src, stride, n)
				k.go_(b, src, stride, n)
				if !bytes.Equal(a, b) {
					t.Errorf("%s: n=%d stride=%d: assembly and Go differ", k.name, n, stride)
				}
			}
		}
	})
}

func TestTransposeBitsAgree(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for n := range 200 {
			a := random(rng, n)
			b := bytes.Clone(a)
			transposeBits(a)
			transposeBitsGo(b)
			if !bytes.Equal(a, b) {
				t.Errorf("n=%d: assembly and Go differ", n)
			}
		}
	})
}

func TestBlosc1CopiesPartialGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, tc := range []struct {
		name    string
		n, size int
		copied  bool
	}{
		{"16 elements", 64, 4, false},
		{"16 elements and a rest", 67, 4, false},
		{"15 elements", 60, 4, true},
		{"no element", 3, 4, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := random(rng, tc.n)
			want := src
			if !tc.copied {
				want = plainBitShuffle(src, tc.size)
			}
			got := make([]byte, tc.n)
			BitShuffleBlosc1(got, src, tc.size)
			if !bytes.Equal(got, want) {
				t.Error("shuffled bytes are wrong")
			}
			back := make([]byte, tc.n)
			BitUnshuffleBlosc1(back, got, tc.size)
			if !bytes.Equal(back, src) {
				t.Error("round trip differs")
			}
		})
	}
}

func TestBitBlockSize(t *testing.T) {
	for size, want := range map[int]int{1: 8192, 2: 4096, 3: 2728, 4: 2048, 8: 1024, 12: 680, 64: 128, 65: 128, 1000: 128} {
		if got := BitBlockSize(size); got != want {
			t.Errorf("element size %d: %d elements a block, want %d", size, got, want)
		}
	}
}

// bitShuffleBlocks shuffles like HDF5's filter 32008 without compression.
func bitShuffleBlocks(src []byte, elemSize, blockElems int) []byte {
	var out []byte
	for len(src) > 0 {
		n := min(elemSize*blockElems, len(src))
		out = append(out, plainBitShuffle(src[:n], elemSize)...)
		src = src[n:]
	}
	return out
}

func TestBitUnshuffleBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 5, 31, 32, 4096, 8192, 8192*2 + 4*21 + 3} {
		src := random(rng, n)
		back := make([]byte, n)
		BitUnshuffleBlocks(back, bitShuffleBlocks(src, 4, BitBlockSize(4)), 4, BitBlockSize(4))
		if !bytes.Equal(back, src) {
			t.Errorf("%d bytes: round trip differs", n)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), uint16(4))
	f.Add(make([]byte, 8192*3+5), uint16(3))
	f.Fuzz(func(t *testing.T, src []byte, size uint16) {
		for _, tr := range transforms {
			there, back := make([]byte, len(src)), make([]byte, len(src))
			tr.there(there, src, int(size))
			tr.back(back, there, int(size))
			if !bytes.Equal(back, src) {
				t.Errorf("%s: size %d, %d bytes: round trip differs", tr.name, size, len(src))
			}
		}
	})
}

func Benchmark(b *testing.B) {
	src := random(rand.New(rand.NewPCG(11, 12)), 1<<20)
	dst := make([]byte, len(src))
	for _, size := range []int{2, 3, 4, 8, 12, 16, 24} {
		for _, op := range []struct {
			name string
			do   func(dst, src []byte, size int)
		}{{"unshuffle", Unshuffle}, {"shuffle", Shuffle}, {"bitunshuffle", BitUnshuffle}, {"bitshuffle", BitShuffle}} {
			b.Run(fmt.Sprintf("%s/%d", op.name, size), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				b.ReportAllocs()
				for b.Loop() {
					op.do(dst, src, size)
				}
			})
		}
	}
}
