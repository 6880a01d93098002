package codec

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"varve/fixtures/soak"
)

// memoryReader is a file in memory that counts the bytes which are read.
type memoryReader struct {
	b    []byte
	read int64
}

func (m *memoryReader) Size() int64 { return int64(len(m.b)) }

func (m *memoryReader) ReadRanges(_ context.Context, ranges []Range, out [][]byte) error {
	for i, r := range ranges {
		out[i] = m.b[r.Offset:r.End()]
		m.read += r.Length
	}
	return nil
}

// streamData returns bytes of several kinds of content, one after another.
func streamData(rng *rand.Rand, size int) []byte {
	b := make([]byte, 0, size)
	for len(b) < size {
		n := 1 + rng.IntN(1<<(8+rng.IntN(14)))
		switch rng.IntN(4) {
		case 0:
			b = append(b, make([]byte, n)...)
		case 1:
			for range n {
				b = append(b, byte(rng.Uint32()))
			}
		case 2:
			for range n / 4 {
				b = binary.LittleEndian.AppendUint32(b, 1000+uint32(rng.IntN(100)))
			}
		default:
			from := rng.IntN(len(b) + 1)
			b = append(b, b[from:min(from+n, len(b))]...)
		}
	}
	return b[:size]
}

// gzipOf returns a gzip file of one or several members.
func gzipOf(t testing.TB, rng *rand.Rand, data []byte, level, members int) []byte {
	var out bytes.Buffer
	for i := range members {
		part := data[len(data)*i/members : len(data)*(i+1)/members]
		w, err := gzip.NewWriterLevel(&out, level)
		if err != nil {
			t.Fatal(err)
		}
		w.Name = "name.nc"
		for len(part) > 0 {
			n := min(len(part), 1+rng.IntN(1<<22))
			if _, err := w.Write(part[:n]); err != nil {
				t.Fatal(err)
			}
			part = part[n:]
			if rng.IntN(3) == 0 {
				w.Flush()
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(2) == 0 {
			out.Write(make([]byte, rng.IntN(600)))
		}
	}
	return out.Bytes()
}

func zstdOf(t testing.TB, rng *rand.Rand, data []byte, frames int) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var out []byte
	for i := range frames {
		out = w.EncodeAll(data[len(data)*i/frames:len(data)*(i+1)/frames], out)
		if rng.IntN(3) == 0 {
			out = append(binary.LittleEndian.AppendUint32(append(out, 0x53, 0x2a, 0x4d, 0x18), 5), "varve"...)
		}
	}
	return out
}

// TestStreams compares random ranges of streams with the decoded bytes, through points of the whole stream and of a part.
func TestStreams(t *testing.T) {
	for seed := range soak.Seeds(t, 1) {
		testStreams(t, rand.New(rand.NewPCG(seed, 1)))
	}
}

func testStreams(t *testing.T, rng *rand.Rand) {
	data := streamData(rng, 6<<20)
	raw := func(level int) []byte {
		var out bytes.Buffer
		w, _ := flate.NewWriter(&out, level)
		w.Write(data)
		w.Close()
		return out.Bytes()
	}
	for _, c := range []struct {
		name   string
		kind   Stream
		stored []byte
		tail   int // bytes after the stream
		least  int // points
	}{
		{"gzip", GzipStream, gzipOf(t, rng, data, 6, 1), 0, 5},
		{"gzip level 9", GzipStream, gzipOf(t, rng, data, 9, 1), 0, 5},
		{"gzip stored", GzipStream, gzipOf(t, rng, data, 0, 1), 0, 5},
		{"gzip without matches", GzipStream, gzipOf(t, rng, data, flate.HuffmanOnly, 1), 0, 5},
		{"gzip members", GzipStream, gzipOf(t, rng, data, 6, 7), 0, 5},
		{"gzip small members", GzipStream, gzipOf(t, rng, data, 6, 300), 0, 5},
		{"deflate", DeflateStream, append(raw(6), "PK\x01\x02 and more"...), 13, 5},
		{"deflate stored", DeflateStream, append(raw(0), 0), 1, 5},
		{"zstd", ZstdStream, zstdOf(t, rng, data, 1), 0, 1},
		{"zstd frames", ZstdStream, zstdOf(t, rng, data, 20), 0, 5},
		{"zstd small frames", ZstdStream, zstdOf(t, rng, data, 2000), 0, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{bytes.NewReader(c.stored), iotest.HalfReader(bytes.NewReader(c.stored))} {
				var decoded bytes.Buffer
				found, err := ScanStream(c.kind, r, func(b []byte) error { decoded.Write(b); return nil })
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(decoded.Bytes(), data) || found.Size != int64(len(data)) {
					t.Fatalf("%d bytes differ from the %d compressed ones", decoded.Len(), len(data))
				}
				if end := found.Points[len(found.Points)-1].Bit; c.kind == DeflateStream && end != 8*int64(len(c.stored)-c.tail) {
					t.Errorf("the stream has %d bits, want %d", end, 8*(len(c.stored)-c.tail))
				}
				if len(found.Points) < c.least || len(found.Points) > 40 {
					t.Errorf("%d points", len(found.Points))
				}
				checkStream(t, rng, found, 0, data, c.stored, 20)
				for range 3 {
					from := rng.IntN(len(data))
					to := from + 1 + rng.IntN(len(data)-from)
					part, skip := found.Cut(int64(from), int64(to))
					checkStream(t, rng, part, skip, data[from:to], c.stored, 5)
					moved := part.Moved(100)
					checkStream(t, rng, moved, skip, data[from:to], append(make([]byte, 100), c.stored...), 3)
				}
			}
		})
	}
}

// checkStream reads random ranges of data, which is at an offset of the decoded bytes.
func checkStream(t *testing.T, rng *rand.Rand, points *StreamPoints, skip int64, data, stored []byte, times int) {
	t.Helper()
	r, err := NewStreamReader(&points.AccessPoints, int64(len(stored)))
	if err != nil {
		t.Fatal(err)
	}
	windows := func(_ context.Context, list []int) (out [][]byte, err error) {
		for _, i := range list {
			out = append(out, points.Windows[i])
		}
		return out, nil
	}
	for range times {
		from := rng.IntN(len(data))
		n := 1 + rng.IntN(min(len(data)-from, 1<<rng.IntN(24)))
		dst, file := make([]byte, n), &memoryReader{b: stored}
		spans, err := r.Plan(skip+int64(from), int64(n), nil)
		if err != nil {
			t.Fatal(err)
		}
		inflated := spans.Inflates()
		if err := spans.Decode(t.Context(), file, windows, Elems{Fixed: dst}); err != nil {
			t.Fatalf("%d bytes from %d on: %v", n, from, err)
		}
		if !bytes.Equal(dst, data[from:from+n]) {
			t.Fatalf("%d bytes from %d on differ", n, from)
		}
		if most := int64(n) + 4*DefaultSpan; points.Codecs != "zstd" && inflated > most {
			t.Errorf("%d bytes from %d on: %d bytes were inflated, more than %d", n, from, inflated, most)
		}
	}
}

// TestStreamDamage checks that damage of a stream is an error, marked as corrupt.
func TestStreamDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := streamData(rng, 1<<20)
	for kind, stored := range map[Stream][]byte{GzipStream: gzipOf(t, rng, data, 6, 1), ZstdStream: zstdOf(t, rng, data, 3)} {
		stored = bytes.TrimRight(stored, "\x00")
		check := func(what string, bad []byte) {
			t.Helper()
			_, err := ScanStream(kind, bytes.NewReader(bad), nil)
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s, %s: error is %v", kind, what, err)
			}
		}
		for range 100 {
			n := rng.IntN(len(stored))
			if kind == ZstdStream && n == 0 {
				continue
			}
			check(fmt.Sprintf("%d of %d bytes", n, len(stored)), stored[:n])
		}
		check("garbage at the end", append(slices.Clone(stored), "garbage"...))
		silent := 0
		for range 200 {
			bad := slices.Clone(stored)
			bad[20+rng.IntN(len(bad)-20)] ^= 1 << rng.IntN(8)
			var decoded bytes.Buffer
			if _, err := ScanStream(kind, bytes.NewReader(bad), func(b []byte) error { decoded.Write(b); return nil }); err == nil {
				silent++
				if !bytes.Equal(decoded.Bytes(), data) {
					t.Errorf("%s: a damaged byte changed the data, without an error", kind)
				}
			}
		}
		if silent > 20 { // a bit of a header's time, or of a skippable frame
			t.Errorf("%s: %d of 200 changed bits were not noticed", kind, silent)
		}
	}
}

// TestStreamLimits checks that blocks and frames that need too much memory are refused, and that many zeros need little.
func TestStreamLimits(t *testing.T) {
	// An RLE block of 128 KiB is 4 bytes, so a frame of more than the limit has a few KB.
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x58}
	for range 1100 {
		h := uint32(128<<10)<<3 | 1<<1
		frame = append(frame, byte(h), byte(h>>8), byte(h>>16), 0)
	}
	if _, err := ScanStream(ZstdStream, bytes.NewReader(frame), nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a large frame: %v", err)
	}
	var zeros bytes.Buffer
	w, _ := gzip.NewWriterLevel(&zeros, gzip.BestSpeed)
	for range 300 {
		w.Write(make([]byte, 1<<20))
	}
	w.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found, err := ScanStream(GzipStream, &zeros, nil)
	runtime.ReadMemStats(&after)
	if err != nil || found.Size != 300<<20 {
		t.Fatalf("300 MiB of zeros: %+v, %v", found, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 60<<20 {
		t.Errorf("%d bytes were allocated for 300 MiB", n)
	}
}

func FuzzScanStream(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 3))
	data := streamData(rng, 5000)
	f.Add(0, gzipOf(f, rng, data, 6, 3))
	f.Add(1, gzipOf(f, rng, data, 6, 1)[18:])
	f.Add(2, zstdOf(f, rng, data, 3))
	f.Fuzz(func(t *testing.T, kind int, b []byte) {
		var decoded bytes.Buffer
		found, err := ScanStream([]Stream{GzipStream, DeflateStream, ZstdStream}[uint(kind)%3], bytes.NewReader(b), func(p []byte) error {
			if decoded.Write(p); decoded.Len() > 32<<20 {
				return io.ErrShortBuffer
			}
			return nil
		})
		if errors.Is(err, io.ErrShortBuffer) {
			return
		}
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("error %v is not marked", err)
			}
			return
		}
		if decoded.Len() > 0 {
			checkStream(t, rng, found, 0, decoded.Bytes(), b, 5)
		}
	})
}
