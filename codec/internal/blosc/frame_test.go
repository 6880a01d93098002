package blosc

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

//go:embed testdata/blosc2.txt
var blosc2Lines string

type frameVector struct {
	name    string
	raw     []byte
	encoded []byte
}

func frameVectors(t testing.TB) []frameVector {
	t.Helper()
	var all []frameVector
	for line := range strings.Lines(blosc2Lines) {
		var v frameVector
		var kind, encoded string
		var n int
		if _, err := fmt.Sscan(line, &v.name, &kind, &n, &encoded); err != nil {
			t.Fatal(err)
		}
		var err error
		if v.encoded, err = hex.DecodeString(encoded); err != nil {
			t.Fatal(err)
		}
		switch kind {
		case "sevens":
			v.raw = bytes.Repeat([]byte{7, 0, 0, 0}, n/4)
		case "nans":
			v.raw = bytes.Repeat(nan32[:], n/4)
		default:
			v.raw = vectors.Sample(kind, n)
		}
		all = append(all, v)
	}
	return all
}

func frameVectorNamed(t testing.TB, name string) frameVector {
	t.Helper()
	for _, v := range frameVectors(t) {
		if v.name == name {
			return v
		}
	}
	t.Fatalf("no vector %s", name)
	return frameVector{}
}

func TestDecodeFrame(t *testing.T) {
	for _, v := range frameVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			f, err := readFrame(v.encoded)
			if err != nil || f.size() != len(v.raw) {
				t.Fatalf("%+v, err=%v, want %d bytes", f, err, len(v.raw))
			}
			dst := bytes.Repeat([]byte{0xA5}, len(v.raw)+5)
			n, err := DecodeFrame(dst, v.encoded)
			if err != nil || !bytes.Equal(dst[:n], v.raw) {
				t.Fatalf("n=%d, err=%v", n, err)
			}
			if !bytes.Equal(dst[n:], []byte{0xA5, 0xA5, 0xA5, 0xA5, 0xA5}) {
				t.Error("wrote past the decoded bytes")
			}
			for cut := 0; cut < len(v.encoded); cut += 1 + cut/8 {
				if _, err := DecodeFrame(dst, v.encoded[:cut]); !errors.Is(err, corrupt.Err) {
					t.Fatalf("%d of %d bytes: err=%v", cut, len(v.encoded), err)
				}
			}
			if len(v.raw) == 0 {
				return
			}
			if n, err := DecodeFrame(dst[:len(v.raw)-1], v.encoded); !errors.Is(err, corrupt.Err) {
				t.Errorf("into a byte less: n=%d, err=%v", n, err)
			}
		})
	}
}

// TestFrameRefused changes bytes of a valid frame, whose only chunk starts at byte 97.
func TestFrameRefused(t *testing.T) {
	good := frameVectorNamed(t, "hdf5-lz4-1")
	const chunk = 97
	for _, tc := range []struct {
		name    string
		at      int
		value   byte
		corrupt bool // otherwise unsupported
		want    string
	}{
		{"magic", 2, 'c', true, "9e a8 63"},
		{"frame version", 25, 0x14, false, "Blosc2 4"},
		{"variable chunks", 25, 0x52, false, "chunks"},
		{"variable blocks", 25, 0x92, false, "blocks"},
		{"sparse", 26, 1, false, "1"},
		{"header length", 14, 86, true, "header_len 86 11"},
		{"frame length", 18, 1, true, "frame_len"},
		{"nbytes", 30, 1, true, "nbytes 72057594037931936 30"},
		{"cbytes", 41, 1, true, "cbytes"},
		{"typesize", 48, 0x80, true, "typesize -2147483644 48"},
		{"chunksize", 58, 0x80, true, "chunksize -2147479648 58"},
		{"more chunks than offsets", 60, 1, true, "8 80"},
		{"metalayers", 91, 0, true, "metalayers 91"},
		{"Blosc1 chunk", chunk, 2, false, "2"},
		{"no extended header", chunk + 2, 0x21, false, "5 extended"},
		{"codec", chunk + 2, 0xC5, false, "6 1"},
		{"codec version", chunk + 1, 2, false, "2 lz4"},
		{"chunk typesize", chunk + 3, 0, true, "typesize 0"},
		{"chunk nbytes", chunk + 4, 0, true, "3840 4000"},
		{"chunk cbytes", chunk + 14, 1, true, "cbytes"},
		{"filter", chunk + 16, 32, false, "Blosc2 32"},
		{"delta after shuffle", chunk + 21, 3, false, ""},
		{"dictionary", chunk + 31, 1, false, "dictionary 0x01"},
		{"lazy", chunk + 31, 8, false, "lazy 0x08"},
		{"instrumented", chunk + 31, 128, false, "blosc2_flags 0x80"},
		{"blocks of variable length", chunk + 30, 1, false, "blosc2_flags2 0x01"},
		{"special", chunk + 31, 0x50, false, "5"},
		{"value of another size", chunk + 31, 0x30, true, "nbytes multiple"},
		{"block start", chunk + 33, 0x7F, true, "0"},
		{"stream length", chunk + 38, 0x7F, true, "0 36"},
		{"run", chunk + 39, 0x80, true, "-255"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := bytes.Clone(good.encoded)
			src[tc.at] = tc.value
			if tc.name == "delta after shuffle" {
				src[chunk+20] = 1
			}
			_, err := DecodeFrame(make([]byte, len(good.raw)), src)
			if err == nil || !vectors.Mentions(err, tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if errors.Is(err, corrupt.Err) != tc.corrupt || errors.Is(err, errors.ErrUnsupported) == tc.corrupt {
				t.Errorf("error %v: wrong mark", err)
			}
		})
	}
}
