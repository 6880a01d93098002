package xz

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"errors"
	"hash/crc32"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

//go:embed testdata/vectors.json
var recorded []byte

// vector is a stream that liblzma wrote, made by testdata/generate.py.
type vector struct {
	Name    string
	Format  string
	Filters []Filter
	Stored  []byte
	Size    int
	CRC32   uint32
}

func (v vector) decode(dst, src []byte) (int, error) {
	switch v.Format {
	case "xz":
		return Decode(dst, src)
	case "alone":
		return DecodeAlone(dst, src)
	}
	return DecodeRaw(dst, src, v.Filters)
}

func named(t testing.TB, format, name string) vector {
	t.Helper()
	for _, v := range vectors.Parse[vector](t, recorded) {
		if v.Format == format && v.Name == name {
			return v
		}
	}
	t.Fatalf("no vector %s %s", format, name)
	return vector{}
}

func TestDecodeAsLiblzma(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		t.Run(v.Format+" "+v.Name, func(t *testing.T) {
			for _, room := range []int{0, 1, 300} {
				if room > 0 && v.Size > 1<<16 {
					continue
				}
				dst := make([]byte, v.Size+room)
				n, err := v.decode(dst, v.Stored)
				if err != nil || n != v.Size {
					t.Fatalf("%d, %v, want %d bytes", n, err, v.Size)
				}
				if got := crc32.ChecksumIEEE(dst[:n]); got != v.CRC32 {
					t.Errorf("CRC-32 %08x, want %08x", got, v.CRC32)
				}
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		if v.Size > 1<<16 {
			continue
		}
		name := v.Format + " " + v.Name
		dst := make([]byte, v.Size)
		if v.Size > 0 {
			if _, err := v.decode(dst[1:], v.Stored); !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: into a buffer that is too small: %v, want corrupt", name, err)
			}
		}
		for n := 0; n < len(v.Stored); n += 1 + n/20 {
			if m, err := v.decode(dst, v.Stored[:n]); !errors.Is(err, corrupt.Err) && m == v.Size && v.Name != "padded streams" {
				t.Errorf("%s: truncated to %d of %d bytes: %v, want corrupt", name, n, len(v.Stored), err)
			}
		}
		for _, tail := range []string{"\x00", "x", "xxxx"} {
			if _, err := v.decode(dst, append(bytes.Clone(v.Stored), tail...)); !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: followed by %q: %v, want corrupt", name, tail, err)
			}
		}
	}
}

// TestDecodeNoticesFlips checks that every flipped bit of an .xz file with a check is detected. Checksums cover
// all its bits.
func TestDecodeNoticesFlips(t *testing.T) {
	for _, name := range []string{"words", "float32", "two streams", "blocks with sizes", "4 deltas, 4 first"} {
		for _, v := range vectors.Parse[vector](t, recorded) {
			if v.Name != name || v.Format != "xz" {
				continue
			}
			dst := make([]byte, v.Size)
			for i := 0; i < len(v.Stored); i += 1 + i/60 {
				stored := bytes.Clone(v.Stored)
				stored[i] ^= 1 << (i % 8)
				if _, err := v.decode(dst, stored); !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%s: a flipped bit in byte %d: %v, want an error", name, i, err)
				}
			}
		}
	}
}

func TestDecodeRefusesByName(t *testing.T) {
	raw := func(chain ...Filter) func([]byte, []byte) (int, error) {
		return func(dst, src []byte) (int, error) { return DecodeRaw(dst, src, chain) }
	}
	// The output of Python for lzma.compress(b"varve", filters=[{"id": lzma.FILTER_X86}, {"id":
	// lzma.FILTER_LZMA2}]).
	x86 := "/Td6WFoAAATm1rRGAgEEACEBFgANhjUfAQAEdmFydmUAAAAA0vMTOAcdtOsAAR0FuC2Arx+2830BAAAAAARZWg=="
	for _, c := range []struct {
		name   string
		decode func(dst, src []byte) (int, error)
		src    string
		want   error
	}{
		{"x86 machine code", Decode, x86, errors.ErrUnsupported},
		{"raw ARM64 machine code", raw(Filter{ID: 10}, Filter{ID: LZMA2}), "AA==", errors.ErrUnsupported},
		{"an unknown filter", raw(Filter{ID: 99}, Filter{ID: LZMA2}), "AA==", errors.ErrUnsupported},
		{"no filters", raw(), "AA==", corrupt.Err},
		{"delta last", raw(Filter{ID: Delta, Distance: 1}), "AA==", corrupt.Err},
		{"LZMA2 first", raw(Filter{ID: LZMA2}, Filter{ID: LZMA2}), "AA==", corrupt.Err},
		{"delta of 0", raw(Filter{ID: Delta}, Filter{ID: LZMA2}), "AA==", corrupt.Err},
		{"delta of 257", raw(Filter{ID: Delta, Distance: 257}, Filter{ID: LZMA2}), "AA==", corrupt.Err},
		{"lc 5", raw(Filter{ID: LZMA1, LC: 5}), "AAAAAAAA", errors.ErrUnsupported},
		{"pb 5", raw(Filter{ID: LZMA1, PB: 5}), "AAAAAAAA", corrupt.Err},
		{"negative lp", raw(Filter{ID: LZMA1, LP: -1}), "AAAAAAAA", corrupt.Err},
		{"alone, properties 225", DecodeAlone, "4QAAAAAAAAAAAAAAAAAAAAAA", corrupt.Err},
	} {
		src, err := base64.StdEncoding.DecodeString(c.src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.decode(make([]byte, 100), src); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestLZMA2RefusesControls(t *testing.T) {
	lzma := "\x00\x04\x00\x05" // 5 bytes of text, 6 of data
	for _, c := range []struct{ name, src string }{
		{"nothing", ""},
		{"a first chunk that refers back", "\x02\x00\x00x\x00"},
		{"a first chunk of LZMA that goes on", "\x80" + lzma},
		{"LZMA without properties", "\x01\x00\x00x\xa0" + lzma + "\x00\x00\x00\x00\x00\x00\x00"},
		{"LZMA without a state", "\x01\x00\x00x\x80" + lzma + "\x00\x00\x00\x00\x00\x00\x00"},
		{"a control that has no meaning", "\x01\x00\x00x\x03\x00\x00x\x00"},
		{"LZMA that does not start with 0", "\xe0" + lzma + "\x5d\x01\x00\x00\x00\x00\x00\x00"},
		{"LZMA of 4 bytes", "\xe0\x00\x04\x00\x03\x5d\x00\x00\x00\x00\x00"},
		{"bytes past the end", "\x01\x00\x08xxxx"},
		{"more bytes than there is room", "\x01\xff\xff" + string(make([]byte, 1<<16)) + "\x00"},
		{"no end", "\x01\x00\x00x"},
	} {
		if n, err := DecodeRaw(make([]byte, 50), []byte(c.src), []Filter{{ID: LZMA2}}); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %d, %v, want corrupt", c.name, n, err)
		}
	}
}

// TestDecodeDoesNotAllocateWhenWarm bypasses the pool, because a pool may drop its objects.
func TestDecodeDoesNotAllocateWhenWarm(t *testing.T) {
	d := new(decoder)
	for _, v := range vectors.Parse[vector](t, recorded) {
		if v.Format != "xz" || v.Size > 1<<16 {
			continue
		}
		dst := make([]byte, v.Size)
		if n := testing.AllocsPerRun(2, func() {
			d.cursor = cursor{src: v.Stored}
			d.streams(dst)
		}); n != 0 {
			t.Errorf("%s: %v allocations", v.Name, n)
		}
	}
}

func fuzz(f *testing.F, format string) {
	for _, v := range vectors.Parse[vector](f, recorded) {
		if v.Format == format && len(v.Stored) < 2000 {
			filters := uint8(len(v.Filters))
			if filters == 1 && v.Filters[0].ID == LZMA1 {
				filters = 0
			}
			f.Add(filters, v.Stored)
		}
	}
	f.Fuzz(func(t *testing.T, filters uint8, src []byte) {
		v := vector{Format: format, Filters: []Filter{{ID: LZMA1, LC: int(filters >> 4 & 3), PB: int(filters >> 6)}}}
		if filters&3 > 0 {
			v.Filters = []Filter{{ID: Delta, Distance: 1 + int(filters>>4)}, {ID: LZMA2}}[2-min(filters&3, 2):]
		}
		const room = 1 << 13
		guard := bytes.Repeat([]byte{0xa5}, 16)
		buf := append(make([]byte, room), guard...)
		n, err := v.decode(buf[:room], src)
		if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("%v is neither corrupt nor unsupported", err)
		}
		if n > room || !bytes.Equal(buf[room:], guard) {
			t.Fatalf("%d bytes, past the end", n)
		}
	})
}

func FuzzDecode(f *testing.F)      { fuzz(f, "xz") }
func FuzzDecodeAlone(f *testing.F) { fuzz(f, "alone") }
func FuzzDecodeRaw(f *testing.F)   { fuzz(f, "raw") }

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"noise", "words", "float32", "int16 steps", "chunks"} {
		v := named(b, "xz", name)
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, v.Size)
			b.SetBytes(int64(v.Size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(dst, v.Stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
