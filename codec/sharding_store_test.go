package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/grid"
)

// store is a Zarr v3 array in a folder, with the features that these tests need.
type store struct {
	dir  string
	grid *grid.Grid
	form Form // of any chunk
	all  Form // of the array
	p    *Pipeline
}

type storeDocument struct {
	Format   int            `json:"zarr_format"`
	Node     string         `json:"node_type"`
	Shape    []int64        `json:"shape"`
	DataType string         `json:"data_type"`
	Grid     map[string]any `json:"chunk_grid"`
	Keys     map[string]any `json:"chunk_key_encoding"`
	Fill     any            `json:"fill_value"`
	Codecs   []Spec         `json:"codecs"`
}

var storeTypes = map[string]Type{
	"uint8": {Kind: Uint, Size: 1}, "uint16": {Kind: Uint, Size: 2}, "int16": {Kind: Int, Size: 2},
	"int32": {Kind: Int, Size: 4}, "float32": {Kind: Float, Size: 4}, "float64": {Kind: Float, Size: 8},
	"string": {Kind: String}, "variable_length_bytes": {Kind: Bytes},
}

func openStore(t testing.TB, dir string) *store {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "zarr.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc storeDocument
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return newStore(t, dir, doc)
}

func newStore(t testing.TB, dir string, doc storeDocument) *store {
	t.Helper()
	s := &store{dir: dir}
	var err error
	if s.grid, err = grid.FromSizes(doc.Shape, gridSizes(doc.Grid)...); err != nil {
		t.Fatal(err)
	}
	typ := storeTypes[doc.DataType]
	s.form = Form{typ, firstChunk(s.grid), storeFill(t, typ, doc.Fill)}
	s.all = s.form
	s.all.Shape = doc.Shape
	if s.p, err = New(doc.Codecs, s.form); err != nil {
		t.Fatal(err)
	}
	if err := s.p.CheckGrid(s.grid); err != nil {
		t.Fatal(err)
	}
	return s
}

func firstChunk(g *grid.Grid) []int64 {
	c, _ := g.Chunk(make([]int64, g.Rank()))
	return c.Codec
}

// gridSizes reads both kinds of grids.
func gridSizes(doc map[string]any) []grid.Sizes {
	config := doc["configuration"].(map[string]any)
	var sizes []grid.Sizes
	for _, n := range slices.Concat(list(config["chunk_shape"]), list(config["chunk_shapes"])) {
		if n, ok := n.(float64); ok {
			sizes = append(sizes, grid.Every(int64(n)))
			continue
		}
		var runs []grid.Run
		for _, e := range n.([]any) {
			if pair := list(e); pair != nil {
				runs = append(runs, grid.Times(int64(pair[0].(float64)), int64(pair[1].(float64))))
				continue
			}
			runs = append(runs, grid.Times(int64(e.(float64)), 1))
		}
		sizes = append(sizes, grid.RunLength(runs...))
	}
	return sizes
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func storeFill(t testing.TB, typ Type, v any) []byte {
	t.Helper()
	switch v := v.(type) {
	case string:
		if typ.Kind == String {
			return []byte(v)
		}
		if typ.Kind == Bytes {
			b, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		if v == "NaN" {
			return binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN())&^1)
		}
	case float64:
		if typ.Kind == Float && typ.Size == 4 {
			return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
		}
		if typ.Kind != Float {
			return binary.LittleEndian.AppendUint64(nil, uint64(v))[:typ.Size]
		}
	}
	t.Fatalf("fill value %v of %v", v, typ)
	return nil
}

// chunk returns the stored bytes of a chunk, nil if there is none.
func (s *store) chunk(t testing.TB, coords []int64) []byte {
	t.Helper()
	raw, err := os.ReadFile(s.chunkFile(coords))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return raw
}

func (s *store) chunkFile(coords []int64) string {
	name := filepath.Join(s.dir, "c")
	for _, c := range coords {
		name = filepath.Join(name, strconv.FormatInt(c, 10))
	}
	return name
}

// pipeline returns the pipeline of a chunk.
func (s *store) pipeline(t testing.TB, codec []int64) *Pipeline {
	t.Helper()
	p, err := s.p.WithShape(codec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// readAll reads the array by whole chunks.
func (s *store) readAll(t testing.TB) Elems {
	t.Helper()
	out := NewElems(s.all)
	to := windowOf(out, s.all)
	for w := s.grid.Walk(); w.Next(); {
		p := s.pipeline(t, w.Codec)
		elems := NewElems(p.Form())
		if raw := s.chunk(t, w.Coords); raw == nil {
			elems.SetFill(p.Form())
		} else if err := p.Decode(elems, raw); err != nil {
			t.Fatalf("chunk %v: %v", w.Coords, err)
		}
		from := window{elems, grid.Region{Origin: w.Origin, Shape: w.Codec}, s.form.Type.unit()}
		if err := to.copyFrom(from, w.Region); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// readRegion reads a region of the array through the regions of chunks.
func (s *store) readRegion(t testing.TB, r grid.Region) Elems {
	t.Helper()
	form := s.form
	form.Shape = r.Shape
	out := NewElems(form)
	to := window{out, r, form.Type.unit()}
	w, err := s.grid.WalkRegion(r)
	if err != nil {
		t.Fatal(err)
	}
	for w.Next() {
		hit := grid.MakeRegion(r.Rank())
		hit.Intersect(r, w.Region)
		form.Shape = hit.Shape
		elems := NewElems(form)
		if raw := s.chunk(t, w.Coords); raw == nil {
			elems.SetFill(form)
		} else {
			inside := hit.Clone()
			inside.Shift(w.Origin)
			if err := s.pipeline(t, w.Codec).DecodeRegion(t.Context(), Memory(raw), inside, elems); err != nil {
				t.Fatalf("chunk %v: %v", w.Coords, err)
			}
		}
		if err := to.copyFrom(window{elems, hit, form.Type.unit()}, hit); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// storeValues reads the expected elements of the arrays of a case.
func storeValues(t testing.TB, name string, form Form) Elems {
	t.Helper()
	base := filepath.Join("testdata", "sharding", "values", name)
	if !form.Type.Varies() {
		raw, err := os.ReadFile(base + ".bin")
		if err != nil {
			t.Fatal(err)
		}
		return Elems{Fixed: raw}
	}
	raw, err := os.ReadFile(base + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	if err := json.Unmarshal(raw, &words); err != nil {
		t.Fatal(err)
	}
	var e Elems
	for _, w := range words {
		e.Var = append(e.Var, []byte(w))
	}
	return e
}

func sameElems(a, b Elems) bool {
	return bytes.Equal(a.Fixed, b.Fixed) && slices.EqualFunc(a.Var, b.Var, bytes.Equal)
}

// storeCases are the arrays in testdata/sharding, by writer and case.
func storeCases(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "sharding", "zarr*"))
	if err != nil || len(dirs) < 18 {
		t.Fatalf("%d arrays in testdata/sharding: %v", len(dirs), err)
	}
	return dirs
}

func TestReadsShardsOfOthers(t *testing.T) {
	for _, dir := range storeCases(t) {
		writer, name, _ := strings.Cut(filepath.Base(dir), "_")
		t.Run(writer+"/"+name, func(t *testing.T) {
			s := openStore(t, dir)
			want := storeValues(t, name, s.all)
			if !sameElems(s.readAll(t), want) {
				t.Fatal("whole chunks decode to other values")
			}
			if !sameElems(s.readRegion(t, grid.Whole(s.all.Shape)), want) {
				t.Fatal("the region that is everything decodes to other values")
			}
			all := windowOf(want, s.all)
			rng := newRand(t)
			for range 50 {
				r := randomRegion(rng, s.all.Shape)
				form := s.all
				form.Shape = r.Shape
				part, err := all.extract(r, &scratch{a: new(arena)}, form)
				if err != nil {
					t.Fatal(err)
				}
				if !sameElems(s.readRegion(t, r), part) {
					t.Fatalf("region %v decodes to other values", r)
				}
			}
		})
	}
}

// zarr-python writes inner chunks in Morton order too, so the bytes are equal unless they
// depend on a compressor's version.
func TestWritesTheBytesOfZarrPython(t *testing.T) {
	for _, name := range []string{"plain", "start", "transposed"} {
		s := openStore(t, filepath.Join("testdata", "sharding", "zarr_"+name))
		elems := storeValues(t, name, s.all)
		coords := make([]int64, s.grid.Rank())
		got, err := s.p.Encode([]byte("before"), elems)
		if err != nil {
			t.Fatal(err)
		}
		if want := s.chunk(t, coords); string(got) != "before"+string(want) {
			t.Errorf("%s: %x\nwant %x", name, got[6:], want)
		}
	}
}

func TestAcceptanceRegionOfRectilinearShards(t *testing.T) {
	s := openStore(t, filepath.Join("testdata", "sharding", "zarr_rectilinear"))
	all := storeValues(t, "rectilinear", s.all).Fixed
	got := s.readRegion(t, grid.Region{Origin: []int64{50, 40}, Shape: []int64{20, 20}}).Fixed
	for y := range 20 {
		if row := all[(50+y)*100+40:][:20]; !bytes.Equal(got[y*20:][:20], row) {
			t.Fatalf("row %d is %v, want %v", 50+y, got[y*20:][:20], row)
		}
	}
}
