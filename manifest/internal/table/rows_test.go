package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/fixtures/system"
	"varve/manifest"
)

func start[T any](f func(io.Writer) *Writer[T]) func(*bytes.Buffer) *Writer[T] {
	return func(b *bytes.Buffer) *Writer[T] { return f(b) }
}

func randomSource(rng *rand.Rand, i int) *SourceRow {
	s := &SourceRow{
		Source: manifest.Source{URL: fmt.Sprintf("/archive/%d/file%07d.nc", i%20, i), Size: rng.Int64N(1 << 40), Format: "netCDF-4"},
		Header: fmt.Sprintf("%032x", rng.IntN(5)), Groups: fmt.Sprintf("%032x", rng.IntN(50)),
		Row: int64(i) * 400, Bytes: rng.Int64N(1 << 40),
	}
	if rng.IntN(5) > 0 {
		s.Modified = time.Unix(rng.Int64N(1<<36)-1<<35, rng.Int64N(1e9)).UTC()
	}
	switch rng.IntN(9) {
	case 0:
		s.URL, s.ETag = "s3://bucket/\xff"+s.URL, "\"é\xff\""
	case 1:
		s.Header, s.Groups, s.Format, s.Hidden = "", "", "", true
	case 2:
		s.Values = map[string]string{"/time": fmt.Sprintf("%032x", i), "/x": "same", "/gr\xf6\xdfe": "raw"}
	case 3:
		s.Parts = map[string][]manifest.Part{"/v": {
			{File: i + 1, Origin: []int64{0, 3}, Start: []int64{1, 0}, Shape: []int64{5, 2}},
			{File: i + 2, Origin: []int64{5, 3}, Start: []int64{0, 0}, Shape: []int64{5, 2}},
		}}
	}
	return s
}

func TestSources(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	var m memoryTables
	var want []*SourceRow
	for _, n := range []int{3, 20_000, 1} {
		var some []*SourceRow
		for range n {
			some = append(some, randomSource(rng, len(want)+len(some)))
		}
		m.add(manifest.Sources, int64(n), write(t, start(NewSources), some...))
		want = append(want, some...)
	}
	r := m.reader(t, 1<<20)
	for range 200 {
		row := rng.Int64N(int64(len(want)))
		got, err := r.Source(ctx, row)
		if err != nil || !reflect.DeepEqual(got, want[row]) {
			t.Fatalf("row %d: %v\ngot  %+v\nwant %+v", row, err, got, want[row])
		}
	}
	next := 2
	for got, err := range r.ScanSources(ctx, 2, 19_000) {
		if err != nil || !reflect.DeepEqual(got, want[next]) {
			t.Fatalf("scan, row %d: %v\ngot  %+v\nwant %+v", next, err, got, want[next])
		}
		next++
	}
	if next != 19_002 {
		t.Errorf("the scan ended at row %d", next)
	}
	index, err := r.Index(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if id, row := index.IDs[index.Header.At(i)], index.Row.At(i); id != w.Header || row != w.Row {
			t.Fatalf("index of row %d: %s, %d; want %s, %d", i, id, row, w.Header, w.Row)
		}
	}
	if _, err := r.Source(ctx, int64(len(want))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("row after the last: %v", err)
	}
}

func testValues(rng *rand.Rand, n int) []*manifest.Values {
	all := make([]*manifest.Values, n)
	for i := range all {
		v := &manifest.Values{}
		switch rng.IntN(4) {
		case 0:
			v.Texts = [][]byte{fmt.Append(nil, i), {}, {0xff, 0}}
		case 1:
		default:
			v.Data = bytes.Repeat(fmt.Appendf(nil, "%08d", i), rng.IntN(1000))
		}
		v.Data = append(v.Data, fmt.Append(nil, i)...) // each another
		v.SetID()
		all[i] = v
	}
	slices.SortFunc(all, func(a, b *manifest.Values) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func TestValues(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	want := testValues(rng, 2000)
	var m memoryTables
	for i := range 3 { // every third, so that ids of the tables overlap
		var some []*manifest.Values
		for j := i; j < len(want); j += 3 {
			some = append(some, want[j])
		}
		m.add(manifest.ValueOf, int64(len(some)), write(t, start(NewValues), some...))
	}
	r := m.reader(t, 300_000)
	for _, i := range rng.Perm(len(want))[:300] {
		got, err := r.Values(ctx, want[i].ID)
		if err != nil || !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("%s: %v\ngot  %.200v\nwant %.200v", want[i].ID, err, got, want[i])
		}
	}
	for _, id := range []string{"", "0", "zz", want[7].ID + "0"} {
		if _, err := r.Values(ctx, id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("id %q: %v", id, err)
		}
	}
	n := 0
	for v, err := range r.ScanValues(ctx) {
		if err != nil || v.ID == "" {
			t.Fatalf("%v: %v", v, err)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("got %d values, want %d", n, len(want))
	}
}

func testHeader(i int) *manifest.Header {
	h := &manifest.Header{
		Dimensions: []manifest.Dimension{{Path: "/time", Length: int64(i), Unlimited: true}},
		Variables: []*manifest.Variable{{
			Path: "/v", Dims: []string{"/time"}, Shape: []int64{int64(i)}, Type: codec.Type{Kind: codec.Float, Size: 4},
			Attributes: []manifest.Attribute{{Name: "units", Type: codec.Type{Kind: codec.String}, Texts: []string{"K"}, Scalar: true}},
			Storage:    manifest.Storage{Layout: manifest.Chunked, Chunks: []int64{10}, Codecs: []codec.Spec{{Name: "crc32c"}}},
		}, {
			Path: "/time", Dims: []string{"/time"}, Shape: []int64{int64(i)}, Type: codec.Type{Kind: codec.Int, Size: 8},
			Attributes: []manifest.Attribute{}, Storage: manifest.Storage{Layout: manifest.Nothing},
		}},
	}
	h.SetID()
	return h
}

func testGroups(i int) *manifest.GroupAttributes {
	g := &manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/", Attributes: []manifest.Attribute{
		{Name: "n", Type: codec.Type{Kind: codec.Int, Size: 1}, Data: []byte{byte(i)}},
	}}}}
	g.SetID()
	return g
}

func TestDocuments(t *testing.T) {
	ctx := context.Background()
	headers, groups := map[string]*manifest.Header{}, map[string]*manifest.GroupAttributes{}
	for i := range 100 {
		headers[testHeader(i).ID], groups[testGroups(i).ID] = testHeader(i), testGroups(i)
	}
	var m memoryTables
	for kind, data := range map[manifest.TableKind][]byte{
		manifest.Headers: write(t, start(NewHeaders), fileHeaders(sorted(headers)...)...),
		manifest.Groups:  write(t, start(NewGroups), fileGroups(sorted(groups)...)...),
	} {
		m.add(kind, 100, data)
	}
	r := m.reader(t, 1<<20)
	for id, want := range headers {
		got, err := r.Header(ctx, id)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v\ngot  %+v\nwant %+v", id, err, got, want)
		}
		if again, err := r.Header(ctx, id); err != nil || again != got {
			t.Fatalf("%s: the second read returns another pointer: %v", id, err)
		}
	}
	for id, want := range groups {
		if got, err := r.Groups(ctx, id); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v\ngot  %+v\nwant %+v", id, err, got, want)
		}
	}
	if _, err := r.Header(ctx, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing ID: %v", err)
	}
}

func fileHeaders(headers ...*manifest.Header) (list []*manifest.FileHeader) {
	for _, h := range headers {
		list = append(list, manifest.NewFileHeader(h))
	}
	return list
}

func sorted[T any](rows map[string]T) []T {
	var out []T
	var ids []string
	for id := range rows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		out = append(out, rows[id])
	}
	return out
}

func TestOrderIsHeld(t *testing.T) {
	a, b := &manifest.Values{ID: "a"}, &manifest.Values{ID: "b"}
	for name, err := range map[string]error{
		"values that fall":  NewValues(io.Discard).Append(b, a),
		"values twice":      NewValues(io.Discard).Append(a, a),
		"values without id": NewValues(io.Discard).Append(&manifest.Values{}),
		"a chunk below 0":   NewPatches(io.Discard).Append(Patch{Chunk: -1}),
		"a patch below 0":   NewPatches(io.Discard).Append(Patch{Offset: -1}),
		"a tile of two":     NewTiles(io.Discard, 1).Append(manifest.Tile{Origin: []int64{1, 2}, Start: []int64{0, 0}, Shape: []int64{1, 1}}),
		"too many dims":     NewTiles(io.Discard, 65).Append(manifest.Tile{}),
	} {
		if err == nil {
			t.Errorf("%s: writing succeeds, want an error", name)
		}
	}
}

func TestInline(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var m memoryTables
	var want [][]byte
	for _, n := range []int{1, 3000, 2} {
		var some [][]byte
		for range n {
			some = append(some, bytes.Repeat([]byte{byte(rng.IntN(256))}, rng.IntN(1+rng.IntN(5000))))
		}
		m.add(manifest.Blobs, int64(n), write(t, start(NewInline), some...))
		want = append(want, some...)
	}
	r := m.reader(t, 200_000)
	for range 500 {
		row := rng.IntN(len(want))
		if got, err := r.Inline(context.Background(), int64(row)); err != nil || !bytes.Equal(got, want[row]) {
			t.Fatalf("row %d: got %d bytes, want %d: %v", row, len(got), len(want[row]), err)
		}
	}
	if _, err := r.Inline(context.Background(), -1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("row -1: %v", err)
	}
}

func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	ctx := context.Background()
	for _, dims := range []int{0, 1, 3} {
		var tiles []manifest.Tile
		for i := range 9000 {
			tile := manifest.Tile{File: i, Origin: make([]int64, dims), Start: make([]int64, dims), Shape: make([]int64, dims)}
			for d := range dims {
				tile.Origin[d], tile.Start[d], tile.Shape[d] = int64(i*31), rng.Int64N(2), 31
			}
			tiles = append(tiles, tile)
		}
		var m memoryTables
		table := m.add(manifest.Tiles, 9000, write(t, func(b *bytes.Buffer) *Writer[manifest.Tile] { return NewTiles(b, dims) }, tiles...))
		r := m.reader(t, 1<<20)
		shift := make([]int64, dims)
		for d := range shift {
			shift[d] = 1000
		}
		names := []string{"/x", "/y", "/z"}[:dims]
		got, err := r.Placement(ctx, manifest.PlacementTable{ID: "p", Dims: names, Segments: []manifest.Segment{
			{Table: table.Name, Row: 4000, Rows: 5000}, {Table: table.Name, Rows: 10, Shift: shift},
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(tiles[4000:])
		for _, tile := range tiles[:10] {
			tile.Origin = slices.Clone(tile.Origin)
			for d := range tile.Origin {
				tile.Origin[d] += 1000
			}
			want = append(want, tile)
		}
		if !reflect.DeepEqual(got.Tiles, want) || got.ID != "p" {
			t.Fatalf("%d dimensions: %d tiles, the last %+v; want %d, %+v", dims, len(got.Tiles), got.Tiles[len(got.Tiles)-1], len(want), want[len(want)-1])
		}
		for name, s := range map[string]manifest.Segment{
			"rows too far":    {Table: table.Name, Row: 1, Rows: 9000},
			"a row below 0":   {Table: table.Name, Row: -1, Rows: 1},
			"another table":   {Table: "elsewhere", Rows: 1},
			"below the array": {Table: table.Name, Rows: 1, Shift: []int64{-1, -1, -1}[:max(dims, 1)]},
			"more dims":       {Table: table.Name, Rows: 1, Shift: make([]int64, dims+1)},
		} {
			for _, err := range r.ScanTiles(ctx, s) {
				if !errors.Is(err, codec.ErrCorrupt) {
					t.Errorf("%d dimensions: %s: %v", dims, name, err)
				}
			}
		}
	}
}

// TestPatches looks up every chunk of several runs of two tables, and chunks between them.
func TestPatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var m memoryTables
	type run struct {
		manifest.Patched
		have map[int64]Patch
	}
	var runs []run
	for range 2 {
		var rows []Patch
		first := len(runs)
		for range 3 {
			r := run{manifest.Patched{Row: int64(len(rows))}, map[int64]Patch{}}
			for chunk := rng.Int64N(3); chunk < 9000; chunk += 1 + rng.Int64N(3) {
				r.have[chunk] = Patch{chunk, rng.Int64(), rng.Int64N(1 << 30), rng.Uint32()}
				rows = append(rows, r.have[chunk])
			}
			r.Rows = int64(len(r.have))
			runs = append(runs, r)
		}
		table := m.add(manifest.Patches, int64(len(rows)), write(t, start(NewPatches), rows...))
		for i := range runs[first:] {
			runs[first+i].Table = table.Name
		}
	}
	r, ctx := m.reader(t, 1<<18), context.Background()
	for _, run := range runs {
		for chunk := range int64(9003) {
			got, found, err := r.Patch(ctx, &run.Patched, chunk)
			want, ok := run.have[chunk]
			if err != nil || found != ok || got != want {
				t.Fatalf("chunk %d: %+v, %v, %v; want %+v, %v", chunk, got, found, err, want, ok)
			}
		}
	}
	for name, bad := range map[string]manifest.Patched{
		"rows too far":  {Table: runs[0].Table, Row: 1, Rows: 1 << 40},
		"a row below 0": {Table: runs[0].Table, Row: -1, Rows: 1},
		"another table": {Table: "elsewhere", Rows: 1},
	} {
		if _, _, err := r.Patch(ctx, &bad, 0); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTogether reads with many goroutines through a cache that is almost empty.
func TestTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	refs := randomRefs(rng, 50_000)
	var sources []*SourceRow
	for i := range 2000 {
		sources = append(sources, randomSource(rng, i))
	}
	values := testValues(rng, 300)
	var m memoryTables
	m.add(manifest.Refs, int64(len(refs)), writeRefs(t, rng, refs))
	m.add(manifest.Sources, int64(len(sources)), write(t, start(NewSources), sources...))
	m.add(manifest.ValueOf, int64(len(values)), write(t, start(NewValues), values...))
	var mu sync.Mutex
	open := func(ctx context.Context, table manifest.Table) (File, error) {
		mu.Lock()
		defer mu.Unlock()
		return inMemory(m.data[table.Name]), nil
	}
	r, err := Open(m.tables, open, NewCache(200_000))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() { readTogether(t, r, rand.New(rand.NewPCG(uint64(n), 0)), refs, sources, values) })
	}
	all.Wait()
	if n := r.cache.bytes; n > 200_000 {
		t.Errorf("%d bytes in the cache", n)
	}
}

func readTogether(t *testing.T, r *Reader, rng *rand.Rand, refs []manifest.Ref, sources []*SourceRow, values []*manifest.Values) {
	ctx := context.Background()
	for range 500 {
		var ref [1]manifest.Ref
		i, j, k := rng.IntN(len(refs)), rng.IntN(len(sources)), rng.IntN(len(values))
		if err := r.ReadRefs(ctx, int64(i), ref[:]); err != nil || ref[0] != refs[i] {
			t.Errorf("ref %d: got %+v, want %+v: %v", i, ref[0], refs[i], err)
		}
		if s, err := r.Source(ctx, int64(j)); err != nil || !reflect.DeepEqual(s, sources[j]) {
			t.Errorf("source %d: %+v: %v", j, s, err)
		}
		if v, err := r.Values(ctx, values[k].ID); err != nil || !reflect.DeepEqual(v, values[k]) {
			t.Errorf("values %s: %v", values[k].ID, err)
		}
	}
}

// manySources writes the sources of an archive with one file for each day, and two headers.
func manySources(b *testing.B, n int) *memoryTables {
	b.Helper()
	var out bytes.Buffer
	w := NewSources(&out)
	day := time.Date(1940, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := day.AddDate(0, 0, i)
		s := &SourceRow{
			Source: manifest.Source{URL: "/archive/" + at.Format("2006/01") + "/reanalysis_" + at.Format("20060102") + ".nc",
				Size: 40_000_000 + int64(i*7919%1000), Modified: at.Add(time.Duration(i*7919) * time.Millisecond), Format: "netCDF-4"},
			Header: fmt.Sprintf("%032x", i%2), Groups: fmt.Sprintf("%032x", i), Row: int64(i) * 400, Bytes: 39_000_000,
		}
		if err := w.Append(s); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	var m memoryTables
	m.add(manifest.Sources, int64(n), out.Bytes())
	return &m
}

func BenchmarkSources(b *testing.B) {
	const n = 100_000
	m := manySources(b, n)
	size := float64(m.tables[0].Bytes) / n
	run := func(name string, rows int64, do func(*Reader) error) {
		b.Run(name, func(b *testing.B) {
			r := m.reader(b, 64<<20)
			b.ReportAllocs()
			start := system.UserTime(b)
			b.ResetTimer()
			for range b.N {
				if err := do(r); err != nil {
					b.Fatal(err)
				}
			}
			reportRate(b, rows*int64(b.N), start)
			b.ReportMetric(size, "B/source")
		})
	}
	ctx := context.Background()
	run("index", n, func(r *Reader) error { return first(r.Index(ctx)) })
	run("scan", n, func(r *Reader) error { return ended(r.ScanSources(ctx, 0, n)) })
	rng := rand.New(rand.NewPCG(1, 1))
	run("lookup", 1, func(r *Reader) error { return first(r.Source(ctx, rng.Int64N(n))) })
}

func fileGroups(groups ...*manifest.GroupAttributes) (list []*manifest.FileGroups) {
	for _, g := range groups {
		list = append(list, manifest.NewFileGroups(g))
	}
	return list
}
