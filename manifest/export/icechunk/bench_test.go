package icechunk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"varve/grid"
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
