package nbit

import (
	"bytes"
	_ "embed"
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

func mustParse(t testing.TB, values []uint32) *Packing {
	t.Helper()
	p, err := Parse(values)
	if err != nil {
		t.Fatalf("Parse(%v): %v", values, err)
	}
	return p
}

func TestDecodeAsLibhdf5(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		t.Run(v.Name, func(t *testing.T) { vectors.CheckDecode(t, v.Stored, v.Want, mustParse(t, v.Values).Decode) })
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		p := mustParse(t, v.Values)
		if _, err := p.Decode(make([]byte, len(v.Want)-1), v.Stored); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: into a buffer that is too small: %v, want corrupt", v.Name, err)
		}
		if p.isStored {
			continue
		}
		short := v.Stored[:(p.count*p.bits+7)/8-1]
		if _, err := p.Decode(make([]byte, len(v.Want)), short); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: truncated: %v, want corrupt", v.Name, err)
		}
		if _, err := p.Decode(make([]byte, len(v.Want)), v.Stored[:len(short)+1]); err != nil {
			t.Errorf("%s: without the encoder's extra byte: %v", v.Name, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	nested := []uint32{0, 0, 1}
	for range maxDepth + 2 {
		nested = append(nested, classArray, 4)
	}
	nested = append(nested, classNumber, 4, 0, 9, 0)
	nested[0] = uint32(len(nested))
	for _, c := range []struct {
		name   string
		values []uint32
	}{
		{"nothing", nil},
		{"a count that is wrong", []uint32{9, 0, 1, 1, 4, 0, 9, 0}},
		{"ends before the type", []uint32{3, 0, 1}},
		{"ends in a number", []uint32{7, 0, 1, 1, 4, 0, 9}},
		{"goes on after the type", []uint32{9, 0, 1, 1, 4, 0, 9, 0, 0}},
		{"class 0", []uint32{8, 0, 1, 0, 4, 0, 9, 0}},
		{"class 5", []uint32{5, 0, 1, 5, 4}},
		{"size 0", []uint32{8, 0, 1, 1, 0, 0, 9, 0}},
		{"byte order 2", []uint32{8, 0, 1, 1, 4, 2, 9, 0}},
		{"precision 0", []uint32{8, 0, 1, 1, 4, 0, 0, 0}},
		{"precision past the size", []uint32{8, 0, 1, 1, 4, 0, 33, 0}},
		{"offset past the size", []uint32{8, 0, 1, 1, 4, 0, 9, 24}},
		{"offset that overflows 32 bits", []uint32{8, 0, 1, 1, 4, 0, 9, 0xffffffff}},
		{"array that its elements do not divide", []uint32{10, 0, 1, 2, 9, 1, 4, 0, 9, 0}},
		{"array of nothing", []uint32{10, 0, 1, 2, 8, 1, 0, 0, 9, 0}},
		{"more members than parameters", []uint32{12, 0, 1, 3, 8, 1 << 31, 0, 1, 4, 0, 9, 0}},
		{"member past the end", []uint32{12, 0, 1, 3, 8, 1, 5, 1, 4, 0, 9, 0}},
		{"members larger than the compound", []uint32{18, 0, 1, 3, 7, 2, 0, 1, 4, 0, 9, 0, 0, 1, 4, 0, 9, 0}},
		{"nested too deep", nested},
	} {
		if p, err := Parse(c.values); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %+v, %v, want corrupt", c.name, p, err)
		}
	}
}

func TestParseRefusesUnstorableTypes(t *testing.T) {
	number := []uint32{classNumber, 4, 0, 9, 0}
	array := append([]uint32{classArray, 8, classArray, 4}, number...)
	values := []uint32{0, 0, 1, classCompound, 16, 2, 0}
	values = append(append(values, array...), 8)
	values = append(values, number...)
	values[0] = uint32(len(values))
	if _, err := Parse(values); !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, corrupt.Err) {
		t.Errorf("Parse = %v, want unsupported", err)
	}
}

// TestNumbersRoundTrip packs random numbers bit by bit and decodes them, for every byte order, precision and
// offset in up to 10 bytes.
func TestNumbersRoundTrip(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	for size := 1; size <= 10; size++ {
		for precision := 1; precision <= 8*size; precision++ {
			for offset := 0; offset <= 8*size-precision; offset++ {
				order := rng.IntN(2)
				const count = 11
				want, stored := packNumbers(rng, count, size, order, precision, offset)
				p := mustParse(t, []uint32{8, 0, count, 1, uint32(size), uint32(order), uint32(precision), uint32(offset)})
				got := make([]byte, len(want))
				if _, err := p.Decode(got, stored); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("seed %d: size %d order %d, %d bits at %d: got %x want %x", seed, size, order, precision, offset, got, want)
				}
			}
		}
	}
}

// packNumbers returns random numbers, and packs them one bit at a time.
func packNumbers(rng *rand.Rand, count, size, order, precision, offset int) (values, stored []byte) {
	values = make([]byte, count*size)
	stored = make([]byte, (count*precision+7)/8)
	at := 0
	for i := range count {
		for bit := offset + precision - 1; bit >= offset; bit-- {
			if rng.IntN(2) == 1 {
				b := bit / 8
				if order == 1 {
					b = size - 1 - b
				}
				values[i*size+b] |= 1 << (bit % 8)
				stored[at/8] |= 0x80 >> (at % 8)
			}
			at++
		}
	}
	return values, stored
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		p := mustParse(t, v.Values)
		dst := make([]byte, len(v.Want))
		if n := testing.AllocsPerRun(10, func() { p.Decode(dst, v.Stored) }); n != 0 {
			t.Errorf("%s: %v allocations", v.Name, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range vectors.Parse[vector](f, recorded) {
		b := make([]byte, 0, 4*len(v.Values))
		for _, x := range v.Values {
			b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
		}
		f.Add(b, v.Stored)
	}
	f.Fuzz(func(t *testing.T, params, src []byte) {
		values := make([]uint32, len(params)/4)
		for i := range values {
			values[i] = uint32(params[4*i]) | uint32(params[4*i+1])<<8 | uint32(params[4*i+2])<<16 | uint32(params[4*i+3])<<24
		}
		p, err := Parse(values)
		if err != nil {
			if !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("Parse: %v is neither corrupt nor unsupported", err)
			}
			return
		}
		const guard = 0xa5
		buf := bytes.Repeat([]byte{guard}, 4096+16)
		n, err := p.Decode(buf[:4096], src)
		if err != nil && !errors.Is(err, corrupt.Err) {
			t.Fatalf("Decode: %v is not corrupt", err)
		}
		if n > 4096 || !bytes.Equal(buf[4096:], bytes.Repeat([]byte{guard}, 16)) {
			t.Fatalf("%d bytes, past the end", n)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name   string
		values []uint32
	}{
		{"int16of12", []uint32{8, 0, 1 << 19, 1, 2, 0, 12, 0}},
		{"int32of17", []uint32{8, 0, 1 << 18, 1, 4, 0, 17, 0}},
		{"bigEndianFloat32of20", []uint32{8, 0, 1 << 18, 1, 4, 1, 20, 7}},
		{"compound", []uint32{18, 0, 1 << 17, 3, 8, 2, 0, 1, 4, 0, 17, 0, 4, 1, 4, 0, 20, 7}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := mustParse(b, c.values)
			src := make([]byte, (p.count*p.bits+7)/8+1)
			dst := make([]byte, 1<<20)
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Decode(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
