package geo_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/codec"
	"varve/codec/grib/geo"
	"varve/codec/grib/section"
)

// definitions returns the grid definitions of the sample files, with their editions.
func definitions(t testing.TB) (editions []int, sections [][]byte) {
	t.Helper()
	names, err := filepath.Glob("../../../fixtures/grib/*.grib")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		view := section.ViewOf(b)
		h, err := section.ReadHeader(view, 0, int64(len(b)))
		if err != nil {
			continue // the file begins with the header of a bulletin
		}
		list, err := section.Walk(view, 0, h.Length, h.Edition)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if s.Number == map[int]int{1: 2, 2: 3}[h.Edition] {
				editions, sections = append(editions, h.Edition), append(sections, b[s.Offset:s.Offset+s.Length])
			}
		}
	}
	if len(sections) < 8 {
		t.Fatalf("the samples have %d grid definitions, want at least 8", len(sections))
	}
	return editions, sections
}

// TestPlanes checks that the first point of each projected grid is the one in the definition, and that the plane has as many columns
// and rows as the grid.
func TestPlanes(t *testing.T) {
	editions, sections := definitions(t)
	planes := 0
	for i, s := range sections {
		g, err := geo.Parse(editions[i], s)
		if err != nil {
			t.Fatal(err)
		}
		p, err := g.Plane()
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		planes++
		lat, lon := make([]float64, g.Points), make([]float64, g.Points)
		if err := g.Coordinates(lat, lon); err != nil {
			t.Fatal(err)
		}
		first, _ := g.Degrees("latitudeOfFirstGridPoint")
		east, _ := g.Degrees("longitudeOfFirstGridPoint")
		if math.Abs(lat[0]-first) > 1e-9 || math.Abs(math.Remainder(lon[0]-east, 360)) > 1e-9 || len(p.X) != g.Ni || len(p.Y) != g.Nj {
			t.Errorf("%s: the first point is %g, %g, want %g, %g; %d × %d coordinates, want %d × %d", g.Type, lat[0], lon[0], first, east, len(p.X), len(p.Y), g.Ni, g.Nj)
		}
	}
	if planes < 2 {
		t.Errorf("the samples have %d projected grids, want at least 2", planes)
	}
}

// TestHugeLongitudes parses a reduced Gaussian grid whose longitudes are far outside a circle.
func TestHugeLongitudes(t *testing.T) {
	s := make([]byte, 72, 76)
	s[4], s[10], s[13] = 3, 2, 40
	binary.BigEndian.PutUint32(s[6:], 8)
	binary.BigEndian.PutUint32(s[30:], 1<<32-1) // Ni is missing
	binary.BigEndian.PutUint32(s[34:], 2)       // Nj
	binary.BigEndian.PutUint32(s[38:], 1<<31)   // basic angle
	binary.BigEndian.PutUint32(s[42:], 1)       // subdivisions
	binary.BigEndian.PutUint32(s[50:], 1<<31-1) // first longitude
	binary.BigEndian.PutUint32(s[67:], 1)       // N
	s = append(s, 0, 4, 0, 4)
	g, err := geo.Parse(2, s)
	if err != nil || g.Type != "reduced_gg" || len(g.Rows) != 2 {
		t.Fatal(g, err)
	}
	done := make(chan error, 1)
	go func() { done <- g.Coordinates(make([]float64, 8), make([]float64, 8)) }()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Coordinates does not return")
	}
}

// FuzzGrid parses arbitrary bytes as a grid definition, and computes the coordinates of up to a million points. Errors must be
// codec.ErrCorrupt or errors.ErrUnsupported.
func FuzzGrid(f *testing.F) {
	editions, sections := definitions(f)
	for i, s := range sections {
		f.Add(editions[i], s)
	}
	f.Fuzz(func(t *testing.T, edition int, b []byte) {
		if edition != 1 {
			edition = 2
		}
		g, err := geo.Parse(edition, b)
		if err == nil && g.Points >= 0 && g.Points <= 1<<20 {
			err = g.Coordinates(make([]float64, g.Points), make([]float64, g.Points))
		}
		if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("error %v is neither codec.ErrCorrupt nor errors.ErrUnsupported", err)
		}
	})
}
