package grid

import "slices"

// mark is where a run begins.
type mark[N uint32 | int64] struct {
	offset, first N
}

// marks are a table's prefix sums, one more than there are runs.
type marks[N uint32 | int64] []mark[N]

// makeMarks adds up runs that become n when equal neighbours are joined.
func makeMarks[N uint32 | int64](n int, runs []Run) marks[N] {
	m, i := make(marks[N], n+1), 0
	for run := range Merge(slices.Values(runs)) {
		m[i+1] = mark[N]{m[i].offset + N(run.Data*run.Count), m[i].first + N(run.Count)}
		i++
	}
	return m
}

// data is the data size of run i.
func (m marks[N]) data(i int) N {
	length, count := m[i+1].offset-m[i].offset, m[i+1].first-m[i].first
	if count == 1 {
		return length // saves most irregular axes a division
	}
	return length / count
}

// describe makes a span run i, but for its codec size.
func (m marks[N]) describe(s *Span, i int) {
	at := &m[i]
	s.First, s.Offset, s.run = int64(at.first), int64(at.offset), i
	s.Count, s.Data = int64(m[i+1].first-at.first), int64(m.data(i))
}

// scanLength is how many runs a search passes over one by one. Those reads do not wait
// for each other, as a binary search's do.
const scanLength = 48

// chunkAt is the number of the edge that holds an index.
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
	earlier := 0
	for _, next := range m[i+1 : to] {
		if next.offset <= x {
			earlier++
		}
	}
	i += earlier
	at := m[i]
	if at.first+1 == m[i+1].first {
		return int64(at.first)
	}
	return int64(at.first + (x-at.offset)/m.data(i))
}

// runAt is the run that holds an edge.
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

// offsetOf is where an edge begins.
func (m marks[N]) offsetOf(g *guides, chunk int64) int64 {
	i := m.runAt(g, chunk)
	at := m[i]
	if N(chunk) == at.first {
		return int64(at.offset)
	}
	return int64(at.offset + (N(chunk)-at.first)*m.data(i))
}
