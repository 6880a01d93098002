package zarrstore

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
)

// indexer returns a random selection of one of the five kinds.
func (c chance) indexer(t testing.TB, g *grid.Grid) *grid.Indexer {
	t.Helper()
	shape := g.Shape()
	selectors := make([]grid.Selector, len(shape))
	arrays := make([]grid.Array, len(shape))
	elements, points := int64(1), c.Int64N(6)
	for _, n := range shape {
		elements *= n
		if n == 0 {
			points = 0
		}
	}
	var ix *grid.Indexer
	var err error
	switch kind := c.IntN(5); kind {
	case 0, 1: // basic, orthogonal
		for k, n := range shape {
			selectors[k] = grid.Range(c.Int64N(n+1), c.Int64N(n+1)).By(1 + c.Int64N(3))
			switch pick := c.IntN(4); {
			case n > 0 && pick == 0:
				selectors[k] = grid.At(c.Int64N(n))
			case n > 0 && pick == 1 && kind == 1:
				selectors[k] = grid.Indices(c.indices(n, c.Int64N(6))...)
			case pick == 2 && kind == 1:
				selectors[k] = grid.Where(c.mask(n))
			}
		}
		if ix, err = grid.Basic(g, selectors...); kind == 1 {
			ix, err = grid.Orthogonal(g, selectors...)
		}
	case 2:
		for k, n := range shape {
			arrays[k] = grid.Line(c.indices(n, points)...)
		}
		ix, err = grid.Coordinate(g, arrays...)
	case 3:
		ix, err = grid.Mask(g, c.mask(elements))
	case 4:
		for k, n := range g.Counts() {
			selectors[k] = grid.All()
			if n > 0 {
				selectors[k] = grid.From(c.Int64N(n))
			}
		}
		ix, err = grid.Block(g, selectors...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func (c chance) indices(n, count int64) []int64 {
	list := make([]int64, count)
	for i := range list {
		list[i] = c.Int64N(n)
	}
	return list
}

func (c chance) mask(n int64) []bool {
	mask := make([]bool, n)
	for i := range mask {
		mask[i] = c.IntN(3) == 0
	}
	return mask
}

// selected copies elements between a whole array and a selection.
func (p *plain) selected(t testing.TB, ix *grid.Indexer, out codec.Elems, write bool) {
	t.Helper()
	var err error
	for c := ix.Project(); c.Next(); {
		window := p.region()
		window.Origin = slices.Clone(window.Origin)
		for k, origin := range c.Origin {
			window.Origin[k] -= origin
		}
		unit := int64(p.form.Type.Size)
		switch {
		case unit == 0 && write:
			err = grid.Scatter(&c.Projection, grid.Window[[]byte]{Data: p.elems.Var, Region: window}, out.Var, 1)
		case unit == 0:
			err = grid.Gather(&c.Projection, out.Var, grid.Window[[]byte]{Data: p.elems.Var, Region: window}, 1)
		case write:
			err = grid.Scatter(&c.Projection, grid.Window[byte]{Data: p.elems.Fixed, Region: window}, out.Fixed, unit)
		default:
			err = grid.Gather(&c.Projection, out.Fixed, grid.Window[byte]{Data: p.elems.Fixed, Region: window}, unit)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSelections reads and writes random selections of random arrays, and of arrays in memory.
func TestSelections(t *testing.T) {
	seed := soak.Seed(t)
	for round := range 60 {
		c := chance{rand.New(rand.NewPCG(seed, uint64(round)))}
		name := fmt.Sprintf("seed %d, round %d", seed, round)
		a, err := Create(t.Context(), filepath.Join(t.TempDir(), "a"), c.schema(t, 3), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		twin := newPlain(a.Schema().Form(slices.Clone(a.Shape())))
		x := &trial{chance: c, array: a, twin: twin}
		for range 6 {
			ix := c.indexer(t, a.Grid())
			src := c.elems(twin.of(ix.Shape()))
			if err := a.Write(t.Context(), ix, src); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			twin.selected(t, ix, src, true)
			ix = c.indexer(t, a.Grid())
			got, want := codec.NewElems(twin.of(ix.Shape())), codec.NewElems(twin.of(ix.Shape()))
			if err := a.Read(t.Context(), ix, got); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if twin.selected(t, ix, want, false); !sameElems(got, want) {
				t.Fatalf("%s: selection of shape %v: got %v, want %v", name, ix.Shape(), got, want)
			}
		}
		x.compare(t)
		x.checkFiles(t)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestSelectionRefuses(t *testing.T) {
	a, err := Create(t.Context(), filepath.Join(t.TempDir(), "a"), schema16(t, 10, 6, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	ix, err := grid.Basic(a.Grid(), grid.Range(0, 5))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Read(t.Context(), ix, line(4, 0)); err == nil {
		t.Error("4 elements are room for 5")
	}
	if err := a.Resize(t.Context(), []int64{11}); err != nil {
		t.Fatal(err)
	}
	if err := a.Write(t.Context(), ix, line(5, 0)); err == nil {
		t.Error("an indexer of the array before it was resized is used")
	}
}
