package blosc

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

// TestRefused changes bytes of a valid chunk of two blocks.
func TestRefused(t *testing.T) {
	raw := vectors.Sample("steps", 4500)
	good, err := Append(nil, raw, Options{Compressor: "zstd", Level: 5, Shuffle: ByteShuffle, TypeSize: 4, BlockSize: 2400})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		at      int
		value   byte
		corrupt bool // otherwise unsupported
		want    string
	}{
		{"version", 0, 1, true, "1 0 2"},
		{"Blosc2", 0, 5, false, "Blosc2 5"},
		{"format version", 1, 2, false, "2 zstd"},
		{"flag", 2, good[2] | 8, false, "0x08"},
		{"compressor", 2, 0xF1, false, "compressor 7"},
		{"other compressor", 2, 0x31, true, "0 24 lz4"},
		{"stored", 2, good[2] | 2, true, "nbytes 4500 4"},
		{"split", 2, good[2] &^ 0x10, true, "0"},
		{"typesize", 3, 0, true, "typesize 0 3"},
		{"nbytes", 5, 1, true, "zstd"},
		{"small blocksize", 9, 0, true, "47 nbytes 4500 blocksize 96 184"},
		{"blocksize", 9, 1, true, ""},
		{"cbytes", 13, 0x7F, true, "cbytes"},
		{"block start", 17, 0x7F, true, "0"},
		{"negative block start", 19, 0x80, true, "0"},
		{"stream length", 26, 1, true, "0 24"},
		{"negative stream length", 27, 0x80, true, "0 24"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := bytes.Clone(good)
			src[tc.at] = tc.value
			_, err := Decode(make([]byte, len(raw)), src)
			if err == nil || !vectors.Mentions(err, tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if errors.Is(err, corrupt.Err) != tc.corrupt || errors.Is(err, errors.ErrUnsupported) == tc.corrupt {
				t.Errorf("error %v: wrong mark", err)
			}
		})
	}
}

func TestBlosclzCorrupt(t *testing.T) {
	for _, tc := range []struct{ name, stream, want string }{
		{"literals cut", "0441", "0 5 1"},
		{"match cut", "004120", "2"},
		{"long match cut", "0041e0ff", "2"},
		{"far match cut", "00413fff00", "2"},
		{"match before the beginning", "0041200100", "2 1"},
		{"far match before the beginning", "00413fff0000", "2 8192 1"},
		{"too many literals", "0f" + strings.Repeat("41", 16), "0 16 12"},
		{"match too long", "0041e0ff0000", "2 264 11"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src, err := hex.DecodeString(tc.stream)
			if err != nil {
				t.Fatal(err)
			}
			_, err = decodeBlosclz(make([]byte, 12), src)
			if !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestRangeDoesNotTrustBlockSize reads one byte of a chunk whose header gives blocks of 2 GiB.
func TestRangeDoesNotTrustBlockSize(t *testing.T) {
	src := make([]byte, 64)
	copy(src, []byte{2, 1, 0x31, 4, 0, 0, 0, 0x7F, 0, 0, 0, 0x7F, 64, 0, 0, 0, 20, 0, 0, 0, 1})
	allocated := testing.AllocsPerRun(1, func() {
		if err := DecodeRange(make([]byte, 1), src, 5); !errors.Is(err, corrupt.Err) {
			t.Errorf("err=%v", err)
		}
	})
	if allocated > 20 {
		t.Errorf("%v allocations", allocated)
	}
	if c := cap(scratches.Get().(*scratch).part); c > maxKept {
		t.Errorf("allocated %d bytes", c)
	}
}

// checkDecode runs a decoder, and checks that the bytes around its buffer do not change.
func checkDecode(t *testing.T, size int, decode func(dst []byte) (int, error)) {
	t.Helper()
	buf := bytes.Repeat([]byte{0xA5}, size+64)
	n, err := decode(buf[:size:size])
	if n > size || err != nil && n != 0 {
		t.Errorf("n=%d of %d, err=%v", n, size, err)
	}
	if bytes.Count(buf[size:], []byte{0xA5}) != 64 {
		t.Error("wrote beyond dst")
	}
	if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error is not marked: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range recorded(f) {
		f.Add(v.encoded, uint16(len(v.raw)), uint16(100))
	}
	f.Fuzz(func(t *testing.T, src []byte, size, off uint16) {
		checkDecode(t, int(size), func(dst []byte) (int, error) { return Decode(dst, src) })
		checkDecode(t, int(size), func(dst []byte) (int, error) { return 0, DecodeRange(dst, src, int(off)) })
	})
}

// FuzzRange checks that a decoded range equals the same part of the decoded chunk.
func FuzzRange(f *testing.F) {
	for _, v := range recorded(f) {
		f.Add(v.encoded, uint16(10), uint16(100))
	}
	f.Fuzz(func(t *testing.T, src []byte, off, n uint16) {
		size, err := DecodedSize(src)
		if err != nil || size > 1<<20 || int(off)+int(n) > size {
			return
		}
		whole := make([]byte, size)
		if _, err := Decode(whole, src); err != nil {
			return
		}
		part := make([]byte, n)
		if err := DecodeRange(part, src, int(off)); err != nil || !bytes.Equal(part, whole[off:int(off)+int(n)]) {
			t.Errorf("bytes %d to %d differ from the decoded chunk, err=%v", off, int(off)+int(n), err)
		}
	})
}

func FuzzDecodeFrame(f *testing.F) {
	for _, v := range frameVectors(f) {
		f.Add(v.encoded, uint16(len(v.raw)))
	}
	f.Fuzz(func(t *testing.T, src []byte, size uint16) {
		checkDecode(t, int(size), func(dst []byte) (int, error) { return DecodeFrame(dst, src) })
		if f, err := readFrame(src); err == nil {
			f.size() // must not panic
		}
	})
}

func FuzzBlosclz(f *testing.F) {
	for _, kind := range []string{"smooth", "steps", "zeros", "sparse", "noise"} {
		raw := vectors.Sample(kind, 3000)
		enc := make([]byte, len(raw)*2)
		n, err := compressBlosclz(enc, raw, 5)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(enc[:n], uint16(len(raw)))
	}
	f.Fuzz(func(t *testing.T, src []byte, size uint16) {
		checkDecode(t, int(size), func(dst []byte) (int, error) { return decodeBlosclz(dst, src) })
		for level := 1; level <= 9; level += 4 {
			enc := make([]byte, len(src))
			n, err := compressBlosclz(enc, src, level)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				continue
			}
			back := make([]byte, len(src))
			if m, err := decodeBlosclz(back, enc[:n]); m != len(src) || !bytes.Equal(back, src) {
				t.Errorf("level %d: %d bytes decode to %d, err=%v", level, len(src), m, err)
			}
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	names := []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"}
	for _, v := range recorded(f) {
		if v.opt.Level == 5 && v.opt.TypeSize == 4 && v.opt.Compressor != "snappy" {
			how := uint32(v.opt.Level) | uint32(v.opt.Shuffle)<<8 | uint32(v.opt.TypeSize)<<16
			f.Add(v.raw, uint8(slices.Index(names, v.opt.Compressor)), how, uint16(v.opt.BlockSize))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, name uint8, how uint32, blocksize uint16) {
		roundTrip(t, raw, Options{
			Compressor: names[int(name)%len(names)],
			Level:      int((how & 255) % 10),
			Shuffle:    Shuffle((how >> 8 & 255) % 3),
			TypeSize:   int(how>>16) + 1,
			BlockSize:  int(blocksize),
		})
	})
}
