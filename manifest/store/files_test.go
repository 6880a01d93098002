package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
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

// TestHeadersKeepNeededAttributes checks that files whose headers differ only in attributes on which no value depends share
// one header in memory, and that the others have their own values.
func TestHeadersKeepNeededAttributes(t *testing.T) {
	const files = 20
	m, snap, _ := archive(t, files, true)
	number := func(name string, value float64) manifest.Attribute {
		return manifest.Attribute{Name: name, Type: codec.Type{Kind: codec.Float, Size: 8}, Scalar: true,
			Data: binary.LittleEndian.AppendUint64(nil, math.Float64bits(value))}
	}
	scale := func(i int) float64 { return float64(1 + i%2) }
	for i, s := range m.sources {
		h := &manifest.Header{Dimensions: m.headers[s.Header].Dimensions}
		for _, v := range m.headers[s.Header].Variables {
			own := *v
			own.Attributes = append(slices.Clone(v.Attributes), number("actual_range", float64(i)), number("scale_factor", scale(i)))
			h.Variables = append(h.Variables, &own)
		}
		h.SetID()
		m.headers[h.ID] = h
		s.Header = h.ID
	}
	s, err := newStore(snap, m, nil, &Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	index, err := s.files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[*manifest.FileHeader]bool{}
	for i := range files {
		h, err := index.Header(t.Context(), int64(i))
		if err != nil {
			t.Fatal(err)
		}
		found[h] = true
		attributes := h.Variable(0).Attributes
		if want := number("scale_factor", scale(i)); !reflect.DeepEqual(attributes[len(attributes)-1], want) {
			t.Errorf("file %d: %+v, want %+v", i, attributes, want)
		}
	}
	if len(found) != 2 {
		t.Errorf("%d files have %d headers in memory, want 2", files, len(found))
	}
}
