package store

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"varve/codec"
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
