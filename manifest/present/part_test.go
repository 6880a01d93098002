package present

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
)

// whole reads all elements of an array.
func wholeOf(t *testing.T, a *store.Array) codec.Elems {
	t.Helper()
	region := grid.Whole(a.Grid().Shape())
	e := codec.NewElems(a.Schema().Form(region.Shape))
	if err := a.ReadRegion(t.Context(), region, e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCut cuts random parts of an archive, and compares each array with a selection of it.
func TestCut(t *testing.T) {
	st := built(t, threeMonths(t, "noleap"))
	for seed := range soak.Seeds(t, 60) {
		random := rand.New(rand.NewPCG(seed, 5))
		var p Part
		for dim, n := range map[string]int{"time": 12, "lat": 3, "lon": 4} {
			from := random.IntN(n)
			to := from + random.IntN(n-from+1)
			p.Index = append(p.Index, []string{
				fmt.Sprintf("%s=%d:%d", dim, from, to), fmt.Sprintf("%s=%d", dim, from), fmt.Sprintf("%s=::%d", dim, 1+random.IntN(3)),
				fmt.Sprintf("%s=[%d,%d,%d]", dim, random.IntN(n), from, random.IntN(n)), dim + "=::-1", dim + "=:",
			}[random.IntN(6)])
		}
		cut, err := p.Cut(t.Context(), st)
		if err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		for _, a := range cut.Arrays() {
			of, err := st.Array(a.Path())
			if err != nil {
				t.Fatal(err)
			}
			selections, err := SelectAll(t.Context(), st, []*store.Array{of}, narrowing(of, p.Index), nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := selections[0].read(t.Context(), codec.Elems{})
			if err != nil {
				t.Fatal(err)
			}
			if got := wholeOf(t, a); !slices.Equal(got.Fixed, want.Fixed) {
				t.Errorf("seed %d: %v: %s has %v, want %v", seed, p.Index, a.Path(), got.Fixed, want.Fixed)
			}
		}
	}
}

// narrowing returns the terms of dimensions that an array has.
func narrowing(a *store.Array, terms []string) []string {
	return slices.DeleteFunc(slices.Clone(terms), func(term string) bool { return !hasDim(a, term) })
}

// TestCutChunks: chunks inside of a part are served verbatim, those that it cuts are re-encoded.
func TestCutChunks(t *testing.T) {
	st := built(t, threeMonths(t, "noleap")) // of chunks of one time
	p := Part{Vars: []string{"sst"}, Index: []string{"time=3:9"}}
	for name, test := range map[string]struct {
		index string
		kind  manifest.ChunkKind
	}{"whole chunks": {"lat=:", manifest.Verbatim}, "cut": {"lon=1:3", manifest.Reencoded}} {
		t.Run(name, func(t *testing.T) {
			p := Part{Vars: p.Vars, Index: append(slices.Clone(p.Index), test.index)}
			cut, err := p.Cut(t.Context(), st)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, a := range cut.Arrays() {
				names = append(names, a.Path())
			}
			if got := strings.Join(names, " "); !strings.Contains(got, "/sst") || !strings.Contains(got, "/lat") || !strings.Contains(got, "/area") || cut.Snapshot().ID == st.Snapshot().ID {
				t.Errorf("arrays %s", got)
			}
			a := arrayOf(t, cut, "sst")
			for w := a.Grid().Walk(); w.Next(); {
				if l, err := a.Locate(t.Context(), w.Coords); err != nil || l.Kind != test.kind {
					t.Errorf("chunk %v: %v (%v)", w.Coords, l.Kind, err)
				}
			}
		})
	}
	var e *SelectionError
	for _, p := range []Part{{Vars: []string{"nothing"}}, {Index: []string{"depth=1"}}, {Label: []string{"lat=99"}}} {
		if _, err := p.Cut(t.Context(), st); !errors.As(err, &e) {
			t.Errorf("%+v: got %v", p, err)
		}
	}
}
