package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
	"varve/fixtures/soak"
)

// stream is a compressed stream with its points.
type stream struct {
	data, src []byte
	points    []access.Point
	isGzip    bool
}

// streams returns streams of every kind: levels, flushes, stored and fixed blocks, and several members.
func streams(t *testing.T, rng *rand.Rand) map[string]stream {
	t.Helper()
	all := map[string]stream{}
	add := func(name string, data, src []byte, isGzip bool, every int) {
		dst := make([]byte, len(data))
		find := ZlibPoints
		if isGzip {
			find = GzipPoints
		}
		n, points, err := find(dst, src, every)
		if err != nil || !bytes.Equal(dst[:n], data) {
			t.Fatalf("%s: %d bytes, %v", name, n, err)
		}
		all[name] = stream{data, src, points, isGzip}
	}
	field := shuffledField(rng, 100_000)
	texts := bytes.Repeat([]byte("a year of sediment, a varve; "), 10_000)
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for name, data := range map[string][]byte{"field": field, "texts": texts, "noise": noise, "zeros": make([]byte, 9<<20)} {
		for _, level := range []int{flate.HuffmanOnly, 1, 6, 9} {
			src := zlibOf(t, data, level)
			add(fmt.Sprintf("%s, level %d", name, level), data, src, false, 1+rng.IntN(60_000))
		}
		two := append(compressed(t, newGzip, data[:len(data)/3]), fullGzip(t, data[len(data)/3:])...)
		add(name+", two members", data, two, true, 1+rng.IntN(60_000))
		var many []byte
		for part := range slices.Chunk(data[:min(len(data), 200_000)], 5000) {
			many = append(many, compressed(t, newGzip, part)...)
		}
		add(name+", many members", data[:min(len(data), 200_000)], many, true, 12_000)
	}
	return all
}

// zlibOf returns a zlib stream in which every kind of block occurs.
func zlibOf(t *testing.T, data []byte, level int) []byte {
	src := append([]byte{0x78, 0x01}, deflate(t, data, level)...)
	sum := adlerOf(data)
	return append(src, byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
}

func adlerOf(data []byte) uint32 {
	a, b := uint32(1), uint32(0)
	for _, c := range data {
		a = (a + uint32(c)) % 65521
		b = (b + a) % 65521
	}
	return b<<16 | a
}

// TestSpans compares random spans with the bytes of the whole stream.
func TestSpans(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	all := streams(t, rng)
	names := slices.Sorted(maps.Keys(all))
	room := make([]byte, 0)
	for range 1000 {
		name := names[rng.IntN(len(names))]
		s := all[name]
		i := rng.IntN(len(s.points))
		p, end := s.points[i], len(s.data)
		srcEnd := len(s.src)
		if i+1 < len(s.points) {
			// Sometimes decode past the next point, with all of the input.
			if rng.IntN(4) > 0 {
				end, srcEnd = s.points[i+1].Out, (s.points[i+1].Bit+7)/8
			}
		}
		size := 1 + rng.IntN(min(max(end-p.Out, 1), 1<<rng.IntN(17)))
		if rng.IntN(40) == 0 {
			size = min(max(end-p.Out, 1), 200_000)
		}
		if end == p.Out {
			continue // an empty block at the end
		}
		if need := ResumeSize(size); cap(room) < need {
			room = make([]byte, need)
		}
		for i := 0; i < ResumeSize(size); i += 997 {
			room[i] = 0xa5 // bytes of another span
		}
		got, err := Resume(room[:ResumeSize(size)], size, p.Window, s.src[p.Bit/8:srcEnd], p.Bit%8, s.isGzip)
		if err != nil || !bytes.Equal(got, s.data[p.Out:p.Out+size]) {
			t.Fatalf("%s: %d bytes from point %d (byte %d, bit %d of %d): %v", name, size, i, p.Out, p.Bit, len(s.src), err)
		}
	}
}

// TestPointWindows checks that windows have only bytes that are needed.
func TestPointWindows(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	_, points, err := ZlibPoints(make([]byte, len(noise)), zlibOf(t, noise, flate.NoCompression), 1)
	if err != nil || len(points) < 4 {
		t.Fatalf("%d points of stored blocks, %v", len(points), err)
	}
	for i, p := range points {
		if p.Window != nil {
			t.Errorf("point %d at a stored block has a window of %d bytes", i, len(p.Window))
		}
	}
	// One match of 20 bytes, at a distance of 30,000, after the point.
	data := append(append(bytes.Clone(noise[:40_000]), noise[40_000:70_000]...), noise[40_000:40_020]...)
	w, err := flate.NewWriter(nil, 6)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w.Reset(&out)
	for _, part := range [][]byte{data[:70_000], data[70_000:]} {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sum := adlerOf(data)
	src := append(append([]byte{0x78, 0x01}, out.Bytes()...), byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
	if _, points, err = ZlibPoints(make([]byte, len(data)), src, 70_000); err != nil || len(points) < 2 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	if got := len(points[1].Window); points[1].Out != 70_000 || got < 20 || got > 30 {
		t.Errorf("the window at byte %d has %d bytes, want about 20", points[1].Out, got)
	}
}

// FuzzResume checks that no input makes Resume panic or return an error that is not marked.
func FuzzResume(f *testing.F) {
	data := large()
	src := compressed(f, newZlib, data)
	f.Add(src, []byte{}, 100, 0, false)
	f.Add(src[2:], []byte{1, 10, 2, 3, 4}, 100, 0, true)
	f.Fuzz(func(t *testing.T, src, window []byte, size, bit int, isGzip bool) {
		size = int(uint(size) % 100_000)
		room := bytes.Repeat([]byte{0xa5}, ResumeSize(size)+16)
		_, err := Resume(room[:ResumeSize(size):ResumeSize(size)], size, window, src, bit, isGzip)
		if err != nil && !errors.Is(err, corrupt.Err) {
			t.Fatalf("error %v is not marked", err)
		}
		if !bytes.Equal(room[ResumeSize(size):], bytes.Repeat([]byte{0xa5}, 16)) {
			t.Fatal("wrote past the end of the buffer")
		}
	})
}
