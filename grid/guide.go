package grid

import "math"

// guide narrows a binary search in an ascending column of marks. It divides the column's
// range into equal intervals of 2^shift and stores for each interval the last run that
// begins before it. A guide is small enough to stay in the CPU cache, unlike the marks of
// many runs: after the guide, the search reads neighbouring marks only, where a binary
// search over all marks would wait for memory at nearly every step.
//
// Where many runs begin in few intervals, a guide helps less. The search is still O(log
// runs).
type guide struct {
	shift uint
	runs  []uint32 // by interval
}

// guides are the guides of one table: one to search by offset, one by chunk number.
type guides struct {
	byOffset, byFirst guide
}

const (
	// runsPerInterval trades memory (4 bytes per interval) for the length of the scan
	// after the guide: 16 marks of 8 bytes are two cache lines.
	runsPerInterval = 16

	// minGuidedRuns is the number of runs from which a guide pays. Below it the binary
	// search takes two steps at most, on marks that fit the cache.
	minGuidedRuns = 4 * scanLength
)

// makeGuides returns the guides of m, or nil if m is too short to need them.
func makeGuides[N uint32 | int64](m marks[N]) *guides {
	// A guide stores run numbers as uint32, so a longer table is searched without one.
	if n := len(m) - 1; n < minGuidedRuns || n > math.MaxUint32 {
		return nil
	}
	return &guides{
		byOffset: makeGuide(m, func(at mark[N]) int64 { return int64(at.offset) }),
		byFirst:  makeGuide(m, func(at mark[N]) int64 { return int64(at.first) }),
	}
}

// makeGuide returns the guide of one column of m.
func makeGuide[N uint32 | int64](m marks[N], column func(mark[N]) int64) guide {
	n := len(m) - 1
	total := column(m[n])
	var g guide
	for total>>g.shift >= int64(n/runsPerInterval) {
		g.shift++
	}
	// One entry more than there are intervals, so that runRange can read entry s+1 for
	// the last interval.
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

// runRange returns the range of runs, end excluded, that contains the run of x.
func (g *guide) runRange(x int64) (from, to int) {
	s := x >> g.shift
	return int(g.runs[s]), int(g.runs[s+1]) + 1
}
