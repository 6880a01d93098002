package table

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/venv"
	"varve/manifest"
	"varve/manifest/repo"
	"varve/zarrjson"
)

// python runs read_tables.py, or skips the test.
func python(t *testing.T, args ...string) {
	t.Helper()
	venv.Run(t, "pyarrow and DuckDB", append([]string{"testdata/read_tables.py"}, args...)...)
}

// expectation is a line of expected.jsonl.
type expectation struct {
	File    string           `json:"file"`
	Rows    int              `json:"rows"`
	Columns map[string][]any `json:"columns"`
}

// interopFolder is a folder of tables, and their expected rows.
type interopFolder struct {
	*testing.T
	dir string
	out bytes.Buffer
}

func (f *interopFolder) add(name string, data []byte, rows int, columns map[string][]any) {
	f.Helper()
	path := filepath.Join(f.dir, name+".parquet")
	f.write(path, data)
	if err := json.NewEncoder(&f.out).Encode(expectation{path, rows, columns}); err != nil {
		f.Fatal(err)
	}
}

func (f *interopFolder) write(path string, data []byte) {
	f.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		f.Fatal(err)
	}
}

// typed converts cells to JSON's types: numbers, texts, null.
func typed(c cells) map[string][]any {
	out := map[string][]any{}
	for name, column := range c {
		for _, v := range column {
			var value any = json.Number(v)
			if v == null {
				value = nil
			}
			out[name] = append(out[name], value)
		}
	}
	return out
}

// TestInteropTables lets pyarrow and DuckDB read tables of all kinds, and a part.
func TestInteropTables(t *testing.T) {
	f := &interopFolder{T: t, dir: t.TempDir()}
	rng := rand.New(rand.NewPCG(21, 21))
	for _, n := range []int{1, 4096, 4097, 300_000} {
		refs := randomRefs(rng, n)
		f.add(fmt.Sprint("refs", n), writeRefs(t, rng, refs), n, typed(refCells(refs)))
	}
	one := make([]manifest.Ref, 10_000)
	f.add("one-value", writeRefs(t, rng, one), len(one), typed(refCells(one)))
	f.addSources(rng)
	f.addValues(rng)
	for kind, data := range everyKind(t) {
		f.add(string(kind), data, int(rowsOf(t, kind, data)), map[string][]any{})
	}
	f.add("patches-all", everyKind(t)[manifest.Patches], 2, map[string][]any{
		"chunk": {1, 7}, "offset": {0, 5}, "length": {5, 3}, "checksum": {9, 1 << 31},
	})
	f.add("tiles-all", everyKind(t)[manifest.Tiles], 2, map[string][]any{
		"file": {1, 2}, "origin0": {0, 5}, "start0": {0, 0}, "shape0": {5, 5},
	})
	files, refs := testFiles(rng, 30)
	f.add("part", writePart(t, files, refs, [][]byte{[]byte("x")}), len(refs)+30+3+4+1+1, map[string][]any{})
	expected := filepath.Join(f.dir, "expected.jsonl")
	f.write(expected, f.out.Bytes())
	python(t, "tables", expected)
}

func (f *interopFolder) addSources(rng *rand.Rand) {
	f.Helper()
	columns := map[string][]any{}
	var rows []*SourceRow
	for i := range 2000 {
		s := randomSource(rng, i)
		rows = append(rows, s)
		var modified, header, etag, raw any
		if !s.Modified.IsZero() {
			modified = s.Modified.Unix()
		}
		if s.Header != "" {
			header = s.Header
		}
		if s.ETag != "" {
			etag, raw = hex.EncodeToString([]byte(s.ETag)), hex.EncodeToString([]byte(s.URL))
		}
		for name, value := range map[string]any{"size": s.Size, "modified": modified, "header": header, "etag": etag, "raw_url": raw, "row": s.Row} {
			columns[name] = append(columns[name], value)
		}
	}
	f.add("sources-all", write(f.T, start(NewSources), rows...), len(rows), columns)
}

func (f *interopFolder) addValues(rng *rand.Rand) {
	f.Helper()
	values := testValues(rng, 500)
	columns := map[string][]any{}
	for _, v := range values {
		var texts any
		if v.Texts != nil {
			texts = hex.EncodeToString(packTexts(v.Texts))
		}
		columns["id"] = append(columns["id"], v.ID)
		columns["data"] = append(columns["data"], hex.EncodeToString(v.Data))
		columns["texts"] = append(columns["texts"], texts)
	}
	f.add("values-all", write(f.T, start(NewValues), values...), len(values), columns)
}

// archive is a small archive of three files along time, and its manifest.
type archive struct {
	*testing.T
	r     *repo.Repository
	snap  manifest.Snapshot
	refs  []manifest.Ref
	truth map[string]string // places of chunks, as JSON, by array and chunk
}

const (
	archiveEdge  = 10
	archiveWidth = 8
)

// archiveHeader returns the header of a file of some days. Its variables may come in another order.
func archiveHeader(days int64, turned bool) *manifest.Header {
	variable := func(name string) *manifest.Variable {
		return &manifest.Variable{
			Path: "/" + name, Dims: []string{"/time", "/x"}, Shape: []int64{days, archiveWidth}, Type: codec.Type{Kind: codec.Float, Size: 4},
			Storage: manifest.Storage{Layout: manifest.Chunked, Chunks: []int64{archiveEdge, 4},
				Codecs: []codec.Spec{{Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}}},
		}
	}
	h := &manifest.Header{Dimensions: []manifest.Dimension{{Path: "/time", Length: days}, {Path: "/x", Length: archiveWidth}}}
	strided := &manifest.Variable{Path: "/time", Dims: []string{"/time"}, Shape: []int64{days}, Type: codec.Type{Kind: codec.Int, Size: 8},
		Storage: manifest.Storage{Layout: manifest.Strided}}
	h.Variables = []*manifest.Variable{variable("a"), strided, variable("b")}
	if turned {
		h.Variables = []*manifest.Variable{variable("b"), variable("a"), strided}
	}
	h.SetID()
	return h
}

// newArchive publishes a manifest of two arrays over three files of 30, 20 and 40 days, with the rows
// of tiles in two segments.
func newArchive(t *testing.T) *archive {
	t.Helper()
	r, err := repo.Create(t.Context(), filepath.Join(t.TempDir(), "archive.varve"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{T: t, r: r, truth: map[string]string{}}
	var sources []*SourceRow
	var tiles []manifest.Tile
	headers := map[string]*manifest.Header{}
	start, at := int64(0), int64(4096)
	for i, days := range []int64{30, 20, 40} {
		h := archiveHeader(days, i == 1)
		headers[h.ID] = h
		s := &SourceRow{Source: manifest.Source{URL: fmt.Sprintf("/data/%d.nc", i), Size: 1 << 20, Format: "netCDF-4"}, Header: h.ID, Row: int64(len(a.refs))}
		sources = append(sources, s)
		tiles = append(tiles, manifest.Tile{File: i, Origin: []int64{start}, Start: []int64{0}, Shape: []int64{days}})
		for _, v := range h.Variables {
			at = a.addRefs(v, s.URL, start/archiveEdge, at)
		}
		start += days
	}
	tiles[2].Origin[0] -= 1000 // its segment is shifted
	a.publish(sources, tiles, headers, start)
	return a
}

// addRefs adds the refs of a variable, and remembers the locations of its chunks.
func (a *archive) addRefs(v *manifest.Variable, url string, first, at int64) int64 {
	for row := range v.Rows() {
		ref := manifest.Ref{Offset: at, Size: 100 + row}
		place := fmt.Sprintf(`[%q,%d,%d]`, url, ref.Offset, ref.Size)
		switch {
		case row == 3:
			ref, place = manifest.Ref{Offset: manifest.NotStored}, "null"
		case row == 4:
			ref.Other, place = 1, fmt.Sprintf(`["/data/0.nc",%d,%d]`, ref.Offset, ref.Size)
		}
		at += ref.Size
		a.refs = append(a.refs, ref)
		if len(v.Shape) == 2 {
			a.truth[fmt.Sprintf(`"array":%q,"chunk":[%d,%d]`, v.Path, first+row/2, row%2)] = place
		}
	}
	return at
}

func (a *archive) publish(sources []*SourceRow, tiles []manifest.Tile, headers map[string]*manifest.Header, days int64) {
	a.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	half := len(a.refs) / 2
	a.table(manifest.Refs, half, writeRefs(a.T, rng, a.refs[:half]))
	a.table(manifest.Refs, len(a.refs)-half, writeRefs(a.T, rng, a.refs[half:]))
	a.table(manifest.Sources, 3, write(a.T, start(NewSources), sources...))
	a.table(manifest.Headers, len(headers), write(a.T, start(NewHeaders), fileHeaders(sorted(headers)...)...))
	placed := a.table(manifest.Tiles, 3, write(a.T, func(b *bytes.Buffer) *Writer[manifest.Tile] { return NewTiles(b, 1) }, tiles...))
	a.snap.Placements = []manifest.PlacementTable{{ID: "p", Dims: []string{"/time"}, Segments: []manifest.Segment{
		{Table: placed, Rows: 2, Shift: []int64{0}}, {Table: placed, Row: 2, Rows: 1, Shift: []int64{1000}},
	}}}
	for _, path := range []string{"/a", "/b"} {
		schema, err := zarrjson.ParseArray(fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[%d,%d],"data_type":"float32",
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[%d,4]}},"chunk_key_encoding":{"name":"default"},
			"fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`, days, archiveWidth, archiveEdge))
		if err != nil {
			a.Fatal(err)
		}
		a.snap.Arrays = append(a.snap.Arrays, manifest.Array{
			Path: path, Schema: schema, Placement: "p", Variables: []string{path}, Dims: []string{"/time", "/x"}, Reading: manifest.AsStored,
		})
	}
	a.snap.Created, a.snap.Sources, a.snap.Refs = time.Unix(0, 0).UTC(), 3, int64(len(a.refs))
	if err := a.r.Publish(a.Context(), &a.snap, ""); err != nil {
		a.Fatal(err)
	}
}

// table adds a table to the repository, and returns its name.
func (a *archive) table(kind manifest.TableKind, rows int, data []byte) string {
	a.Helper()
	w, err := a.r.NewTable(a.Context(), kind)
	if err != nil {
		a.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		a.Fatal(err)
	}
	t, err := w.Commit()
	if err != nil {
		a.Fatal(err)
	}
	t.Rows = int64(rows)
	for _, have := range a.snap.Tables {
		if have.Kind == kind {
			t.First += have.Rows
		}
	}
	a.snap.Tables = append(a.snap.Tables, t)
	return t.Name
}

// TestInRepository reads the archive through its repository.
func TestInRepository(t *testing.T) {
	a := newArchive(t)
	snap, err := a.r.Load(t.Context(), a.snap.ID)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(snap.Tables, InRepository(a.r), NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	checkRefs(t, rand.New(rand.NewPCG(1, 1)), r, a.refs)
	p, err := r.Placement(t.Context(), snap.Placements[0])
	if err != nil || len(p.Tiles) != 3 || p.Tiles[2].Origin[0] != 50 {
		t.Errorf("placement %+v: %v", p, err)
	}
	for row := range r.Rows(manifest.Sources) {
		s, err := r.Source(t.Context(), row)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := r.Header(t.Context(), s.Header); err != nil || h.Rows() < 9 {
			t.Errorf("header of %s: %+v: %v", s.URL, h, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := a.r.Close(); err != nil {
		t.Error(err)
	}
}

// TestInteropLookup runs the program of docs/reference/format.md for every chunk of an archive.
func TestInteropLookup(t *testing.T) {
	a := newArchive(t)
	var cases bytes.Buffer
	for chunk, place := range a.truth {
		fmt.Fprintf(&cases, "{%s,\"at\":%s}\n", chunk, place)
	}
	if len(a.truth) != 2*2*9 {
		t.Fatalf("%d chunks", len(a.truth))
	}
	path := filepath.Join(t.TempDir(), "cases.jsonl")
	if err := os.WriteFile(path, cases.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.r.Close(); err != nil {
		t.Fatal(err)
	}
	python(t, "lookup", "../../../docs/reference/format.md", a.r.Name(), path)
}
