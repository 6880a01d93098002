package grid

import "slices"

// mark is the beginning of a run: its first index and its first chunk.
type mark[N uint32 | int64] struct {
	offset, first N
}

// marks are a table's prefix sums: one entry for each run, and one for the end.
type marks[N uint32 | int64] []mark[N]

// makeMarks adds up the n runs that remain after equal neighbours of runs are merged.
func makeMarks[N uint32 | int64](n int, runs []Run) marks[N] {
	m, i := make(marks[N], n+1), 0
	for run := range Merge(slices.Values(runs)) {
		m[i+1] = mark[N]{m[i].offset + N(run.Data*run.Count), m[i].first + N(run.Count)}
		i++
	}
	return m
}

// data returns the data size of the edges of run i.
func (m marks[N]) data(i int) N {
	length, count := m[i+1].offset-m[i].offset, m[i+1].first-m[i].first
	if count == 1 {
		return length // saves most irregular axes a division
	}
	return length / count
}

// describe sets a span to run i, except for its codec size.
func (m marks[N]) describe(s *Span, i int) {
	at := &m[i]
	s.First, s.Offset, s.run = int64(at.first), int64(at.offset), i
	s.Count, s.Data = int64(m[i+1].first-at.first), int64(m.data(i))
}

// scanLength is the number of runs at which a search stops halving and counts marks one
// by one. The CPU does not wait for those reads one after the other, as in a binary
// search.
const scanLength = 48

// chunkAt returns the number of the edge that contains an index.
func (m marks[N]) chunkAt(g *guides, index int64) int64 {
	x, i, to := N(index), 0, len(m)-1
	if g != nil {
		i, to = g.byOffset.runRange(index)
	}
	for to-i > scanLength {
		if half := int(uint(i+to) >> 1); m[half].offset <= x {
			i = half
		} else {
			to = half
		}
	}
	// Count all marks instead of stopping at the first larger one: the loop has no early
	// exit to mispredict.
	earlier := 0
	for _, next := range m[i+1 : to] {
		if next.offset <= x {
			earlier++
		}
	}
	i += earlier
	at := m[i]
	// Runs of one edge are the common case in irregular grids and need no division.
	if at.first+1 == m[i+1].first {
		return int64(at.first)
	}
	return int64(at.first + (x-at.offset)/m.data(i))
}

// runAt returns the run that contains an edge. It is the search of chunkAt in the other
// column.
func (m marks[N]) runAt(g *guides, chunk int64) int {
	x, i, to := N(chunk), 0, len(m)-1
	if g != nil {
		i, to = g.byFirst.runRange(chunk)
	}
	for to-i > scanLength {
		if half := int(uint(i+to) >> 1); m[half].first <= x {
			i = half
		} else {
			to = half
		}
	}
	earlier := 0
	for _, next := range m[i+1 : to] {
		if next.first <= x {
			earlier++
		}
	}
	return i + earlier
}

// offsetOf returns the index at which an edge begins.
func (m marks[N]) offsetOf(g *guides, chunk int64) int64 {
	i := m.runAt(g, chunk)
	at := m[i]
	if N(chunk) == at.first {
		return int64(at.offset)
	}
	return int64(at.offset + (N(chunk)-at.first)*m.data(i))
}
