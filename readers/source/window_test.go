package source_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"varve/fixtures/soak"
	"varve/readers/source"
)

// TestWindow reads nodes of many sizes and distances, forward and backward.
func TestWindow(t *testing.T) {
	seed := soak.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	whole := make([]byte, 3<<20)
	for i := range whole {
		whole[i] = byte(rnd.Uint32())
	}
	name := filepath.Join(t.TempDir(), "nodes")
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	src := open(t, name)
	for range 50 {
		w := source.Window{Source: src}
		size, gap := 1+rnd.IntN(9000), rnd.IntN(1<<(1+rnd.IntN(18)))
		for off, step := rnd.IntN(1<<16), 0; off+size <= len(whole) && step < 2000; off, step = off+size+gap, step+1 {
			if rnd.IntN(200) == 0 {
				off = max(off-rnd.IntN(1<<20), 0)
			}
			n := size - rnd.IntN(1+size/4)
			got, err := w.View(context.Background(), int64(off), n)
			if err != nil || !bytes.Equal(got, whole[off:off+n]) {
				t.Fatalf("seed %d: %d bytes at %d, every %d bytes: wrong bytes, error %v", seed, n, off, size+gap, err)
			}
		}
		w.Close()
	}
}

// TestWindowChanged lets a file shrink while it is read ahead.
func TestWindowChanged(t *testing.T) {
	const size, node = 4 << 20, 4 << 10
	name := filepath.Join(t.TempDir(), "nodes")
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	w := source.Window{Source: open(t, name)}
	defer w.Close()
	for off := int64(0); off < size; off += node {
		if off == size/2 {
			if err := os.Truncate(name, size/2); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.View(context.Background(), off, node); err != nil {
			if off < size/2 {
				t.Fatalf("at %d, before the file shrank: %v", off, err)
			}
			return
		}
	}
	t.Fatal("no error, though half of the file is gone")
}

func open(t *testing.T, name string) *source.Source {
	t.Helper()
	o := source.NewOpener(nil)
	src, err := o.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}
