package grid

import (
	"iter"
	"math"
	"slices"
)

// table is a run-length encoding with prefix sums over the runs. Run i has the edges
// marks[i].first … marks[i+1].first−1, which cover the indices marks[i].offset …
// marks[i+1].offset−1:
//
//	runs      [10, 3]   [20, 1]   [10, 2]
//	offset     0         30        50        70
//	first      0         3         4         6
//	padding    0         0         2
//
// The data size is the quotient of two differences, the codec size that plus the padding.
// A dimension shorter than 2^32 takes 8 bytes per run whatever its count, a longer one
// 16; padding takes 4 more, or 8 if it is that large; and the guides 8 for every 16 runs.
// So no run takes more than 24.5 bytes, and most take 8.5.
type table struct {
	narrow  marks[uint32]
	wide    marks[int64] // used if narrow is nil
	padding *padding     // nil if no edge is padded
	guides  *guides      // nil if there are few runs
}

// makeTable returns the table of runs that Sum has accepted.
func makeTable(runs []Run) table {
	n, length, padded := 0, int64(0), int64(0)
	for run := range Merge(slices.Values(runs)) {
		n++
		length += run.Data * run.Count
		padded = max(padded, run.Codec-run.Data)
	}
	t := table{padding: makePadding(n, padded)}
	// Offsets and chunk numbers are both at most length, so one check covers both
	// columns.
	if length <= math.MaxUint32 {
		t.narrow = makeMarks[uint32](n, runs)
		t.guides = makeGuides(t.narrow)
	} else {
		t.wide = makeMarks[int64](n, runs)
		t.guides = makeGuides(t.wide)
	}
	if t.padding != nil {
		t.padding.fill(Merge(slices.Values(runs)))
	}
	return t
}

func (t *table) runs() int { return max(len(t.narrow), len(t.wide)) - 1 }

// edges returns the number of edges.
func (t *table) edges() int64 {
	if t.narrow != nil {
		return int64(t.narrow[len(t.narrow)-1].first)
	}
	return t.wide[len(t.wide)-1].first
}

// length returns the index at which the last edge ends.
func (t *table) length() int64 {
	if t.narrow != nil {
		return int64(t.narrow[len(t.narrow)-1].offset)
	}
	return t.wide[len(t.wide)-1].offset
}

// span returns run i.
func (t *table) span(i int) Span {
	var s Span
	t.describe(&s, i)
	return s
}

// describe sets a span to run i.
func (t *table) describe(s *Span, i int) {
	if t.narrow != nil {
		t.narrow.describe(s, i)
	} else {
		t.wide.describe(s, i)
	}
	if s.Codec = s.Data; t.padding != nil {
		s.Codec += t.padding.at(i)
	}
}

// follow sets a span to run i, positioned directly after the span's current run. It is
// for patterns, whose runs recur at other offsets.
func (t *table) follow(s *Span, i int) {
	first, offset := s.First+s.Count, s.Offset+s.Data*s.Count
	t.describe(s, i)
	s.First, s.Offset = first, offset
}

// chunkAt returns the number of the edge that contains an index below length.
func (t *table) chunkAt(index int64) int64 {
	if t.narrow != nil {
		return t.narrow.chunkAt(t.guides, index)
	}
	return t.wide.chunkAt(t.guides, index)
}

// runAt returns the run that contains the edge with a number below edges.
func (t *table) runAt(chunk int64) int {
	if t.narrow != nil {
		return t.narrow.runAt(t.guides, chunk)
	}
	return t.wide.runAt(t.guides, chunk)
}

// offsetOf returns the index at which an edge begins; its number is below edges.
func (t *table) offsetOf(chunk int64) int64 {
	if t.narrow != nil {
		return t.narrow.offsetOf(t.guides, chunk)
	}
	return t.wide.offsetOf(t.guides, chunk)
}

// all yields the runs.
func (t *table) all() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for i := range t.runs() {
			s := t.span(i)
			if !yield(Run{s.Edge, s.Count}) {
				return
			}
		}
	}
}

// unique yields each distinct edge once, in order of first occurrence.
func (t *table) unique() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		seen := make(map[Edge]struct{})
		for i := range t.runs() {
			edge := t.span(i).Edge
			if _, again := seen[edge]; again {
				continue
			}
			seen[edge] = struct{}{}
			if !yield(edge) {
				return
			}
		}
	}
}

// padding is the difference between codec size and data size for each run: 4 bytes each
// if all of them fit, otherwise 8.
type padding struct {
	narrow []uint32
	wide   []int64
}

// makePadding returns space for n paddings, or nil if the largest is 0.
func makePadding(n int, largest int64) *padding {
	switch {
	case largest == 0:
		return nil
	case largest <= math.MaxUint32:
		return &padding{narrow: make([]uint32, n)}
	}
	return &padding{wide: make([]int64, n)}
}

func (p *padding) fill(runs iter.Seq[Run]) {
	i := 0
	for run := range runs {
		if by := run.Codec - run.Data; p.narrow != nil {
			p.narrow[i] = uint32(by)
		} else {
			p.wide[i] = by
		}
		i++
	}
}

func (p *padding) at(i int) int64 {
	if p.narrow != nil {
		return int64(p.narrow[i])
	}
	return p.wide[i]
}
