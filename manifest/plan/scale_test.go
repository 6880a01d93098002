package plan

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"varve/manifest"
)

// manyFiles is an archive of one header: files of days, forty variables and their coordinates.
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
		p, needs, err := New(files, nil)
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

// Work is by header: forty variables cost hardly more than one.
func TestCostIsByHeader(t *testing.T) {
	cost := func(variables int) uint64 {
		files := manyFiles(5000, variables)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, err := New(files, nil); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if one, forty := cost(1), cost(40); forty > one+one/4 {
		t.Errorf("40 variables take %d bytes, one %d", forty, one)
	}
}

// A file of four times as many things costs about four times as much, whatever they are.
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
				m.day(fmt.Sprint(day), day, 1).Groups.Groups[0].Attributes = list
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cost := func(n int) uint64 {
				m := newMaker()
				make(m, n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if _, _, err := New(m.files, nil); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			if some, many := cost(500), cost(2000); many > 6*some {
				t.Errorf("2000 take %d bytes, 500 %d", many, some)
			}
		})
	}
}

// The name of a placing costs the same however many there are of the same dimensions.
func TestPlacementIDs(t *testing.T) {
	p := &planner{ids: map[string]int64{}}
	next := func() string { return p.placementID(&placing{dims: []*dim{{path: "/time"}}}) }
	seen := map[string]bool{}
	for range 2000 {
		seen[next()] = true
	}
	if len(seen) != 2000 || !seen["time"] || !seen["time-2"] || !seen["time-2,000"] {
		t.Errorf("%d names", len(seen))
	}
	if n := testing.AllocsPerRun(1, func() { next() }); n > 20 {
		t.Errorf("%v allocations", n)
	}
}

// Files with moments of their own, or with units of their own, are told apart by these, and none
// is looked at again for each of the others: 20,000 with units of their own took half a minute,
// 100,000 with a moment each two.
func TestManyCoordinates(t *testing.T) {
	for name, c := range map[string]struct {
		make func(n int) []*manifest.File
		some int
	}{
		"units": {func(n int) []*manifest.File {
			m := newMaker()
			for i := range n {
				m.file(fmt.Sprint(i), coords("time", "time", int32s, 0).with("units", fmt.Sprintf("seconds since 1990-01-01 %02d:%02d:%02d", i/3600, i/60%60, i%60)))
			}
			return m.files
		}, 200},
		"moments": {func(n int) []*manifest.File { return manyFiles(n, 1) }, 1500},
	} {
		t.Run(name, func(t *testing.T) {
			took := func(n int) time.Duration {
				files := c.make(n)
				began := time.Now()
				p, needs, err := New(files, nil)
				done := time.Since(began)
				if err != nil || len(needs) > 0 || p.Arrays[len(p.Arrays)-1].Face.Shape[0] < int64(n) {
					t.Fatal(needs, err)
				}
				return done
			}
			// Twenty times as many, compared with all others, take 400 times as long. The least of
			// some runs is compared, since others may keep the machine busy.
			some, many := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for range 8 {
				some, many = min(some, took(c.some)), min(many, took(20*c.some))
				if many <= 120*some {
					return
				}
			}
			t.Errorf("%d files take %v, %d %v", 20*c.some, many, c.some, some)
		})
	}
}
