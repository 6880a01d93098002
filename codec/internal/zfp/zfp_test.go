package zfp

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

//go:embed testdata/vectors.json
var recorded []byte

// vector is a chunk, with the values that libhdf5 or ZFP reads from it, made by testdata/generate.py.
type vector struct {
	Name   string
	Values []uint32 // nil if the stream starts with its header
	Stored []byte
	Size   int
	Sum    string
}

// decodeStream calls Decode for a stream that starts with its header, as zfpy writes it.
func decodeStream(dst, src []byte) (int, error) {
	a, bits, err := parseHeader(src)
	if err != nil {
		return 0, err
	}
	return a.decodeFrom(bits, dst, src)
}

func (v *vector) tryDecode(dst, src []byte) (int, error) {
	if len(v.Values) == 0 {
		return decodeStream(dst, src)
	}
	a, err := Parse(v.Values)
	if err != nil {
		return 0, err
	}
	return a.Decode(dst, src)
}

func TestDecodeAsZFP(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		t.Run(v.Name, func(t *testing.T) {
			dst := bytes.Repeat([]byte{0xa5}, v.Size+3)
			stored := bytes.Clone(v.Stored)
			n, err := v.tryDecode(dst, stored)
			if err != nil || n != v.Size {
				t.Fatalf("Decode = %d, %v, want %d bytes", n, err, v.Size)
			}
			if sum := sha256.Sum256(dst[:n]); hex.EncodeToString(sum[:]) != v.Sum {
				t.Errorf("decodes to %x…", dst[:min(n, 64)])
			}
			if !bytes.Equal(dst[n:], []byte{0xa5, 0xa5, 0xa5}) {
				t.Errorf("wrote past the end: %x", dst[n:])
			}
			if !bytes.Equal(stored, v.Stored) {
				t.Error("changed its input")
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		dst := make([]byte, v.Size)
		if _, err := v.tryDecode(dst[:v.Size-1], v.Stored); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: into a buffer that is too small: %v, want corrupt", v.Name, err)
		}
		if strings.Contains(v.Name, "bits as") {
			continue // the stream has more bytes after the blocks
		}
		if _, err := v.tryDecode(dst, v.Stored[:len(v.Stored)*7/10]); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: truncated: %v, want corrupt", v.Name, err)
		}
	}
}

// TestDecodeNeedsAllBytes removes bytes from the end of chunks of H5Z-ZFP, which pads only to whole bytes. So
// every byte is needed.
func TestDecodeNeedsAllBytes(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		if len(v.Values) == 0 || strings.Contains(v.Name, "bits as") {
			continue
		}
		if _, err := v.tryDecode(make([]byte, v.Size), v.Stored[:len(v.Stored)-1]); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: without the last byte: %v, want corrupt", v.Name, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const version, magic, meta, precision = 0x1005111, 0x570667a, 0xff3, 0x81700000
	for _, c := range []struct {
		name   string
		values []uint32
		want   error
	}{
		{"nothing", nil, corrupt.Err},
		{"two", []uint32{version, magic}, corrupt.Err},
		{"half a header", []uint32{version, magic, meta}, corrupt.Err},
		{"too many", []uint32{version, magic, meta, precision, 0, 0, 0, 0}, corrupt.Err},
		{"no magic", []uint32{version, magic + 1, meta, precision}, corrupt.Err},
		{"half a long mode", []uint32{version, magic, meta, 0xfff00000, 0xe0888000}, corrupt.Err},
		{"more bits than there may be", []uint32{version, magic, meta, 0xfff00000, 0x0000ffff, 0x87af}, corrupt.Err},
		{"precision of 65", []uint32{version, magic, meta, 0x84000000}, corrupt.Err},
		{"codec 6 in the stream", []uint32{version, 0x670667a, meta, precision}, errors.ErrUnsupported},
		{"codec 6 of the other byte order", []uint32{version, 0x7a667006, 0xf30f0000, 0x00007081}, errors.ErrUnsupported},
		{"codec 7 by H5Z-ZFP 1.1", []uint32{0x10007110, magic, meta, precision}, errors.ErrUnsupported},
		{"codec 6 by ZFP 0.6", []uint32{0x600090, magic, meta, precision}, errors.ErrUnsupported},
	} {
		if a, err := Parse(c.values); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v, want %v", c.name, a, err, c.want)
		}
	}
}

func TestDecodeStreamRefuses(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         error
	}{
		{"nothing", "", corrupt.Err},
		{"half a header", "zfp\x05\xf3\x0f\x00\x00\x00\x00\x70", corrupt.Err},
		{"half a long mode", "zfp\x05\xf3\x0f\x00\x00\x00\x00\xf0\xff\x00\x00\x00\x00\x00\x00", corrupt.Err},
		{"no magic", "zfq\x05\xf3\x0f\x00\x00\x00\x00\x70\x81", corrupt.Err},
		{"codec 4", "zfp\x04\xf3\x0f\x00\x00\x00\x00\x70\x81", errors.ErrUnsupported},
		{"2^52 elements", "zfp\x05\xf7\xff\xff\xff\xff\xff\x7f\x81", corrupt.Err},
		{"no blocks", "zfp\x05\xf3\x00\x00\x00\x00\x00\x70\x81", corrupt.Err},
	} {
		if n, err := decodeStream(make([]byte, 4096), []byte(c.stream)); !errors.Is(err, c.want) {
			t.Errorf("%s: %d, %v, want %v", c.name, n, err, c.want)
		}
	}
}

// BenchmarkDecode decodes a row of equal blocks.
func BenchmarkDecode(b *testing.B) {
	for _, v := range vectors.Parse[vector](b, recorded) {
		kind, block, ok := strings.Cut(v.Name, " block ")
		if !ok || kind[0] == 'i' {
			continue
		}
		b.Run(kind+" "+block, func(b *testing.B) {
			a, err := Parse(v.Values)
			if err != nil {
				b.Fatal(err)
			}
			count := (1 << 20) / v.Size
			a.lengths[a.dims-1] *= count
			a.size *= int64(count)
			src, dst := bytes.Repeat(v.Stored, count), make([]byte, a.size)
			b.SetBytes(a.size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Decode(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
