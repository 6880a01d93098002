package lzf

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

//go:embed testdata/vectors.txt
var vectorLines string

type vector struct {
	name    string
	raw     []byte
	encoded []byte
}

func recorded(t testing.TB) []vector {
	t.Helper()
	var all []vector
	for line := range strings.Lines(vectorLines) {
		f := strings.Fields(line)
		n, err := strconv.Atoi(f[2])
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := hex.DecodeString(f[3])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, vector{f[0], vectors.Sample(f[1], n), encoded})
	}
	return all
}

func TestDecode(t *testing.T) {
	for _, v := range recorded(t) {
		t.Run(v.name, func(t *testing.T) {
			dst := make([]byte, len(v.raw)+5)
			n, err := Decode(dst, v.encoded)
			if err != nil || !bytes.Equal(dst[:n], v.raw) {
				t.Fatalf("n=%d, err=%v", n, err)
			}
			if n, err := Decode(dst[:len(v.raw)-1], v.encoded); !errors.Is(err, corrupt.Err) {
				t.Errorf("into a byte less: n=%d, err=%v", n, err)
			}
			for cut := 1; cut < len(v.encoded); cut += 1 + cut/8 {
				if n, _ := Decode(dst, v.encoded[:cut]); n >= len(v.raw) {
					t.Fatalf("%d of %d bytes decode to all", cut, len(v.encoded))
				}
			}
		})
	}
}

func TestCorrupt(t *testing.T) {
	for _, tc := range []struct{ name, stream, want string }{
		{"literals cut", "0441", "0 5 1"},
		{"match cut", "004120", "2"},
		{"long match cut", "0041e0", "2"},
		{"long match cut before its distance", "0041e005", "2"},
		{"match before the beginning", "00412001", "2 1"},
		{"too many literals", "0f" + strings.Repeat("41", 16), "0 16 12"},
		{"match too long", "0041e0ff00", "2 264 11"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src, err := hex.DecodeString(tc.stream)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Decode(make([]byte, 12), src)
			if !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range recorded(f) {
		f.Add(v.encoded, uint16(len(v.raw)))
	}
	f.Fuzz(func(t *testing.T, src []byte, size uint16) {
		buf := bytes.Repeat([]byte{0xA5}, int(size)+16)
		n, err := Decode(buf[:size:size], src)
		if n > int(size) || err != nil && n != 0 {
			t.Errorf("n=%d of %d, err=%v", n, size, err)
		}
		if bytes.Count(buf[size:], []byte{0xA5}) != 16 {
			t.Error("wrote beyond dst")
		}
		if err != nil && !errors.Is(err, corrupt.Err) {
			t.Errorf("error is not marked corrupt: %v", err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, v := range recorded(b) {
		if len(v.raw) < 3000 {
			continue
		}
		b.Run(v.name, func(b *testing.B) {
			dst := make([]byte, len(v.raw))
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(dst, v.encoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
