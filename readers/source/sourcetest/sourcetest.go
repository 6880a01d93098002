// Package sourcetest is the conformance suite for kinds of storage: implementations of source.Ranges.
//
// A test passes a function that stores bytes to Run. The suite reads them at many offsets, from many goroutines, past the end,
// with ended contexts, after the file was changed, and after the source was closed. It checks:
//
//   - The bytes are the stored ones, or there is an error.
//   - After the file was changed, the error is source.ErrChanged, or fs.ErrNotExist if it was removed.
//   - An ended context ends a read at once.
//   - A closed source leaves no memory, no goroutine and no open file.
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"varve/readers/source"
)

// Stored is a file of some kind of storage.
type Stored struct {
	// Open opens the file.
	Open func(ctx context.Context) (*source.Source, error)
	// Change replaces the file by other bytes; nil removes it. Change is nil if the storage does not support it.
	Change func(content []byte) error
	// Release releases resources that stay open for the next source, such as connections to a server. It may be nil.
	Release func() error
}

func (s Stored) release(t *testing.T) {
	t.Helper()
	if s.Release == nil {
		return
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
}

// Store stores bytes as a new file.
type Store func(t testing.TB, content []byte) Stored

// Content returns the first n bytes of a random sequence that depends on seed.
func Content(n int, seed byte) []byte {
	content := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(content) // never fails
	return content
}

const (
	large  = 3<<19 + 12345 // more than any storage reads when it is opened
	middle = 700 << 10     // an offset far from both ends
)

// Run runs the suite for a kind of storage.
func Run(t *testing.T, store Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"every offset": testOffsets,
		"sizes":        testSizes,
		"ranges":       testRanges,
		"past the end": testPastEnd,
		"cancelled":    testCancelled,
		"concurrent":   testConcurrent,
		"changed":      testChanged,
		"closed":       testClosed,
		"nothing left": testNothingLeft,
		"identity":     testIdentity,
	} {
		t.Run(name, func(t *testing.T) { test(t, store) })
	}
}

// often returns the number of random trials: n, or fewer in short tests.
func often(n int) int {
	if testing.Short() {
		return max(n/5, 2)
	}
	return n
}

func open(t *testing.T, stored Stored) *source.Source {
	t.Helper()
	s, err := stored.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// reads are the ways to read a range.
var reads = map[string]func(context.Context, *source.Source, int64, int) ([]byte, error){
	"View": func(ctx context.Context, s *source.Source, off int64, n int) ([]byte, error) {
		return s.View(ctx, off, n)
	},
	"ReadAt": func(ctx context.Context, s *source.Source, off int64, n int) ([]byte, error) {
		p := make([]byte, max(n, 0))
		got, err := s.ReadAt(ctx, p, off)
		if err == nil && got != n {
			err = fmt.Errorf("%d bytes and no error", got)
		}
		return p, err
	},
	"ReadRanges": func(ctx context.Context, s *source.Source, off int64, n int) ([]byte, error) {
		out := make([][]byte, 1)
		err := s.ReadRanges(ctx, []source.Range{{Offset: off, Length: int64(n)}}, out)
		return out[0], err
	},
	"Window": func(ctx context.Context, s *source.Source, off int64, n int) ([]byte, error) {
		w := source.Window{Source: s}
		return w.View(ctx, off, n)
	},
	"Section": func(ctx context.Context, s *source.Source, off int64, n int) ([]byte, error) {
		section, err := s.Section(off, int64(n))
		if err != nil {
			return nil, err
		}
		out := make([][]byte, 1)
		err = section.ReadRanges(ctx, []source.Range{{Offset: 0, Length: section.Size()}}, out)
		return out[0], err
	},
}

func check(t *testing.T, s *source.Source, content []byte, off int64, n int) {
	t.Helper()
	for how, read := range reads {
		got, err := read(context.Background(), s, off, n)
		if err != nil || !bytes.Equal(got, content[off:off+int64(n)]) {
			t.Fatalf("%s of %d bytes at %d: wrong bytes or error (%v)", how, n, off, err)
		}
	}
}

func testOffsets(t *testing.T, store Store) {
	content := Content(large, 0)
	s := open(t, store(t, content))
	for _, at := range []int64{0, 1 << 12, 1 << 13, 1 << 16, 1 << 18, 1 << 20, large} {
		for _, n := range []int{0, 1, 9, 1<<13 + 1, 1<<16 + 1, 1<<18 + 7} {
			for _, off := range []int64{at - 1, at, at + 1, at - int64(n)} {
				if off >= 0 && off+int64(n) <= large {
					check(t, s, content, off, n)
				}
			}
		}
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range often(60) {
		off := r.Int64N(large)
		n := int(min(r.Int64N(1<<r.IntN(18)), large-off))
		check(t, s, content, off, n)
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

func testSizes(t *testing.T, store Store) {
	for _, size := range []int{0, 1, 100, 1<<13 - 1, 1 << 13, 1<<16 - 1, 1 << 16, 1<<16 + 1, 1<<18 - 1, 1 << 18, 1<<18 + 1} {
		content := Content(size, 1)
		s := open(t, store(t, content))
		if s.Size() != int64(size) {
			t.Fatalf("Size of %d bytes: got %d", size, s.Size())
		}
		check(t, s, content, 0, size)
		check(t, s, content, int64(size), 0)
		check(t, s, content, int64(max(size-9, 0)), min(9, size))
	}
}

func testRanges(t *testing.T, store Store) {
	content := Content(large, 2)
	s := open(t, store(t, content))
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range often(20) {
		ranges := make([]source.Range, r.IntN(40))
		for i := range ranges {
			ranges[i].Offset = r.Int64N(large)
			ranges[i].Length = min(r.Int64N(1<<r.IntN(17)), large-ranges[i].Offset)
		}
		out := make([][]byte, len(ranges))
		if err := s.ReadRanges(context.Background(), ranges, out); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, r := range ranges {
			if !bytes.Equal(out[i], content[r.Offset:r.End()]) {
				t.Fatalf("seed %d: range %d of %v: wrong bytes", seed, i, ranges)
			}
		}
	}
}

func testPastEnd(t *testing.T, store Store) {
	s := open(t, store(t, Content(large, 3)))
	for _, c := range []struct {
		off int64
		n   int
	}{{large, 1}, {large - 1, 2}, {0, large + 1}, {large + 1, 0}, {-1, 1}, {-1, 0}, {1<<63 - 1, 1}, {1<<63 - 1, 1 << 20}, {0, -1}} {
		for how, read := range reads {
			if how == "ReadAt" && c.n < 0 {
				continue // a slice cannot have a negative length
			}
			var outside *source.RangeError
			if _, err := read(context.Background(), s, c.off, c.n); !errors.As(err, &outside) {
				t.Errorf("%s of %d bytes at %d: got %v, want a RangeError", how, c.n, c.off, err)
			}
		}
	}
}

func testCancelled(t *testing.T, store Store) {
	stored := store(t, Content(large, 4))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := stored.Open(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: got %v, %v", s, err)
	}
	s := open(t, stored)
	for how, read := range reads {
		if _, err := read(ended, s, middle, 100); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", how, err)
		}
	}
	check(t, s, Content(large, 4), middle, 100)
}

func testConcurrent(t *testing.T, store Store) {
	content := Content(large, 5)
	s := open(t, store(t, content))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 5))
			for range often(10) {
				off := r.Int64N(large - 1000)
				for how, read := range reads {
					got, err := read(context.Background(), s, off, 1000)
					if err != nil || !bytes.Equal(got, content[off:off+1000]) {
						t.Errorf("%s of 1000 bytes at %d: wrong bytes or error (%v)", how, off, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func testChanged(t *testing.T, store Store) {
	for name, now := range map[string][]byte{
		"other bytes": Content(large, 7),
		"shorter":     Content(large, 6)[:large-1],
		"much less":   Content(100, 6),
		"empty":       {},
		"longer":      Content(large+1, 6),
		"removed":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			stored := store(t, Content(large, 6))
			if stored.Change == nil {
				t.Skip("this storage does not support changing files")
			}
			s := open(t, stored)
			before := s.Identity()
			check(t, s, Content(large, 6), 0, 100)
			if err := stored.Change(now); err != nil {
				t.Fatal(err)
			}
			for how, read := range reads {
				_, err := read(context.Background(), s, middle, 100)
				if !errors.Is(err, source.ErrChanged) && (now != nil || !errors.Is(err, fs.ErrNotExist)) {
					t.Errorf("%s: got %v, want ErrChanged", how, err)
				}
			}
			if s.Identity() != before {
				t.Errorf("the source's identity changed from %v to %v", before, s.Identity())
			}
		})
	}
}

func testClosed(t *testing.T, store Store) {
	content := Content(large, 8)
	s, err := store(t, content).Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	view, err := s.View(context.Background(), middle, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(view, content[middle:middle+1000]) {
		t.Error("closing the source changed what View returned")
	}
	for how, read := range reads {
		if _, err := read(context.Background(), s, middle, 1000); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: got %v, want fs.ErrClosed", how, err)
		}
	}
}

func testNothingLeft(t *testing.T, store Store) {
	stored := store(t, Content(large, 9))
	stored.release(t)
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for range often(10) {
		s, err := stored.Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		check(t, s, Content(large, 9), middle, 100)
		ended, cancel := context.WithTimeout(context.Background(), time.Microsecond)
		_ = s.ReadRanges(ended, []source.Range{{Offset: 0, Length: 100}, {Offset: middle, Length: 100}, {Offset: large - 100, Length: 100}}, make([][]byte, 3))
		cancel()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stored.release(t)
	// Connections need some time to close at both ends.
	for wait := time.Millisecond; openFiles(t) > files || runtime.NumGoroutine() > goroutines; wait *= 2 {
		if wait > 5*time.Second {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d files and %d goroutines before, %d and %d after:\n%s", files, goroutines,
				openFiles(t), runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(wait)
	}
}

// openFiles returns the number of files that this process has open, or 0 if the system does not report it.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func testIdentity(t *testing.T, store Store) {
	stored := store(t, Content(large, 10))
	one, other := open(t, stored), open(t, stored)
	if err := one.Identity().Check(other.Identity()); err != nil {
		t.Errorf("the same file, opened twice: %v", err)
	}
	if one.Identity().Size != large {
		t.Errorf("Identity has %d bytes, want %d", one.Identity().Size, large)
	}
	before := one.Stats()
	check(t, one, Content(large, 10), middle, 100)
	after := one.Stats()
	if after.Requests < before.Requests || after.Bytes < before.Bytes || after.Requests < 1 || after.Bytes < 100 {
		t.Errorf("Stats before reading %+v, after it %+v", before, after)
	}
}
