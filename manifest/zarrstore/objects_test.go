package zarrstore

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/readers/source"
	"varve/readers/source/storetest"
	"varve/zarrjson"
)

// TestTwoCreators creates one array by several processes, also in both formats, and wants one winner.
func TestTwoCreators(t *testing.T) {
	regular := schema16(t, 10, 5)
	regular.ChunkGrid = zarrjson.RegularGrid(5)
	regular.Attributes.Set("units", []byte(`"K"`))
	for kind, root := range roots {
		t.Run(kind, func(t *testing.T) {
			name := root(t) + "/a"
			var created atomic.Int64
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					_, err := Create(t.Context(), name, regular, &Options{Format: 2 + i%2})
					if err == nil {
						created.Add(1)
					} else if !errors.Is(err, fs.ErrExist) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if created.Load() > 1 {
				t.Fatalf("%d winners", created.Load())
			}
			// A loser may see the claim of another loser, so it is possible that nobody wins; but not forever.
			if created.Load() == 0 {
				if _, err := Create(t.Context(), name, regular, nil); err != nil {
					t.Fatal(err)
				}
			}
			a, err := Open(t.Context(), name, nil)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for key, err := range a.files.Walk(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, key)
			}
			slices.Sort(keys)
			if !slices.Equal(keys, []string{v3Name}) && !slices.Equal(keys, []string{v2Name, v2Attributes}) {
				t.Errorf("there are %q", keys)
			}
			if units, _ := a.Schema().Attributes.Get("units"); string(units) != `"K"` {
				t.Errorf("units %s", units)
			}
		})
	}
}

// TestClaimOfStoppedProcess wants the error to name the file that a stopped process has left.
func TestClaimOfStoppedProcess(t *testing.T) {
	for kind, root := range roots {
		t.Run(kind, func(t *testing.T) {
			name := root(t) + "/a"
			f, err := openFiles(t.Context(), name, &Options{})
			if err == nil {
				err = f.claim(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Create(t.Context(), name, schema16(t, 10, 5, 5), nil); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), f.Name(claimKey)) {
				t.Error(err)
			}
			if err := f.removeClaim(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := Create(t.Context(), name, schema16(t, 10, 5, 5), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLostAnswers wants the same result if the answer to every second request is lost.
func TestLostAnswers(t *testing.T) {
	m := storetest.NewMemory(t)
	n := 0
	var mu sync.Mutex
	m.SetFault(func(*http.Request) storetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%2 == 0 {
			return storetest.Lost
		}
		return nil
	})
	a, err := Create(t.Context(), "s3://bucket/a", schema16(t, 10, 6, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := a.Append(t.Context(), 0, 5, line(5, 7), EdgesOf(0, 5)); err != nil {
			t.Fatal(err)
		}
	}
	got := codec.NewElems(a.Schema().Form([]int64{25}))
	want := slices.Concat(make([]byte, 20), line(5, 7).Fixed, line(5, 7).Fixed, line(5, 7).Fixed)
	if err := reopen(t, a).ReadRegion(t.Context(), grid.Whole([]int64{25}), got); err != nil || !bytes.Equal(got.Fixed, want) {
		t.Errorf("%v, %v", err, got.Fixed)
	}
}

// TestChangedElsewhere wants an error for an array that another process has resized.
func TestChangedElsewhere(t *testing.T) {
	m := storetest.NewMemory(t)
	a, err := Create(t.Context(), "s3://bucket/a", schema16(t, 10, 6, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	other := reopen(t, a)
	if err := other.Append(t.Context(), 0, 4, line(4, 1), EdgesOf(0, 4)); err != nil {
		t.Fatal(err)
	}
	document := m.Get("bucket/a/" + v3Name)
	for name, err := range map[string]error{
		"resize": a.Resize(t.Context(), []int64{20}, EdgesOf(0, 10)),
		"append": a.Append(t.Context(), 0, 3, line(3, 1), EdgesOf(0, 3)),
		"growth": a.SetGrowth(t.Context(), Growth{0, grid.OneChunk()}),
	} {
		if !errors.Is(err, source.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := m.Get("bucket/a/" + v3Name); !bytes.Equal(got, document) {
		t.Errorf("the document of the other process is lost: %s", got)
	}
	if err := reopen(t, a).Resize(t.Context(), []int64{20}, EdgesOf(0, 10)); err != nil {
		t.Error(err)
	}
}

// TestStoreWithoutConditions wants no array in a store that ignores or rejects conditions.
func TestStoreWithoutConditions(t *testing.T) {
	m := storetest.NewMemory(t)
	m.SetCareless(true)
	if _, err := Create(t.Context(), "s3://bucket/a", schema16(t, 10, 6, 4), nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a store that ignores conditions: %v", err)
	}
	m.SetCareless(false)
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Header.Get("If-None-Match") != "" {
			return storetest.Denied
		}
		return nil
	})
	if _, err := Create(t.Context(), "s3://bucket/a", schema16(t, 10, 6, 4), nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a store that denies conditional requests: %v", err)
	}
	if left := m.Names(""); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// TestReplacedWhileRead replaces a chunk after a reader has opened it.
func TestReplacedWhileRead(t *testing.T) {
	m := storetest.NewMemory(t)
	const n = 1 << 20 // more than opening reads
	schema := schema16(t, n, n)
	schema.Codecs = parseCodecs(t, rawCodecs)
	a, err := Create(t.Context(), "s3://bucket/a", schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := grid.Whole([]int64{n})
	elems := codec.NewElems(schema.Form([]int64{n}))
	elems.Fixed[0] = 1
	if err := a.WriteRegion(t.Context(), whole, elems); err != nil {
		t.Fatal(err)
	}
	later := bytes.Repeat([]byte{0, 2}, n) // big-endian
	var once sync.Once
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Method == http.MethodGet && r.Header.Get("If-Match") != "" {
			once.Do(func() { m.Put("bucket/a/c/0", later) })
		}
		return nil
	})
	got := codec.NewElems(schema.Form([]int64{n}))
	if err := a.ReadRegion(t.Context(), whole, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Fixed, bytes.Repeat([]byte{2, 0}, n)) {
		t.Errorf("a mixture: %v … %v", got.Fixed[:4], got.Fixed[len(got.Fixed)-4:])
	}
}

// TestRequests counts the requests that small chunks cost.
func TestRequests(t *testing.T) {
	m := storetest.NewMemory(t)
	a, err := Create(t.Context(), "s3://bucket/a", schema16(t, 12, 6, 6), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"write a whole chunk", func() error {
			return a.WriteRegion(t.Context(), grid.Region{Origin: []int64{0}, Shape: []int64{6}}, line(6, 1))
		}, []string{"PUT bucket/a/c/0"}},
		{"write a part of it", func() error {
			return a.WriteRegion(t.Context(), grid.Region{Origin: []int64{2}, Shape: []int64{1}}, line(1, 1))
		},
			[]string{"GET bucket/a/c/0", "PUT bucket/a/c/0"}},
		{"read a missing and a stored chunk", func() error { return a.ReadRegion(t.Context(), grid.Whole([]int64{12}), line(12, 0)) }, []string{"GET bucket/a/c/0", "GET bucket/a/c/1"}},
	} {
		m.Log()
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		got := m.Log()
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"https://host/a", "s3://bucket", "s3://bucket/a/../b"} {
		if _, err := Create(t.Context(), name, schema16(t, 10, 6, 4), nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInteropObjectStore has zarr-python read an array in an object store.
func TestInteropObjectStore(t *testing.T) {
	storetest.NewMemory(t)
	x := &trial{chance: chance{rand.New(rand.NewPCG(3, 3))}, name: "s3://bucket/a"}
	schema := schema16(t, 20, 20)
	schema.Shape, schema.ChunkGrid = []int64{11, 7}, zarrjson.RectilinearGrid(grid.List(6, 5), grid.List(4, 3))
	var err error
	if x.array, err = Create(t.Context(), x.name, schema, nil); err != nil {
		t.Fatal(err)
	}
	x.twin, x.units = newPlain(schema.Form(schema.Shape)), []int64{1, 1}
	for range 12 {
		x.step(t)
	}
	x.compare(t)
	expect := filepath.Join(t.TempDir(), "expect")
	if err := os.WriteFile(expect, x.twin.elems.Fixed, 0o644); err != nil {
		t.Fatal(err)
	}
	peer(t, "served", os.Getenv("AWS_ENDPOINT_URL")+"/bucket/a", expect)
}
