package hdf5

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/fixtures/system"
	"varve/readers/readertest"
	"varve/readers/source"
)

// archives returns the large files for benchmarks that match a pattern. Without them it skips the
// benchmark.
func archives(b *testing.B, pattern string) []string {
	b.Helper()
	dir := os.Getenv("VARVE_ARCHIVES")
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if dir == "" || err != nil || len(files) == 0 {
		b.Skip("VARVE_ARCHIVES names no folder with " + pattern)
	}
	return files
}

// scanRefs streams the refs of dataset /v of a file and returns their number.
func scanRefs(name string) (refs int, err error) {
	ctx := context.Background()
	src, err := source.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	f, err := OpenFile(ctx, src)
	if err != nil {
		return 0, err
	}
	tree, err := f.Tree(ctx)
	if err != nil {
		return 0, err
	}
	o, err := tree.Lookup("/v")
	if err != nil {
		return 0, err
	}
	for _, err := range o.Dataset.Refs(ctx, nil) {
		if err != nil {
			return refs, err
		}
		refs++
	}
	return refs, nil
}

// BenchmarkRefs streams the refs of datasets with a million chunks.
func BenchmarkRefs(b *testing.B) {
	for _, name := range archives(b, "one_huge_index/1*_*.h5") {
		b.Run(filepath.Base(name), func(b *testing.B) {
			b.ReportAllocs()
			refs, cpu := 0, system.ProcessorTime(b)
			for b.Loop() {
				n, err := scanRefs(name)
				if err != nil {
					b.Fatal(err)
				}
				refs += n
			}
			b.ReportMetric(float64(refs)/b.Elapsed().Seconds()/1e6, "Mrefs/s")
			b.ReportMetric(float64(refs)/(system.ProcessorTime(b)-cpu).Seconds()/1e6, "Mrefs/cpu-s")
		})
	}
}

// BenchmarkTwoScans scans two files one after the other and concurrently. It reports how much
// longer the concurrent scan takes than the slower file alone, and how much more CPU time than both
// in sequence: scans share no lock and no cache. Each figure is the minimum of all rounds. It needs
// two idle cores.
func BenchmarkTwoScans(b *testing.B) {
	names := archives(b, "one_huge_index/1m_*.h5")
	for i, name := range names {
		other := names[(i+1)%len(names)]
		b.Run(filepath.Base(name)+"+"+filepath.Base(other), func(b *testing.B) {
			alone, both := [2]time.Duration{1 << 62, 1 << 62}, time.Duration(1<<62)
			after, at := time.Duration(1<<62), time.Duration(1<<62)
			for b.Loop() {
				cpu := system.ProcessorTime(b)
				for i, name := range []string{name, other} {
					alone[i] = min(alone[i], timeScans(b, name))
				}
				middle := system.ProcessorTime(b)
				both = min(both, timeScans(b, name, other))
				after, at = min(after, middle-cpu), min(at, system.ProcessorTime(b)-middle)
			}
			b.ReportMetric(both.Seconds()/max(alone[0], alone[1]).Seconds(), "two/one")
			b.ReportMetric(at.Seconds()/after.Seconds(), "cpu/cpu")
		})
	}
}

// timeScans returns how long scanning files concurrently takes.
func timeScans(b *testing.B, names ...string) time.Duration {
	b.Helper()
	start := time.Now()
	failed := make(chan error, len(names))
	for _, name := range names {
		go func() {
			_, err := scanRefs(name)
			failed <- err
		}()
	}
	for range names {
		if err := <-failed; err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// BenchmarkImplicit yields the refs of consecutive chunks, for which no bytes are read.
func BenchmarkImplicit(b *testing.B) {
	x := &chunkIndex{
		f:     memoryFile(1 << 40),
		kind:  indexImplicit,
		chunk: []uint64{10, 10, 10}, shape: []uint64{1000, 1000, 1000}, maxShape: []uint64{1000, 1000, 1000},
		bytes: 4000,
	}
	benchmarkIndex(b, x, 1e6)
}

// BenchmarkSingle yields the only ref of a dataset: the fixed cost of an iteration.
func BenchmarkSingle(b *testing.B) {
	x := &chunkIndex{
		f:     memoryFile(1 << 20),
		kind:  indexSingle,
		chunk: []uint64{10, 10}, shape: []uint64{10, 10}, maxShape: []uint64{10, 10},
		bytes: 400,
	}
	benchmarkIndex(b, x, 1)
}

// memoryFile returns an empty file that ends at end.
func memoryFile(end int64) *File {
	f := &File{src: source.New("memory", &readertest.Memory{}), end: end}
	f.super.offsets, f.super.lengths = 8, 8
	return f
}

func benchmarkIndex(b *testing.B, x *chunkIndex, chunks int) {
	b.ReportAllocs()
	cpu := system.ProcessorTime(b)
	for b.Loop() {
		n := 0
		for _, err := range x.refs(context.Background(), nil) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != chunks {
			b.Fatalf("%d chunks, want %d", n, chunks)
		}
	}
	b.ReportMetric(float64(b.N*chunks)/(system.ProcessorTime(b)-cpu).Seconds()/1e6, "Mrefs/cpu-s")
}

// BenchmarkOpen reads all metadata of a file of 2,000 variables in 50 groups.
func BenchmarkOpen(b *testing.B) {
	for _, name := range archives(b, "wide_file/wide.nc") {
		b.Run(filepath.Base(name), func(b *testing.B) {
			b.ReportAllocs()
			cpu := system.ProcessorTime(b)
			for b.Loop() {
				src, err := source.Open(context.Background(), name)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := (Format{}).Open(context.Background(), src); err != nil {
					b.Fatal(err)
				}
				if err := src.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((system.ProcessorTime(b)-cpu).Microseconds())/float64(b.N)/1e3, "cpu-ms/op")
		})
	}
}
