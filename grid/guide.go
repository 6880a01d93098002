package grid

import "math"

// guide narrows a search in an ascending column of marks before it begins. It cuts
// the column's range into equal stretches of 2^shift and holds for each the last run
// that begins before it. It is small enough to stay in the cache, which the
// marks of many runs are not: the search itself then reads neighbours only, where a
// binary search over all marks would wait for memory at nearly every step.
//
// Where runs crowd in few stretches it helps less, and the search is still
// O(log runs).
type guide struct {
	shift uint
	runs  []uint32
}

// guides are a table's two.
type guides struct {
	byOffset, byFirst guide
}

const (
	runsPerStretch = 16
	minGuidedRuns  = 4 * scanLength
)

// makeGuides returns the guides to some marks, or nil if a search needs none.
func makeGuides[N uint32 | int64](m marks[N]) *guides {
	if n := len(m) - 1; n < minGuidedRuns || n > math.MaxUint32 {
		return nil
	}
	return &guides{
		byOffset: makeGuide(m, func(at mark[N]) int64 { return int64(at.offset) }),
		byFirst:  makeGuide(m, func(at mark[N]) int64 { return int64(at.first) }),
	}
}

// makeGuide is the guide to one column.
func makeGuide[N uint32 | int64](m marks[N], column func(mark[N]) int64) guide {
	n := len(m) - 1
	total := column(m[n])
	var g guide
	for total>>g.shift >= int64(n/runsPerStretch) {
		g.shift++
	}
	g.runs = make([]uint32, total>>g.shift+2)
	run := 0
	for s := range g.runs {
		for run+1 < n && column(m[run+1])>>g.shift < int64(s) {
			run++
		}
		g.runs[s] = uint32(run)
	}
	return g
}

// bracket is the range of runs, the last excluded, among which the one that holds x is.
func (g *guide) runRange(x int64) (from, to int) {
	s := x >> g.shift
	return int(g.runs[s]), int(g.runs[s+1]) + 1
}
