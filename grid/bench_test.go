package grid_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"varve/fixtures/system"
	"varve/grid"
)

// manyRuns returns runs of random sizes, ten edges each on average; neighbours differ.
func manyRuns(n int) []grid.Run {
	r := rand.New(rand.NewPCG(1, 2))
	runs := make([]grid.Run, n)
	for i := range runs {
		runs[i] = grid.Run{Edge: grid.Full(1 + 2*r.Int64N(50) + int64(i%2)), Count: 1 + r.Int64N(19)}
		if i%3 == 0 {
			runs[i].Codec++
		}
	}
	return runs
}

func newVarying(t testing.TB, runs []grid.Run) *grid.Varying {
	t.Helper()
	_, length, err := grid.Sum(runs)
	check(t, err)
	d, err := grid.NewVarying(runs, length)
	check(t, err)
	return d
}

// The limit for a dimension of 10 million equal chunks is 200 bytes, whatever its type.
func TestEqualChunksTakeNoMemory(t *testing.T) {
	runs := []grid.Run{grid.Times(10, 10_000_000)}
	for _, tt := range []struct {
		name string
		make func() grid.Dimension
	}{
		{"fixed", func() grid.Dimension { d, _ := grid.NewFixed(10, 100_000_000); return d }},
		{"varying", func() grid.Dimension { d, _ := grid.NewVarying(runs, 100_000_000); return d }},
		{"tiled", func() grid.Dimension { d, _ := grid.NewTiled(runs[:1:1], 100_000_000); return d }},
	} {
		if d := tt.make(); d.Chunks() != 10_000_000 {
			t.Errorf("%s: %d chunks", tt.name, d.Chunks())
		}
		if size := heapOf(tt.make); size >= 200 {
			t.Errorf("%s: %d bytes, want less than 200", tt.name, size)
		}
	}
	if size := unsafe.Sizeof(grid.Fixed{}); size != 24 {
		t.Errorf("a Fixed is %d bytes, want 24", size)
	}
}

// The limit for run-length encoded edges is 24 bytes per run. Only a dimension longer
// than 2^32 with padding of more than 2^32 comes near it.
func TestBytesARun(t *testing.T) {
	const n = 200_000
	plain, padded, long, both := manyRuns(n), manyRuns(n), manyRuns(n), manyRuns(n)
	for i := range n {
		plain[i].Codec = plain[i].Data
		long[i].Data <<= 30
		long[i].Codec = long[i].Data + 1
		both[i].Data <<= 30
		both[i].Codec = both[i].Data + 1<<40
	}
	for _, tt := range []struct {
		name string
		runs []grid.Run
		want float64
	}{
		{"10 million edges", plain, 8.5},
		{"padded", padded, 12.5},
		{"long", long, 20.5},
		{"long and padded by much", both, 24.5},
	} {
		size := heapOf(func() grid.Dimension { return newVarying(t, tt.runs) })
		if perRun := float64(size) / n; perRun > tt.want+0.1 || perRun < tt.want-0.5 {
			t.Errorf("%s: %.2f bytes a run, want %v", tt.name, perRun, tt.want)
		}
	}
}

var kept grid.Dimension

// heapOf returns how many bytes of heap the result of make keeps alive. It is the minimum
// of a few tries, since other goroutines allocate too.
func heapOf(make func() grid.Dimension) uint64 {
	least := uint64(1 << 62)
	for range 5 {
		before := liveHeap()
		kept = make()
		after := liveHeap()
		kept = nil
		least = min(least, max(after, before)-before)
	}
	return least
}

func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// benchmarkLookups times 65,536 look-ups per operation, at random positions below a
// limit, in 10 million edges of a million runs. It reports the fastest pass and the
// median, which includes the effect of other processes on the caches. The limit is 150 ns
// per look-up.
func benchmarkLookups(b *testing.B, limit func(*grid.Varying) int64, lookup func(*grid.Varying, int64) int64) {
	d := newVarying(b, manyRuns(1_000_000))
	r := rand.New(rand.NewPCG(3, 4))
	at := make([]int64, 1<<16)
	for i := range at {
		at[i] = r.Int64N(limit(d))
	}
	var passes []float64
	for b.Loop() {
		start, sum := system.UserTime(b), int64(0)
		for _, x := range at {
			sum += lookup(d, x)
		}
		passes = append(passes, float64(system.UserTime(b)-start)/float64(len(at)))
		if sum == 0 {
			b.Fatal("nothing was found")
		}
	}
	slices.Sort(passes)
	b.ReportMetric(passes[0], "best-cpu-ns/lookup")
	b.ReportMetric(passes[len(passes)/2], "cpu-ns/lookup")
}

func BenchmarkFind(b *testing.B) {
	benchmarkLookups(b, (*grid.Varying).Extent, func(d *grid.Varying, index int64) int64 {
		chunk, err := d.Find(index)
		if err != nil {
			b.Fatal(err)
		}
		return chunk
	})
}

func BenchmarkOffset(b *testing.B) {
	benchmarkLookups(b, (*grid.Varying).Cells, func(d *grid.Varying, chunk int64) int64 {
		offset, _ := d.Offset(chunk)
		return offset
	})
}

// BenchmarkWalk reports chunks per second. The aim is 20 million.
func BenchmarkWalk(b *testing.B) {
	shape := []int64{1000, 1000, 1000}
	var irregular []grid.Run
	for i := range int64(100) {
		irregular = append(irregular, grid.Times(7+i%6, 1))
	}
	for _, bench := range []struct {
		name  string
		inner grid.Sizes
	}{
		{"fixed", grid.Every(10)},
		{"varying", grid.RunLength(irregular...)},
		{"tiled", grid.Pattern(irregular[:6]...)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := []int64{shape[0], shape[1], 900}
			g, err := grid.FromSizes(s, grid.Every(10), grid.Every(9), bench.inner)
			check(b, err)
			b.ReportAllocs()
			start, sum, n := system.UserTime(b), int64(0), int64(0)
			for b.Loop() {
				for w := g.Walk(); w.Next(); n++ {
					sum += w.Origin[2] + w.Codec[2]
				}
			}
			b.ReportMetric(float64(n)/(system.UserTime(b)-start).Seconds()/1e6, "Mchunks/cpu-s")
		})
	}
}

// BenchmarkProject reports chunks per second for slices, for a slice whose step skips
// chunks and for an index list.
func BenchmarkProject(b *testing.B) {
	g, err := grid.FromSizes([]int64{1000, 1000, 1000}, grid.Every(10), grid.Every(9), grid.Every(7))
	check(b, err)
	list := make([]int64, 300)
	for i := range list {
		list[i] = int64(999 - 3*i)
	}
	for _, bench := range []struct {
		name string
		last grid.Selector
	}{
		{"slice", grid.Range(3, 990)},
		{"step", grid.All().By(11)},
		{"list", grid.Indices(list...)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			x, err := grid.Orthogonal(g, grid.All(), grid.All(), bench.last)
			check(b, err)
			b.ReportAllocs()
			start, sum, n := system.UserTime(b), int64(0), int64(0)
			for b.Loop() {
				for c := x.Project(); c.Next(); n++ {
					sum += c.Count()
				}
			}
			b.ReportMetric(float64(n)/(system.UserTime(b)-start).Seconds()/1e6, "Mchunks/cpu-s")
		})
	}
}

// BenchmarkCopy copies boxes out of a cube of 128³ elements of 4 bytes. The name of each
// case is the length of its rows.
func BenchmarkCopy(b *testing.B) {
	cube := grid.Window[byte]{Data: make([]byte, 4<<21), Region: grid.Whole([]int64{128, 128, 128})}
	for _, bench := range []struct {
		name  string
		shape []int64
	}{
		{"whole", []int64{128, 128, 128}},
		{"rows of 100", []int64{128, 128, 100}},
		{"rows of 8", []int64{128, 128, 8}},
		{"rows of 2", []int64{128, 128, 2}},
		{"column", []int64{128, 128, 1}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := grid.Whole(bench.shape)
			out := grid.Window[byte]{Data: make([]byte, 4*product(bench.shape)), Region: r}
			b.SetBytes(int64(len(out.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := grid.Copy(out, cube, r, 4); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
