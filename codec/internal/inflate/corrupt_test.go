package inflate

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
	"varve/fixtures/system"
)

// compressed returns data in one of the formats.
func compressed(t testing.TB, wrap func(io.Writer) io.WriteCloser, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := wrap(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func newZlib(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }
func newGzip(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }

// fullGzip returns a stream with every header field that Go writes, and a header CRC, which Go does not write.
func fullGzip(t testing.TB, data []byte) []byte {
	b := compressed(t, func(w io.Writer) io.WriteCloser {
		z := gzip.NewWriter(w)
		z.Name, z.Comment, z.Extra = "tas.nc", "daily", []byte("ab\x02\x00xy")
		return z
	}, data)
	b[3] |= flagHeaderCRC
	end := gzipHeader + 2 + 6 + len("tas.nc\x00daily\x00")
	sum := crc32.ChecksumIEEE(b[:end])
	return append(append(append([]byte{}, b[:end]...), byte(sum), byte(sum>>8)), b[end:]...)
}

type format struct {
	name   string
	stream []byte
	decode func(dst, src []byte) (int, error)
}

func formats(t testing.TB, data []byte) []format {
	return []format{
		{"zlib", compressed(t, newZlib, data), Zlib},
		{"gzip", compressed(t, newGzip, data), Gzip},
		{"gzip with all fields", fullGzip(t, data), Gzip},
		{"gzip of two members", append(compressed(t, newGzip, data[:50]), compressed(t, newGzip, data[50:])...), Gzip},
	}
}

func small() []byte {
	return append(shuffledField(rand.New(rand.NewPCG(3, 3)), 150), bytes.Repeat([]byte("varve"), 30)...)
}

// large returns data of a size that also runs the loops for the middle of a buffer.
func large() []byte {
	return append(shuffledField(rand.New(rand.NewPCG(3, 3)), 1000), bytes.Repeat([]byte("varve"), 100)...)
}

func TestTruncated(t *testing.T) {
	data := small()
	dst := make([]byte, len(data)+1)
	for _, f := range formats(t, data) {
		t.Run(f.name, func(t *testing.T) {
			if n, err := f.decode(dst, f.stream); err != nil || !bytes.Equal(dst[:n], data) {
				t.Fatalf("whole stream: %d bytes, %v", n, err)
			}
			for size := range f.stream {
				if n, err := f.decode(dst, f.stream[:size]); !errors.Is(err, corrupt.Err) && !endsMember(f, size) {
					t.Errorf("%d of %d bytes: got %d bytes, error %v", size, len(f.stream), n, err)
				}
			}
		})
	}
}

// endsMember reports whether the first size bytes are complete members.
func endsMember(f format, size int) bool {
	return f.name == "gzip of two members" && size > 0 && size < len(f.stream) && f.stream[size] == 0x1f && f.stream[size+1] == 0x8b
}

// TestFlipped flips every bit of small streams, and some bits of large ones. No flip may cause a panic, or
// different data without an error.
func TestFlipped(t *testing.T) {
	for _, c := range []struct {
		data []byte
		step int
	}{{small(), 1}, {large(), 37}} {
		data, dst := c.data, make([]byte, len(c.data)+300)
		for _, f := range formats(t, data) {
			t.Run(fmt.Sprintf("%s, %d bytes", f.name, len(data)), func(t *testing.T) {
				src := bytes.Clone(f.stream)
				for bit := 0; bit < 8*len(src); bit += c.step {
					src[bit/8] ^= 1 << (bit % 8)
					n, err := f.decode(dst, src)
					if err == nil && !bytes.Equal(dst[:n], data) {
						t.Errorf("bit %d of byte %d: %d bytes of other data and no error", bit%8, bit/8, n)
					}
					if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
						t.Errorf("bit %d of byte %d: error %v is not marked", bit%8, bit/8, err)
					}
					src[bit/8] ^= 1 << (bit % 8)
				}
			})
		}
	}
}

func TestZlibErrors(t *testing.T) {
	good := compressed(t, newZlib, []byte("varve"))
	for _, c := range []struct {
		name, src, want string
	}{
		{"empty", "", "0"},
		{"one byte", "\x78", "1"},
		{"header check", "\x78\x9d\x03\x00", "31"},
		{"method", "\x77\x85\x03\x00", "7"},
		{"window", "\x88\x1c\x03\x00", "2 16"},
		{"dictionary cut", "\x78\xbb\x01\x02", "dictionary 4"},
		{"checksum", string(good[:len(good)-1]) + "x", "Adler-32"},
		{"checksum cut", string(good[:len(good)-1]), "Adler-32"},
		{"no blocks", "\x78\x9c", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Zlib(make([]byte, 10), []byte(c.src))
			if !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	_, err := Zlib(make([]byte, 10), []byte("\x78\xbb\x01\x02\x03\x04\x03\x00"))
	if !errors.Is(err, errors.ErrUnsupported) || !vectors.Mentions(err, "01020304") {
		t.Errorf("preset dictionary: got %v", err)
	}
}

func TestGzipErrors(t *testing.T) {
	good := string(compressed(t, newGzip, []byte("varve")))
	full := string(fullGzip(t, []byte("varve")))
	damage := func(s string, at int, c byte) string { return s[:at] + string(rune(c)) + s[at+1:] }
	for _, c := range []struct {
		name, src, want string
	}{
		{"empty", "", "0"},
		{"zeros alone", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "0"},
		{"magic", damage(good, 1, 'x'), "0"},
		{"method", damage(good, 2, 7), "7"},
		{"reserved flag", damage(good, 3, 0x20), "5 7"},
		{"header CRC", damage(full, 5, 'x'), "CRC-16"},
		{"checksum", damage(good, len(good)-8, 1), "CRC-32"},
		{"size", damage(good, len(good)-4, 9), "ISIZE 9"},
		{"garbage after", good + "garbage after", "member"},
		{"garbage after zeros", good + "\x00\x00garbage after", "member"},
		{"short garbage", good + "x", "header"},
		{"second member too large", good + good, "3 expected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Gzip(make([]byte, 8), []byte(c.src))
			if !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestGzipMembers checks that members and zeros between them are read like in Python's gzip module, which
// numcodecs uses.
func TestGzipMembers(t *testing.T) {
	a, b := string(compressed(t, newGzip, []byte("var"))), string(fullGzip(t, []byte("ve")))
	none := string(compressed(t, newGzip, nil))
	for name, src := range map[string]string{
		"two": a + b, "zeros after": a + b + "\x00\x00\x00", "zeros between": a + "\x00" + b, "an empty one": a + none + b,
	} {
		dst := make([]byte, 5)
		if n, err := Gzip(dst, []byte(src)); err != nil || string(dst[:n]) != "varve" {
			t.Errorf("%s: got %q, %v", name, dst[:n], err)
		}
	}
	if n, err := Gzip(nil, []byte(none)); n != 0 || err != nil {
		t.Errorf("empty member: got %d, %v", n, err)
	}
}

// fixedBlock returns a fixed block of n literals 'a', followed by bits, and by enough bytes to stay in the fast
// loop. Codes start with their highest bit.
func fixedBlock(n int, bits string) []byte {
	all := "110" + strings.Repeat("10010001", n) + bits
	out := make([]byte, len(all)/8+1+64)
	for i, c := range all {
		out[i/8] |= byte(c-'0') << (i % 8)
	}
	return out
}

// TestFaults checks invalid symbols in the fast loop and in the careful loop.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, bits, want string }{
		{"literal/length 286", "11000110", "501"},
		{"literal/length 287", "11000111", "501"},
		{"distance 30", "000000111110", "502"},
		{"distance 31", "000000111111", "502"},
		{"too far", "000000110010" + "00000000", "501"},
	} {
		for _, room := range []int{0, 3, 1000} {
			src := fixedBlock(501, c.bits)
			_, _, err := decode(make([]byte, 501+room), src, 0)
			if !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, c.want) {
				t.Errorf("%s, room for %d: got %v, want %q", c.name, room, err, c.want)
			}
		}
	}
}

// TestMemberBounds checks that a distance must not reach into the previous member.
func TestMemberBounds(t *testing.T) {
	first := compressed(t, newGzip, []byte("abcdef"))
	// A fixed block: match of length 3, distance 1; end of block.
	body := []byte{0x03, 0x02, 0x00}
	second := append(append(first[:10:10], body...), 0, 0, 0, 0, 3, 0, 0, 0)
	if _, err := Gzip(make([]byte, 20), append(first[:len(first):len(first)], second...)); err == nil || !vectors.Mentions(err, "distance 0") {
		t.Errorf("got %v", err)
	}
}

func TestNoAllocation(t *testing.T) {
	if system.Race {
		t.Skip("the race detector makes sync.Pool drop objects")
	}
	data := large()
	dst := make([]byte, len(data))
	for _, f := range formats(t, data) {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := f.decode(dst, f.stream); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a call", f.name, n)
		}
	}
}
