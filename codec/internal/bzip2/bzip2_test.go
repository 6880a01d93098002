package bzip2

import (
	"bytes"
	_ "embed"
	"errors"
	"hash/crc32"
	"testing"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

//go:embed testdata/vectors.json
var recorded []byte

// vector is a stream that libbz2 wrote, made by testdata/generate.py.
type vector struct {
	Name   string
	Stored []byte
	Size   int
	CRC32  uint32
}

func TestDecodeAsLibbz2(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		t.Run(v.Name, func(t *testing.T) {
			for _, room := range []int{0, 1, 1000} {
				dst := make([]byte, v.Size+room)
				n, err := Decode(dst, v.Stored)
				if err != nil || n != v.Size {
					t.Fatalf("Decode = %d, %v, want %d bytes", n, err, v.Size)
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
		dst := make([]byte, v.Size)
		if v.Size > 0 {
			if _, err := Decode(dst[1:], v.Stored); !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: into a buffer that is too small: %v, want corrupt", v.Name, err)
			}
		}
		for n := len(v.Stored) - 1; n >= 0; n -= 1 + n/10 {
			if m, err := Decode(dst, v.Stored[:n]); !errors.Is(err, corrupt.Err) && m == v.Size {
				t.Errorf("%s: truncated to %d of %d bytes: %v, want corrupt", v.Name, n, len(v.Stored), err)
			}
		}
		if _, err := Decode(dst, append(bytes.Clone(v.Stored), 'B')); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: followed by a byte: %v, want corrupt", v.Name, err)
		}
	}
}

// TestDecodeNoticesFlips checks that every flipped bit is detected. Checksums cover all bits except the level and
// the padding at the end.
func TestDecodeNoticesFlips(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		if v.Size > 3000 {
			continue
		}
		dst := make([]byte, v.Size)
		for i := 4; i < len(v.Stored)-1; i += 1 + i/15 {
			stored := bytes.Clone(v.Stored)
			stored[i] ^= 1 << (i % 8)
			n, err := Decode(dst, stored)
			if err == nil && (n != v.Size || crc32.ChecksumIEEE(dst[:n]) != v.CRC32) {
				t.Errorf("%s: a flipped bit in byte %d was not detected", v.Name, i)
			}
		}
	}
}

func TestDecodeRefusesRandomised(t *testing.T) {
	stored := bytes.Clone(vectors.Parse[vector](t, recorded)[1].Stored)
	stored[14] |= 0x80
	if _, err := Decode(make([]byte, 10), stored); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Decode = %v, want unsupported", err)
	}
}

// TestDecodeDoesNotAllocateWhenWarm bypasses the pool, because a pool may drop its objects.
func TestDecodeDoesNotAllocateWhenWarm(t *testing.T) {
	d := new(decoder)
	for _, v := range vectors.Parse[vector](t, recorded) {
		dst := make([]byte, v.Size)
		if n := testing.AllocsPerRun(2, func() {
			d.Reader = bitstream.Reader{Src: v.Stored}
			d.streams(dst)
		}); n != 0 {
			t.Errorf("%s: %v allocations", v.Name, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range vectors.Parse[vector](f, recorded) {
		if len(v.Stored) < 2000 {
			f.Add(v.Stored)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		const room = 1 << 14
		guard := bytes.Repeat([]byte{0xa5}, 16)
		buf := append(make([]byte, room), guard...)
		n, err := Decode(buf[:room], src)
		if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("Decode: %v is neither corrupt nor unsupported", err)
		}
		if n > room || !bytes.Equal(buf[room:], guard) {
			t.Fatalf("%d bytes, past the end", n)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, v := range vectors.Parse[vector](b, recorded) {
		if v.Size < 1000 {
			continue
		}
		b.Run(v.Name, func(b *testing.B) {
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
