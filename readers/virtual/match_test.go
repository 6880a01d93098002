package virtual

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/readers"
	"varve/readers/readertest"
)

func regularOf(start, stride, count, block uint64) readers.Selection {
	one := func(n uint64) []uint64 { return []uint64{n} }
	return readers.Selection{Kind: readers.SelectRegular, Rank: 1, Start: one(start), Stride: one(stride), Count: one(count), Block: one(block)}
}

// elementsOf returns the positions of the selected elements.
func elementsOf(p *selectedElements) (out []uint64) {
	r := p.reader()
	for b, ok := r.next(); ok; b, ok = r.next() {
		for i := range b.length {
			out = append(out, uint64(b.start+i))
		}
	}
	return out
}

func TestPick(t *testing.T) {
	for _, c := range []struct {
		name  string
		s     readers.Selection
		shape []uint64
		want  []uint64
	}{
		{"all", readers.Selection{Kind: readers.SelectAll}, []uint64{2, 2}, []uint64{0, 1, 2, 3}},
		{"all of a scalar", readers.Selection{Kind: readers.SelectAll}, nil, []uint64{0}},
		{"none", readers.Selection{Kind: readers.SelectNone}, []uint64{2}, nil},
		{"blocks at distances", regularOf(1, 3, 2, 2), []uint64{9}, []uint64{1, 2, 4, 5}},
		{"adjacent blocks", regularOf(1, 2, 3, 2), []uint64{6}, []uint64{1, 2, 3, 4, 5}},
		{"without end", regularOf(1, 4, readers.Unlimited, 2), []uint64{8}, []uint64{1, 2, 5, 6}},
		{"one endless block", regularOf(3, 1, 1, readers.Unlimited), []uint64{6}, []uint64{3, 4, 5}},
		{"points", readers.Selection{Kind: readers.SelectPoints, Rank: 2, Cells: []uint64{1, 0, 0, 1}}, []uint64{2, 2}, []uint64{2, 1}},
		{"points outside", readers.Selection{Kind: readers.SelectPoints, Rank: 1, Cells: []uint64{9, 1}}, []uint64{6}, []uint64{1}},
		{"blocks", readers.Selection{Kind: readers.SelectBlocks, Rank: 1, Cells: []uint64{4, 5, 1, 1}}, []uint64{6}, []uint64{1, 4, 5}},
		{"blocks of columns", readers.Selection{Kind: readers.SelectBlocks, Rank: 2, Cells: []uint64{0, 0, 1, 1, 0, 3, 1, 3}}, []uint64{2, 4}, []uint64{0, 1, 3, 4, 5, 7}},
		{"blocks that are not whole columns", readers.Selection{Kind: readers.SelectBlocks, Rank: 2, Cells: []uint64{0, 0, 1, 0, 1, 3, 2, 3}}, []uint64{3, 4}, []uint64{0, 4, 7, 11}},
		{"overlapping blocks", readers.Selection{Kind: readers.SelectBlocks, Rank: 2, Cells: []uint64{0, 0, 1, 1, 1, 1, 1, 2}}, []uint64{2, 4}, []uint64{0, 1, 4, 5, 6}},
		{"blocks that are cut off", readers.Selection{Kind: readers.SelectBlocks, Rank: 2, Cells: []uint64{0, 0, 9, 0, 1, 3, 9, 9}}, []uint64{2, 4}, []uint64{0, 4, 7}},
		{"blocks of nothing", readers.Selection{Kind: readers.SelectBlocks, Rank: 2, Cells: []uint64{0, 0, 1, 1}}, []uint64{2, 0}, nil},
	} {
		p, err := selectElements(&c.s, c.shape)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := elementsOf(p); !slices.Equal(got, c.want) || p.count != int64(len(got)) {
			t.Errorf("%s: %v, %d, want %v", c.name, got, p.count, c.want)
		}
	}
}

// TestHostileSelections selects from huge arrays, and with numbers out of range: it must end,
// without much memory.
func TestHostileSelections(t *testing.T) {
	const large = 1 << 40
	blocks := readers.Selection{Kind: readers.SelectBlocks, Rank: 3, Cells: []uint64{0, 0, 0, 1 << 20, 1 << 20, 1 << 20, 1, 1, 1, 1 << 21, 1 << 21, 1 << 21}}
	for _, c := range []struct {
		name  string
		s     readers.Selection
		shape []uint64
		n     int64 // -1: an error
	}{
		{"all of an empty array", readers.Selection{Kind: readers.SelectAll}, []uint64{large, 0}, 0},
		{"all of a large array", readers.Selection{Kind: readers.SelectAll}, []uint64{large}, large},
		{"all of an array that is too large", readers.Selection{Kind: readers.SelectAll}, []uint64{large, large}, -1},
		{"blocks of nothing", regularOf(0, 1, readers.Unlimited, 0), []uint64{large}, 0},
		{"too many blocks", regularOf(0, 2, readers.Unlimited, 1), []uint64{large}, -1},
		{"a stride that overflows", regularOf(1, readers.Unlimited, readers.Unlimited, 1), []uint64{4}, 1},
		{"no stride", regularOf(1, 0, readers.Unlimited, 2), []uint64{4}, 2},
		{"a block that is cut off", regularOf(0, 3, 2, 2), []uint64{4}, 3},
		{"a list of large blocks", blocks, []uint64{large, large, large}, -1},
		{"another rank", blocks, []uint64{large}, -1},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := selectElements(&c.s, c.shape)
		runtime.ReadMemStats(&after)
		if (err != nil) != (c.n < 0) || err == nil && got.count != c.n {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<27 {
			t.Errorf("%s takes %d bytes", c.name, grown)
		}
	}
}

// chosen returns the positions that a regular selection selects, in C order.
func chosen(s *readers.Selection, shape []uint64) []int64 {
	out := []int64{0}
	for k, n := range shape {
		var more []int64
		for _, e := range out {
			for i := range s.Count[k] {
				for j := range s.Block[k] {
					if at := s.Start[k] + i*s.Stride[k] + j; at < n {
						more = append(more, e*int64(n)+int64(at))
					}
				}
			}
		}
		out = more
	}
	return out
}

// randomSelection selects n[k] indexes of axis k, and returns a shape that has them.
func randomSelection(r *rand.Rand, n []uint64) (readers.Selection, []uint64) {
	s := readers.Selection{Kind: readers.SelectRegular, Rank: len(n)}
	shape := make([]uint64, len(n))
	for k := range n {
		block := uint64(1)
		if n[k]%2 == 0 && r.IntN(2) == 0 {
			block = 2
		}
		count := n[k] / block
		stride, start := block+r.Uint64N(3), r.Uint64N(3)
		s.Start, s.Stride = append(s.Start, start), append(s.Stride, stride)
		s.Count, s.Block = append(s.Count, count), append(s.Block, block)
		shape[k] = start + (count-1)*stride + block + r.Uint64N(3)
	}
	return s, shape
}

// asBlocks returns a regular selection as a list of blocks, in random order.
func asBlocks(r *rand.Rand, s readers.Selection) readers.Selection {
	corners := [][2][]uint64{{}}
	for k := range s.Rank {
		var more [][2][]uint64
		for _, c := range corners {
			for i := range s.Count[k] {
				at := s.Start[k] + i*s.Stride[k]
				more = append(more, [2][]uint64{append(slices.Clone(c[0]), at), append(slices.Clone(c[1]), at+s.Block[k]-1)})
			}
		}
		corners = more
	}
	r.Shuffle(len(corners), func(i, j int) { corners[i], corners[j] = corners[j], corners[i] })
	out := readers.Selection{Kind: readers.SelectBlocks, Rank: s.Rank}
	for _, c := range corners {
		out.Cells = append(append(out.Cells, c[0]...), c[1]...)
	}
	return out
}

func signed(list []uint64) (out []int64) {
	for _, n := range list {
		out = append(out, int64(n))
	}
	return out
}

// TestMatch compares runs and boxes with the elements of two selections one by one.
func TestMatch(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		var n, wide []uint64
		for range 1 + r.IntN(3) {
			if r.IntN(3) == 0 {
				wide = append(wide, 1) // an axis that only the target has
			}
			n = append(n, 2+r.Uint64N(5))
			wide = append(wide, n[len(n)-1])
		}
		p := &Piece{}
		var source, target []uint64
		p.From, source = randomSelection(r, n)
		p.To, target = randomSelection(r, wide)
		want := map[int64]int64{}
		picked := chosen(&p.From, source)
		for i, e := range chosen(&p.To, target) {
			want[e] = picked[i]
		}
		if r.IntN(2) == 0 {
			p.From = asBlocks(r, p.From)
		}
		m, err := p.Match(source, target)
		if err != nil {
			t.Fatalf("%+v of %v to %v: %v", p, source, target, err)
		}
		checkRuns(t, m, want)
		checkRows(t, m, picked, source)
		boxes, err := m.Boxes()
		if err != nil {
			t.Fatalf("%+v of %v to %v: %v", p, source, target, err)
		}
		seen := 0
		err = boxes.Each(func(origin, start, shape []int64) error {
			there := readertest.Cells(boxes.Arrange(signed(source), 1), start, shape)
			for i, e := range readertest.Cells(signed(target), origin, shape) {
				if v, ok := want[e]; !ok || v != there[i] {
					return fmt.Errorf("%d is %d, want %d", e, there[i], v)
				}
				seen++
			}
			return nil
		})
		if err != nil || seen != len(want) {
			t.Fatalf("%+v of %v to %v: %d elements of %d, %v", p, source, target, seen, len(want), err)
		}
	}
}

func checkRuns(t *testing.T, m *Match, want map[int64]int64) {
	t.Helper()
	seen := 0
	err := m.Runs(func(to, from, n int64) error {
		for i := range n {
			if v, ok := want[to+i]; !ok || v != from+i {
				return fmt.Errorf("%d is %d, want %d", to+i, from+i, v)
			}
			seen++
		}
		return nil
	})
	if err != nil || seen != len(want) {
		t.Fatalf("%d elements of %d, %v", seen, len(want), err)
	}
}

func checkRows(t *testing.T, m *Match, picked []int64, source []uint64) {
	t.Helper()
	row := int64(1)
	for _, n := range source[1:] {
		row *= int64(n)
	}
	first, end := m.Rows()
	if first != slices.Min(picked)/row || end != slices.Max(picked)/row+1 {
		t.Fatalf("rows from %d to %d of %v, where elements are %v", first, end, source, picked)
	}
}

// TestMatchEndless: of unlimited selections, the smaller extent counts, index by index of the
// unlimited axes.
func TestMatchEndless(t *testing.T) {
	endless := func(axis int, other uint64) readers.Selection {
		s := readers.Selection{Kind: readers.SelectRegular, Rank: 2, Start: []uint64{0, 0}, Stride: []uint64{1, 1}, Count: []uint64{1, 1}, Block: []uint64{other, other}}
		s.Count[axis], s.Block[axis] = readers.Unlimited, 1
		return s
	}
	for _, c := range []struct {
		name           string
		from, to       readers.Selection
		source, target []uint64
		want           []int64 // of the elements of the target, -1 for none
	}{
		{"longer", endless(0, 2), endless(0, 2), []uint64{3, 2}, []uint64{2, 2}, []int64{0, 1, 2, 3}},
		{"shorter", endless(0, 2), endless(0, 2), []uint64{1, 2}, []uint64{2, 2}, []int64{0, 1, -1, -1}},
		{"shorter along the last axis", endless(1, 2), endless(1, 2), []uint64{2, 1}, []uint64{2, 3}, []int64{0, -1, -1, 1, -1, -1}},
		{"along another axis", endless(1, 2), endless(0, 2), []uint64{2, 3}, []uint64{3, 2}, []int64{0, 1, 2, 3, 4, 5}},
	} {
		p := &Piece{From: c.from, To: c.to}
		m, err := p.Match(c.source, c.target)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want := map[int64]int64{}
		for i, v := range c.want {
			if v >= 0 {
				want[int64(i)] = v
			}
		}
		checkRuns(t, m, want)
	}
}

func TestNoBoxes(t *testing.T) {
	one := func(n ...uint64) readers.Selection {
		s := readers.Selection{Kind: readers.SelectRegular, Rank: len(n)}
		for _, k := range n {
			s.Start, s.Stride = append(s.Start, 0), append(s.Stride, 1)
			s.Count, s.Block = append(s.Count, 1), append(s.Block, k)
		}
		return s
	}
	all := readers.Selection{Kind: readers.SelectAll}
	points := readers.Selection{Kind: readers.SelectPoints, Rank: 1, Cells: []uint64{3, 2, 1, 0}}
	for _, c := range []struct {
		name           string
		from, to       readers.Selection
		source, target []uint64
	}{
		{"other lengths", one(4, 6), one(6, 4), []uint64{4, 6}, []uint64{6, 4}},
		{"a plane of many", one(1, 6), one(6), []uint64{4, 6}, []uint64{6}},
		{"a plane of many, the last", one(6, 1), one(6), []uint64{6, 4}, []uint64{6}},
		{"points", points, all, []uint64{4}, []uint64{4}},
		{"another rank", one(4), all, []uint64{4, 4}, []uint64{4}},
		{"a source that is shorter now", one(4), all, []uint64{3}, []uint64{4}},
		{"a source that is longer now", all, all, []uint64{5}, []uint64{4}},
	} {
		p := &Piece{Source: Source{"other.h5", "x"}, From: c.from, To: c.to}
		m, err := p.Match(c.source, c.target)
		if err == nil {
			_, err = m.Boxes()
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", c.name, err)
		}
	}
}

// TestMatchBeyond: a block after the end of the virtual dataset selects nothing.
func TestMatchBeyond(t *testing.T) {
	p := &Piece{From: readers.Selection{Kind: readers.SelectAll}, To: regularOf(4, 4, 1, 4)}
	for length, want := range map[uint64]int64{4: 0, 8: 4, 6: -1} {
		m, err := p.Match([]uint64{4}, []uint64{length})
		if want < 0 && errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil || m.Elements() != want {
			t.Errorf("of a length of %d: %+v, %v", length, m, err)
			continue
		}
		boxes, err := m.Boxes()
		if err != nil || boxes.Len(9) != int(min(want, 1)) {
			t.Errorf("of a length of %d: %+v, %v", length, boxes, err)
		}
	}
}
