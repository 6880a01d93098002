package scaleoffset

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
	"varve/fixtures/soak"
)

//go:embed testdata/vectors.json
var recorded []byte

// vector is a chunk that libhdf5 wrote, made by testdata/generate.py.
type vector = vectors.Chunk

func chunks(t testing.TB) []vector {
	t.Helper()
	vs := vectors.Parse[vector](t, recorded)
	for i := range vs {
		vs[i].Values = append(vs[i].Values, make([]uint32, paramCount-len(vs[i].Values))...)
	}
	return vs
}

func mustParse(t testing.TB, values []uint32) *Scaling {
	t.Helper()
	s, err := Parse(values)
	if err != nil {
		t.Fatalf("Parse(%v): %v", values, err)
	}
	return s
}

func TestDecodeAsLibhdf5(t *testing.T) {
	for _, v := range chunks(t) {
		t.Run(v.Name, func(t *testing.T) { vectors.CheckDecode(t, v.Stored, v.Want, mustParse(t, v.Values).Decode) })
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, v := range chunks(t) {
		s := mustParse(t, v.Values)
		dst := make([]byte, len(v.Want))
		if _, err := s.Decode(dst[1:], v.Stored); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: into a buffer that is too small: %v, want corrupt", v.Name, err)
		}
		if s.isStored {
			continue
		}
		bits := binary.LittleEndian.Uint32(v.Stored)
		need := headerSize + (s.count*int(bits)+7)/8
		for _, n := range []int{0, 4, headerSize - 1, need - 1} {
			if _, err := s.Decode(dst, v.Stored[:n]); !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: truncated to %d bytes: %v, want corrupt", v.Name, n, err)
			}
		}
		if _, err := s.Decode(dst, v.Stored[:need]); err != nil {
			t.Errorf("%s: without the encoder's extra byte: %v", v.Name, err)
		}
		wide := bytes.Clone(v.Stored)
		wide[0] = byte(8*s.size + 1)
		if _, err := s.Decode(dst, wide); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: distances of %d bits: %v, want corrupt", v.Name, wide[0], err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	params := func(first ...uint32) []uint32 { return append(first, make([]uint32, paramCount-len(first))...) }
	for _, c := range []struct {
		name   string
		values []uint32
		want   error
	}{
		{"nothing", nil, corrupt.Err},
		{"one too few", params(2, 0, 1, 0, 4)[1:], corrupt.Err},
		{"one too many", append(params(2, 0, 1, 0, 4), 0), corrupt.Err},
		{"integers in decimal scale", params(0, 0, 1, 0, 4), corrupt.Err},
		{"floats as integers", params(2, 0, 1, 1, 4), corrupt.Err},
		{"exponent scale", params(1, 0, 1, 1, 4), errors.ErrUnsupported},
		{"neither integer nor float", params(2, 0, 1, 2, 4), corrupt.Err},
		{"integers of 3 bytes", params(2, 0, 1, 0, 3), corrupt.Err},
		{"integers of 0 bytes", params(2, 0, 1, 0, 0), corrupt.Err},
		{"floats of 2 bytes", params(0, 0, 1, 1, 2), corrupt.Err},
		{"more bits than there are", params(2, 17, 1, 0, 2), corrupt.Err},
		{"byte order 2", params(2, 0, 1, 0, 2, 0, 2), corrupt.Err},
		{"fill value 2", params(2, 0, 1, 0, 2, 0, 0, 2), corrupt.Err},
	} {
		if s, err := Parse(c.values); s != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v, want %v", c.name, s, err, c.want)
		}
	}
}

// TestIntegersRoundTrip packs distances bit by bit and decodes them, for every size and number of bits.
func TestIntegersRoundTrip(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, size := range []int{1, 2, 4, 8} {
		for bits := range 8 * size {
			const count = 21
			minimum, fill := rng.Uint64(), rng.Uint64()
			stored := make([]byte, headerSize, headerSize+8*count)
			stored[0], stored[4] = byte(bits), 8
			binary.LittleEndian.PutUint64(stored[5:], minimum)
			stored = append(stored, make([]byte, (count*bits+7)/8)...)
			var want []byte
			for i := range count {
				distance := rng.Uint64() & (1<<bits - 1)
				v := distance + minimum
				if distance == 1<<bits-1 {
					v = fill
				}
				want = append(want, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
				for b := range bits {
					if distance>>(bits-1-b)&1 == 1 {
						at := i*bits + b
						stored[headerSize+at/8] |= 0x80 >> (at % 8)
					}
				}
			}
			values := make([]uint32, paramCount)
			copy(values, []uint32{2, 0, count, 0, uint32(size), 0, 0, 1, uint32(fill), uint32(fill >> 32)})
			got := make([]byte, len(want))
			if _, err := mustParse(t, values).Decode(got, stored); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("seed %d: %d bytes, %d bits: got %x want %x", seed, size, bits, got, want)
			}
		}
	}
}

func TestPowerOfTenOutOfRange(t *testing.T) {
	for _, c := range []struct {
		exponent int32
		bits     int
		want     float64
	}{
		{0, 32, 1}, {-400, 64, 0}, {-60, 32, 0}, {22, 64, 1e22}, {-1 << 31, 64, 0}, {-3, 32, float64(float32(0.001))},
	} {
		if got := powerOfTen(c.exponent, c.bits); got != c.want {
			t.Errorf("powerOfTen(%d, %d) = %g, want %g", c.exponent, c.bits, got, c.want)
		}
	}
	if got := powerOfTen(1<<31-1, 32); got <= 1e300 {
		t.Errorf("powerOfTen(1<<31-1, 32) = %g, want infinity", got)
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	for _, v := range chunks(t) {
		s := mustParse(t, v.Values)
		dst := make([]byte, len(v.Want))
		if n := testing.AllocsPerRun(10, func() { s.Decode(dst, v.Stored) }); n != 0 {
			t.Errorf("%s: %v allocations", v.Name, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, v := range chunks(f) {
		if i%7 == 0 {
			var params []byte
			for _, x := range v.Values[:10] {
				params = binary.LittleEndian.AppendUint32(params, x)
			}
			f.Add(params, v.Stored)
		}
	}
	f.Fuzz(func(t *testing.T, params, src []byte) {
		values := make([]uint32, paramCount)
		for i := range min(len(params)/4, paramCount) {
			values[i] = binary.LittleEndian.Uint32(params[4*i:])
		}
		s, err := Parse(values)
		if err != nil {
			if !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("Parse: %v is neither corrupt nor unsupported", err)
			}
			return
		}
		const room = 2048
		guard := bytes.Repeat([]byte{0xa5}, 16)
		buf := append(make([]byte, room), guard...)
		n, err := s.Decode(buf[:room], src)
		if err != nil && !errors.Is(err, corrupt.Err) {
			t.Fatalf("Decode: %v is not corrupt", err)
		}
		if n > room || !bytes.Equal(buf[room:], guard) {
			t.Fatalf("%d bytes, past the end", n)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name   string
		bits   byte
		values []uint32
	}{
		{"int16in9", 9, []uint32{2, 0, 1 << 19, 0, 2, 1, 0, 1, 5}},
		{"int32in17", 17, []uint32{2, 0, 1 << 18, 0, 4, 1, 0, 1, 5}},
		{"float32in12", 12, []uint32{0, 2, 1 << 18, 1, 4, 0, 0, 1, 5}},
		{"bigEndianFloat64in20", 20, []uint32{0, 2, 1 << 17, 1, 8, 0, 1, 1, 5}},
		{"int32in0", 0, []uint32{2, 0, 1 << 18, 0, 4, 1, 0, 0}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := mustParse(b, append(c.values, make([]uint32, paramCount-len(c.values))...))
			src := make([]byte, headerSize+s.count*int(c.bits)/8+1)
			src[0], src[4] = c.bits, 8
			dst := make([]byte, 1<<20)
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Decode(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
