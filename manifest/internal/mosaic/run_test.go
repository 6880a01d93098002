package mosaic

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// randomMosaic makes an array with tiles whose stored chunks match the schema, nearly match it, or do
// not.
type randomMosaic struct {
	*rand.Rand
	files
	dims  []string
	chunk []int64 // of the schema, where it is regular
	chain []string
}

func newRandomMosaic(t *testing.T, r *rand.Rand) (*Mosaic, *randomMosaic) {
	t.Helper()
	rank := r.IntN(4)
	w := &randomMosaic{Rand: r, dims: []string{"/t", "/y", "/x"}[:rank]}
	box := grid.MakeRegion(rank)
	sizes := make([]grid.Sizes, rank)
	for k := range box.Shape {
		w.chunk = append(w.chunk, 1+r.Int64N(3))
		box.Shape[k] = w.chunk[k] * (1 + r.Int64N(6))
		if r.IntN(3) == 0 {
			box.Shape[k] += r.Int64N(w.chunk[k])
		}
		sizes[k] = grid.Every(w.chunk[k])
		if r.IntN(6) == 0 {
			sizes[k] = w.edges(box.Shape[k])
		}
	}
	w.chain = w.codecs()
	dt, err := zarrjson.DataTypeOf(float)
	if err != nil {
		t.Fatal(err)
	}
	schema := &zarrjson.Array{Shape: box.Shape, DataType: dt, ChunkGrid: edges(sizes...), Codecs: codecs(w.chain...)}
	a := &manifest.Array{Path: "/v", Schema: schema, Variables: []string{"/v"}, Dims: w.dims, Reading: manifest.AsStored}
	p := &manifest.Placement{ID: "p", Dims: w.dims[:r.IntN(rank+1)]}
	w.place(p, box)
	m, err := newMosaic(a, p, &w.files)
	if err != nil {
		t.Fatal(err)
	}
	return m, w
}

func (w *randomMosaic) edges(length int64) grid.Sizes {
	var runs []grid.Run
	padded := w.Int64N(4) / 3
	for at := int64(0); at < length; {
		edge := grid.Full(1 + w.Int64N(min(4, length-at)))
		edge.Codec += padded
		count := 1 + w.Int64N((length-at)/edge.Data)
		runs = append(runs, grid.Run{Edge: edge, Count: count})
		at += edge.Data * count
	}
	return grid.RunLength(runs...)
}

// codecs returns the codecs of the schema, and sometimes others.
func (w *randomMosaic) codecs() []string {
	if w.chain == nil || w.IntN(12) == 0 {
		return [][]string{{"bytes", "shuffle", "zlib1"}, {"bytes"}, {"bytes", "shuffle"}, {"bytes"}, {"big"}}[w.IntN(5)]
	}
	return w.chain
}

// place divides the array into tiles along the placement's dimensions. Most tiles start and end between
// chunks.
func (w *randomMosaic) place(p *manifest.Placement, box grid.Region) {
	cut := grid.Region{Origin: box.Origin[:len(p.Dims)], Shape: box.Shape[:len(p.Dims)]}.Clone()
	for k := range cut.Shape {
		if w.IntN(6) > 0 {
			cut.Shape[k] = min(cut.Shape[k], w.chunk[k]*(1+w.Int64N(4)))
		} else {
			cut.Shape[k] = 1 + w.Int64N(cut.Shape[k])
		}
	}
	counts := make([]int64, len(p.Dims))
	for k := range counts {
		counts[k] = (box.Shape[k] + cut.Shape[k] - 1) / cut.Shape[k]
	}
	number := make([]int64, len(p.Dims))
	for more := true; more; more = grid.Whole(counts).Next(number) {
		tile := manifest.Tile{}
		for k, n := range number {
			at := n * cut.Shape[k]
			tile.Origin, tile.Shape = append(tile.Origin, at), append(tile.Shape, min(cut.Shape[k], box.Shape[k]-at))
			start := int64(0)
			if w.IntN(8) == 0 {
				start = w.chunk[k] * w.Int64N(2)
			}
			tile.Start = append(tile.Start, start)
		}
		if w.IntN(10) > 0 {
			w.addTile(p, tile, box)
		}
	}
}

func (w *randomMosaic) addTile(p *manifest.Placement, tile manifest.Tile, box grid.Region) {
	shape, chunks := make([]int64, len(w.dims)), make([]int64, len(w.dims))
	for k := range shape {
		if shape[k] = box.Shape[k]; k < len(p.Dims) {
			shape[k] = tile.Start[k] + tile.Shape[k] + w.Int64N(2)
		} else if w.IntN(10) == 0 {
			shape[k] = 1 + w.Int64N(shape[k])
		}
		if chunks[k] = w.chunk[k]; w.IntN(16) == 0 {
			chunks[k] = 1 + w.Int64N(7)
		}
	}
	v := chunked(shape, chunks, w.codecs()...)
	kind := w.IntN(16)
	if slices.Equal(w.chain, []string{"bytes"}) && w.IntN(3) == 0 {
		kind = 0
	}
	switch kind {
	case 0:
		v = strided(w.gap(shape), "bytes", shape...)
	case 1:
		v.Storage = manifest.Storage{Layout: manifest.Nothing}
	case 2:
		v.Path = "/other"
	case 3:
		v.Storage.RawEdges = true
	case 4:
		v.Type = codec.Type{Kind: codec.Int, Size: 2}
	case 5:
		if len(shape) > 1 {
			v.Dims = append([]string{w.dims[1], w.dims[0]}, w.dims[2:]...)
			v.Shape[0], v.Shape[1] = shape[1], shape[0]
		}
	case 7:
		v.Storage.Chunks = nil
		for k, n := range shape {
			size := min(w.chunk[k], n)
			edges := [][2]int64{{size, 1 + w.Int64N(n/size)}}
			if left := n - size*edges[0][1]; left > 0 {
				edges = append(edges, [2]int64{1 + left/w.chunk[k], 0})
				edges[1][1] = (left + edges[1][0] - 1) / edges[1][0]
			}
			v.Storage.Edges = append(v.Storage.Edges, edges)
		}
	case 6:
		if n := v.Type.Size; n == 4 {
			v.Fill.Value = []byte{0, 0, 128, 63}
		}
	}
	tile.File = w.add(v, w.refsOf(&v))
	p.Tiles = append(p.Tiles, tile)
}

// gap returns a stride with bytes between the rows, or 0.
func (w *randomMosaic) gap(shape []int64) int64 {
	if len(shape) == 0 || w.IntN(2) == 0 {
		return 0
	}
	row, _ := grid.Elements(shape[1:])
	return 4*row + w.Int64N(3)
}

func (w *randomMosaic) refsOf(v *manifest.Variable) []manifest.Ref {
	out := make([]manifest.Ref, v.Rows())
	odd := []int{0, 3, 20}[w.IntN(3)]
	for i := range out {
		out[i] = manifest.Ref{Offset: 1000 + 100*int64(i), Size: 300}
		if odd == 0 || w.IntN(odd) > 0 {
			continue
		}
		switch w.IntN(5) {
		case 0:
			out[i].Offset = manifest.NotStored
		case 1:
			out[i].Mask = w.Uint32N(4)
		case 2:
			out[i].Offset = manifest.InlineRow(w.Int64N(2))
		case 3:
			out[i].Other = 1 + w.Int32N(2)
		case 4:
			out[i].Size = w.Int64N(8)
		}
	}
	return out
}

// box returns a box of some or all chunks.
func (w *randomMosaic) box(g *grid.Grid) grid.Region {
	box := grid.Whole(g.Counts()).Clone()
	for k, n := range g.Counts() {
		if w.IntN(3) == 0 {
			box.Origin[k] = w.Int64N(n)
			box.Shape[k] = 1 + w.Int64N(n-box.Origin[k])
		}
	}
	return box
}

// TestRuns compares the chunks in runs with the location that Find returns for each chunk, and checks the
// kind of missing and re-encoded chunks against their stored chunks.
func TestRuns(t *testing.T) {
	seed := soak.Seed(t)
	seen, chunks, runs := map[manifest.ChunkKind]int{}, int64(0), 0
	for round := range uint64(5000) {
		m, w := newRandomMosaic(t, rand.New(rand.NewPCG(seed, round)))
		box := w.box(m.Grid())
		for r, err := range m.Runs(context.Background(), w, box) {
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			runs, chunks = runs+1, chunks+r.Chunks
		}
		coords, listed := slices.Clone(box.Origin), int64(0)
		for l, err := range m.Locations(context.Background(), w, box) {
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			want, err := m.Find(context.Background(), w, coords)
			if err != nil || fmt.Sprint(*l) != fmt.Sprint(want) {
				t.Fatalf("round %d: listed as %+v, found as %+v (%v)", round, *l, want, err)
			}
			if err := w.checkEmpty(m, &want); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			seen[l.Kind]++
			listed++
			box.Next(coords)
		}
		if n, _ := box.Elements(); listed != n {
			t.Fatalf("round %d: %d of %d chunks", round, listed, n)
		}
	}
	t.Logf("%d chunks in %d runs: %v", chunks, runs, seen)
	if seen[manifest.Missing] < 1000 || seen[manifest.Verbatim] < 1000 || seen[manifest.Prefix] < 10 || seen[manifest.Reencoded] < 1000 || 4*chunks < 5*int64(runs) {
		t.Error("the test covers too maxUnindexed chunks of some kind, or too maxUnindexed in runs")
	}
}

// checkEmpty checks the kind of a missing or re-encoded chunk against its stored chunks.
func (w *randomMosaic) checkEmpty(m *Mosaic, l *manifest.Location) error {
	if l.Kind != manifest.Missing && l.Kind != manifest.Reencoded {
		return nil
	}
	c, _ := m.Grid().Chunk(l.Coords)
	kind, err := m.missingOrReencoded(context.Background(), w, c.Region)
	if err == nil && kind != l.Kind {
		err = fmt.Errorf("chunk %v is %v, but its stored chunks make it %v", l.Coords, l.Kind, kind)
	}
	return err
}

// plainFiles is a PlainReader that counts the refs in calls of IsPlain, and the refs that were read.
type plainFiles struct {
	*files
	asked, read int64
}

func (f *plainFiles) IsPlain(row, rows int64) bool {
	f.asked += rows
	return !slices.ContainsFunc(f.refs[row:row+rows], func(r manifest.Ref) bool {
		return r.Offset < 0 || r.Mask != 0 || r.Other != 0
	})
}

func (f *plainFiles) ReadColumns(ctx context.Context, row int64, n int, dst *manifest.RefColumns) error {
	f.read += int64(n)
	return f.files.ReadColumns(ctx, row, n, dst)
}

// maskedIn returns the files with chunks in a box that would be verbatim without the masks of their refs.
func maskedIn(t *testing.T, m *Mosaic, w *randomMosaic, box grid.Region) map[int64]bool {
	t.Helper()
	files := map[int64]bool{}
	for l, err := range m.Locations(context.Background(), w, box) {
		if err != nil {
			t.Fatal(err)
		}
		c, _ := m.Grid().Chunk(l.Coords)
		p, err := m.locator(context.Background()).candidate(&c)
		if err != nil {
			t.Fatal(err)
		}
		if l.Kind == manifest.Reencoded && p.row >= 0 && p.kind != manifest.Reencoded && p.isMatch && w.refs[p.row].Mask != 0 && w.refs[p.row].Stored() {
			files[m.File(p.tile)] = true
		}
	}
	return files
}

// TestCountPlain checks that counting without reading plain refs gives the same numbers as with
// reading them.
func TestCountPlain(t *testing.T) {
	seed := soak.Seed(t)
	asked, read := int64(0), int64(0)
	for round := range uint64(3000) {
		m, w := newRandomMosaic(t, rand.New(rand.NewPCG(seed, round)))
		box := w.box(m.Grid())
		want, err := m.CountIn(context.Background(), w, box, nil)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		plain := &plainFiles{files: &w.files}
		masked := map[int64]bool{}
		got, err := m.CountIn(context.Background(), plain, box, func(file int64) { masked[file] = true })
		if err != nil || got != want {
			t.Fatalf("round %d: counted %+v without reading, %+v with (%v)", round, got, want, err)
		}
		if want := maskedIn(t, m, w, box); !maps.Equal(masked, want) {
			t.Fatalf("round %d: chunks of the files %v have masks, not of %v", round, want, masked)
		}
		asked, read = asked+plain.asked, read+plain.read
	}
	t.Logf("IsPlain was called for %d refs, %d were read", asked, read)
	if asked < 1000 || read < 1000 {
		t.Error("the test covers too maxUnindexed refs")
	}
}
