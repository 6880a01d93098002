package kerchunk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve/fixtures/system"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/readers"
)

// many is an array with a thousand chunks per source.
type many struct{ *faked }

func (m many) Runs(_ context.Context, chunks grid.Region) readers.Reusing[manifest.Run] {
	return func(yield func(*manifest.Run, error) bool) {
		r := manifest.Run{Location: manifest.Location{Kind: manifest.Verbatim, Coords: make([]int64, 3)}, Chunks: 1000}
		offset, size := int64(0), int64(0)
		x := uint64(88172645463325252 + chunks.Origin[0])
		for n := chunks.Origin[0] * 1000; n < chunks.End(0)*1000; n++ {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			if n%1000 == 0 {
				r.Source, r.Offsets, r.Sizes = n/1000, r.Offsets[:0], r.Sizes[:0]
				offset, size = 4096, 0
			}
			offset += size
			size = 20_000 + int64(x&0x3fff)
			r.Offsets, r.Sizes = append(r.Offsets, offset), append(r.Sizes, size)
			if n%1000 == 999 && !yield(&r, nil) {
				return
			}
		}
	}
}

func manyRefs(b *testing.B, chunks int64) hierarchy {
	s := spec{path: "/ocean_temperature", shape: []int64{chunks / 1000, 20, 50}, chunks: []int64{1, 1, 1}, dtype: "int16", codecs: "[" + little + zstd + "]"}
	f := &faked{path: s.path, schema: s.document(b)}
	var err error
	if f.grid, err = f.schema.Grid(); err != nil {
		b.Fatal(err)
	}
	return hierarchy{arrays: []array{many{f}}, sources: chunks / 1000, source: func(_ context.Context, row int64) (manifest.Source, error) {
		return manifest.Source{URL: fmt.Sprintf("/data/archive/2020/ocean_temperature_%08d.nc", row)}, nil
	}}
}

// BenchmarkWrite writes references; locating the chunks costs almost nothing.
func BenchmarkWrite(b *testing.B) {
	for _, name := range []string{"r.parquet", "r.json"} {
		b.Run(name, func(b *testing.B) {
			const refs = 1_000_000
			h, dir := manyRefs(b, refs), b.TempDir()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := write(b.Context(), h, filepath.Join(dir, name), &Options{Force: true}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*refs/b.Elapsed().Seconds()/1e6, "Mrefs/s")
			b.ReportMetric(float64(sizeOf(b, filepath.Join(dir, name)))/refs, "B/ref")
		})
	}
}

// BenchmarkTenMillion reports the memory for ten million refs: the peak of the process, so run it alone.
func BenchmarkTenMillion(b *testing.B) {
	for _, name := range []string{"r.parquet", "r.json"} {
		b.Run(name, func(b *testing.B) {
			const refs = 10_000_000
			h, dir := manyRefs(b, refs), b.TempDir()
			for b.Loop() {
				if _, err := write(b.Context(), h, filepath.Join(dir, name), &Options{Force: true}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(system.PeakMemory(b))/(1<<20), "peak-MiB")
			b.ReportMetric(float64(b.N)*refs/b.Elapsed().Seconds()/1e6, "Mrefs/s")
		})
	}
}

// BenchmarkAppend appends a thousand refs to a set of a million.
func BenchmarkAppend(b *testing.B) {
	const before, after = 1_000_000, 1_001_000
	old, now := manyRefs(b, before), manyRefs(b, after)
	old.snapshot, now.snapshot = "old", "now"
	now.past = func(context.Context, string, array) (change.Change, error) {
		return change.Change{Kind: change.Tail, Axis: 0, From: before / 1000}, nil
	}
	dest := filepath.Join(b.TempDir(), "r.parquet")
	for b.Loop() {
		b.StopTimer()
		if _, err := write(b.Context(), old, dest, &Options{Force: true}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		r, err := write(b.Context(), now, dest, nil)
		if err != nil || r.Kept != before {
			b.Fatal(r, err)
		}
		b.ReportMetric(float64(sizeOf(b, filepath.Join(dest, "ocean_temperature", "refs.10.parq"))), "new-B")
	}
}

func sizeOf(b *testing.B, name string) (size int64) {
	err := filepath.WalkDir(name, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}
