package sperr

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
	"varve/fixtures/soak"
)

//go:embed testdata/vectors.json
var recorded []byte

// vector is a chunk that libhdf5 can read, made by testdata/generate.py.
type vector struct {
	Name   string
	Values []uint32
	Stored []byte
	Size   int
	Want   string
}

// named returns the vector whose name starts with prefix.
func named(t testing.TB, prefix string) vector {
	t.Helper()
	for _, v := range vectors.Parse[vector](t, recorded) {
		if strings.HasPrefix(v.Name, prefix) {
			return v
		}
	}
	t.Fatalf("no vector %q", prefix)
	return vector{}
}

func mustParse(t testing.TB, values []uint32) *Layout {
	t.Helper()
	l, err := Parse(values)
	if err != nil {
		t.Fatalf("Parse(%v): %v", values, err)
	}
	return l
}

func TestDecodeAsLibhdf5(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		t.Run(v.Name, func(t *testing.T) {
			l := mustParse(t, v.Values)
			dst := bytes.Repeat([]byte{0xa5}, v.Size+9)
			for range 2 { // the second time with the memory of the first
				n, err := l.Decode(dst[:v.Size], v.Stored)
				if err != nil || n != v.Size {
					t.Fatalf("Decode = %d, %v, want %d bytes", n, err, v.Size)
				}
				if sum := sha256.Sum256(dst[:n]); hex.EncodeToString(sum[:]) != v.Want {
					t.Errorf("bytes differ from libhdf5's; first ones %x", dst[:16])
				}
			}
			if !bytes.Equal(dst[v.Size:], bytes.Repeat([]byte{0xa5}, 9)) {
				t.Errorf("wrote past the end: %x", dst[v.Size:])
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	const double2, double3, now = 2, 3, 1 << 10
	for _, c := range []struct {
		name   string
		values []uint32
		want   error
	}{
		{"nothing", nil, corrupt.Err},
		{"no dimensions", []uint32{double2, 0}, corrupt.Err},
		{"one of two dimensions", []uint32{double2, 0, 9}, corrupt.Err},
		{"two of three dimensions", []uint32{double3, 0, 9, 9}, corrupt.Err},
		{"one dimension", []uint32{1, 0, 9, 9}, corrupt.Err},
		{"four dimensions", []uint32{4, 0, 9, 9, 9, 9}, corrupt.Err},
		{"length 0", []uint32{double2, 0, 0, 9}, corrupt.Err},
		{"length 1", []uint32{double2, 0, 9, 1}, corrupt.Err},
		{"4 GiB of doubles", []uint32{double2, 0, 1 << 15, 1 << 14}, corrupt.Err},
		{"4 GiB of floats", []uint32{double2 | 16, 0, 1 << 15, 1 << 15}, corrupt.Err},
		{"lengths whose product overflows", []uint32{double3, 0, 1 << 31, 1 << 31, 4}, corrupt.Err},
		{"missing values of mode 3", []uint32{double2 | now | 3<<6, 0, 9, 9}, errors.ErrUnsupported},
		{"format 2", []uint32{double2 | 2*now, 0, 9, 9}, errors.ErrUnsupported},
	} {
		if l, err := Parse(c.values); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v, want %v", c.name, l, err, c.want)
		}
	}
}

// TestDecodeRefuses changes bytes of valid chunks.
func TestDecodeRefuses(t *testing.T) {
	plane, volume := named(t, "<f8 of 9x9,"), named(t, "<f8 of 9x9x9,")
	equal, equalVolume := named(t, "<f8 all equal"), named(t, "<f8 all equal in a volume")
	pieces := named(t, "<f8 volume cut by 9x9x9")
	holed := named(t, "<f8 of 13x29, 50 percent NaN scattered")
	set := func(at int, b ...byte) func([]byte) []byte {
		return func(s []byte) []byte { copy(s[at:], b); return s }
	}
	keep := func(n int) func([]byte) []byte { return func(s []byte) []byte { return s[:n] } }
	more := func(s []byte) []byte { return append(s, 0) }
	infinite := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	for _, c := range []struct {
		name   string
		of     vector
		change func([]byte) []byte
		want   error
	}{
		{"empty", plane, keep(0), corrupt.Err},
		{"missing values of mode 3", plane, set(0, 3), errors.ErrUnsupported},
		{"half a condition", plane, keep(10), corrupt.Err},
		{"half a header of coefficients", plane, keep(1 + 17 + 8), corrupt.Err},
		{"step 0", plane, set(1+9, make([]byte, 8)...), corrupt.Err},
		{"step NaN", plane, set(1+9, infinite...), corrupt.Err},
		{"65 bit planes", plane, set(1+17, 65), corrupt.Err},
		{"coefficients of 1 bit", plane, set(1+18, 1, 0, 0, 0, 0, 0, 0, 0), corrupt.Err},
		{"equal values and more", equal, more, corrupt.Err},
		{"equal values in another number", equal, set(2, 1), corrupt.Err},
		{"half a header of a volume", volume, keep(1 + 13), corrupt.Err},
		{"volume of library 1", volume, set(1, 1), errors.ErrUnsupported},
		{"volume that is a plane", volume, set(2, 0), corrupt.Err},
		{"volume of other lengths", volume, set(3, 10), corrupt.Err},
		{"volume without a part", volume, keep(1 + 14), corrupt.Err},
		{"part longer than the rest", equalVolume, set(1+14, 18), corrupt.Err},
		{"part shorter than the rest", equalVolume, set(1+14, 16), corrupt.Err},
		{"bytes after the last part", volume, more, corrupt.Err},
		{"half a header of a cut volume", pieces, keep(1 + 19), corrupt.Err},
		{"parts of length 0", pieces, set(1+14, 0), corrupt.Err},
		{"more parts than bytes", pieces, set(1+14, 1, 0, 1, 0, 1, 0), corrupt.Err},
		{"half the length of a mask", holed, keep(3), corrupt.Err},
		{"mask longer than the chunk", holed, set(1, 255, 255, 255, 255), corrupt.Err},
		{"mask without a bit", holed, set(1, 32, 0, 0, 0), corrupt.Err},
		{"mask of too few words", holed, set(1, 34, 0, 0, 0), corrupt.Err},
	} {
		l := mustParse(t, c.of.Values)
		src := c.change(bytes.Clone(c.of.Stored))
		if n, err := l.Decode(make([]byte, c.of.Size), src); n != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d, %v, want %v", c.name, n, err, c.want)
		}
	}
	l := mustParse(t, plane.Values)
	if _, err := l.Decode(make([]byte, plane.Size-1), plane.Stored); !errors.Is(err, corrupt.Err) {
		t.Errorf("into a buffer that is too small: %v, want corrupt", err)
	}
}

// TestDecodeTruncatedFill truncates a chunk inside the value that replaces missing values.
func TestDecodeTruncatedFill(t *testing.T) {
	v := named(t, "<f8 of 13x29, 2 percent 1e36 scattered")
	l := mustParse(t, v.Values)
	for n := range 1 + 8 + 4 {
		if _, err := l.Decode(make([]byte, v.Size), v.Stored[:n]); !errors.Is(err, corrupt.Err) {
			t.Errorf("%d bytes: %v, want corrupt", n, err)
		}
	}
}

// TestReaderTakes compares numbers of many bits with the single bits.
func TestReaderTakes(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	src := make([]byte, 1001)
	for i := range src {
		src[i] = byte(rng.Uint32())
	}
	single, several := reader{src: src}, reader{src: src}
	for single.position() < 8*len(src)+200 {
		n := rng.IntN(65)
		var want uint64
		for i := range n {
			want |= single.bit() << i
		}
		if got := several.take(n); got != want || several.position() != single.position() {
			t.Fatalf("seed %d: %d bits before bit %d are %#x, want %#x", seed, n, single.position(), got, want)
		}
	}
}

// TestParts checks that the parts of a volume cover it exactly once.
func TestParts(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		var dims, cut [3]int
		for i := range dims {
			dims[i], cut[i] = 1+rng.IntN(20), 1+rng.IntN(25)
		}
		counts := cutCounts(dims, cut)
		for i, n := range counts {
			next := 0
			for k := range n {
				var index [3]int
				index[i] = k
				p := cutPart(dims, cut, counts, index)
				if p.start[i] != next || p.length[i] < 1 {
					t.Fatalf("seed %d: part %d of %d is %+v, want it to start at %d", seed, k, dims[i], p, next)
				}
				next += p.length[i]
			}
			if next != dims[i] {
				t.Fatalf("seed %d: parts of %d end at %d, want %d", seed, cut[i], next, dims[i])
			}
		}
	}
}

func TestDecodeConcurrently(t *testing.T) {
	v := named(t, "<f8 volume cut by 9x9x9")
	l := mustParse(t, v.Values)
	sums := make(chan [32]byte)
	for range 4 {
		go func() {
			dst := make([]byte, v.Size)
			if _, err := l.Decode(dst, v.Stored); err != nil {
				t.Error(err)
			}
			sums <- sha256.Sum256(dst)
		}()
	}
	for range 4 {
		if sum := <-sums; hex.EncodeToString(sum[:]) != v.Want {
			t.Error("bytes differ from libhdf5's")
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range vectors.Parse[vector](f, recorded) {
		if v.Size <= 13*29*8 {
			f.Add(v.Values[0], uint16(v.Values[2]), uint16(v.Values[3]), uint16(v.Values[len(v.Values)-1]), v.Stored)
		}
	}
	dst := make([]byte, 1<<16)
	f.Fuzz(func(t *testing.T, meta uint32, a, b, c uint16, src []byte) {
		l, err := Parse([]uint32{meta, 0, uint32(a), uint32(b), uint32(c)})
		if err != nil {
			if !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("Parse: %v", err)
			}
			return
		}
		n, err := l.Decode(dst, src)
		if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Decode: %v", err)
		}
		if n < 0 || n > len(dst) {
			t.Errorf("Decode = %d of %d bytes", n, len(dst))
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"<f4 of 70x13, to 0.5", "<f4 of 9x36x40, to 0.5", "<f8 of 9x36x40, 2 bits", "<f8 nearly as they were"} {
		b.Run(name, func(b *testing.B) {
			v := named(b, name)
			l := mustParse(b, v.Values)
			dst := make([]byte, v.Size)
			b.SetBytes(int64(v.Size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Decode(dst, v.Stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
