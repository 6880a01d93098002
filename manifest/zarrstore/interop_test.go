package zarrstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/fixtures/venv"
	"varve/grid"
	"varve/zarrjson"
)

func peer(t *testing.T, args ...string) {
	t.Helper()
	venv.Run(t, "zarr, zarrs and xarray", append([]string{"testdata/peer.py"}, args...)...)
}

// expect notes beside an array what it holds.
func (x *trial) expect(t testing.TB) {
	t.Helper()
	b := x.twin.elems.Fixed
	for _, text := range x.twin.elems.Var {
		b = append(append(b, text...), '\n')
	}
	if err := os.WriteFile(filepath.Join(dirOf(x.array), ".expect"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestInteropWritten has zarr-python, zarrs and xarray read arrays that went through random
// changes.
func TestInteropWritten(t *testing.T) {
	seed := soak.Seed(t)
	dir := t.TempDir()
	group := filepath.Join(dir, "g")
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(group, "zarr.json"), []byte(`{"attributes":{},"zarr_format":3,"node_type":"group"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for round := range 24 {
		x := &trial{chance: chance{rand.New(rand.NewPCG(seed, uint64(round)))}}
		format := 3 - round%4/3
		schema := x.schema(t, format)
		for k := range schema.Shape {
			schema.DimensionNames = append(schema.DimensionNames, zarrjson.Names(string(rune('a'+round))+string(rune('0'+k)))...)
		}
		folder := filepath.Join(group, string(rune('a'+round)))
		if format == 2 {
			folder = filepath.Join(dir, string(rune('a'+round)))
		}
		var err error
		if x.array, err = Create(t.Context(), folder, schema, &Options{Format: format}); err != nil {
			t.Fatal(err)
		}
		x.name, x.twin, x.units, x.bound = folder, newPlain(x.array.Schema().Form(slices.Clone(schema.Shape))), unitsOf(t, x.array), format == 2
		for range 8 {
			x.step(t)
		}
		x.compare(t)
		x.expect(t)
	}
	peer(t, "check", dir)
}

// TestInteropCarriedOn changes arrays that zarr-python has made, which reads them again.
func TestInteropCarriedOn(t *testing.T) {
	dir := t.TempDir()
	peer(t, "make", dir)
	ctx := context.Background()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		a, err := Open(t.Context(), filepath.Join(dir, e.Name()), nil)
		if err != nil {
			t.Fatal(err)
		}
		x := &trial{chance: chance{rand.New(rand.NewPCG(1, uint64(i)))}, name: dirOf(a), array: a, twin: newPlain(a.Schema().Form(slices.Clone(a.Shape())))}
		if err := a.ReadRegion(ctx, x.twin.region(), x.twin.elems); err != nil {
			t.Fatal(err)
		}
		x.units, x.bound = unitsOf(t, a), a.Grid().IsRegular()
		r := grid.Region{Origin: []int64{2, 3}, Shape: []int64{7, 2}}
		part := x.elems(x.twin.of(r.Shape))
		x.twin.write(t, r, part)
		if err := a.WriteRegion(ctx, r, part); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if what, err := x.append(t); err != nil {
				t.Fatalf("%s: %s: %v", e.Name(), what, err)
			}
		}
		if err := a.Resize(ctx, []int64{11, a.Shape()[1]}); err != nil {
			t.Fatal(err)
		}
		x.twin.resize(t, []int64{11, a.Shape()[1]})
		x.compare(t)
		x.expect(t)
	}
	peer(t, "check", dir)
}

// TestInteropGrowth has zarr-python read and grow arrays that keep growth policies; varve then grows them
// further by these policies.
func TestInteropGrowth(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	policies := map[string]Growth{
		"repeat":    {0, grid.Repeat()},
		"size":      {0, grid.RepeatSize(4)},
		"one chunk": {0, grid.OneChunk()},
		"list":      EdgesOf(0, 9, 4, 9, 30),
		"pattern":   {0, grid.Cycle(grid.Compress(10, 3)...)},
	}
	arrays := map[string]*Array{}
	for name, growth := range policies {
		a, err := Create(t.Context(), filepath.Join(dir, name), schema16(t, 13, 10, 3), nil)
		if err == nil {
			err = a.SetGrowth(ctx, growth)
		}
		if err == nil {
			err = a.Append(ctx, 0, 8, line(8, 1))
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dirOf(a), ".expect"), append(make([]byte, 26), line(8, 1).Fixed...), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		arrays[name] = a
	}
	peer(t, "check", dir)
	peer(t, "grow", dir)
	for name, a := range arrays {
		a, err := Open(t.Context(), dirOf(a), nil)
		if err != nil {
			t.Fatal(err)
		}
		growth, err := a.Growth()
		if err != nil || growth[0].IsDefault() != (name == "repeat") {
			t.Errorf("%s: %v, %v after zarr-python wrote the document", name, growth, err)
		}
		want, err := os.ReadFile(filepath.Join(dirOf(a), ".expect"))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Append(ctx, 0, 9, line(9, 50)); err != nil {
			t.Fatal(err)
		}
		want = append(want, line(9, 50).Fixed...)
		got := codec.NewElems(a.Schema().Form(a.Shape()))
		if err := a.ReadRegion(ctx, grid.Whole(a.Shape()), got); err != nil || !bytes.Equal(got.Fixed, want) {
			t.Errorf("%s: %v, %v, want %v", name, err, got.Fixed, want)
		}
		if err := os.WriteFile(filepath.Join(dirOf(a), ".expect"), want, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Log(name, sizesOf(a))
	}
	peer(t, "check", dir)
}

// TestInteropSelections writes and reads by each of the five indexers; zarr-python does the same to a copy.
func TestInteropSelections(t *testing.T) {
	dir := t.TempDir()
	schema := schema16(t, 10, 10)
	schema.Shape = []int64{10, 7}
	schema.ChunkGrid = zarrjson.RectilinearGrid(grid.List(3, 5, 2), grid.List(4, 3))
	ours, err := Create(t.Context(), filepath.Join(dir, "ours"), schema, nil)
	if err == nil {
		_, err = CreateLike(t.Context(), filepath.Join(dir, "theirs"), ours, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	mask := make([]bool, 70)
	for i := 0; i < len(mask); i += 7 {
		mask[i] = true
	}
	g := ours.Grid()
	var all []*grid.Indexer
	add := func(ix *grid.Indexer, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ix)
	}
	add(grid.Basic(g, grid.Range(2, 9).By(3)))
	add(grid.Orthogonal(g, grid.Indices(9, 0, 4), grid.Range(1, 6).By(2)))
	add(grid.Coordinate(g, grid.Line(1, 8, 5), grid.Line(6, 0, 3)))
	add(grid.Mask(g, mask))
	add(grid.Block(g, grid.At(1), grid.At(0)))
	next := int16(1)
	for _, ix := range all {
		src := codec.NewElems(schema.Form(ix.Shape()))
		for i := 0; i < len(src.Fixed); i += 2 {
			binary.LittleEndian.PutUint16(src.Fixed[i:], uint16(next))
			next++
		}
		if err := ours.Write(t.Context(), ix, src); err != nil {
			t.Fatal(err)
		}
	}
	var read []byte
	for _, ix := range all {
		dst := codec.NewElems(schema.Form(ix.Shape()))
		if err := ours.Read(t.Context(), ix, dst); err != nil {
			t.Fatal(err)
		}
		read = append(read, dst.Fixed...)
	}
	if err := os.WriteFile(filepath.Join(dir, "read"), read, 0o644); err != nil {
		t.Fatal(err)
	}
	peer(t, "select", dir)
}
