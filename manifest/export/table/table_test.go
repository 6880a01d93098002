package table

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	arrays "github.com/apache/arrow/go/v15/arrow/array"

	"varve/fixtures/venv"
	"varve/grid"
	"varve/manifest"
	"varve/readers"
	"varve/zarrjson"
)

// listed is an array whose chunks are of all kinds in turn.
type listed struct {
	path   string
	schema *zarrjson.Array
	grid   *grid.Grid
	err    error
}

func (a *listed) Path() string            { return a.path }
func (a *listed) Schema() *zarrjson.Array { return a.schema }
func (a *listed) Grid() *grid.Grid        { return a.grid }

func (a *listed) Runs(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Run] {
	return manifest.RunsOf(a.locations(ctx, chunks))
}

func (a *listed) locations(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Location] {
	return func(yield func(*manifest.Location, error) bool) {
		n := 0
		for w, _ := a.grid.WalkChunks(chunks); w.Next(); n++ {
			if n == 3 && a.err != nil {
				yield(nil, a.err)
				return
			}
			l := a.at(n)
			l.Coords = w.Coords
			if !yield(&l, ctx.Err()) {
				return
			}
		}
	}
}

func (a *listed) at(n int) manifest.Location {
	kinds := []manifest.ChunkKind{manifest.Verbatim, manifest.Missing, manifest.Reencoded, manifest.Prefix, manifest.Verbatim}
	l := manifest.Location{Kind: kinds[n%5], Source: -1}
	switch {
	case n%5 == 4:
		l.Inline = make([]byte, n%100)
	case l.Kind == manifest.Verbatim || l.Kind == manifest.Prefix:
		l.Source, l.Offset, l.Size = int64(n/7%3), int64(n)<<33, int64(n)
	}
	return l
}

// Origins implements array: a re-encoded chunk is made of none to three sources.
func (a *listed) Origins(_ context.Context, coords []int64) ([]int64, error) {
	n, _ := a.grid.Number(coords)
	return []int64{n % 7, n % 4, 1000}[:n/5%4], nil
}

// entry is an expected row.
type entry struct {
	Array  string  `json:"array"`
	Coords []int64 `json:"coords"`
	Kind   string  `json:"kind"`
	Source *string `json:"source"`
	Offset *int64  `json:"offset"`
	Length *int64  `json:"length"`
	Codecs string  `json:"codecs"`
	// Sources is never null.
	Sources []string `json:"sources"`
}

func newListing(t testing.TB, shapes ...[]int64) *listing {
	t.Helper()
	l := &listing{rows: 50, source: func(_ context.Context, row int64) (manifest.Source, error) {
		return manifest.Source{URL: fmt.Sprintf("/data/day %d é.nc", row)}, nil
	}}
	for i, shape := range shapes {
		list, err := json.Marshal(shape)
		if err != nil {
			t.Fatal(err)
		}
		doc := fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":%s,"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":%s}},`+
			`"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":%d}}]}`,
			list, strings.ReplaceAll(strings.Repeat("1,", len(shape))+"]", ",]", "]"), i)
		doc = strings.Replace(doc, `"chunk_shape":`, `"chunk_shape":[`, 1)
		schema, err := zarrjson.ParseArray([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		g, err := schema.Grid()
		if err != nil {
			t.Fatal(err)
		}
		l.arrays = append(l.arrays, &listed{path: fmt.Sprintf("/g/v%d", i), schema: schema, grid: g})
	}
	return l
}

func (l *listing) expected() (all []entry) {
	for i, x := range l.arrays {
		a := x.(*listed)
		n := 0
		for w := a.grid.Walk(); w.Next(); n++ {
			c := a.at(n)
			e := entry{Array: a.path, Coords: append([]int64{}, w.Coords...), Kind: c.Kind.String(), Sources: []string{}}
			if c.Kind == manifest.Reencoded {
				rows, _ := a.Origins(context.Background(), w.Coords)
				for _, row := range rows {
					e.Sources = append(e.Sources, fmt.Sprintf("/data/day %d é.nc", row))
				}
			}
			e.Codecs = fmt.Sprintf(`[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":%d}}]`, i)
			size := int64(len(c.Inline))
			if c.Inline != nil {
				e.Kind, e.Length = "inline", &size
			} else if c.Source >= 0 {
				url := fmt.Sprintf("/data/day %d é.nc", c.Source)
				e.Source, e.Offset, e.Length = &url, &c.Offset, &c.Size
			}
			all = append(all, e)
		}
	}
	return all
}

func TestArrowTable(t *testing.T) {
	l := newListing(t, []int64{}, []int64{7, 5}, []int64{0, 3}, []int64{109})
	table, err := l.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	want := l.expected()
	if table.NumRows() != int64(len(want)) || table.NumCols() != 8 {
		t.Fatalf("%d rows of %d columns; want %d of 8", table.NumRows(), table.NumCols(), len(want))
	}
	reader := arrays.NewTableReader(table, 1000)
	defer reader.Release()
	for n := 0; reader.Next(); {
		n += compare(t, reader.Record(), want[n:])
	}
}

// compare compares a record with the first rows.
func compare(t *testing.T, r arrow.Record, want []entry) int {
	t.Helper()
	raw, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var got []entry
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		a, _ := json.Marshal(got[i])
		b, _ := json.Marshal(want[i])
		if !bytes.Equal(a, b) {
			t.Fatalf("row %d is %s, not %s", i, a, b)
		}
	}
	return len(got)
}

func TestWriteReplacesOnlyWhenAsked(t *testing.T) {
	for _, name := range []string{"t.parquet", "t.arrow", "t.arrows"} {
		dir := t.TempDir()
		dest := filepath.Join(dir, name)
		l := newListing(t, []int64{40})
		if r, err := write(t.Context(), l, dest, nil); err != nil || r.Rows != 40 || r.Arrays != 1 {
			t.Fatal(r, err)
		}
		first, err := os.ReadFile(dest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := write(t.Context(), l, dest, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		boom := errors.New("boom")
		l.arrays[0].(*listed).err = boom
		if _, err := write(t.Context(), l, dest, &Options{Force: true}); !errors.Is(err, boom) {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := os.ReadFile(dest); err != nil || !bytes.Equal(now, first) {
			t.Errorf("%s: an export that failed changed what was there: %v", name, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: left behind %v, %v", name, entries, err)
		}
		l.arrays[0].(*listed).err = nil
		if _, err := write(t.Context(), l, dest, &Options{Force: true}); err != nil {
			t.Error(err)
		}
	}
}

// TestInteropTables has pyarrow, pandas and DuckDB read all forms.
func TestInteropTables(t *testing.T) {
	venv.Python(t, "pyarrow")
	l := newListing(t, []int64{}, []int64{7, 5}, []int64{0, 3}, []int64{109})
	dir := t.TempDir()
	expected := filepath.Join(dir, "expected.json")
	raw, err := json.Marshal(l.expected())
	if err != nil || os.WriteFile(expected, raw, 0o644) != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"t.parquet", "t.arrow", "t.arrows"} {
		dest := filepath.Join(dir, name)
		if _, err := write(t.Context(), l, dest, nil); err != nil {
			t.Fatal(err)
		}
		venv.Run(t, "pyarrow", "testdata/read.py", dest, expected)
	}
}

// many is an array of ranges, a thousand of each source.
type many struct{ *listed }

func (m many) Runs(_ context.Context, chunks grid.Region) readers.Reusing[manifest.Run] {
	return func(yield func(*manifest.Run, error) bool) {
		r := &manifest.Run{Location: manifest.Location{Kind: manifest.Verbatim, Coords: []int64{0}}, Chunks: 1000, Offsets: make([]int64, 1000), Sizes: make([]int64, 1000)}
		random := rand.New(rand.NewPCG(1, 2))
		for at := int64(0); at < chunks.Shape[0]; at += r.Chunks {
			r.Source, r.Coords[0] = at/1000, at
			offset := int64(4096)
			for i := range r.Offsets {
				r.Offsets[i], r.Sizes[i] = offset, 20_000+random.Int64N(1<<14)
				offset += r.Sizes[i]
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	l := newListing(b, []int64{1_000_000})
	l.arrays[0] = many{l.arrays[0].(*listed)}
	l.rows = 1 << 17
	for name, form := range map[string]func(*listing, *bytes.Buffer) error{
		"parquet": func(l *listing, out *bytes.Buffer) error { _, err := l.parquet(b.Context(), out); return err },
		"arrow":   func(l *listing, out *bytes.Buffer) error { _, err := l.arrowFile(b.Context(), out); return err },
	} {
		b.Run(name, func(b *testing.B) {
			var out bytes.Buffer
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				if err := form(l, &out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "Mrows/s")
		})
	}
}

// TestProgress checks that the last report counts all chunks.
func TestProgress(t *testing.T) {
	for _, name := range []string{"t.parquet", "t.arrow", "t.arrows"} {
		var most, total int64
		opts := &Options{Progress: func(done, of int64) { most, total = max(most, done), of }}
		if _, err := write(t.Context(), newListing(t, []int64{40}, []int64{17, 9}), filepath.Join(t.TempDir(), name), opts); err != nil {
			t.Fatal(err)
		}
		if most != 40+17*9 || total != most {
			t.Errorf("%s: %d of %d chunks are listed, not all of %d", name, most, total, 40+17*9)
		}
	}
}
