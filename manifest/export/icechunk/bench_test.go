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

	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
	"varve/zarrjson"
)

// sampleManifest is what refs of files with 1,000 chunks each look like.
func sampleManifest(n int) (*arrayRefs, *tail) {
	random := rand.New(rand.NewPCG(1, 2))
	a, t := &arrayRefs{}, &tail{}
	a.reset(nodeID{1, 2, 3}, 3, n)
	offset, p := int64(0), placed{}
	for i := range int64(n) {
		if i%1000 == 0 {
			p = placed{kind: modified, location: t.put(fmt.Appendf(nil, "file:///archive/refs/part_%05d.nc", i/1000)), check: uint32(1700000000 + i/1000)}
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

// manyRefs is an array of n refs, a thousand a source, whose offsets and lengths are like
// those of small chunks.
type manyRefs struct{ grid *grid.Grid }

func (m manyRefs) Locations(_ context.Context, box grid.Region) iter.Seq2[*store.Location, error] {
	return func(yield func(*store.Location, error) bool) {
		w, err := m.grid.WalkChunks(box)
		if err != nil {
			yield(nil, err)
			return
		}
		random := rand.New(rand.NewPCG(1, uint64(box.Origin[0])))
		l := &store.Location{Kind: store.Verbatim}
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

func BenchmarkWrite(b *testing.B) {
	const n = 1_000_000
	face, err := zarrjson.ParseArray(fmt.Appendf(nil, `{"shape":[%d,160,160],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,16,16]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"zarr_format":3,"node_type":"array"}`, n/100))
	if err != nil {
		b.Fatal(err)
	}
	g, err := face.Grid()
	if err != nil {
		b.Fatal(err)
	}
	in := &input{snapshot: &manifest.Snapshot{ID: "one"}, arrays: []inputArray{{&manifest.Array{Path: "/v", Face: face}, g, manyRefs{g}}}}
	in.source = func(_ context.Context, row int64) (manifest.Source, error) {
		return manifest.Source{URL: fmt.Sprintf("/archive/refs/part_%05d.nc", row), Modified: time.Unix(1_700_000_000+row, 0)}, nil
	}
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
	b.ReportMetric(float64(size)/n, "B/ref")
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "refs/s")
}
