package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/zarrjson"
)

func dataType(t testing.TB, typ codec.Type) zarrjson.DataType {
	t.Helper()
	dt, err := zarrjson.DataTypeOf(typ)
	if err != nil {
		t.Fatal(err)
	}
	return dt
}

// TestInline reads an array whose values are in the manifest, in two pieces with a gap.
func TestInline(t *testing.T) {
	typ := codec.Type{Kind: codec.Int, Size: 2}
	m := newMemoryTables()
	m.values["a"] = &manifest.Values{ID: "a", Data: []byte{1, 0, 2, 0, 3, 0}}
	m.values["b"] = &manifest.Values{ID: "b", Data: []byte{4, 0, 5, 0}}
	schema := &zarrjson.Array{Shape: []int64{9}, DataType: dataType(t, typ), ChunkGrid: zarrjson.RegularGrid(2), Fill: []byte{7, 0}, Codecs: []codec.Spec{spec("bytes", `{"endian":"big"}`)}}
	snap := &manifest.Snapshot{Arrays: []manifest.Array{{Path: "/v", Schema: schema, Dims: []string{"/t"}, Pieces: []manifest.Piece{
		{Origin: []int64{0}, Shape: []int64{3}, Values: "a"}, {Origin: []int64{6}, Shape: []int64{2}, Values: "b"}}}}}
	s := openMemory(t, snap, m, Options{})
	got, err := readAll(t.Context(), t, s)
	if want := []byte{1, 0, 2, 0, 3, 0, 7, 0, 7, 0, 7, 0, 4, 0, 5, 0, 7, 0}; err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %v (%v), want %v", got, err, want)
	}
	a, _ := s.Array("v")
	want := [][]byte{{0, 1, 0, 2}, {0, 3, 0, 7}, nil, {0, 4, 0, 5}, nil}
	n := 0
	for l, err := range a.Locations(t.Context(), grid.Whole([]int64{5})) {
		if err != nil {
			t.Fatal(err)
		}
		kind := manifest.Verbatim
		if want[n] == nil {
			kind = manifest.Missing
		}
		b, err := a.Chunk(t.Context(), l.Coords)
		if err != nil || l.Kind != kind || l.Source != -1 || !bytes.Equal(l.Inline, want[n]) || !bytes.Equal(b, want[n]) {
			t.Errorf("chunk %d: %+v, %v (%v), want %v", n, l, b, err, want[n])
		}
		n++
	}
	ix, err := grid.Orthogonal(a.Grid(), grid.Indices(7, 0, 4, 0))
	if err != nil {
		t.Fatal(err)
	}
	e := codec.NewElems(schema.Form([]int64{4}))
	if err := a.Read(t.Context(), ix, e); err != nil || !bytes.Equal(e.Fixed, []byte{5, 0, 1, 0, 7, 0, 1, 0}) {
		t.Errorf("by indices: got %v (%v)", e.Fixed, err)
	}
	m.values["b"].Data = m.values["b"].Data[:3]
	if _, err := readAll(t.Context(), t, s); err == nil {
		t.Error("reading values that are too short succeeds, want an error")
	}
}

// TestHostilePatches checks that invalid runs of compacted chunks are errors.
func TestHostilePatches(t *testing.T) {
	file := manifest.Table{Kind: manifest.Chunks, Name: "patches/chunks"}
	for name, test := range map[string]struct {
		run   manifest.Patched
		patch table.Patch
	}{
		"no axes":        {run: manifest.Patched{File: file.Name}},
		"beyond counts":  {run: manifest.Patched{File: file.Name, Counts: []int64{2, 2}, Shift: []int64{0, 0}, Limit: []int64{3, 2}}},
		"another file":   {run: manifest.Patched{File: "elsewhere", Counts: []int64{9, 9}, Shift: []int64{0, 0}, Limit: []int64{9, 9}}},
		"negative start": {run: manifest.Patched{File: file.Name, Counts: []int64{9, 9}, Shift: []int64{0, 0}, Limit: []int64{9, 9}}, patch: table.Patch{Offset: -5}},
		"negative size":  {run: manifest.Patched{File: file.Name, Counts: []int64{9, 9}, Shift: []int64{0, 0}, Limit: []int64{9, 9}}, patch: table.Patch{Length: -5}},
		"very many":      {run: manifest.Patched{File: file.Name, Counts: []int64{1 << 62, 1 << 62}, Shift: []int64{0, 0}, Limit: []int64{9, 9}}, patch: table.Patch{Offset: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			m, snap, _ := archive(t, 2, false)
			snap.Tables = append(snap.Tables, file)
			snap.Arrays[0].Patches = []manifest.Patched{test.run}
			m.patches = map[int64]table.Patch{}
			for n := range int64(100) {
				m.patches[n] = test.patch
			}
			s, err := newStore(snap, m, nil, &Options{Trusted: true})
			if err == nil {
				defer s.Close()
				a := s.Arrays()[0]
				_, err = readAll(t.Context(), t, s)
				for l, failed := range a.Locations(t.Context(), grid.Whole(a.Grid().Counts())) {
					if l == nil || failed != nil {
						err = failed
					}
				}
			}
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestConverted reads packed numbers of two files with different scales, in chunks that span both.
func TestConverted(t *testing.T) {
	m := newMemoryTables()
	w := &world{t: t, r: newRand()}
	var tiles []manifest.Tile
	float := func(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }
	for i, scale := range []float64{0.5, 2} {
		v := manifest.Variable{Path: "/v", Type: codec.Type{Kind: codec.Int, Size: 2}, Shape: []int64{3}, Dims: []string{"/t"},
			Attributes: []manifest.Attribute{
				{Name: "scale_factor", Type: codec.Type{Kind: codec.Float, Size: 8}, Data: float(scale), Scalar: true},
				{Name: "_FillValue", Type: codec.Type{Kind: codec.Int, Size: 2}, Data: []byte{3, 0}, Scalar: true}},
			Storage: manifest.Storage{Layout: manifest.Chunked, Chunks: []int64{2}, Codecs: []codec.Spec{spec("bytes", `{"endian":"big"}`)}}}
		chunks := []storedChunk{{bytes: w.encode(v.Storage.Codecs, &v, []int64{2}, codec.Elems{Fixed: []byte{1, 0, 2, 0}})},
			{bytes: w.encode(v.Storage.Codecs, &v, []int64{2}, codec.Elems{Fixed: []byte{3, 0, 9, 9}})}}
		tiles = append(tiles, manifest.Tile{File: m.addFile(t, w.r, v, chunks), Origin: []int64{int64(3 * i)}, Start: []int64{0}, Shape: []int64{3}})
	}
	nan := float(math.NaN())
	schema := &zarrjson.Array{Shape: []int64{6}, DataType: dataType(t, codec.Type{Kind: codec.Float, Size: 8}), ChunkGrid: zarrjson.RegularGrid(4), Fill: nan, Codecs: []codec.Spec{spec("bytes", `{"endian":"little"}`)}}
	if err := schema.Attributes.Set("_FillValue", []byte(`"AAAAAAAA+H8="`)); err != nil {
		t.Fatal(err)
	}
	snap := m.snapshot([]string{"/t"}, tiles, manifest.Array{Path: "/v", Schema: schema, Placement: "p", Variables: []string{"/v"}, Dims: []string{"/t"}, Reading: manifest.Unpacked})
	s := openMemory(t, snap, m, Options{})
	want := []float64{0.5, 1, math.NaN(), 2, 4, math.NaN()}
	check := func(what string, from int, got []byte) {
		for i := range len(got) / 8 {
			x, y := math.Float64frombits(binary.LittleEndian.Uint64(got[8*i:])), math.NaN()
			if from+i < len(want) {
				y = want[from+i]
			}
			if x != y && !(math.IsNaN(x) && math.IsNaN(y)) {
				t.Errorf("%s: element %d is %v, want %v", what, from+i, x, y)
			}
		}
	}
	got, err := readAll(t.Context(), t, s)
	if err != nil {
		t.Fatal(err)
	}
	check("region", 0, got)
	a, _ := s.Array("v")
	for n := range int64(2) {
		b, err := a.Chunk(t.Context(), []int64{n})
		if err != nil || len(b) != 32 {
			t.Fatalf("chunk %d: %d bytes (%v)", n, len(b), err)
		}
		check("chunk", int(4*n), b)
	}
}

// TestTogether reads with many concurrent goroutines, few open files and little memory.
func TestTogether(t *testing.T) {
	m, snap, truth := archive(t, 8, false)
	s := openMemory(t, snap, m, Options{OpenFiles: 2, FlightBytes: 5000, CacheBytes: 20_000})
	a, _ := s.Array("v")
	var wg sync.WaitGroup
	for i := range int64(12) {
		wg.Go(func() {
			if got, err := readAll(t.Context(), t, s); err != nil || !bytes.Equal(got, truth) {
				t.Errorf("all: %v", err)
			}
			for k := range int64(20) {
				if b, err := a.Chunk(t.Context(), []int64{(i + k) % 8, k % 4}); err != nil || len(b) == 0 {
					t.Errorf("chunk: %v", err)
				}
				r := grid.Region{Origin: []int64{(i*k + 3) % 120, k}, Shape: []int64{8, 17}}
				e := codec.NewElems(a.Schema().Form(r.Shape))
				want := cut(t, codec.Elems{Fixed: truth}, a.Schema().Shape, r, codec.Type{Kind: codec.Float, Size: 4})
				if err := a.ReadRegion(t.Context(), r, e); err != nil || !equalElems(e, want) {
					t.Errorf("region %v: %v", r, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestReadStored checks that ReadStored uses only the location of the bytes and not the coordinates, which may
// belong to another chunk grid, and that it rejects invalid ranges.
func TestReadStored(t *testing.T) {
	m, snap, _ := archive(t, 3, true)
	served(t, m, func(h http.Handler) http.Handler { return h })
	s := openMemory(t, snap, m, Options{})
	a, err := s.Array("/v")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // from the server, then from the cache
		for _, coords := range [][]int64{{0, 0}, {2, 3}} {
			l, err := a.Locate(t.Context(), coords)
			if err != nil {
				t.Fatal(err)
			}
			want, err := a.Chunk(t.Context(), coords)
			if err != nil {
				t.Fatal(err)
			}
			l.Coords = []int64{1, 1}
			for _, part := range [][2]int64{{0, l.Size}, {3, 5}, {l.Size, 0}} {
				got, err := a.ReadStored(t.Context(), &l, part[0], part[1])
				if err != nil || !bytes.Equal(got, want[part[0]:part[0]+part[1]]) {
					t.Errorf("%v, %v: %d bytes (%v)", coords, part, len(got), err)
				}
			}
			for _, part := range [][2]int64{{-1, 2}, {0, l.Size + 1}, {l.Size + 1, 0}, {1, math.MaxInt64}} {
				if _, err := a.ReadStored(t.Context(), &l, part[0], part[1]); err == nil {
					t.Errorf("%v: reading %v succeeds, want an error", coords, part)
				}
			}
		}
	}
}

// TestInlineRuns compares the runs of arrays with random pieces with the chunks one by one.
func TestInlineRuns(t *testing.T) {
	random := newRand()
	for range 200 {
		rank := random.IntN(4)
		shape, chunk := make([]int64, rank), make([]int64, rank)
		for k := range shape {
			shape[k], chunk[k] = 1+random.Int64N(9), 1+random.Int64N(4)
		}
		m := newMemoryTables()
		var pieces []manifest.Piece
		for i := range random.IntN(4) {
			p := manifest.Piece{Origin: make([]int64, rank), Shape: make([]int64, rank), Values: fmt.Sprint(i)}
			n := int64(1)
			for k := range shape {
				p.Origin[k] = random.Int64N(shape[k])
				p.Shape[k] = random.Int64N(shape[k] - p.Origin[k] + 1)
				n *= p.Shape[k]
			}
			m.values[p.Values] = &manifest.Values{ID: p.Values, Data: bytes.Repeat([]byte{byte(i + 1)}, int(n))}
			pieces = append(pieces, p)
		}
		schema := &zarrjson.Array{Shape: shape, DataType: dataType(t, codec.Type{Kind: codec.Uint, Size: 1}), ChunkGrid: zarrjson.RegularGrid(chunk...), Fill: []byte{0}, Codecs: []codec.Spec{spec("bytes", `{}`)}}
		s := openMemory(t, &manifest.Snapshot{Arrays: []manifest.Array{{Path: "/v", Schema: schema, Pieces: pieces}}}, m, Options{})
		a := s.Arrays()[0]
		chunks := grid.Whole(a.Grid().Counts()).Clone()
		for k := range chunks.Shape {
			chunks.Origin[k] = random.Int64N(chunks.Shape[k])
			chunks.Shape[k] -= chunks.Origin[k]
		}
		next, at := slices.Clone(chunks.Origin), int64(0)
		for r, err := range a.Runs(t.Context(), chunks) {
			if err != nil {
				t.Fatal(err)
			}
			for l := range r.Locations(chunks) {
				if !slices.Equal(l.Coords, next) {
					t.Fatalf("chunk %v, want %v", l.Coords, next)
				}
				c, _ := a.Grid().Chunk(next)
				kind := manifest.Missing
				if len(a.piecesIn(c.Region)) > 0 {
					kind = manifest.Verbatim
				}
				if l.Kind != kind {
					t.Errorf("shape %v, chunks %v, pieces %v: chunk %v is %v, want %v", shape, chunk, pieces, next, l.Kind, kind)
				}
				chunks.Next(next)
				at++
			}
		}
		if n, _ := chunks.Elements(); at != n {
			t.Errorf("%d chunks, want %d", at, n)
		}
	}
}

// TestInlineHuge checks that listing and counting the chunks of an array in the manifest takes as long as its pieces need,
// whatever shape the snapshot declares.
func TestInlineHuge(t *testing.T) {
	m := newMemoryTables()
	m.values["a"] = &manifest.Values{ID: "a", Data: []byte{1, 2, 3}}
	const n = 1 << 40
	schema := &zarrjson.Array{Shape: []int64{n, 3}, DataType: dataType(t, codec.Type{Kind: codec.Uint, Size: 1}), ChunkGrid: zarrjson.RegularGrid(1, 3), Fill: []byte{0}, Codecs: []codec.Spec{spec("bytes", `{}`)}}
	s := openMemory(t, &manifest.Snapshot{Arrays: []manifest.Array{{Path: "/v", Schema: schema, Pieces: []manifest.Piece{{Origin: []int64{n / 2, 0}, Shape: []int64{1, 3}, Values: "a"}}}}}, m, Options{})
	a := s.Arrays()[0]
	counts, err := a.Count(t.Context())
	if want := (manifest.Counts{Verbatim: 1, Missing: n - 1}); err != nil || counts != want {
		t.Errorf("got %+v (%v), want %+v", counts, err, want)
	}
	if at, err := a.Locate(t.Context(), []int64{n / 2, 0}); err != nil || string(at.Inline) != "\x01\x02\x03" {
		t.Errorf("got %+v (%v)", at, err)
	}
}
