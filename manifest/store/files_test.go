package store

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
)

// countedTables counts the headers that are read.
type countedTables struct {
	*memoryTables
	headers atomic.Int64
}

func (c *countedTables) Header(ctx context.Context, id string) (*manifest.Header, error) {
	c.headers.Add(1)
	return c.memoryTables.Header(ctx, id)
}

// TestHeadersAreReadWhenNeeded checks that reading one file reads only its header, and only once, if each file
// has its own header.
func TestHeadersAreReadWhenNeeded(t *testing.T) {
	const files = 20
	m, snap, truth := archive(t, files, true)
	for i, s := range m.sources {
		h := &manifest.Header{Variables: append(slices.Clone(m.headers[s.Header].Variables), &manifest.Variable{Path: fmt.Sprintf("/only in %d", i)})}
		h.SetID()
		m.headers[h.ID] = h
		s.Header = h.ID
	}
	c := &countedTables{memoryTables: m}
	s, err := newStore(snap, c, nil, &Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Array("/v")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		day := grid.Region{Origin: []int64{16 * 7, 0}, Shape: []int64{16, 64}}
		e := codec.NewElems(a.Schema().Form(day.Shape))
		if err := a.ReadRegion(t.Context(), day, e); err != nil || !slices.Equal(e.Fixed, truth[16*7*64*4:][:16*64*4]) {
			t.Fatalf("wrong values, or %v", err)
		}
	}
	if n := c.headers.Load(); n != 1 {
		t.Errorf("read %d headers for one file", n)
	}
	if got, err := readAll(t.Context(), t, s); err != nil || !slices.Equal(got, truth) {
		t.Errorf("wrong values, or %v", err)
	}
	if n := c.headers.Load(); n != files {
		t.Errorf("read %d headers of %d files", n, files)
	}
}
