package strided

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"varve/fixtures/soak"
	"varve/readers/source"
)

// memory counts reads, and fails after the given number of reads unless left is 0.
type memory struct {
	data  []byte
	reads int
	left  int
}

var errFull = errors.New("no more reads")

func (m *memory) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	m.reads++
	if m.left--; m.left == 0 {
		return 0, errFull
	}
	return io.ReadFull(bytes.NewReader(m.data[off:]), p)
}

func (m *memory) Identity() source.Identity { return source.Identity{Size: int64(len(m.data))} }
func (m *memory) Close() error              { return nil }

func TestRead(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 2))
	data := make([]byte, 3<<20)
	for i := range data {
		data[i] = byte(r.IntN(256))
	}
	for range 300 {
		runs := Runs{Offset: int64(r.IntN(100)), Size: 1 + r.Uint64N(1<<r.IntN(12))}
		runs.Stride = runs.Size + r.Uint64N(1<<r.IntN(18))
		runs.Count = 1 + r.Uint64N((uint64(len(data))-100-runs.Size)/runs.Stride)
		runs.Count = min(runs.Count, 3000)
		var want []byte
		for i := range runs.Count {
			want = append(want, data[uint64(runs.Offset)+i*runs.Stride:][:runs.Size]...)
		}
		got := make([]byte, len(want))
		if err := Read(context.Background(), source.New("m", &memory{data: data}), got, runs); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%+v: wrong bytes (%v)", runs, err)
		}
	}
}

// TestReads checks how many reads near and distant runs cost.
func TestReads(t *testing.T) {
	for _, c := range []struct {
		name  string
		runs  Runs
		reads int
	}{
		{"without gaps", Runs{0, 100, 100, 1000}, 1},
		{"one", Runs{5, 100, 1, 1}, 1},
		{"near", Runs{0, 8, 1000, 1000}, 1},
		{"near, more than a span", Runs{0, 8, 1024, 2500}, 3},
		{"half of the bytes are gaps", Runs{0, 30_000, 60_000, 34}, 2},
		{"distant", Runs{0, 8, 100_000, 30}, 30},
		{"nothing", Runs{0, 0, 0, 0}, 0},
	} {
		m := &memory{data: make([]byte, 3<<20)}
		dst := make([]byte, c.runs.Size*c.runs.Count)
		if err := Read(context.Background(), source.New("m", m), dst, c.runs); err != nil || m.reads != c.reads {
			t.Errorf("%s: %d reads, want %d (%v)", c.name, m.reads, c.reads, err)
		}
	}
}

func TestError(t *testing.T) {
	for _, runs := range []Runs{{0, 8, 1024, 2500}, {0, 8, 100_000, 30}} {
		m := &memory{data: make([]byte, 3<<20), left: 2}
		err := Read(context.Background(), source.New("m", m), make([]byte, runs.Size*runs.Count), runs)
		if !errors.Is(err, errFull) {
			t.Errorf("%+v: got %v", runs, err)
		}
	}
}
