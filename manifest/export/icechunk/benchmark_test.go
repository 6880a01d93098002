package icechunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/fixtures/system"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// sampleManifest returns n refs to sources with 1,000 chunks each.
func sampleManifest(n int) (*arrayRefs, *tail) {
	random := rand.New(rand.NewPCG(1, 2))
	a, t := &arrayRefs{}, &tail{}
	a.reset(nodeID{1, 2, 3}, 3, n)
	offset, p := int64(0), sourceRecord{}
	for i := range int64(n) {
		if i%1000 == 0 {
			p = sourceRecord{kind: modified, location: t.put(fmt.Appendf(nil, "file:///archive/refs/part_%05d.nc", i/1000)), check: uint32(1700000000 + i/1000)}
			offset = 4096
		}
		size := 200 + random.Int64N(128)
		putVirtual(a.next(p.kind, []int64{i / 100, i / 10 % 10, i % 10}), p, offset, size)
		offset += size
	}
	return a, t
}

func BenchmarkManifest(b *testing.B) {
	const n = 1 << 16
	e, err := newEncoder(nil, 1)
	if err != nil {
		b.Fatal(err)
	}
	var buffer, file []byte
	for b.Loop() {
		a, t := sampleManifest(n)
		if buffer, err = encodeManifest(buffer, objectID{1}, []*arrayRefs{a}, t.data); err != nil {
			b.Fatal(err)
		}
		file = e.EncodeAll(buffer, file[:0])
	}
	b.ReportMetric(float64(len(file))/n, "B/ref")
	b.ReportMetric(float64(len(buffer))/n, "raw-B/ref")
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "refs/s")
}

func BenchmarkLog(b *testing.B) {
	const n = 1 << 20
	g, err := grid.Regular([]int64{n / 64, 8, 8}, []int64{1, 1, 1})
	if err != nil {
		b.Fatal(err)
	}
	w := newWritten(nodeID{1}, g)
	for i := range int64(n) {
		w.add(i)
	}
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		e, err := newEncoder(&out, 1)
		if err != nil {
			b.Fatal(err)
		}
		if err := (&transaction{chunks: []*written{w}}).write(e); err != nil {
			b.Fatal(err)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len())/n, "B/ref")
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "refs/s")
}

// manyRefs is an array whose chunks are small and stored in sources with 1,000 chunks each.
type manyRefs struct{ grid *grid.Grid }

func (m manyRefs) Locations(_ context.Context, box grid.Region) iter.Seq2[*manifest.Location, error] {
	return func(yield func(*manifest.Location, error) bool) {
		w, err := m.grid.WalkChunks(box)
		if err != nil {
			yield(nil, err)
			return
		}
		random := rand.New(rand.NewPCG(1, uint64(box.Origin[0])))
		l := &manifest.Location{Kind: manifest.Verbatim}
		for number, _ := m.grid.Number(box.Origin); w.Next(); number++ {
			if l.Coords = w.Coords; l.Source != number/1000 {
				l.Source, l.Offset = number/1000, 4096
			}
			l.Offset, l.Size = l.Offset+l.Size, 200+random.Int64N(128)
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (m manyRefs) Chunk(context.Context, []int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func BenchmarkWrite(b *testing.B) { benchmarkWrite(b, 1_000_000) }

// BenchmarkTenMillion reports the memory for ten million refs: the peak of the process, so run it alone.
func BenchmarkTenMillion(b *testing.B) {
	benchmarkWrite(b, 10_000_000)
	b.ReportMetric(float64(system.PeakMemory(b))/(1<<20), "peak-MiB")
}

func benchmarkWrite(b *testing.B, n int64) {
	in := manyInput(b, n)
	b.ReportAllocs()
	size := int64(0)
	for b.Loop() {
		dest := filepath.Join(b.TempDir(), "repo")
		if _, err := write(context.Background(), in, dest, (*Options)(nil).defaults(), nil); err != nil {
			b.Fatal(err)
		}
		size = 0
		for _, file := range tree(b, dest) {
			size += int64(len(file))
		}
		if err := os.RemoveAll(dest); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)/float64(n), "B/ref")
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "refs/s")
}

// BenchmarkAppend commits 1,000 refs on top of a million.
func BenchmarkAppend(b *testing.B) {
	const before, after = 1_000_000, 1_001_000
	old, now := manyInput(b, before), manyInput(b, after)
	old.snapshot.ID, now.snapshot.ID = "old", "now"
	past := manyPast{old.snapshot.ID: old.snapshot, now.snapshot.ID: now.snapshot}
	first := filepath.Join(b.TempDir(), "first")
	if _, err := write(context.Background(), old, first, (*Options)(nil).defaults(), past); err != nil {
		b.Fatal(err)
	}
	size := func(dir string) (n int64) {
		for _, file := range tree(b, dir) {
			n += int64(len(file))
		}
		return n
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		dest := filepath.Join(b.TempDir(), fmt.Sprint(i))
		if err := os.CopyFS(dest, os.DirFS(first)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		r, err := write(context.Background(), now, dest, (*Options)(nil).defaults(), past)
		if err != nil || !r.Appended {
			b.Fatal(r, err)
		}
		b.StopTimer()
		b.ReportMetric(float64(size(dest)-size(first)), "new-B")
		b.StartTimer()
	}
}

// manyInput returns a manifest with one array of n refs, 1,000 per file.
func manyInput(b *testing.B, n int64) *input {
	b.Helper()
	schema, err := zarrjson.ParseArray(fmt.Appendf(nil, `{"shape":[%d,160,160],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,16,16]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"zarr_format":3,"node_type":"array"}`, n/100))
	if err != nil {
		b.Fatal(err)
	}
	g, err := schema.Grid()
	if err != nil {
		b.Fatal(err)
	}
	spec := manifest.Array{Path: "/v", Schema: schema, Dims: []string{"/t", "/y", "/x"}, Placement: "p"}
	snapshot := &manifest.Snapshot{ID: "one", Arrays: []manifest.Array{spec},
		Placements: []manifest.PlacementTable{{ID: "p", Dims: []string{"/t"}, Segments: []manifest.Segment{{Table: "tiles", Rows: n / 1000}}}}}
	in := &input{snapshot: snapshot, arrays: []inputArray{{&snapshot.Arrays[0], g, manyRefs{g}}}}
	in.source = func(_ context.Context, row int64) (manifest.Source, error) {
		return manifest.Source{URL: fmt.Sprintf("/archive/refs/part_%05d.nc", row), Modified: time.Unix(1_700_000_000+row, 0)}, nil
	}
	return in
}

// manyPast has the snapshots of manyInput, with one tile per file.
type manyPast map[string]*manifest.Snapshot

func (p manyPast) Load(_ context.Context, id string) (*manifest.Snapshot, error) { return p[id], nil }

func (manyPast) Begins(context.Context, *manifest.Snapshot, *manifest.Snapshot) (bool, error) {
	return true, nil
}

func (manyPast) ScanTiles(_ context.Context, _ *manifest.Snapshot, s manifest.Segment) iter.Seq2[manifest.Tile, error] {
	return func(yield func(manifest.Tile, error) bool) {
		for row := s.Row; row < s.Row+s.Rows; row++ {
			if !yield(manifest.Tile{File: int(row), Origin: []int64{row * 10}}, nil) {
				return
			}
		}
	}
}
