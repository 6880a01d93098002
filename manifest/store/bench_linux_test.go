package store

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
)

// BenchmarkReencoded compares the time of Chunk for a re-encoded chunk with the time of only decoding and
// encoding the same bytes in memory. It alternates between both, and reports the least processor time of each,
// and how much more time Chunk takes.
func BenchmarkReencoded(b *testing.B) {
	little, big := spec("bytes", `{"endian":"little"}`), spec("bytes", `{"endian":"big"}`)
	shuffle, zlib, zstd := spec("numcodecs.shuffle", `{"elementsize":4}`), spec("numcodecs.zlib", `{"level":1}`), spec("zstd", `{"level":1,"checksum":false}`)
	for _, c := range []struct {
		name     string
		from, to []codec.Spec
	}{
		{"zlib to zstd", []codec.Spec{little, shuffle, zlib}, []codec.Spec{little, shuffle, zstd}},
		{"zstd to zlib", []codec.Spec{little, zstd}, []codec.Spec{little, shuffle, zlib}},
		{"zlib to raw", []codec.Spec{little, shuffle, zlib}, []codec.Spec{little}},
		{"raw to zstd", []codec.Spec{little}, []codec.Spec{little, shuffle, zstd}},
		{"big-endian", []codec.Spec{big}, []codec.Spec{little}},
	} {
		b.Run(c.name, func(b *testing.B) {
			a, coords := bigArchive(b, c.from...), []int64{3, 1, 0}
			stored, err := a.Chunk(b.Context(), coords)
			if err != nil {
				b.Fatal(err)
			}
			from, err := a.Pipeline(coords)
			if err != nil {
				b.Fatal(err)
			}
			schema := *a.spec.Schema
			schema.Codecs = c.to
			a.spec.Schema, a.mosaic, a.pipes = &schema, nil, pipelines{}
			to, err := a.Pipeline(coords)
			if err != nil {
				b.Fatal(err)
			}
			elems, size := codec.NewElems(from.Form()), 0
			bare := func() error {
				if err := from.Decode(elems, stored); err != nil {
					return err
				}
				encoded, err := to.Encode(make([]byte, 0, size), elems)
				size = len(encoded)
				return err
			}
			ours := func() error { _, err := a.Chunk(b.Context(), coords); return err }
			b.SetBytes(int64(len(elems.Fixed)))
			b.ReportAllocs()
			quickest := [2]int64{math.MaxInt64, math.MaxInt64}
			for b.Loop() {
				for i, do := range []func() error{ours, bare} {
					began := processorTime(b)
					if err := do(); err != nil {
						b.Fatal(err)
					}
					quickest[i] = min(quickest[i], processorTime(b)-began)
				}
			}
			b.ReportMetric(float64(quickest[0])/1e3, "µs/chunk")
			b.ReportMetric(float64(quickest[1])/1e3, "µs/bare")
			b.ReportMetric(100*(float64(quickest[0])/float64(quickest[1])-1), "%/more")
		})
	}
}

// processorTime returns the processor time of all threads so far, in nanoseconds.
func processorTime(b *testing.B) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		b.Fatal(err)
	}
	return now.Nano()
}

// BenchmarkChecksums reads all of an array with and without checksums, in turns, and reports how much more processor time
// it takes with them.
func BenchmarkChecksums(b *testing.B) {
	little := spec("bytes", `{"endian":"little"}`)
	shuffle := spec("numcodecs.shuffle", `{"elementsize":4}`)
	for _, c := range []struct {
		name   string
		codecs []codec.Spec
	}{
		{"raw", []codec.Spec{little}},
		{"shuffle zlib", []codec.Spec{little, shuffle, spec("numcodecs.zlib", `{"level":4}`)}},
		{"shuffle zstd", []codec.Spec{little, shuffle, spec("numcodecs.zstd", `{"level":3}`)}},
		{"blosc lz4", []codec.Spec{little, spec("blosc", `{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}`)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			a := bigArchive(b, c.codecs...)
			a.store.workers = 1
			tables, sums := a.store.tables.(*memoryTables), sumsOf(b, a)
			form := a.Schema().Form(a.Grid().Shape())
			e := codec.NewElems(form)
			b.SetBytes(int64(len(e.Fixed)))
			quickest := [2]int64{math.MaxInt64, math.MaxInt64}
			for b.Loop() {
				for i, isChecked := range []bool{true, false} {
					for k := range tables.refs {
						if tables.refs[k].Checksum = 0; isChecked {
							tables.refs[k].Checksum = sums[k]
						}
					}
					a.store.snapshot.Checksums = isChecked
					began := processorTime(b)
					if err := a.ReadRegion(b.Context(), grid.Whole(form.Shape), e); err != nil {
						b.Fatal(err)
					}
					quickest[i] = min(quickest[i], processorTime(b)-began)
				}
			}
			b.ReportMetric(float64(quickest[0])/1e6, "ms/checked")
			b.ReportMetric(float64(quickest[1])/1e6, "ms/unchecked")
			b.ReportMetric(100*(float64(quickest[0])/float64(quickest[1])-1), "%/more")
		})
	}
}

// sumsOf returns the checksums of all refs.
func sumsOf(b *testing.B, a *Array) []uint32 {
	b.Helper()
	var r SummedRefs
	err := a.store.tables.ReadColumns(b.Context(), 0, len(a.store.tables.(*memoryTables).refs), &r.RefColumns)
	if err == nil {
		err = a.store.sum(b.Context(), &r, func(*manifest.Variable, manifest.Ref) bool { return false })
	}
	if err != nil {
		b.Fatal(err)
	}
	return r.Sums
}
