package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/grid"
	"varve/manifest/store"
	"varve/readers/source/storetest"
)

// TestManifestsAreNoSources: a manifest among the objects of its archive is left out.
func TestManifestsAreNoSources(t *testing.T) {
	m := storetest.NewMemory(t)
	for _, name := range []string{"1.nc", "out.varve/current", "out.varve/snapshots/1.json"} {
		m.Put("bucket/m/"+name, []byte("x"))
	}
	all := &Sources{Names: []string{"s3://bucket/m/"}}
	names, err := all.Expand(t.Context())
	if err != nil || !slices.Equal(names, []string{"s3://bucket/m/1.nc"}) || !slices.Equal(all.Skipped()[ManifestOutput], []string{"s3://bucket/m/out.varve"}) {
		t.Errorf("got %q, skipped %q, %v", names, all.Skipped(), err)
	}
	for _, pattern := range []string{"s3://bucket/**/1.nc", "s3://bucket/?/**/*.nc", "s3://bucket/m/**/*.nc", "s3://bucket/**/m"} {
		got, err := (&Sources{Names: []string{pattern}}).Expand(t.Context())
		if want := []string{"s3://bucket/m/1.nc"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
	got, err := (&Sources{Names: []string{"s3://bucket/m/"}, Match: "*.nc"}).Expand(t.Context())
	if want := []string{"s3://bucket/m/1.nc"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, not %q", got, err, want)
	}
}

// TestRequestsOfMany builds a manifest of 1,000 sources in an object store, and counts the requests:
// there are few, however many sources there are.
func TestRequestsOfMany(t *testing.T) {
	const files = 1000
	dir := t.TempDir()
	for i := range files {
		f := &classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 1, Records: true}, {Name: "x", Length: 2}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []float64{float64(i)}},
				{Name: "v", Dims: []string{"time", "x"}, Data: []int16{int16(i), int16(-i)}},
			},
		}
		if err := f.Write(filepath.Join(dir, fmt.Sprintf("%04d.nc", i))); err != nil {
			t.Fatal(err)
		}
	}
	last := filepath.Join(dir, "0999.nc")
	late := filepath.Join(t.TempDir(), "0999.nc")
	if err := os.Rename(last, late); err != nil {
		t.Fatal(err)
	}
	m := storetest.NewMemory(t)
	const out = "s3://bucket/many.varve"
	if _, err := Build(t.Context(), out, &Options{Sources: Sources{Names: []string{dir}}}); err != nil {
		t.Fatal(err)
	}
	if log := m.Log(); len(log) != 17 {
		t.Errorf("building takes %d requests: %q", len(log), log)
	}
	s, err := store.Open(t.Context(), out, &store.Options{Allow: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if log := m.Log(); len(log) != 2 {
		t.Errorf("opening takes %d requests: %q", len(log), log)
	}
	a, err := s.Array("v")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		values := codec.NewElems(a.Schema().Form([]int64{files - 1, 2}))
		x, err := grid.Basic(a.Grid(), grid.All(), grid.All())
		if err == nil {
			err = a.Read(t.Context(), x, values)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if log := m.Log(); len(log) > 5 {
		t.Errorf("reading all takes %d requests: %q", len(log), log)
	}
	if _, err := Append(t.Context(), out, &Options{Sources: Sources{Names: []string{late}}}); err != nil {
		t.Fatal(err)
	}
	// current twice, the snapshot, 4 for the lease and its end, 4 old tables, 5 new files, and current.
	if log := m.Log(); len(log) != 18 {
		t.Errorf("appending takes %d requests: %q", len(log), log)
	}
}
