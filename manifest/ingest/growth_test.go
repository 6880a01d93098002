package ingest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"varve/fixtures/classic"
	"varve/fixtures/system"
	"varve/manifest/export/icechunk"
	"varve/manifest/export/kerchunk"
	"varve/manifest/report"
	"varve/manifest/store"
)

// writeDifferent writes files first..first+n-1 of an archive in which each file has its own packing, range and history.
func writeDifferent(t *testing.T, dir string, first, n int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := first; i < first+n; i++ {
		f := classic.File{
			Dims:       []classic.Dim{{Name: "time", Length: 1}, {Name: "x", Length: 3}},
			Attributes: []classic.Attribute{{Name: "history", Value: fmt.Sprintf("granule %06d", i)}},
			Vars: []classic.Var{{Name: "time", Dims: []string{"time"}, Data: []int32{int32(i)},
				Attributes: []classic.Attribute{{Name: "units", Value: "hours since 1985-01-01"}}}},
		}
		for k := range 3 {
			f.Vars = append(f.Vars, classic.Var{Name: fmt.Sprintf("v%d", k), Dims: []string{"time", "x"}, Data: []int16{1, 2, 3}, Attributes: []classic.Attribute{
				{Name: "long_name", Value: fmt.Sprintf("variable %d", k)},
				{Name: "scale_factor", Value: []float64{0.01 + float64(i)/1e8}},
				{Name: "actual_range", Value: []float64{float64(i), float64(i + k)}},
			}})
		}
		if err := f.Write(filepath.Join(dir, fmt.Sprintf("%06d.nc", i))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGrowthOfDifferentFiles: the memory that scans, builds and exports allocate is proportional to the number of files,
// and that of an append does not depend on it, although all files have their own headers. So is the memory that an
// export keeps.
func TestGrowthOfDifferentFiles(t *testing.T) {
	if testing.Short() || system.Race {
		t.Skip("writes 11,000 files, and the race detector allocates memory too")
	}
	configured(t)
	const few, many = 1_000, 10_000
	names := []string{"scan", "build", "export kerchunk", "export icechunk", "append"}
	costs, kept := map[string][]int64{}, map[string][]int64{}
	for _, n := range []int{few, many} {
		dir := t.TempDir()
		archive, next := filepath.Join(dir, "archive"), filepath.Join(dir, "next")
		writeDifferent(t, archive, 0, n)
		writeDifferent(t, next, n, 1)
		part, out := filepath.Join(dir, "part.parquet"), filepath.Join(dir, "out.varve")
		for _, name := range names {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var outcome *Result
			var err error
			switch name {
			case "scan":
				outcome, err = Scan(t.Context(), part, optionsFor(archive))
			case "build":
				outcome, err = Build(t.Context(), out, optionsFor(part))
			case "export kerchunk":
				kept[name] = append(kept[name], keptBy(t, out, func(s *store.Store) error {
					_, err := kerchunk.Write(t.Context(), s, filepath.Join(dir, "refs.parquet"), nil)
					return err
				}))
			case "export icechunk":
				kept[name] = append(kept[name], keptBy(t, out, func(s *store.Store) error {
					_, err := icechunk.Write(t.Context(), s, filepath.Join(dir, "icechunk"), nil)
					return err
				}))
			default:
				outcome, err = Append(t.Context(), out, optionsFor(next))
			}
			if err != nil {
				t.Fatal(n, name, err)
			}
			runtime.ReadMemStats(&after)
			costs[name] = append(costs[name], int64(after.TotalAlloc-before.TotalAlloc))
			if outcome == nil { // an export
				continue
			}
			for _, f := range outcome.Report.Findings {
				if f.Code == report.Replanned {
					t.Errorf("%d files: %+v", n, f)
				}
			}
		}
	}
	for _, name := range names {
		most := 1.05
		if name == "append" {
			most = 0.1
		}
		if exponent := exponentOf(costs[name], many/few); exponent > most {
			t.Errorf("%s: allocated memory grows with the exponent %.2f, want at most %.2f", name, exponent, most)
		}
		t.Logf("%s allocates %s for %d files, %s for %d", name, report.Size(costs[name][0]), few, report.Size(costs[name][1]), many)
	}
	for name, bytes := range kept {
		if exponent := exponentOf(bytes, many/few); exponent > 1.1 {
			t.Errorf("%s: live memory grows with the exponent %.2f, want at most 1.1", name, exponent)
		}
		t.Logf("%s keeps %s for %d files, %s for %d", name, report.Size(bytes[0]), few, report.Size(bytes[1]), many)
	}
}

// exponentOf returns the exponent with which a cost grows, from its values for some files and for times as many.
func exponentOf(costs []int64, times float64) float64 {
	return math.Log(float64(costs[1])/float64(costs[0])) / math.Log(times)
}

// keptBy returns the memory that an open manifest keeps after an export, without cached chunks.
func keptBy(t *testing.T, out string, export func(*store.Store) error) int64 {
	t.Helper()
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	s, err := store.Open(t.Context(), out, &store.Options{Trusted: true, CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := export(s); err != nil {
		t.Fatal(err)
	}
	return live() - before
}
