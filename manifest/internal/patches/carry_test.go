package patches

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
)

func tile(file int, origin, length int64) manifest.Tile {
	return manifest.Tile{File: file, Origin: []int64{origin}, Start: []int64{0}, Shape: []int64{length}}
}

// TestFindDisplacement checks whether tiles that moved together are recognised.
func TestFindDisplacement(t *testing.T) {
	old := []manifest.Tile{tile(0, 0, 3), tile(1, 3, 4), tile(2, 7, 3)}
	cut := tile(1, 3, 4)
	cut.Start = []int64{1}
	for name, test := range map[string]struct {
		now  []manifest.Tile
		want []int64
	}{
		"same":        {old, []int64{0}},
		"after":       {append(slices.Clone(old), tile(3, 10, 2)), []int64{0}},
		"before":      {[]manifest.Tile{tile(3, 0, 5), tile(0, 5, 3), tile(1, 8, 4), tile(2, 12, 3)}, []int64{5}},
		"between":     {[]manifest.Tile{old[0], tile(3, 3, 1), tile(1, 4, 4), tile(2, 8, 3)}, nil},
		"inside":      {append(slices.Clone(old), tile(3, 4, 1)), nil},
		"overlapping": {append(slices.Clone(old), tile(3, 9, 2)), nil},
		"one fewer":   {old[:2], nil},
		"shortened":   {[]manifest.Tile{old[0], cut, old[2]}, nil},
		"other file":  {[]manifest.Tile{old[0], tile(4, 3, 4), old[2]}, nil},
		"reversed":    {[]manifest.Tile{tile(2, 0, 3), tile(1, 3, 4), tile(0, 7, 3)}, nil},
		"first gone":  {[]manifest.Tile{tile(1, 0, 4), tile(2, 4, 3)}, nil},
		"none":        {nil, nil},
	} {
		if got := findDisplacement(old, test.now); !slices.Equal(got, test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	if got := findDisplacement(old[1:], old[1:]); !slices.Equal(got, []int64{0}) {
		t.Errorf("tiles that start after 0: got %v, want [0]", got)
	}
}

// dimension returns a dimension with these edges.
func dimension(t testing.TB, extent int64, edges ...int64) grid.Dimension {
	t.Helper()
	var runs []grid.Run
	for _, e := range edges {
		runs = append(runs, grid.Run{Edge: grid.Full(e), Count: 1})
	}
	d, err := grid.RunLength(runs...).Bind(extent)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCountCommon checks how many chunks two dimensions share.
func TestCountCommon(t *testing.T) {
	fixed := func(size, extent int64) grid.Dimension {
		d, err := grid.NewFixed(size, extent)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, test := range []struct {
		name  string
		a, b  grid.Dimension
		first int64
		want  int64
	}{
		{"grown", fixed(10, 30), fixed(10, 50), 0, 3},
		{"grown within a chunk", fixed(10, 25), fixed(10, 50), 0, 2},
		{"the same end", fixed(10, 25), fixed(10, 25), 0, 3},
		{"after other chunks", fixed(10, 30), fixed(10, 50), 2, 3},
		{"merged at the end", dimension(t, 7, 5, 1, 1), dimension(t, 7, 5, 2), 0, 1},
		{"regular and rectilinear", fixed(5, 15), dimension(t, 20, 5, 5, 5, 5), 0, 3},
		{"no chunk", fixed(5, 15), fixed(3, 15), 0, 0},
	} {
		if got := countCommon(test.a, test.b, test.first); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// TestSpliceEdges checks that older edges replace newer ones only between chunk boundaries.
func TestSpliceEdges(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, now grid.Dimension
		from     int64
		want     string
	}{
		{"newer chunks after", dimension(t, 6, 3, 3), dimension(t, 8, 1, 1, 1, 1, 1, 1, 1, 1), 0, "[{{3 3} 2} {{1 1} 2}]"},
		{"newer chunks before", dimension(t, 6, 3, 3), dimension(t, 8, 1, 1, 1, 1, 1, 1, 1, 1), 2, "[{{1 1} 2} {{3 3} 2}]"},
		{"no boundary at the start", dimension(t, 6, 3, 3), dimension(t, 8, 1, 2, 2, 2, 1), 0, "[]"},
		{"no boundary at the end", dimension(t, 6, 3, 3), dimension(t, 8, 4, 4), 0, "[]"},
		{"too long", dimension(t, 6, 3, 3), dimension(t, 7, 1, 6), 2, "[]"},
		{"last chunk extends beyond", dimension(t, 5, 3, 3), dimension(t, 8, 3, 2, 3), 0, "[]"},
	} {
		if got := fmt.Sprint(spliceEdges(test.old, test.now, test.from)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestMove moves chunks along an axis and drops some, several times, and checks that a run of compacted
// chunks still finds each chunk.
func TestMove(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		line := make([]int64, 1+r.IntN(6)) // the number that each chunk had at first; -1 for a new chunk
		for i := range line {
			line[i] = int64(i)
		}
		n := int64(len(line))
		p := manifest.Patched{Counts: []int64{n}, Shift: []int64{0}, Limit: []int64{n}}
		for range 4 {
			before, stay, after := r.IntN(3), r.IntN(len(line)+1), r.IntN(3)
			next := slices.Repeat([]int64{-1}, before)
			next = append(next, line[:stay]...)
			next = append(next, slices.Repeat([]int64{-1}, after+1)...)
			p.Move(0, int64(before), int64(stay))
			line = next
			for at, want := range line {
				got, ok := p.Number([]int64{int64(at)})
				if ok != (want >= 0) || ok && got != want {
					t.Fatalf("seed %d: chunk %d of %v: got %d, %v from %+v", seed, at, line, got, ok, p)
				}
			}
		}
	}
}
