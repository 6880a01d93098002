package scan_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"varve/fixtures/classic"
	"varve/fixtures/system"
	"varve/manifest/internal/planner"
	"varve/manifest/scan"
)

// TestMemoryOfManyHeaders checks the memory for an archive in which each file has its own attributes and units,
// and so its own header: a scan keeps only the differences for each file, and a plan allocates little for each.
func TestMemoryOfManyHeaders(t *testing.T) {
	const files, variables, most, mostPlanned = 400, 40, 4 << 10, 24 << 10
	dir := t.TempDir()
	names := make([]string, files)
	for i := range names {
		made := fmt.Sprintf("2020-01-01 %02d:%02d", i/60, i%60)
		f := classic.File{
			Dims:       []classic.Dim{{Name: "time", Length: 1}},
			Attributes: []classic.Attribute{{Name: "date_created", Value: made}},
			Vars: []classic.Var{{Name: "time", Dims: []string{"time"}, Data: []float64{0},
				Attributes: []classic.Attribute{{Name: "units", Value: "minutes since " + made}}}},
		}
		for k := range variables {
			v := classic.Var{Name: fmt.Sprintf("v%d", k), Dims: []string{"time"}, Data: []float32{1}}
			for _, name := range []string{"units", "long_name", "standard_name", "cell_methods", "grid_mapping", "comment"} {
				v.Attributes = append(v.Attributes, classic.Attribute{Name: name, Value: fmt.Sprintf("what %s of variable %d says", name, k)})
			}
			f.Vars = append(f.Vars, v)
		}
		names[i] = filepath.Join(dir, fmt.Sprintf("%03d.nc", i))
		if err := f.Write(names[i]); err != nil {
			t.Fatal(err)
		}
	}
	before := live()
	found, err := scan.Scan(t.Context(), names, &scan.Options{Sink: &discard{}})
	if err != nil {
		t.Fatal(err)
	}
	if each := (live() - before) / files; each > most {
		t.Errorf("a scan keeps %d bytes per file, want at most %d", each, most)
	}
	all := allocated()
	if _, err := planner.New(t.Context(), found.Files, nil, nil); err != nil {
		t.Fatal(err)
	}
	if each := (allocated() - all) / files; each > mostPlanned && !system.Race {
		t.Errorf("a plan allocates %d bytes per file, want at most %d", each, mostPlanned)
	}
	runtime.KeepAlive(found)
}

// TestMemoryOfDifferentFiles checks the memory for an archive in which each file has its own packing and range for each of
// 40 variables, and its own group attributes: a scan keeps only the values that differ, and so does a plan.
func TestMemoryOfDifferentFiles(t *testing.T) {
	// The findings of a plan have most of its memory: each lists up to 1,000 values.
	const files, variables, most, mostPlanned = 400, 40, 4 << 10, 8 << 10
	dir := t.TempDir()
	names := make([]string, files)
	for i := range names {
		f := classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "x", Length: 2}},
			Vars: []classic.Var{{Name: "time", Dims: []string{"time"}, Data: []float64{float64(i)}, Attributes: []classic.Attribute{{Name: "units", Value: "hours since 2020-01-01"}}}},
		}
		for k := range 7 {
			f.Attributes = append(f.Attributes, classic.Attribute{Name: fmt.Sprint("attribute_", k), Value: fmt.Sprintf("%032d", 7*i+k)})
		}
		for k := range variables {
			f.Vars = append(f.Vars, classic.Var{Name: fmt.Sprintf("v%d", k), Dims: []string{"time", "x"}, Data: []int16{1, 2}, Attributes: []classic.Attribute{
				{Name: "long_name", Value: fmt.Sprint("variable ", k)}, {Name: "units", Value: "K"},
				{Name: "scale_factor", Value: []float64{0.01 + float64(i*variables+k)/1e9}},
				{Name: "actual_range", Value: []float64{float64(i), float64(i + k)}}}})
		}
		names[i] = filepath.Join(dir, fmt.Sprintf("%03d.nc", i))
		if err := f.Write(names[i]); err != nil {
			t.Fatal(err)
		}
	}
	before := live()
	found, err := scan.Scan(t.Context(), names, &scan.Options{Sink: &discard{}})
	if err != nil {
		t.Fatal(err)
	}
	scanned := live()
	if each := (scanned - before) / files; each > most {
		t.Errorf("a scan keeps %d bytes per file, want at most %d", each, most)
	}
	plan, err := planner.New(t.Context(), found.Files, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if each := (live() - scanned) / files; each > mostPlanned {
		t.Errorf("a plan keeps %d bytes per file, want at most %d", each, mostPlanned)
	}
	runtime.KeepAlive(found)
	runtime.KeepAlive(plan)
}

// allocated returns the bytes allocated so far.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// live returns the bytes of reachable memory.
func live() int64 {
	var m runtime.MemStats
	for range 2 { // the first collection may only empty pools
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
