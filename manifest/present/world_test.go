package present

import (
	"fmt"
	"path/filepath"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/store"
)

// threeMonths returns three files with four days each, on a decreasing latitude:
//
//	short sst(time, lat, lon)     packed, with _FillValue
//	int flags(lat)                with flag_masks
//	double area(lat, lon)         a coordinate of two dimensions
func threeMonths(t testing.TB, calendar string) []classic.File {
	t.Helper()
	var files []classic.File
	for f := range 3 {
		var times, bounds []float64
		var sst []int16
		for i := range 4 {
			day := 27 + 4*f + i // from 28 January on
			times = append(times, float64(day)+0.5)
			bounds = append(bounds, float64(day), float64(day+1))
			for c := range 12 {
				value := int16(100*day + c)
				if c == 5 {
					value = -999
				}
				sst = append(sst, value)
			}
		}
		files = append(files, classic.File{
			Dims:       []classic.Dim{{Name: "time", Length: 4, Records: true}, {Name: "lat", Length: 3}, {Name: "lon", Length: 4}, {Name: "nv", Length: 2}},
			Attributes: []classic.Attribute{{Name: "title", Value: "three months"}, {Name: "Conventions", Value: "CF-1.8"}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Data: times, Attributes: []classic.Attribute{
					{Name: "units", Value: "days since 2010-01-01"}, {Name: "calendar", Value: calendar}, {Name: "bounds", Value: "time_bnds"}}},
				{Name: "time_bnds", Dims: []string{"time", "nv"}, Data: bounds},
				{Name: "lat", Dims: []string{"lat"}, Data: []float32{10.1, 0, -10.1}, Attributes: []classic.Attribute{{Name: "units", Value: "degrees_north"}}},
				{Name: "lon", Dims: []string{"lon"}, Data: []float64{0, 90, 180, 270}, Attributes: []classic.Attribute{{Name: "units", Value: "degrees_east"}}},
				{Name: "sst", Dims: []string{"time", "lat", "lon"}, Data: sst, Attributes: []classic.Attribute{
					{Name: "long_name", Value: "surface temperature"}, {Name: "units", Value: "K"}, {Name: "scale_factor", Value: []float64{0.01}}, {Name: "add_offset", Value: []float64{273.15}},
					{Name: "_FillValue", Value: []int16{-999}}, {Name: "coordinates", Value: "area flags"}}},
				{Name: "area", Dims: []string{"lat", "lon"}, Data: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
				{Name: "flags", Dims: []string{"lat"}, Data: []int32{1, 2, 4}, Attributes: []classic.Attribute{{Name: "flag_masks", Value: []int32{1, 2, 4}}}},
			},
		})
	}
	return files
}

// built makes a manifest of files and opens it.
func built(t testing.TB, files []classic.File) *store.Store {
	t.Helper()
	dir := t.TempDir()
	opts := &ingest.Options{Plan: plan.Options{}}
	for i := range files {
		name := filepath.Join(dir, fmt.Sprintf("f%02d.nc", i))
		if err := files[i].Write(name); err != nil {
			t.Fatal(err)
		}
		opts.Sources.Names = append(opts.Sources.Names, name)
	}
	return opened(t, filepath.Join(dir, "a.varve"), opts)
}

// opened builds a manifest and opens it.
func opened(t testing.TB, out string, opts *ingest.Options) *store.Store {
	t.Helper()
	if _, err := ingest.Build(t.Context(), out, opts); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func arrayOf(t testing.TB, st *store.Store, name string) *store.Array {
	t.Helper()
	a, err := st.Array(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// selected selects by index and by coordinate.
func selected(t testing.TB, st *store.Store, name string, isel, sel []string) *Selection {
	t.Helper()
	s := Whole(arrayOf(t, st, name))
	if err := s.ByIndex(isel); err != nil {
		t.Fatal(err)
	}
	if err := s.ByCoordinate(t.Context(), st, sel); err != nil {
		t.Fatal(err)
	}
	return s
}

func decoderOf(t testing.TB, s *Selection, decode bool) *Decoder {
	t.Helper()
	d, err := NewDecoder(s.Array, &DecoderOptions{Packed: !decode})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
