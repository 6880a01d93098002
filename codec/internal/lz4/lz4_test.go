package lz4

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

//go:embed testdata/vectors.txt
var vectorLines string

type vector struct {
	framing, kind string
	raw           []byte
	encoded       []byte
}

func (v vector) String() string { return fmt.Sprintf("%s-%s-%d", v.framing, v.kind, len(v.raw)) }

func (v vector) decode(dst []byte) (int, error) { return decoders[v.framing](dst, v.encoded) }

var decoders = map[string]func(dst, src []byte) (int, error){
	"block": Decode, "numcodecs": DecodeSized, "hdf5": DecodeHDF5,
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
		all = append(all, vector{f[0], f[1], vectors.Sample(f[1], n), encoded})
	}
	return all
}

func TestDecode(t *testing.T) {
	for _, v := range recorded(t) {
		t.Run(v.String(), func(t *testing.T) {
			dst := make([]byte, len(v.raw)+5)
			n, err := v.decode(dst)
			if err != nil || !bytes.Equal(dst[:n], v.raw) {
				t.Fatalf("n=%d, err=%v", n, err)
			}
			if n, err := v.decode(dst[:len(v.raw)-1]); !errors.Is(err, corrupt.Err) {
				t.Errorf("into a byte less: n=%d, err=%v", n, err)
			}
			for cut := 0; cut < len(v.encoded); cut += 1 + cut/8 {
				w := v
				w.encoded = v.encoded[:cut]
				if n, _ := w.decode(dst); n >= len(v.raw) {
					t.Fatalf("%d of %d bytes decode to all", cut, len(v.encoded))
				}
			}
		})
	}
}

// TestSameBytesAsReference checks that the encoders write the same bytes as the peers that made the vectors.
func TestSameBytesAsReference(t *testing.T) {
	for _, v := range recorded(t) {
		if v.framing != "numcodecs" {
			continue
		}
		t.Run(v.String(), func(t *testing.T) {
			got, err := AppendSized([]byte("x"), v.raw, 1)
			if err != nil || !bytes.Equal(got[1:], v.encoded) {
				t.Errorf("%d bytes, %d by numcodecs, err=%v", len(got)-1, len(v.encoded), err)
			}
		})
	}
}

func TestCorrupt(t *testing.T) {
	for _, tc := range []struct{ framing, stream, want string }{
		{"block", "", "empty"},
		{"block", "50414141", "0 5 3"},
		{"block", "1041", ""},
		{"block", "14410000", "0 1"},
		{"block", "14410200", "0 2 1"},
		{"block", "144101", "0 offset"},
		{"block", "1f410100ff00", "274 11 12"},
		{"block", "d0" + "41414141414141414141414141", "13 12"},
		{"block", "1e4101", "0 offset"},
		{"block", "1f410100", "19 11 12"},
		{"numcodecs", "000000", "3 4"},
		{"numcodecs", "0d000000" + "00", "13 12"},
		{"numcodecs", "02000000" + "1041", "1 2"},
		{"hdf5", "0000000000000001", "8 12"},
		{"hdf5", "ffffffffffffffff00000001", "18446744073709551615"},
		{"hdf5", "000000000000000d00000001", "13 12"},
		{"hdf5", "000000000000000100000000", "0 8"},
		{"hdf5", "000000000000000100000001", "12 0"},
		{"hdf5", "000000000000000100000001" + "00000002" + "41", "2 1"},
		{"hdf5", "000000000000000300000003" + "00000002" + "1041", "1 3"},
	} {
		t.Run(tc.framing+" "+tc.stream, func(t *testing.T) {
			src, err := hex.DecodeString(tc.stream)
			if err != nil {
				t.Fatal(err)
			}
			_, err = decoders[tc.framing](make([]byte, 12), src)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestEncodeWithoutRoom(t *testing.T) {
	src := vectors.Sample("noise", 1000)
	for room := 0; room < 990; room += 11 {
		for name, encode := range map[string]func(dst, src []byte, level int) (int, error){"fast": Encode, "hc": EncodeHC} {
			if n, err := encode(make([]byte, room), src, 9); n != 0 || err != nil {
				t.Errorf("%s: %d bytes of room: n=%d, err=%v", name, room, n, err)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range recorded(f) {
		f.Add(v.framing, v.encoded, uint16(len(v.raw)))
	}
	f.Fuzz(func(t *testing.T, framing string, src []byte, size uint16) {
		decode := decoders[framing]
		if decode == nil {
			return
		}
		buf := bytes.Repeat([]byte{0xA5}, int(size)+64)
		n, err := decode(buf[:size:size], src)
		if n > int(size) || err != nil && n != 0 {
			t.Errorf("n=%d of %d, err=%v", n, size, err)
		}
		if bytes.Count(buf[size:], []byte{0xA5}) != 64 {
			t.Error("wrote beyond dst")
		}
		if err != nil && !errors.Is(err, corrupt.Err) {
			t.Errorf("error is not marked corrupt: %v", err)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	for _, v := range recorded(f) {
		if v.framing == "block" && len(v.raw) < 2000 {
			f.Add(v.raw, 1)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, level int) {
		fast := make([]byte, Bound(len(raw)))
		n, err := Encode(fast, raw, level%20)
		if err != nil {
			t.Fatal(err)
		}
		hc := make([]byte, Bound(len(raw)))
		m, err := EncodeHC(hc, raw, level%10)
		if err != nil {
			t.Fatal(err)
		}
		sized, err := AppendSized(nil, raw, 1)
		if err != nil {
			t.Fatal(err)
		}
		h5, err := AppendHDF5(nil, raw, level&0xFFFF)
		if err != nil {
			t.Fatal(err)
		}
		checkDecodes(t, "block", raw, fast[:n])
		checkDecodes(t, "block", raw, hc[:m])
		checkDecodes(t, "numcodecs", raw, sized)
		checkDecodes(t, "hdf5", raw, h5)
	})
}

func checkDecodes(t *testing.T, framing string, raw, encoded []byte) {
	t.Helper()
	dst := make([]byte, len(raw))
	n, err := decoders[framing](dst, encoded)
	if err != nil || !bytes.Equal(dst[:n], raw) {
		t.Errorf("%s: %d bytes decode to %d, err=%v", framing, len(raw), n, err)
	}
}

func Benchmark(b *testing.B) {
	raw := vectors.Sample("smooth", 1<<20)
	block := make([]byte, Bound(len(raw)))
	n, err := Encode(block, raw, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decode(raw, block[:n]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Encode(block, raw, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encodeHC", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := EncodeHC(block, raw, 9); err != nil {
				b.Fatal(err)
			}
		}
	})
}
