// Package accesstest tests the access points of a format.
package accesstest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
)

// Format has the functions of a format.
type Format struct {
	Points func(dst, src []byte, every int) (int, []access.Point, error)
	// Resume decodes size bytes from a point on, as a part of room.
	Resume func(room []byte, size int, window, src []byte, bit int) ([]byte, error)
	Room   func(size int) int
}

// Check compares random spans of a stream with its decoded bytes, at points of random distances. It returns the largest
// number of points.
func (f *Format) Check(t *testing.T, name string, data, src []byte, spans int) (most int) {
	t.Helper()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	var points []access.Point
	for range spans {
		if points == nil || rng.IntN(50) == 0 {
			dst := make([]byte, len(data))
			// Not many more than 100 points: each costs as much as decoding its window.
			n, found, err := f.Points(dst, src, 1+len(data)/100+rng.IntN(1<<(1+rng.IntN(17))))
			if err != nil || !bytes.Equal(dst[:n], data) || len(found) == 0 || found[0].Out != 0 {
				t.Fatalf("%s (seed %d): %d bytes, %d points: %v", name, seed, n, len(found), err)
			}
			points, most = found, max(most, len(found))
		}
		i := rng.IntN(len(points))
		end, srcEnd := len(data), len(src)
		if i+1 < len(points) {
			end, srcEnd = points[i+1].Out, (points[i+1].Bit+7)/8
			if end < points[i].Out || points[i+1].Bit <= points[i].Bit {
				t.Fatalf("%s (seed %d): point %d is %+v, the next %+v", name, seed, i, points[i], points[i+1])
			}
		}
		p := points[i]
		if end == p.Out {
			continue
		}
		size := min(1+rng.IntN(1<<rng.IntN(20)), end-p.Out)
		// Bytes of other spans in the room, and other bytes after it, must not matter.
		room := bytes.Repeat([]byte{0xa5}, f.Room(size)+16)
		got, err := f.Resume(room[:f.Room(size)], size, p.Window, src[p.Bit/8:srcEnd], p.Bit%8)
		if err != nil || !bytes.Equal(got, data[p.Out:p.Out+size]) {
			t.Fatalf("%s (seed %d): %d bytes from point %d of %d (byte %d, bit %d of %d): %v", name, seed, size, i, len(points), p.Out, p.Bit, len(src), err)
		}
		if !bytes.Equal(room[f.Room(size):], bytes.Repeat([]byte{0xa5}, 16)) {
			t.Fatalf("%s (seed %d): wrote past the end of the buffer", name, seed)
		}
	}
	return most
}

// Fuzz checks that no input makes Resume panic, write outside of its buffer, or return an error that is not marked.
func (f *Format) Fuzz(t *testing.T, size, bit int, window, src []byte) {
	size, bit = int(uint(size)%100_000), bit&7
	n := f.Room(size)
	room := bytes.Repeat([]byte{0xa5}, n+16)
	_, err := f.Resume(room[:n:n], size, window, src, bit)
	if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("error %v is not marked", err)
	}
	if !bytes.Equal(room[n:], bytes.Repeat([]byte{0xa5}, 16)) {
		t.Fatal("wrote past the end of the buffer")
	}
}

// Damage changes bits of the streams and the windows of spans: Resume must not panic, and its errors are marked.
func (f *Format) Damage(t *testing.T, data, src []byte, times int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(len(src))))
	_, points, err := f.Points(make([]byte, len(data)), src, 1+len(data)/5)
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		p := points[rng.IntN(len(points))]
		bad, window := bytes.Clone(src[p.Bit/8:]), bytes.Clone(p.Window)
		switch {
		case len(window) > 0 && rng.IntN(2) == 0:
			window[rng.IntN(min(len(window), 30))] = byte(rng.Uint32())
		case rng.IntN(2) == 0:
			bad = bad[:rng.IntN(len(bad)+1)]
		case len(bad) > 0:
			bad[rng.IntN(min(len(bad), 1<<rng.IntN(20)))] ^= 1 << rng.IntN(8)
		}
		f.Fuzz(t, rng.IntN(len(data)-p.Out+1), p.Bit%8, window, bad)
	}
}
