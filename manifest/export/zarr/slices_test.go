package zarr

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/manifest"
	"varve/manifest/internal/home"
	"varve/readers/source/storetest"
)

// sliced writes some slices of a copy at the same time, one of them by two writers.
func (s *sample) sliced(t *testing.T, dest string, o Options, of int64, numbers ...int64) (copied int64) {
	t.Helper()
	var group sync.WaitGroup
	var mu sync.Mutex
	for _, number := range append(numbers, numbers[0]) {
		o := o
		o.Slice = manifest.Slice{Number: number, Of: of}
		group.Go(func() {
			r, err := Write(t.Context(), s.store, dest, &o)
			if errors.Is(err, home.ErrTaken) {
				return // the other writer of the slice holds its folder
			}
			if err != nil {
				t.Errorf("slice %d: %v", number, err)
				return
			}
			mu.Lock()
			copied += r.Verbatim + r.Inner + r.Encoded
			mu.Unlock()
		})
	}
	group.Wait()
	return copied
}

// TestSlices checks that a copy in slices equals a whole one, also if a slice is missing, and that nothing of the slices
// remains.
func TestSlices(t *testing.T) {
	for name, o := range map[string]Options{
		"verbatim": {},
		"encoded":  {Chunks: []Edges{{Dim: "time", Sizes: []int64{7}}, {Dim: "lat", Sizes: []int64{5}}}, Workers: 1},
		"shards":   {Chunks: []Edges{{Dim: "time", Sizes: []int64{2}}}, Shards: []Edges{{Dim: "time", Sizes: []int64{8}}}},
		"format 2": {Format: 2, Chunks: []Edges{{Dim: "time", Sizes: []int64{5}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSample(t, january, february, march)
			dest := filepath.Join(t.TempDir(), "copy")
			if n := s.sliced(t, dest, o, 5, 4, 0, 1, 3); n == 0 {
				t.Error("the slices have no chunks")
			}
			if _, err := os.Stat(filepath.Join(dest, "zarr.json")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("readers see an incomplete copy: %v", err)
			}
			other := o
			other.Chunks, other.Shards = []Edges{{Dim: "time", Sizes: []int64{3}}}, nil
			for _, slice := range []manifest.Slice{{}, {Number: 2, Of: 5}} {
				other.Slice = slice
				if _, err := Write(t.Context(), s.store, dest, &other); !errors.Is(err, fs.ErrExist) {
					t.Errorf("slice %v of another copy: %v", slice, err)
				}
			}
			r := s.copy(t, dest, o)
			if r.Resumed == 0 || r.Verbatim+r.Encoded == 0 {
				t.Errorf("the rest of the copy: %+v", r)
			}
			if format := o.Format; format != 2 {
				s.compare(t, dest, 3)
			} else {
				s.compare(t, dest, 2)
			}
			entries, err := os.ReadDir(filepath.Join(dest, stateFolder))
			if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != filepath.Base(stateName) }) {
				t.Errorf("%v remain: %v", entries, err)
			}
			o.Slice = manifest.Slice{Number: 1, Of: 5}
			if _, err := Write(t.Context(), s.store, dest, &o); !errors.Is(err, fs.ErrExist) {
				t.Errorf("a slice of a complete copy: %v", err)
			}
		})
	}
}

// TestSlicesVerify damages files that slices wrote. A slice that was stopped before it read its files again has them
// compared with their checksums; of the others the size is compared.
func TestSlicesVerify(t *testing.T) {
	for _, isDone := range []bool{false, true} {
		s := newSample(t, january, february)
		dest := filepath.Join(t.TempDir(), "copy")
		s.sliced(t, dest, Options{}, 2, 0, 1)
		var victim string
		err := filepath.WalkDir(dest, func(name string, d fs.DirEntry, err error) error {
			if err == nil && strings.Contains(name, "t2m") && d.Type().IsRegular() {
				victim = name
			}
			return err
		})
		if err != nil || victim == "" {
			t.Fatalf("%q, %v", victim, err)
		}
		data, err := os.ReadFile(victim)
		if err != nil {
			t.Fatal(err)
		}
		if data[len(data)/2] ^= 1; isDone {
			data = data[1:]
		}
		if err := os.WriteFile(victim, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if !isDone {
			for _, number := range []int64{0, 1} {
				if err := os.Remove(filepath.Join(dest, sliceFolder(manifest.Slice{Number: number, Of: 2})+sliceDone)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := Write(context.Background(), s.store, dest, &Options{}); err == nil || !strings.Contains(err.Error(), victim) {
			t.Errorf("done %t: %v", isDone, err)
		}
	}
}

// TestSlicesInStore is TestSlices in an object store.
func TestSlicesInStore(t *testing.T) {
	m := storetest.NewMemory(t)
	s := newSample(t, january, february, march)
	o := Options{Chunks: []Edges{{Dim: "time", Sizes: []int64{7}}}}
	if n := s.sliced(t, away, o, 4, 3, 0, 1); n == 0 {
		t.Error("the slices have no chunks")
	}
	invisible(t, m)
	if r := s.copy(t, away, o); r.Resumed == 0 || r.Verbatim+r.Encoded == 0 {
		t.Errorf("the rest of the copy: %+v", r)
	}
	s.same(t, m, o)
}
