package access

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"varve/codec/internal/corrupt"
)

// TestWindow compares windows with the bytes that were marked.
func TestWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		size := 64 * (1 + rng.IntN(40))
		before := make([]byte, rng.IntN(2*size))
		for i := range before {
			before[i] = byte(1 + rng.IntN(255))
		}
		used, want := NewUsed(size), make([]byte, size)
		for range rng.IntN(20) {
			back, n := 1+rng.IntN(2*size), 1+rng.IntN(200)
			used.Mark(back, n)
			for i := max(size-back, size-len(before), 0); i < size && i < size-back+n; i++ {
				want[i] = before[len(before)-size+i]
			}
		}
		got := make([]byte, size)
		if err := FillWindow(got, used.AppendWindow(nil, before)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("window of %d bytes after %d: %v", size, len(before), err)
		}
	}
}

// TestSplitter checks which blocks begin a span.
func TestSplitter(t *testing.T) {
	s := Splitter{Every: 100}
	out := 0
	for i, block := range []struct {
		n    int
		want bool
	}{{0, true}, {40, false}, {60, false}, {1, true}, {100, true}, {500, true}, {0, false}, {30, true}} {
		if got := s.Splits(out, block.n); got != block.want {
			t.Errorf("block %d of %d bytes at %d: %v", i, block.n, out, got)
		}
		out += block.n
	}
}

// TestHostileWindows checks that FillWindow refuses wrong windows, and never writes outside of its buffer.
func TestHostileWindows(t *testing.T) {
	for name, window := range map[string][]byte{
		"more runs than bytes":  {0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1, 1},
		"no lengths":            {1, 1},
		"a run beyond the end":  {1, 0xff, 0xff, 1, 2, 1, 2},
		"a gap beyond the end":  {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 1},
		"bytes are missing":     {1, 5, 9, 1, 2},
		"bytes after the end":   {1, 5, 1, 1, 2},
		"an endless number":     bytes.Repeat([]byte{0xff}, 20),
		"positions without end": {2, 5, 0xff},
	} {
		room := make([]byte, 1<<15+10)
		if err := FillWindow(room[:1<<15], window); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
