package planner

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"varve/fixtures/soak"
	"varve/fixtures/system"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/edge"
	"varve/manifest/plan"
)

// manyFiles makes an archive with one header: files of days, variables and their coordinates.
func manyFiles(n, variables int) []*manifest.File {
	m := newMaker()
	var vars []wanted
	for i := range variables {
		vars = append(vars, cube(fmt.Sprintf("v%02d", i), "time lat lon", []int64{4, 3, 4}, []int64{2, 3, 4}))
	}
	first := m.file("first", append([]wanted{days(0, 4), lat(), lon()}, vars...)...)
	files := make([]*manifest.File, n)
	for i := range files {
		f := *first
		f.URL = fmt.Sprintf("/archive/%d/day_%07d.nc", i/1000, i)
		f.Values = append([]*manifest.Values(nil), first.Values...)
		values := days(4*i, 4).values
		values.SetID()
		f.Values[0] = values
		f.Row = int64(i) * f.Header.Rows()
		files[i] = &f
	}
	return files
}

func benchmarkPlan(b *testing.B, n, variables int) {
	files := manyFiles(n, variables)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	for b.Loop() {
		p, needs, err := newPlan(files, nil)
		if err != nil || len(needs) > 0 {
			b.Fatal(needs, err)
		}
		if len(p.Placements) != 1 || len(p.Placements[0].Tiles) != n {
			b.Fatal(len(p.Placements))
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
	b.ReportMetric(float64(after.Sys-before.Sys)/float64(n), "peak-B/file")
}

func BenchmarkPlan10k(b *testing.B) { benchmarkPlan(b, 10_000, 40) }
func BenchmarkPlan1M(b *testing.B)  { benchmarkPlan(b, 1_000_000, 40) }

// TestCostIsByHeader: planning forty variables allocates little more than planning one, because files
// share a header.
func TestCostIsByHeader(t *testing.T) {
	cost := func(variables int) uint64 {
		files := manyFiles(2000, variables)
		return allocated(func() {
			if _, _, err := newPlan(files, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	if one, forty := cost(1), cost(40); forty > one+one/4 {
		t.Errorf("40 variables take %d bytes, one %d", forty, one)
	}
}

// TestCostIsLinear: planning four times as many files, variables or attributes allocates about four
// times as much memory.
func TestCostIsLinear(t *testing.T) {
	for name, make := range map[string]func(m *maker, n int){
		"dimensions, each with a coordinate": func(m *maker, n int) {
			for day := range 2 {
				vars := []wanted{days(day, 1)}
				for i := range n {
					dim := fmt.Sprintf("d%d", i)
					vars = append(vars, coords(dim, dim, float32s, 0, 1).with("units", "m"), cube("v"+dim, "time "+dim, []int64{1, 2}, []int64{1, 2}))
				}
				m.file(fmt.Sprint(day), vars...)
			}
		},
		"variables that one file each has": func(m *maker, n int) {
			for i := range n {
				m.file(fmt.Sprint(i), days(i, 1), cube(fmt.Sprintf("v%d", i), "time", []int64{1}, []int64{1}), cube("all", "time", []int64{1}, []int64{1}))
			}
		},
		"attributes of a group": func(m *maker, n int) {
			var list []manifest.Attribute
			for i := range n {
				list = append(list, textAttribute(fmt.Sprintf("a%d", i), "text"))
			}
			for day := range 2 {
				m.day(fmt.Sprint(day), day, 1).Groups.Expand().Groups[0].Attributes = list
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			linear(t, 500, 4, func(n int) func() {
				m := newMaker()
				make(m, n)
				return func() {
					if _, _, err := newPlan(m.files, nil); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// TestPlacementIDs: the cost of a placement ID does not depend on the number of placements.
func TestPlacementIDs(t *testing.T) {
	p := &declaration{ids: map[string]int64{}}
	next := func() string { return p.placementID(&placing{dims: []*dim{{path: "/time"}}}) }
	seen := map[string]bool{}
	for range 2000 {
		seen[next()] = true
	}
	if len(seen) != 2000 || !seen["time"] || !seen["time-2"] || !seen["time-2,000"] {
		t.Errorf("%d distinct IDs, want 2000", len(seen))
	}
	if n := testing.AllocsPerRun(1, func() { next() }); n > 20 {
		t.Errorf("%v allocations for one ID", n)
	}
}

// TestManyCoordinates: comparing files with different coordinates is not quadratic.
func TestManyCoordinates(t *testing.T) {
	for name, c := range map[string]struct {
		make    func(m *maker, n, i int)
		some    int
		opts    *plan.Options
		refused bool
	}{
		"different units": {some: 200, make: func(m *maker, _, i int) {
			m.file(fmt.Sprint(i), coords("time", "time", int32s, 0).with("units", fmt.Sprintf("seconds since 1990-01-01 %02d:%02d:%02d", i/3600, i/60%60, i%60)))
		}},
		"different times": {some: 3000, make: func(m *maker, _, i int) { m.day(fmt.Sprint(i), 4*i, 4) }},
		"interleaved times": {some: 3000, refused: true, make: func(m *maker, n, i int) {
			m.file(fmt.Sprint(i), coords("time", "time", int32s, float64(i), float64(3*n-i)).with("units", "days since 1990-01-01"))
		}},
		"concatenated in the order of first values": {some: 3000, opts: &plan.Options{Concat: []string{"time"}}, make: func(m *maker, n, i int) {
			m.file(fmt.Sprint(i), coords("time", "time", int32s, float64(i), float64(3*n+i)).with("units", "days since 1990-01-01"))
		}},
		"other values": {some: 3000, opts: &plan.Options{Coords: plan.CoordsFirst}, make: func(m *maker, n, i int) {
			m.file(fmt.Sprint(i), days(i, 1), coords("x", "x", float32s, float64(i), float64(3*n)), cube("v", "time x", []int64{1, 2}, []int64{1, 2}))
		}},
		"other lengths": {some: 3000, refused: true, make: func(m *maker, n, i int) {
			m.file(fmt.Sprint(i), coords("x", "x", float32s, lines(float64(i), float64(2+i%2), 1)...))
		}},
		"weeks that begin on different days": {some: 3000, make: func(m *maker, _, i int) {
			m.file(fmt.Sprint(i), coords("time", "time", int32s, lines(float64(7*(i/2)+3*(i%2)), 7, 1)...).with("units", "days since 1990-01-01"),
				coords("x", "x", float32s, float64(i%2)), cube("v", "time x", []int64{7, 1}, []int64{7, 1}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			linear(t, c.some, 20, func(n int) func() {
				m := newMaker()
				for i := range n {
					c.make(m, n, i)
				}
				return func() {
					if _, needs, err := newPlan(m.files, c.opts); (err != nil) != c.refused || len(needs) > 0 {
						t.Fatal(needs, err)
					}
				}
			})
		})
	}
}

// TestManyAppended: appending many files is not quadratic.
func TestManyAppended(t *testing.T) {
	files := manyFiles(1, 1)
	p, _, err := newPlan(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	linear(t, 3000, 20, func(n int) func() {
		all := manyFiles(n+1, 1)
		return func() {
			x, needs, err := askedExtend(snapshotOf(p, 1), all, nil)
			if err != nil || len(needs) > 0 || x == nil || len(x.Placements[0].Tiles) != n {
				t.Fatal(x, needs, err)
			}
		}
	})
}

// linear checks that the cost of a plan of n things is not quadratic; prepare returns the function that plans them. It
// compares the bytes that plans of n/6 and of 4*n/6 things allocate. With VARVE_SOAK, it also compares the processor time
// of plans of n and of times*n things: the least of several runs, because caches are shared with other processes.
func linear(t *testing.T, n, times int, prepare func(n int) (plan func())) {
	t.Helper()
	if some, many := allocated(prepare(n/6)), allocated(prepare(4*n/6)); many > 6*some {
		t.Errorf("%d take %d bytes, but %d take %d bytes", n/6, some, 4*n/6, many)
	}
	if soak.Duration(t, 0) == 0 {
		return
	}
	took := func(n int) time.Duration {
		plan := prepare(n)
		runtime.GC() // free the garbage of making the files
		began := system.UserTime(t)
		plan()
		return system.UserTime(t) - began
	}
	some, many, most := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), time.Duration(8*times) // a quadratic algorithm takes times*times
	for range 8 {
		some, many = min(some, took(n)), min(many, took(times*n))
		if many <= most*some {
			return
		}
	}
	t.Errorf("%d take %v, but %d take %v", n, some, times*n, many)
}

// allocated returns the number of bytes that a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestDivisorOfLongAxes: the search for a divisor is bounded by the rows of a chunk.
func TestDivisorOfLongAxes(t *testing.T) {
	soak.Within(t, time.Second, func() {
		if got := edge.Divisor(math.MaxInt64-24, 1<<22); got != 1 { // a prime
			t.Errorf("got the divisor %d, want 1", got)
		}
	})
}
