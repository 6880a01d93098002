package virtual

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"varve/readers"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		pattern, want string
		ok            bool
	}{
		{"a.h5", "a.h5", true},
		{"a-%b.h5", "a-7.h5", true},
		{"%b/%b%%", "7/7%", true},
		{"%%b", "%b", true},
		{"a%d", "", false},
		{"a%", "", false},
	} {
		if got, err := expand(c.pattern, "7"); got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: %q, %v", c.pattern, got, err)
		}
	}
}

// TestLengthFor: at the length that lengthFor returns, an unlimited selection has n indexes.
func TestLengthFor(t *testing.T) {
	for _, s := range []readers.Selection{
		regularOf(0, 5, readers.Unlimited, 5), regularOf(2, 7, readers.Unlimited, 3), regularOf(1, 1, 1, readers.Unlimited),
	} {
		for n := range uint64(40) {
			length, err := lengthFor(&s, 0, n)
			if got := countSelected(&s, 0, length); got != n || err != nil {
				t.Errorf("%+v: lengthFor of %d indexes is %d, at which %d are selected; %v", s, n, length, got, err)
			}
		}
	}
}

// part returns an unlimited mapping of rows of two columns: blocks of rows from first on, at equal
// distances.
func part(file, dataset string, first, stride, block uint64) readers.Mapping {
	all := readers.Selection{Kind: readers.SelectAll}
	return readers.Mapping{File: file, Dataset: dataset, From: all, To: readers.Selection{
		Kind: readers.SelectRegular, Rank: 2,
		Start: []uint64{first, 0}, Stride: []uint64{stride, 2}, Count: []uint64{readers.Unlimited, 1}, Block: []uint64{block, 2},
	}}
}

func TestPieces(t *testing.T) {
	there := map[string]bool{"a-0%.h5 x0": true, "a-1%.h5 x1": true, "a-3%.h5 x3": true, ". y": true}
	var seen []string
	all := readers.Selection{Kind: readers.SelectAll}
	err := Pieces([]readers.Mapping{
		part("a-%b%%.h5", "x%b", 5, 4, 3),
		{File: ".", Dataset: "y", From: all, To: all},
		part("none-%b.h5", "x", 5, 4, 3),
	}, func(p *Piece) (bool, error) {
		name := p.File + " " + p.Dataset
		if there[name] && p.To.Kind == readers.SelectRegular {
			name += fmt.Sprint(p.To.Start, p.To.Count)
		}
		seen = append(seen, name)
		return there[p.File+" "+p.Dataset], nil
	})
	want := []string{"a-0%.h5 x0[5 0] [1 1]", "a-1%.h5 x1[9 0] [1 1]", "a-2%.h5 x2", ". y", "none-0.h5 x"}
	if err != nil || !slices.Equal(seen, want) {
		t.Errorf("%q, %v, want %q", seen, err, want)
	}
	always := func(*Piece) (bool, error) { return true, nil }
	finite := part("%b", "x", 0, 1, 1)
	finite.To.Count = []uint64{1, 1}
	twice := part("%b", "x", 0, 1, 1)
	twice.From = twice.To
	for _, c := range []struct {
		m    readers.Mapping
		want error
	}{
		{part("%b", "x", 0, 1, 1), errors.ErrUnsupported},
		{part("%d", "x", 0, 1, 1), readers.ErrCorrupt},
		{finite, readers.ErrCorrupt},
		{twice, readers.ErrCorrupt},
		{part("%b", "x", 0, math.MaxUint64, 1), readers.ErrCorrupt},
	} {
		if err := Pieces([]readers.Mapping{c.m}, always); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}

func TestShape(t *testing.T) {
	shapes := map[Source][]uint64{{"long", "x"}: {9, 2}, {"short", "x"}: {2, 2}}
	for i := range 3 {
		shapes[Source{fmt.Sprint("n", i), "x"}] = []uint64{4, 2}
	}
	shapeOf := func(s Source) ([]uint64, bool, error) { return shapes[s], shapes[s] != nil, nil }
	endless := func(file string) readers.Mapping {
		m := part(file, "x", 0, 1, 1)
		m.From = m.To
		return m
	}
	fixed := endless("fixed")
	fixed.To.Start, fixed.To.Count = []uint64{3, 0}, []uint64{4, 1}
	anyLength := []uint64{readers.Unlimited, 2}
	finite := endless("long")
	finite.From = readers.Selection{Kind: readers.SelectAll}
	for _, c := range []struct {
		name     string
		mappings []readers.Mapping
		most     []uint64
		want     uint64 // 0: an error
	}{
		{"the longest", []readers.Mapping{endless("long"), endless("short"), endless("absent")}, anyLength, 9},
		{"numbers", []readers.Mapping{part("n%b", "x", 1, 5, 4)}, anyLength, 1 + 2*5 + 4},
		{"one with an end that reaches further", []readers.Mapping{endless("short"), fixed}, anyLength, 7},
		{"ends only", []readers.Mapping{fixed}, anyLength, 5},
		{"beyond the maximum", []readers.Mapping{endless("long")}, []uint64{8, 2}, 0},
		{"a source with an end", []readers.Mapping{finite}, anyLength, 0},
	} {
		got, err := Shape([]uint64{5, 2}, c.most, c.mappings, shapeOf)
		if c.want == 0 && err != nil {
			continue
		}
		if err != nil || !slices.Equal(got, []uint64{c.want, 2}) {
			t.Errorf("%s: %v, %v, want %d", c.name, got, err, c.want)
		}
	}
	if got, err := Shape([]uint64{5, 2}, anyLength, []readers.Mapping{endless("absent")}, shapeOf); err != nil || got[0] != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}
