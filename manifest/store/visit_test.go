package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// TestVisit checks that the pieces of a region cover each element once.
func TestVisit(t *testing.T) {
	seed := rand.Uint64()
	for i := range 60 {
		t.Run(fmt.Sprintf("seed %d-%d", seed, i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			w := newWorld(t, r)
			a := onlyArray(t, w)
			region := grid.MakeRegion(len(w.shape))
			for k, n := range w.shape {
				region.Origin[k] = r.Int64N(n)
				region.Shape[k] = 1 + r.Int64N(n-region.Origin[k])
			}
			got := codec.NewElems(codec.Form{Type: w.typ, Shape: region.Shape})
			into := newWindow(got, region, w.typ)
			numbers := visitAll(t, a, into, pieceSizes{r.Int64N(200), 1 + r.Int64N(200)})
			for i, n := range numbers {
				if n != int64(i) {
					t.Fatalf("pieces %v", numbers)
				}
			}
			if want := cut(t, w.truth, w.shape, region, w.typ); !equalElems(got, want) {
				t.Errorf("region %v: got %v, want %v", region, got, want)
			}
		})
	}
}

func onlyArray(t *testing.T, w *world) *Array {
	t.Helper()
	a, err := openMemory(t, w.snapshot(), w.tables, Options{}).Array("/v")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// emptyArray makes an array of float32 without any stored chunk.
func emptyArray(t *testing.T, shape, chunk []int64, codecs []codec.Spec) *Array {
	t.Helper()
	dt, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Float, Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	schema := &zarrjson.Array{Shape: shape, DataType: dt, ChunkGrid: zarrjson.RegularGrid(chunk...), Codecs: codecs}
	m := newMemoryTables()
	a, err := openMemory(t, m.snapshot(nil, nil, manifest.Array{Path: "/v", Schema: schema}), m, Options{}).Array("/v")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// visitAll copies the pieces into one array and returns their numbers in order.
func visitAll(t *testing.T, a *Array, into window, sizes pieceSizes) (numbers []int64) {
	t.Helper()
	var mu sync.Mutex
	err := a.visit(t.Context(), into.region, sizes, func(p *Piece) error {
		mu.Lock()
		defer mu.Unlock()
		numbers = append(numbers, p.Number)
		from := newWindow(p.Elems, p.Region, a.Schema().DataType.Type())
		return into.copyFrom(&from, p.Region)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(numbers)
	return numbers
}

// TestVisitCuts checks the number of pieces of compressed, small and uncompressed chunks.
func TestVisitCuts(t *testing.T) {
	for _, c := range []struct {
		name          string
		shape, chunk  []int64
		codecs        []codec.Spec
		cuts0, pieces int
	}{
		{"chunks are pieces", []int64{6, 512, 512}, []int64{2, 512, 512}, []codec.Spec{spec("bytes", `{"endian":"little"}`), spec("zstd", `{"level":1}`)}, 3, 3},
		{"small chunks go together", []int64{1 << 20}, []int64{1}, []codec.Spec{spec("bytes", `{"endian":"little"}`), spec("zstd", `{"level":1}`)}, 16, 16},
		{"raw chunks are read in parts", []int64{8, 1024, 1024}, []int64{8, 1024, 1024}, []codec.Spec{spec("bytes", `{"endian":"little"}`)}, 8, 32},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := grid.Whole(c.shape)
			cut, _, err := emptyArray(t, c.shape, c.chunk, c.codecs).visitCuts(whole, visitSizes)
			if err != nil {
				t.Fatal(err)
			}
			first, pieces := map[int64]bool{}, 0
			if err := eachBox(whole, cut, func(box grid.Region) error {
				first[box.Origin[0]] = true
				pieces++
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if len(first) != c.cuts0 || pieces != c.pieces {
				t.Errorf("%d pieces along the first axis, %d in total; want %d and %d", len(first), pieces, c.cuts0, c.pieces)
			}
		})
	}
}

// TestVisitFails checks that Visit returns the error of look, and an error for a region outside the array.
func TestVisitFails(t *testing.T) {
	w := newWorld(t, newRand())
	a := onlyArray(t, w)
	no := errors.New("seen enough")
	if err := a.Visit(t.Context(), grid.Whole(w.shape), func(*Piece) error { return no }); !errors.Is(err, no) {
		t.Errorf("got %v, want %v", err, no)
	}
	outside := grid.Whole(append([]int64(nil), w.shape...))
	outside.Shape = append(outside.Shape, 1)
	if err := a.Visit(t.Context(), outside, nil); !errors.Is(err, grid.ErrOutOfBounds) {
		t.Errorf("a region of another rank: %v", err)
	}
}

// TestVisitHuge checks that visiting arrays of huge declared shapes takes little memory until something is stored, and
// that the first pieces are visited at once.
func TestVisitHuge(t *testing.T) {
	raw, zstd := spec("bytes", `{"endian":"little"}`), spec("zstd", `{"level":1}`)
	for _, c := range []struct {
		name         string
		shape, chunk []int64
		codecs       []codec.Spec
	}{
		{"one chunk", []int64{1 << 40}, []int64{1 << 40}, []codec.Spec{raw, zstd}},
		{"one raw chunk", []int64{1 << 40}, []int64{1 << 40}, []codec.Spec{raw}},
		{"one chunk of two axes", []int64{1 << 20, 1 << 30}, []int64{1 << 20, 1 << 30}, []codec.Spec{raw, zstd}},
		{"many chunks", []int64{1 << 60}, []int64{1}, []codec.Spec{raw, zstd}},
		{"many chunks along both axes", []int64{1 << 30, 1 << 30}, []int64{1, 1}, []codec.Spec{raw, zstd}},
		{"less than 4 GiB", []int64{1 << 40}, []int64{1 << 30}, []codec.Spec{raw, zstd}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := emptyArray(t, c.shape, c.chunk, c.codecs)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			enough, pieces := errors.New("seen enough"), 0
			err := a.Visit(t.Context(), grid.Whole(c.shape), func(p *Piece) error {
				if len(p.Fixed) > 2<<20 {
					t.Errorf("a piece has %d bytes", len(p.Fixed))
				}
				if pieces++; pieces == 50 {
					return enough
				}
				return nil
			})
			runtime.ReadMemStats(&after)
			if !errors.Is(err, enough) {
				t.Errorf("got %v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 {
				t.Errorf("allocated %d bytes", used)
			}
		})
	}
}
