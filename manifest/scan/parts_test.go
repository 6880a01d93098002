package scan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve/readers"
)

// TestPanic holds that a failure within a reader is the failure of one source.
func TestPanic(t *testing.T) {
	s := &scanner{Options: &Options{}} // without what opens sources
	f := s.guarded(context.Background(), &job{name: "/a/file.nc"})
	if f.err == nil || f.url != "/a/file.nc" || !strings.Contains(f.err.Error(), "defect of varve") {
		t.Errorf("got %v", f.err)
	}
}

// TestRunBoxes holds that boxes are just the elements of a run, in their order.
func TestRunBoxes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		shape := make([]int64, r.IntN(4))
		n := int64(1)
		for k := range shape {
			shape[k] = 1 + r.Int64N(5)
			n *= shape[k]
		}
		a := r.Int64N(n + 1)
		b := a + r.Int64N(n-a+1)
		next, boxes := a, 0
		err := runBoxes(shape, a, b, func(origin, size []int64) error {
			boxes++
			for _, e := range cells(shape, origin, size) {
				if e != next {
					return fmt.Errorf("element %d where %d is next", e, next)
				}
				next++
			}
			return nil
		})
		if err != nil || next != b || boxes > 2*len(shape)+1 {
			t.Fatalf("%v from %d to %d: %d boxes up to %d, %v", shape, a, b, boxes, next, err)
		}
	}
}

// cells lists the elements of a box by their number in the array.
func cells(shape, origin, size []int64) []int64 {
	out := []int64{0}
	for k := range shape {
		var more []int64
		for _, e := range out {
			for i := range size[k] {
				more = append(more, e*shape[k]+origin[k]+i)
			}
		}
		out = more
	}
	return out
}

// chosen lists what a regular selection picks of an array, in C order.
func chosen(s *readers.Selection, shape []int64) []int64 {
	out := []int64{0}
	for k, n := range shape {
		var more []int64
		for _, e := range out {
			for i := range s.Count[k] {
				for j := range s.Block[k] {
					if at := int64(s.Start[k] + i*s.Stride[k] + j); at < n {
						more = append(more, e*n+at)
					}
				}
			}
		}
		out = more
	}
	return out
}

// randomSelection picks n[k] places of axis k, and returns an array that has them.
func randomSelection(r *rand.Rand, n []int64) (*readers.Selection, []int64) {
	s := &readers.Selection{Kind: readers.SelectRegular, Rank: len(n)}
	shape := make([]int64, len(n))
	for k := range n {
		block := uint64(1)
		if n[k]%2 == 0 && r.IntN(2) == 0 {
			block = 2
		}
		count := uint64(n[k]) / block
		stride, start := block+r.Uint64N(3), r.Uint64N(3)
		s.Start, s.Stride = append(s.Start, start), append(s.Stride, stride)
		s.Count, s.Block = append(s.Count, count), append(s.Block, block)
		shape[k] = int64(start+(count-1)*stride+block) + r.Int64N(3)
	}
	return s, shape
}

// TestAlign holds that alignments match the elements of two selections one by one.
func TestAlign(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		var n, wide []int64
		for range 1 + r.IntN(3) {
			if r.IntN(3) == 0 {
				wide = append(wide, 1) // an axis that only the target has
			}
			n = append(n, 2+r.Int64N(5))
			wide = append(wide, n[len(n)-1])
		}
		from, source := randomSelection(r, n)
		to, target := randomSelection(r, wide)
		want := map[int64]int64{}
		picked := chosen(from, source)
		for i, e := range chosen(to, target) {
			want[e] = picked[i]
		}
		a, err := align(from, to, source, target)
		if err != nil {
			t.Fatalf("%+v of %v to %+v of %v: %v", from, source, to, target, err)
		}
		seen := 0
		err = a.boxes(func(origin, start, shape []int64) error {
			there := cells(a.arrange(source, 1), start, shape)
			for i, e := range cells(target, origin, shape) {
				if v, ok := want[e]; !ok || v != there[i] {
					return fmt.Errorf("%d is %d, want %d", e, there[i], v)
				}
				seen++
			}
			return nil
		})
		if err != nil || seen != len(want) {
			t.Fatalf("%+v of %v to %+v of %v: %d elements of %d, %v", from, source, to, target, seen, len(want), err)
		}
	}
}

func TestAlignRefused(t *testing.T) {
	one := func(n ...uint64) *readers.Selection {
		s := &readers.Selection{Kind: readers.SelectRegular, Rank: len(n)}
		for _, k := range n {
			s.Start, s.Stride = append(s.Start, 0), append(s.Stride, 1)
			s.Count, s.Block = append(s.Count, 1), append(s.Block, k)
		}
		return s
	}
	all := &readers.Selection{Kind: readers.SelectAll}
	for _, c := range []struct {
		name           string
		from, to       *readers.Selection
		source, target []int64
		want           string
	}{
		{"other lengths", one(4, 6), one(6, 4), []int64{4, 6}, []int64{6, 4}, "do not match"},
		{"a plane of many", one(1, 6), one(6), []int64{4, 6}, []int64{6}, "do not match"},
		{"a plane of many, the last", one(6, 1), one(6), []int64{6, 4}, []int64{6}, "takes one place"},
		{"points", &readers.Selection{Kind: readers.SelectPoints}, all, []int64{4}, []int64{4}, "a list"},
		{"another rank", one(4), all, []int64{4, 4}, []int64{4}, "of 1 axes"},
	} {
		if _, err := align(c.from, c.to, c.source, c.target); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if a, err := align(all, &readers.Selection{Kind: readers.SelectNone}, []int64{4}, []int64{4}); err != nil || len(a.runs) != 0 {
		t.Errorf("nothing: %v, %v", a, err)
	}
}

func TestNumbered(t *testing.T) {
	for _, c := range []struct {
		pattern, want string
		ok            bool
	}{
		{"a.h5", "a.h5", true},
		{"a-%b.h5", "a-7.h5", true},
		{"%b/%b%%", "7/7%", true},
		{"a%d", "", false},
		{"a%", "", false},
	} {
		if got, ok := numbered(c.pattern, "7"); got != c.want && c.ok || ok != c.ok {
			t.Errorf("%q: %q, %v", c.pattern, got, ok)
		}
	}
}

func TestStretches(t *testing.T) {
	files := []readers.ExternalFile{{Name: "a", Offset: 5, Size: 10}, {Name: "b", Size: 0}, {Name: "c", Size: readers.Unlimited}}
	got, err := stretches(files, 25)
	want := []stretch{{"a", 5, 0, 10}, {"c", 0, 10, 15}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := stretches(files[:2], 25); err == nil {
		t.Error("values beyond the files are taken")
	}
}
