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
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// TestVisit checks that the pieces of a region cover each element once.
func TestVisit(t *testing.T) {
	seed := soak.Seed(t)
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
			numbers := visitAll(t, a, into, pieceSizes{least: r.Int64N(200), most: 1 + r.Int64N(200), vast: 1 + r.Int64N(400)})
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
		if p.IsUniform {
			whole := codec.NewElems(a.Schema().Form(p.Shape))
			whole.SetFill(a.Schema().Form(p.Shape))
			p.Elems = whole
		}
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

// TestVisitHuge checks that arrays of huge declared shapes are visited as one piece, and with little memory, if nothing is
// stored.
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
			pieces := 0
			err := a.Visit(t.Context(), grid.Whole(c.shape), func(p *Piece) error {
				if pieces++; !p.IsUniform || len(p.Fixed) != 4 || !p.Region.Equal(grid.Whole(c.shape)) {
					t.Errorf("a piece of %v has %d bytes", p.Region, len(p.Fixed))
				}
				return nil
			})
			runtime.ReadMemStats(&after)
			if err != nil || pieces != 1 {
				t.Errorf("%d pieces, %v", pieces, err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
				t.Errorf("allocated %d bytes", used)
			}
		})
	}
}

// TestVisitSparse checks that the work follows from the stored chunks: of 3 TiB only the surroundings of the stored chunk are
// read, and the pieces cover each element once.
func TestVisitSparse(t *testing.T) {
	const n = 1 << 40
	m := newMemoryTables()
	m.values["a"] = &manifest.Values{ID: "a", Data: []byte{1, 2, 3}}
	schema := &zarrjson.Array{Shape: []int64{n, 3}, DataType: dataType(t, codec.Type{Kind: codec.Uint, Size: 1}), ChunkGrid: zarrjson.RegularGrid(1, 3), Fill: []byte{0}, Codecs: []codec.Spec{spec("bytes", `{}`)}}
	array := manifest.Array{Path: "/v", Schema: schema, Pieces: []manifest.Piece{{Origin: []int64{n/2 + 12345, 0}, Shape: []int64{1, 3}, Values: "a"}}}
	a := openMemory(t, &manifest.Snapshot{Arrays: []manifest.Array{array}}, m, Options{}).Arrays()[0]
	sizes := pieceSizes{least: 256 << 10, most: 1 << 20, vast: 8 << 20}
	var mu sync.Mutex
	var read, covered, sum int64
	uniform := 0
	err := a.visit(t.Context(), grid.Whole(schema.Shape), sizes, func(p *Piece) error {
		mu.Lock()
		defer mu.Unlock()
		elements, err := p.Elements()
		covered += elements
		if p.IsUniform {
			uniform++
			return err
		}
		read += elements
		for _, v := range p.Fixed {
			sum += int64(v)
		}
		return err
	})
	if err != nil || covered != 3*n || sum != 6 || read > 2*sizes.vast || uniform > 60 {
		t.Errorf("%d elements, %d of them read, sum %d, %d uniform pieces, %v", covered, read, sum, uniform, err)
	}
}
