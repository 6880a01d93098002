package aec

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
	"varve/fixtures/soak"
)

//go:embed testdata/vectors.json
var recorded []byte

// vector is a chunk that libhdf5 or libaec wrote, made by testdata/generate.py.
type vector struct {
	Name   string
	Params Params
	Stored []byte
	Want   []byte
}

func blocks(t testing.TB) []vector {
	t.Helper()
	type line struct {
		Name         string
		Params       [4]uint32
		Stored, Want []byte
	}
	lines := vectors.Parse[line](t, recorded)
	vs := make([]vector, len(lines))
	for i, l := range lines {
		vs[i] = vector{l.Name, params(l.Params), l.Stored, l.Want}
	}
	return vs
}

func params(v [4]uint32) Params {
	return Params{Options: v[0], PixelsPerBlock: int(v[1]), BitsPerPixel: int(v[2]), PixelsPerScanline: int(v[3])}
}

func TestDecodeAsLibhdf5(t *testing.T) {
	for _, v := range blocks(t) {
		t.Run(v.Name, func(t *testing.T) {
			dst := bytes.Repeat([]byte{0xa5}, len(v.Want)+9)
			n, err := DecodeSized(dst, v.Stored, v.Params)
			if err != nil || n != len(v.Want) {
				t.Fatalf("DecodeSized = %d, %v, want %d bytes", n, err, len(v.Want))
			}
			if !bytes.Equal(dst[:n], v.Want) {
				t.Errorf("%+v\nof   %x\ngot  %x\nwant %x", v.Params, v.Stored, dst[:n], v.Want)
			}
			if !bytes.Equal(dst[n:], bytes.Repeat([]byte{0xa5}, 9)) {
				t.Errorf("wrote past the end: %x", dst[n:])
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, v := range blocks(t) {
		dst := make([]byte, len(v.Want))
		if _, err := DecodeSized(dst[1:], v.Stored, v.Params); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: into a buffer that is too small: %v, want corrupt", v.Name, err)
		}
		for n := range 5 {
			if _, err := DecodeSized(dst, v.Stored[:n], v.Params); !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: truncated to %d bytes: %v, want corrupt", v.Name, n, err)
			}
		}
		// The last bytes may contain only the padding of a scanline.
		for n := 5; n < len(v.Stored)*4/5-3; n++ {
			got, err := DecodeSized(dst, v.Stored[:n], v.Params)
			if !errors.Is(err, corrupt.Err) && len(v.Want)%v.Params.PixelsPerScanline == 0 {
				t.Errorf("%s: truncated to %d of %d bytes: %d, %v, want corrupt", v.Name, n, len(v.Stored), got, err)
				break
			}
		}
	}
}

func TestDecodeRefusesParams(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Params
		size int
	}{
		{"no block", Params{0, 0, 8, 8}, 8},
		{"odd block", Params{0, 7, 8, 8}, 8},
		{"long block", Params{0, 66, 8, 66}, 8},
		{"negative block", Params{0, -2, 8, 8}, 8},
		{"no bits", Params{0, 8, 0, 8}, 8},
		{"33 bits", Params{0, 8, 33, 8}, 8},
		{"128 bits", Params{0, 8, 128, 8}, 8},
		{"no scanline", Params{0, 8, 8, 0}, 8},
		{"long scanline", Params{0, 8, 8, maxScanline + 1}, 8},
		{"half a pixel", Params{0, 8, 12, 8}, 7},
		{"half a pixel of 24 bits", Params{0, 8, 24, 8}, 6},
		{"half a pixel of 64 bits", Params{0, 8, 64, 8}, 12},
	} {
		if err := Decode(make([]byte, c.size), make([]byte, 100), c.p); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %v, want corrupt", c.name, err)
		}
	}
}

func TestDecodeRefusesCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		src  []byte
	}{
		{"zero blocks past the scanline", []byte{0b0000_0001, 0xff, 0xff}},
		{"zero blocks past the scanline, by a code above restOfSegment", []byte{0b0000_0000, 0b0000_0001, 0xff}},
		{"an invalid code of a pair", append(append([]byte{0b0001_0000}, make([]byte, 11)...), 0xff, 0xff, 0xff)},
		{"zeros that do not end", make([]byte, 100)},
	} {
		if err := Decode(make([]byte, 12), c.src, Params{PixelsPerBlock: 4, BitsPerPixel: 8, PixelsPerScanline: 12}); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %v, want corrupt", c.name, err)
		}
	}
}

// TestDecodeDoesNotAllocateWhenWarm bypasses the pool, because a pool may drop its objects.
func TestDecodeDoesNotAllocateWhenWarm(t *testing.T) {
	d := new(decoder)
	for _, v := range blocks(t) {
		out, err := newOutput(make([]byte, len(v.Want)), v.Params)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(3, func() { d.fill(out, v.Stored[4:], v.Params) }); n != 0 {
			t.Errorf("%s: %v allocations", v.Name, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, v := range blocks(f) {
		if i%3 == 0 && len(v.Want) < 1000 {
			f.Add(v.Params.Options, uint8(v.Params.PixelsPerBlock), uint8(v.Params.BitsPerPixel), uint16(v.Params.PixelsPerScanline), v.Stored)
		}
	}
	f.Fuzz(func(t *testing.T, options uint32, block, bits uint8, scanline uint16, src []byte) {
		const room = 1 << 12
		guard := bytes.Repeat([]byte{0xa5}, 16)
		buf := append(make([]byte, room), guard...)
		n, err := DecodeSized(buf[:room], src, Params{options, int(block), int(bits), int(scanline)})
		if err != nil && !errors.Is(err, corrupt.Err) {
			t.Fatalf("DecodeSized: %v is not corrupt", err)
		}
		if n > room || !bytes.Equal(buf[room:], guard) {
			t.Fatalf("%d bytes, past the end", n)
		}
	})
}

// splitStream encodes samples with the split option and k low bits, which can represent any sample.
func splitStream(samples []uint32, p Params, id, k int) []byte {
	var out []byte
	free, refBits := 0, p.BitsPerPixel
	if refBits == 32 {
		refBits = 8
	}
	put := func(v uint32, n int) {
		for n--; n >= 0; n-- {
			if free == 0 {
				out, free = append(out, 0), 8
			}
			free--
			out[len(out)-1] |= byte(v>>n&1) << free
		}
	}
	coded := 0
	for block := range slices.Chunk(samples, p.PixelsPerBlock) {
		put(uint32(k+1), id)
		if p.Options&OptionNeighbour != 0 && coded%p.PixelsPerScanline == 0 {
			put(block[0], refBits)
			block = block[1:]
			coded++
		}
		coded += len(block)
		for _, v := range block {
			put(1, int(v>>k)+1)
		}
		for _, v := range block {
			put(v, k)
		}
	}
	return out
}

func TestDecodeLongSequences(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	p := Params{PixelsPerBlock: 8, BitsPerPixel: 20, PixelsPerScanline: 40}
	for k := range 20 {
		samples := make([]uint32, 80)
		var want []byte
		for i := range samples {
			samples[i] = rng.Uint32N(1<<20) >> rng.IntN(20) & (1<<(k+8) - 1)
			want = binary.LittleEndian.AppendUint32(want, samples[i])
		}
		got := make([]byte, len(want))
		if err := Decode(got, splitStream(samples, p, 5, k), p); err != nil || !bytes.Equal(got, want) {
			t.Errorf("seed %d, k = %d: %v\ngot  %x\nwant %x", seed, k, err, got, want)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name  string
		bytes int // of a pixel in memory
		id, k int
		p     Params
	}{
		{"entropy16", 2, 4, 5, Params{0, 32, 16, 1024}},
		{"neighbour16", 2, 4, 5, Params{OptionNeighbour, 32, 16, 1024}},
		{"neighbour8", 1, 3, 2, Params{OptionNeighbour, 16, 8, 1024}},
		{"neighbour32", 1, 3, 4, Params{OptionNeighbour, 16, 32, 1024}},
	} {
		b.Run(c.name, func(b *testing.B) {
			dst := make([]byte, 1<<20)
			samples := make([]uint32, len(dst)/c.bytes)
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range samples {
				samples[i] = rng.Uint32N(1 << c.k * 3)
			}
			src := splitStream(samples, c.p, c.id, c.k)
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Decode(dst, src, c.p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
