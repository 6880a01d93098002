package jpegls

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
	"varve/fixtures/soak"
)

//go:embed testdata/vectors.json
var recorded []byte

// vector is a chunk that FCIDECOMP or CharLS wrote, made by testdata/generate.py.
type vector struct {
	Name   string
	Params []uint32
	Stored []byte
	Want   []byte // the output of libhdf5, or nil if it fails
}

// size returns the number of bytes according to the parameters.
func (v vector) size() int {
	return int(v.Params[0] * v.Params[1] * v.Params[2] * v.Params[3])
}

// forSize returns parameters of a chunk of n bytes.
func forSize(n int) []uint32 {
	return []uint32{1, 1, 1, uint32(n), 8, 1, 0, 0, 0, 0, 0, 0, 0}
}

func TestDecodeAsLibhdf5(t *testing.T) {
	poison := bytes.Repeat([]byte{0xa5}, 9)
	for _, v := range vectors.Parse[vector](t, recorded) {
		t.Run(v.Name, func(t *testing.T) {
			dst := bytes.Repeat([]byte{0xa5}, v.size()+len(poison))
			n, err := Parse(v.Params).Decode(dst, v.Stored)
			if !bytes.Equal(dst[v.size():], poison) {
				t.Errorf("wrote past the end: %x", dst[v.size():])
			}
			if v.Want == nil {
				if !errors.Is(err, corrupt.Err) {
					t.Errorf("Decode = %d, %v, want corrupt, because libhdf5 fails", n, err)
				}
				return
			}
			if err != nil || n != len(v.Want) {
				t.Fatalf("Decode = %d, %v, want %d bytes", n, err, len(v.Want))
			}
			if !bytes.Equal(dst[:n], v.Want) {
				t.Errorf("%d\nof   %x\ngot  %x\nwant %x", v.Params, v.Stored, dst[:n], v.Want)
			}
		})
	}
}

// The example of T.87, H.3, split into the parts that the tests change.
const (
	startHex = "ffd8"
	frameHex = "fff7000b08 0004 0004 01 01 11 00"
	scanHex  = "ffda0008 01 01 00 00 00 00"
	codedHex = "c000006c80208e01c000005740" + "00006ee6000001bc18000005d80000 9160"
	endHex   = "ffd9"

	threeHex = "fff70011 08 0004 0004 03 011100 021100 031100" // a frame of three components
)

var exampleWant = []byte{0, 0, 90, 74, 68, 50, 43, 205, 64, 145, 145, 145, 100, 145, 145, 145}

// unhex joins hex digits, which may contain spaces.
func unhex(t testing.TB, parts ...string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(strings.Join(parts, ""), " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeExampleOfTheStandard(t *testing.T) {
	for name, src := range map[string][]byte{
		"as it is":            unhex(t, startHex, frameHex, scanHex, codedHex, endHex),
		"fill bytes":          unhex(t, startHex, "ffff", frameHex, scanHex, codedHex, "ff", endHex),
		"comment":             unhex(t, startHex, "fffe0005414243", frameHex, scanHex, codedHex, endHex),
		"application data":    unhex(t, startHex, "ffe80002", frameHex, "ffef000401ff", scanHex, codedHex, endHex),
		"default preset":      unhex(t, startHex, frameHex, "fff8000d 01 0000 0000 0000 0000 0000", scanHex, codedHex, endHex),
		"explicit preset":     unhex(t, startHex, "fff8000d 01 00ff 0003 0007 0015 0040", frameHex, scanHex, codedHex, endHex),
		"color transform 0":   unhex(t, startHex, "ffe80007 6d726678 00", frameHex, scanHex, codedHex, endHex),
		"restart never":       unhex(t, startHex, frameHex, "ffdd00040000", scanHex, codedHex, endHex),
		"restart past height": unhex(t, startHex, frameHex, "ffdd0006 00010000", scanHex, codedHex, endHex),
	} {
		dst := make([]byte, len(exampleWant))
		n, err := Parse(forSize(len(dst))).Decode(dst, src)
		if err != nil || n != len(dst) || !bytes.Equal(dst, exampleWant) {
			t.Errorf("%s: Decode = %d, %v\ngot  %d\nwant %d", name, n, err, dst, exampleWant)
		}
	}
}

func TestDecodeTablesBetweenScans(t *testing.T) {
	one := scanHex + codedHex
	src := unhex(t, startHex, threeHex, one, "fffe000341", one, "fff8000d 01 00ff 0003 0007 0015 0040", one, endHex)
	want := bytes.Repeat(exampleWant, 3)
	dst := make([]byte, len(want))
	if _, err := Parse(forSize(len(dst))).Decode(dst, src); err != nil || !bytes.Equal(dst, want) {
		t.Errorf("%v\ngot  %d\nwant %d", err, dst, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		hex  []string
		want error
		say  string
	}{
		{"nothing", nil, corrupt.Err, "SOI"},
		{"no start", []string{frameHex, scanHex, codedHex, endHex}, corrupt.Err, "SOI"},
		{"no frame", []string{startHex, scanHex, codedHex, endHex}, corrupt.Err, "SOS SOF55"},
		{"two frames", []string{startHex, frameHex, frameHex, scanHex, codedHex, endHex}, corrupt.Err, "19"},
		{"no scan", []string{startHex, frameHex, endHex}, corrupt.Err, "15"},
		{"a byte between segments", []string{startHex, "00", frameHex, scanHex, codedHex, endHex}, corrupt.Err, "2"},
		{"a marker of its own", []string{startHex, "ff01", frameHex}, corrupt.Err, "FF 01"},
		{"only fill bytes", []string{startHex, "ffffff"}, corrupt.Err, "5"},
		{"segment too short", []string{startHex, "fffe0001", frameHex}, corrupt.Err, "1"},
		{"segment too long", []string{startHex, "fffe1000", frameHex}, corrupt.Err, "4096"},
		{"JPEG", []string{startHex, "ffc0000b080004000401011100"}, errors.ErrUnsupported, "FF C0"},
		{"T.870", []string{startHex, "fff9000b080004000401011100"}, errors.ErrUnsupported, "870"},
		{"DNL", []string{startHex, frameHex, "ffdc00040004"}, errors.ErrUnsupported, "DNL"},
		{"1 bit", []string{startHex, "fff7000b 01 0004 0004 01 011100"}, corrupt.Err, "1"},
		{"17 bits", []string{startHex, "fff7000b 11 0004 0004 01 011100"}, corrupt.Err, "17"},
		{"no component", []string{startHex, "fff70008 08 0004 0004 00"}, corrupt.Err, "components 11"},
		{"frame cut", []string{startHex, "fff70008 08 0004 0004 01"}, corrupt.Err, "6"},
		{"no height", []string{startHex, "fff7000b 08 0000 0004 01 011100"}, errors.ErrUnsupported, "size 0 4"},
		{"subsampled", []string{startHex, "fff7000b 08 0004 0004 01 012100"}, errors.ErrUnsupported, "13"},
		{"another size", []string{startHex, "fff7000b 08 0004 0005 01 011100", scanHex, codedHex, endHex}, corrupt.Err, "16"},
		{"more bits", []string{startHex, "fff7000b 09 0004 0004 01 011100", scanHex, codedHex, endHex}, corrupt.Err, "9"},
		{"mapping table", []string{startHex, frameHex, "fff80006 02 01 01 00"}, errors.ErrUnsupported, "LSE 2"},
		{"preset cut", []string{startHex, frameHex, "fff80005 01 00ff"}, corrupt.Err, "11"},
		{"RESET 32768", []string{startHex, frameHex, "fff8000d 01 0000 0000 0000 0000 8000", scanHex, codedHex, endHex}, errors.ErrUnsupported, "RESET 32768"},
		{"restart cut", []string{startHex, frameHex, "ffdd000301", scanHex}, corrupt.Err, "1"},
		{"scan without components", []string{startHex, frameHex, "ffda0006 00 000000", codedHex, endHex}, errors.ErrUnsupported, "0"},
		{"scan header cut", []string{startHex, frameHex, "ffda0007 01 01 000000", codedHex, endHex}, corrupt.Err, "5"},
		{"map in scan", []string{startHex, frameHex, "ffda0008 01 01 01 000000", codedHex, endHex}, errors.ErrUnsupported, "1"},
		{"interleave 3", []string{startHex, frameHex, "ffda0008 01 01 00 00 03 00", codedHex, endHex}, corrupt.Err, "3"},
		{"interleaved alone", []string{startHex, frameHex, "ffda0008 01 01 00 00 01 00", codedHex, endHex}, errors.ErrUnsupported, "1"},
		{"point transform", []string{startHex, frameHex, "ffda0008 01 01 00 00 00 02", codedHex, endHex}, errors.ErrUnsupported, "2"},
		{"two of three", []string{startHex, threeHex, "ffda000a 02 0100 0200 00 01 00", codedHex, endHex}, errors.ErrUnsupported, "2 3"},
		{"color transform", []string{startHex, "ffe80007 6d726678 01", threeHex, "ffda000c 03 0100 0200 0300 00 02 00", codedHex, endHex}, errors.ErrUnsupported, "1"},
		{"by pixel with RESET", []string{startHex, threeHex, "fff8000d 01 0000 0000 0000 0000 0020", "ffda000c 03 0100 0200 0300 00 02 00", codedHex, endHex}, errors.ErrUnsupported, "RESET 32"},
		{"a bit more", []string{startHex, frameHex, scanHex, codedHex, "80", endHex}, corrupt.Err, "bits"},
		{"no end", []string{startHex, frameHex, scanHex, codedHex}, corrupt.Err, "truncated marker"},
		{"coded end early", []string{startHex, frameHex, scanHex, codedHex[:20], endHex}, corrupt.Err, "truncated"},
		{"zeros without end", []string{startHex, frameHex, scanHex, "00000000", endHex}, corrupt.Err, "truncated"},
		{"interleaved after a single component", []string{startHex, threeHex, scanHex, codedHex, "ffda000c 03 0100 0200 0300 00 02 00", codedHex, endHex}, corrupt.Err, "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			size := 16
			if strings.Contains(strings.Join(c.hex, ""), threeHex) {
				size = 48
			}
			n, err := Parse(forSize(size)).Decode(make([]byte, size), unhex(t, c.hex...))
			if !errors.Is(err, c.want) || !vectors.Mentions(err, c.say) {
				t.Errorf("Decode = %d, %v, want %v that mentions %q", n, err, c.want, c.say)
			}
		})
	}
}

func TestDecodeRefusesRestarts(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		if !strings.HasPrefix(v.Name, "restart") {
			continue
		}
		for _, c := range []struct{ from, to, say string }{
			{"\xff\xd0", "\xff\xd1", "FF D1 D0"},
			{"\xff\xd0", "\xff\xd9", "FF D9"},
			{"\xff\xdd\x00\x04\x00", "\xff\xdd\x00\x04\x01", "line"}, // 256 more lines
		} {
			src := bytes.Replace(v.Stored, []byte(c.from), []byte(c.to), 1)
			n, err := Parse(v.Params).Decode(make([]byte, v.size()), src)
			if !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, c.say) {
				t.Errorf("%s: Decode = %d, %v, want corrupt that mentions %q", v.Name, n, err, c.say)
			}
		}
	}
}

// TestParameters checks parameters that no image has. FCIDECOMP cannot encode such chunks and stores them
// uncompressed.
func TestParameters(t *testing.T) {
	src := unhex(t, startHex, frameHex, scanHex, codedHex, endHex)
	for _, c := range []struct {
		name   string
		values []uint32
	}{
		{"none", nil},
		{"the parameters of a user only", []uint32{8, 1, 0, 0, 0, 0, 0, 0, 0}},
		{"one too many", append(forSize(16), 0)},
		{"a larger image", forSize(17)},
		{"an image of nothing", forSize(0)},
		{"a product that overflows 64 bits", []uint32{1 << 31, 1 << 31, 1 << 31, 1 << 31, 8, 1, 0, 0, 0, 0, 0, 0, 0}},
		{"a product that is 16 in 64 bits", []uint32{1 << 31, 1 << 31, 4, 1 << 4, 8, 1, 0, 0, 0, 0, 0, 0, 0}},
	} {
		if n, err := Parse(c.values).Decode(make([]byte, 16), src); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: Decode = %d, %v, want corrupt", c.name, n, err)
		}
	}
	if n, err := Parse(forSize(16)).Decode(make([]byte, 15), src); !errors.Is(err, corrupt.Err) {
		t.Errorf("into a buffer that is too small: Decode = %d, %v, want corrupt", n, err)
	}
}

// TestParametersSetOnlySize checks that only the size matters: the image may have another shape of the same
// size.
func TestParametersSetOnlySize(t *testing.T) {
	src := unhex(t, startHex, frameHex, scanHex, codedHex, endHex)
	dst := make([]byte, 16)
	values := []uint32{2, 4, 1, 2, 16, 4, 1, 9, 99, 1, 2, 3, 5}
	if n, err := Parse(values).Decode(dst, src); n != 16 || err != nil || !bytes.Equal(dst, exampleWant) {
		t.Errorf("Decode = %d, %v, %d", n, err, dst)
	}
}

// TestCorrectionIsBounded checks the limits MIN_C and MAX_C of T.87, A.6.2.
func TestCorrectionIsBounded(t *testing.T) {
	cd, err := newCoding(frame{bits: 16}, preset{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for e, want := range map[int32]int32{1000: 127, -1000: -128} {
		c := context{a: 1024, n: 1}
		for range 300 {
			c.learn(e, &cd)
		}
		if c.c != want {
			t.Errorf("correction after errors of %d is %d, want %d", e, c.c, want)
		}
	}
}

func TestDecodeTruncated(t *testing.T) {
	const step = 7 // each vector tests another subset of the lengths
	for i, v := range vectors.Parse[vector](t, recorded) {
		dst := make([]byte, v.size())
		end := len(v.Stored) - 1 // a missing end marker is accepted
		for n := i % step; n < end; n += step {
			if _, err := Parse(v.Params).Decode(dst, v.Stored[:n]); !errors.Is(err, corrupt.Err) {
				t.Fatalf("%s: truncated to %d of %d bytes: %v, want corrupt", v.Name, n, len(v.Stored), err)
			}
		}
	}
}

// TestDecodeDamaged checks that damaged chunks cause neither a panic nor a write outside the buffer.
func TestDecodeDamaged(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, v := range vectors.Parse[vector](t, recorded) {
		size := v.size()
		dst := make([]byte, size+1)
		for range 30 {
			src := bytes.Clone(v.Stored)
			for range 1 + rng.IntN(3) {
				src[2+rng.IntN(len(src)-2)] ^= 1 << rng.IntN(8)
			}
			dst[size] = 0xa5
			n, err := Parse(v.Params).Decode(dst, src)
			if dst[size] != 0xa5 {
				t.Fatalf("seed %d, %s: wrote past the end\nof %x", seed, v.Name, src)
			}
			if err == nil && n != size {
				t.Fatalf("seed %d, %s: Decode = %d, want %d", seed, v.Name, n, size)
			}
			if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("seed %d, %s: %v, want corrupt or unsupported", seed, v.Name, err)
			}
		}
	}
}

func TestDecodeConcurrently(t *testing.T) {
	vs := vectors.Parse[vector](t, recorded)
	var all sync.WaitGroup
	for _, v := range vs {
		if v.Want == nil {
			continue
		}
		m := Parse(v.Params)
		for range 3 {
			all.Go(func() {
				dst := make([]byte, v.size())
				if _, err := m.Decode(dst, v.Stored); err != nil || !bytes.Equal(dst, v.Want) {
					t.Errorf("%s: differs when decoded concurrently: %v", v.Name, err)
				}
			})
		}
	}
	all.Wait()
}

func FuzzDecode(f *testing.F) {
	for i, v := range vectors.Parse[vector](f, recorded) {
		if i%3 == 0 {
			f.Add(uint16(v.size()), v.Stored)
		}
	}
	f.Add(uint16(16), unhex(f, startHex, frameHex, "ffdd00040001", scanHex, codedHex, endHex))
	f.Fuzz(func(t *testing.T, size uint16, src []byte) {
		dst := bytes.Repeat([]byte{0xa5}, int(size)+8)
		n, err := Parse(forSize(int(size))).Decode(dst[:size], src)
		if binary.LittleEndian.Uint64(dst[size:]) != 0xa5a5a5a5a5a5a5a5 {
			t.Error("wrote past the end")
		}
		if err == nil && n != int(size) {
			t.Errorf("Decode = %d, want %d", n, size)
		}
		if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v, want corrupt or unsupported", err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	gray, err := os.ReadFile("testdata/bench.jls")
	if err != nil {
		b.Fatal(err)
	}
	bench := func(name string, params []uint32, src []byte) {
		m, dst := Parse(params), make([]byte, vector{Params: params}.size())
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Decode(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	bench("12 bits", forSize(128*128*2), gray)
	for _, v := range vectors.Parse[vector](b, recorded) {
		if v.Name == "long runs, |u1 flat" {
			bench("runs", v.Params, v.Stored)
		}
	}
}
