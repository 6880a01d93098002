package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"testing"

	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// TestGrowth checks from which chunk on two grids differ.
func TestGrowth(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, now *grid.Grid
		want     Change
	}{
		{"unchanged", edges(t, 5, 2, 3), edges(t, 5, 2, 3), Change{}},
		{"edges added", edges(t, 5, 2, 3), edges(t, 9, 2, 3, 4), Change{Kind: Tail, From: 2}},
		{"regular, whole chunks", regular(t, 6, 3), regular(t, 9, 3), Change{Kind: Tail, From: 2}},
		{"regular, a chunk that was not full", regular(t, 7, 3), regular(t, 8, 3), Change{Kind: Tail, From: 2}},
		{"regular, a chunk that was not full, and another", regular(t, 7, 3), regular(t, 10, 3), Change{Kind: Tail, From: 2}},
		{"an edge changed", edges(t, 5, 2, 3), edges(t, 9, 2, 4, 3), Change{Kind: Tail, From: 1}},
		{"one chunk of another length", regular(t, 6, 6), regular(t, 9, 9), Change{Kind: Tail}},
		{"regular becomes rectilinear", regular(t, 6, 3), edges(t, 8, 3, 3, 2), Change{Kind: Tail, From: 2}},
		{"shorter", edges(t, 5, 2, 3), edges(t, 2, 2), Change{Kind: Everything, Why: grownOtherwise([]int64{5}, []int64{2}).Why}},
		{"empty before", regular(t, 0, 3), regular(t, 3, 3), Change{Kind: Tail}},
	} {
		if got := Growth(test.old, test.now); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
	two := func(a, b int64) *grid.Grid {
		g, err := grid.Regular([]int64{a, b}, []int64{2, 2})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	if got := Growth(two(4, 4), two(4, 6)); got != (Change{Kind: Tail, Axis: 1, From: 2}) {
		t.Errorf("along the second axis: got %+v", got)
	}
	if got := Growth(two(4, 4), two(6, 6)); got.Kind != Everything {
		t.Errorf("along both: got %+v", got)
	}
}

// TestChunks checks whether the chunks of an older grid exist in a newer one.
func TestChunks(t *testing.T) {
	for _, test := range []struct {
		name       string
		old, now   *grid.Grid
		ok, filled bool
	}{
		{"unchanged", edges(t, 5, 2, 3), edges(t, 5, 2, 3), true, false},
		{"edges added", edges(t, 5, 2, 3), edges(t, 9, 2, 3, 4), true, false},
		{"regular, whole chunks", regular(t, 6, 3), regular(t, 9, 3), true, false},
		{"regular, a chunk that was not full", regular(t, 7, 3), regular(t, 8, 3), true, true},
		{"regular, a chunk that was not full, and another", regular(t, 7, 3), regular(t, 10, 3), true, true},
		{"regular becomes rectilinear", regular(t, 6, 3), edges(t, 8, 3, 3, 2), true, false},
		{"a partial chunk becomes a full one", regular(t, 7, 3), edges(t, 10, 3, 3, 1, 3), false, false},
		{"an edge past the end is filled", edges(t, 4, 2, 3), edges(t, 5, 2, 3), true, true},
		{"an edge changed", edges(t, 5, 2, 3), edges(t, 9, 2, 4, 3), false, false},
		{"one chunk of another length", regular(t, 6, 6), regular(t, 9, 9), false, false},
		{"shorter", edges(t, 5, 2, 3), edges(t, 2, 2), false, false},
		{"empty before", regular(t, 0, 3), regular(t, 3, 3), true, false},
	} {
		if ok, filled := Chunks(test.old, test.now); ok != test.ok || filled != test.filled {
			t.Errorf("%s: got %v, %v", test.name, ok, filled)
		}
	}
}

func edges(t *testing.T, extent int64, sizes ...int64) *grid.Grid {
	t.Helper()
	g, err := grid.FromSizes([]int64{extent}, grid.List(sizes...))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func regular(t *testing.T, extent, size int64) *grid.Grid {
	t.Helper()
	g, err := grid.Regular([]int64{extent}, []int64{size})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// tiles is a Past that has the tiles of each table.
type tiles map[string][]manifest.Tile

func (tiles) Load(context.Context, string) (*manifest.Snapshot, error) { return nil, fs.ErrNotExist }

func (t tiles) ScanTiles(_ context.Context, _ *manifest.Snapshot, s manifest.Segment) iter.Seq2[manifest.Tile, error] {
	return func(yield func(manifest.Tile, error) bool) {
		list, ok := t[s.Table]
		if !ok {
			yield(manifest.Tile{}, errors.New("no such table"))
			return
		}
		for _, tile := range list[s.Row : s.Row+s.Rows] {
			if !yield(tile, nil) {
				return
			}
		}
	}
}

// Begins compares names of tables.
func (tiles) Begins(_ context.Context, old, now *manifest.Snapshot) (bool, error) {
	return old.Tables[0].Name == now.Tables[0].Name, nil
}

// snapshot returns a snapshot of an array of n elements in chunks of 2, with its tiles in a table.
func snapshot(t *testing.T, n int64, attributes string, table string, rows int64) *manifest.Snapshot {
	t.Helper()
	schema, err := zarrjson.ParseArray(fmt.Appendf(nil, `{"shape":[%d],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],"attributes":%s,"zarr_format":3,"node_type":"array"}`, n, attributes))
	if err != nil {
		t.Fatal(err)
	}
	return &manifest.Snapshot{
		Arrays:     []manifest.Array{{Path: "/v", Schema: schema, Dims: []string{"/t"}, Placement: "p"}},
		Placements: []manifest.PlacementTable{{ID: "p", Dims: []string{"/t"}, Segments: []manifest.Segment{{Table: table, Rows: rows}}}},
		Tables:     []manifest.Table{{Kind: manifest.Sources, Name: "sources"}},
	}
}

// TestOf compares the chunks of snapshots that differ in tiles, attributes or tables.
func TestOf(t *testing.T) {
	at := func(file int, origin int64) manifest.Tile {
		return manifest.Tile{File: file, Origin: []int64{origin}, Start: []int64{0}, Shape: []int64{2}}
	}
	past := tiles{
		"old":    {at(0, 0), at(1, 2)},
		"longer": {at(0, 0), at(1, 2), at(2, 4)},
		"gap":    {at(0, 0), at(2, 1), at(1, 2)},
		"front":  {at(2, 0), at(0, 2), at(1, 4)},
		"other":  {at(0, 0), at(3, 2), at(2, 4)},
	}
	old := snapshot(t, 4, "{}", "old", 2)
	for _, test := range []struct {
		name string
		now  *manifest.Snapshot
		want Change
	}{
		{"the same", snapshot(t, 4, "{}", "old", 2), Change{}},
		{"appended", snapshot(t, 6, "{}", "longer", 3), Change{Kind: Tail, From: 2}},
		{"in a gap", snapshot(t, 4, "{}", "gap", 3), Change{Kind: Everything, Why: whyMovedFiles}},
		{"before the others", snapshot(t, 6, "{}", "front", 3), Change{Kind: Everything, Why: whyMovedFiles}},
		{"another file", snapshot(t, 6, "{}", "other", 3), Change{Kind: Everything, Why: whyMovedFiles}},
		{"one fewer", snapshot(t, 4, "{}", "old", 1), Change{Kind: Everything, Why: whyMovedFiles}},
		{"an attribute without effect", snapshot(t, 6, `{"comment":"x"}`, "longer", 3), Change{Kind: Tail, From: 2}},
		{"an attribute that changes the meaning", snapshot(t, 6, `{"scale_factor":2}`, "longer", 3), Change{Kind: Everything, Why: "its attributes changed"}},
	} {
		g, err := test.now.Arrays[0].Schema.Grid()
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&Snapshots{Old: old, Now: test.now, Past: past}).Of(context.Background(), &test.now.Arrays[0], g)
		if err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}
	now := snapshot(t, 6, "{}", "nowhere", 3)
	g, err := now.Arrays[0].Schema.Grid()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Snapshots{Old: old, Now: now, Past: past}).Of(context.Background(), &now.Arrays[0], g); err == nil {
		t.Error("comparing unreadable tiles succeeds, want an error")
	}
	now = snapshot(t, 6, "{}", "longer", 3)
	now.Tables[0].Name = "others"
	if got, err := (&Snapshots{Old: old, Now: now, Past: past}).Of(context.Background(), &now.Arrays[0], g); err != nil || got.Kind != Everything {
		t.Errorf("other sources: got %+v, %v", got, err)
	}
}

// TestPatches checks that compacted chunks are unchanged as long as the array has their files.
func TestPatches(t *testing.T) {
	past := tiles{"old": {{Origin: []int64{0}, Start: []int64{0}, Shape: []int64{4}}}}
	with := func(files ...string) *manifest.Snapshot {
		s := snapshot(t, 4, "{}", "old", 1)
		for _, name := range files {
			s.Arrays[0].Patches = append(s.Arrays[0].Patches, manifest.Patched{File: name})
		}
		return s
	}
	for _, test := range []struct {
		name     string
		old, now *manifest.Snapshot
		want     Kind
	}{
		{"first compacted chunks", with(), with("a"), None},
		{"another file", with("a"), with("b", "a"), None},
		{"a file replaced", with("a"), with("b"), Everything},
		{"a file removed", with("a", "b"), with("b"), Everything},
	} {
		g, err := test.now.Arrays[0].Schema.Grid()
		if err != nil {
			t.Fatal(err)
		}
		c := &Snapshots{Old: test.old, Now: test.now, Past: past}
		if got, err := c.Of(t.Context(), &test.now.Arrays[0], g); err != nil || got.Kind != test.want {
			t.Errorf("%s: got %+v, %v", test.name, got, err)
		}
		if got, err := c.Elements(t.Context(), &test.now.Arrays[0]); err != nil || got.Kind != None {
			t.Errorf("%s: elements: got %+v, %v", test.name, got, err)
		}
	}
}

// TestElements checks that the chunk grid does not affect the comparison of elements.
func TestElements(t *testing.T) {
	tile := func(file int, origin int64) manifest.Tile {
		return manifest.Tile{File: file, Origin: []int64{origin}, Start: []int64{0}, Shape: []int64{2}}
	}
	past := tiles{"old": {tile(0, 0), tile(1, 2)}, "longer": {tile(0, 0), tile(1, 2), tile(2, 4)}}
	old, now := snapshot(t, 4, "{}", "old", 2), snapshot(t, 6, "{}", "longer", 3)
	now.Arrays[0].Schema.ChunkGrid = zarrjson.RegularGrid(5)
	c := &Snapshots{Old: old, Now: now, Past: past}
	if got, err := c.Elements(t.Context(), &now.Arrays[0]); err != nil || got != (Change{Kind: Tail, From: 4}) {
		t.Errorf("got %+v, %v", got, err)
	}
	c.Old, c.Now = now, old
	if got, err := c.Elements(t.Context(), &old.Arrays[0]); err != nil || got.Kind != Everything {
		t.Errorf("shorter: got %+v, %v", got, err)
	}
}

// TestScalars checks that a scalar, which cannot grow, is unchanged or changed as a whole.
func TestScalars(t *testing.T) {
	past := tiles{"old": {{File: 0}}, "same": {{File: 0}}, "other": {{File: 1}}, "two": {{File: 0}, {File: 1}}}
	scalar := func(table string, rows int64) *manifest.Snapshot {
		s := snapshot(t, 4, "{}", table, rows)
		a := &s.Arrays[0]
		a.Schema.Shape, a.Schema.ChunkGrid, a.Dims, s.Placements[0].Dims = []int64{}, zarrjson.RegularGrid(), nil, nil
		return s
	}
	for _, test := range []struct {
		table string
		rows  int64
		want  Kind
	}{{"same", 1, None}, {"other", 1, Everything}, {"two", 2, Everything}} {
		now := scalar(test.table, test.rows)
		g, err := now.Arrays[0].Schema.Grid()
		if err != nil {
			t.Fatal(err)
		}
		c := &Snapshots{Old: scalar("old", 1), Now: now, Past: past}
		if got, err := c.Of(t.Context(), &now.Arrays[0], g); err != nil || got.Kind != test.want {
			t.Errorf("%s: got %+v, %v", test.table, got, err)
		}
		if got, err := c.Elements(t.Context(), &now.Arrays[0]); err != nil || got.Kind != test.want {
			t.Errorf("%s: elements: got %+v, %v", test.table, got, err)
		}
	}
}

// TestSharedPlacements checks that the tiles of a placement are read once, however many arrays share
// it.
func TestSharedPlacements(t *testing.T) {
	past := tiles{"old": {{Origin: []int64{0}, Start: []int64{0}, Shape: []int64{4}}}, "new": {{Origin: []int64{0}, Start: []int64{0}, Shape: []int64{4}}}}
	c := &Snapshots{Old: snapshot(t, 4, "{}", "old", 1), Now: snapshot(t, 4, "{}", "new", 1), Past: past}
	for range 2 {
		if got, err := c.Elements(t.Context(), &c.Now.Arrays[0]); err != nil || got.Kind != None {
			t.Errorf("got %+v, %v", got, err)
		}
		delete(past, "old")
		delete(past, "new")
	}
}
