package grid

import (
	"iter"
	"slices"
)

// table is a run-length encoding with prefix sums over the runs. Run i holds the
// edges numbered first[i] … first[i+1]−1, which lie at offset[i] … offset[i+1]−1:
//
//	runs     [10, 3]   [20, 1]   [10, 2]
//	offset    0         30        50        70
//	first     0         3         4         6
//	codec     10        20        10
//
// That is 24 bytes a run, whatever its count. The data size is the quotient of the
// differences. The columns are apart so that a search reads nothing but what it
// compares. Where each codec size is its data size, as usual, codec is nil.
type table struct {
	offset, first, codec []int64
}

// makeTable takes runs that Sum has passed.
func makeTable(runs []Run) table {
	n, padded := 0, false
	for run := range Merge(slices.Values(runs)) {
		n++
		padded = padded || run.Codec != run.Data
	}
	t := table{offset: make([]int64, n+1), first: make([]int64, n+1)}
	if padded {
		t.codec = make([]int64, n)
	}
	i := 0
	for run := range Merge(slices.Values(runs)) {
		t.offset[i+1] = t.offset[i] + run.Data*run.Count
		t.first[i+1] = t.first[i] + run.Count
		if padded {
			t.codec[i] = run.Codec
		}
		i++
	}
	return t
}

func (t *table) runs() int     { return len(t.first) - 1 }
func (t *table) edges() int64  { return t.first[len(t.first)-1] }
func (t *table) length() int64 { return t.offset[len(t.offset)-1] }

// span describes run i.
func (t *table) span(i int) Span {
	s := Span{First: t.first[i], Count: t.first[i+1] - t.first[i], Offset: t.offset[i], run: i}
	s.Data = t.offset[i+1] - s.Offset
	if s.Count > 1 {
		s.Data /= s.Count
	}
	s.Codec = s.Data
	if t.codec != nil {
		s.Codec = t.codec[i]
	}
	return s
}

// chunkAt is the number of the edge that holds an index below length.
func (t *table) chunkAt(index int64) int64 {
	i := floor(t.offset, index)
	first, in := t.first[i], index-t.offset[i]
	count := t.first[i+1] - first
	if count == 1 {
		return first
	}
	return first + in/((t.offset[i+1]-t.offset[i])/count)
}

// spanAt is the run that holds the edge numbered chunk, which is below edges.
func (t *table) spanAt(chunk int64) Span { return t.span(floor(t.first, chunk)) }

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

// unique yields each edge the first time it comes.
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

// floor is the last position whose value is at most x. The values ascend and the
// first is at most x. The loop has no branch to mispredict: it compiles to a
// conditional move.
func floor(ascending []int64, x int64) int {
	lo, n := 0, len(ascending)
	for n > 1 {
		half := n >> 1
		if ascending[lo+half] <= x {
			lo += half
		}
		n -= half
	}
	return lo
}
