package grid

import (
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Growth decides which edges an axis gets when it grows past its declared edges. The zero
// Growth is [Repeat].
//
//	edges [10,20,30], extent 60 → 160
//
//	Repeat()                        [10,20,30,30,30,30,30]    the last one is cut by the extent
//	RepeatSize(25)                  [10,20,30,25,25,25,25]
//	OneChunk()                      [10,20,30,100]
//	Append(Times(40, 1), …)         [10,20,30,40,60]
//	Cycle(Compress(10, 20, 30)...)  [10,20,30,10,20,30,10,20,30]
//
// Except for the edge of OneChunk, edges are never cut: one that the array does not fill
// yet keeps its size, so that growing in two steps gives the same chunks as in one.
type Growth struct {
	policy growthPolicy
	size   int64
	runs   []Run
}

type growthPolicy uint8

const (
	growRepeat growthPolicy = iota
	growSize
	growOneChunk
	growList
	growCycle
)

// Repeat repeats the size of a Fixed, the pattern of a Tiled, and the largest codec size
// of a Varying. Small edges are often left over from appends: repeating the last one
// could divide a long growth into very many chunks.
func Repeat() Growth { return Growth{} }

// RepeatSize repeats edges of one size.
func RepeatSize(size int64) Growth { return Growth{policy: growSize, size: size} }

// OneChunk adds one chunk for the whole growth, as zarr-python does.
func OneChunk() Growth { return Growth{policy: growOneChunk} }

// Append adds the given edges, which must reach the new extent. Edges are an error if the declared
// edges reach it already. Without edges, growth past the declared edges is an error.
func Append(edges ...Run) Growth { return Growth{policy: growList, runs: nonNil(edges)} }

// Cycle continues a pattern, such as the lengths of months. The pattern begins at the
// start of the axis: edge n gets the pattern's edge n modulo its length. If all edges
// follow the pattern, the result is a Tiled.
func Cycle(pattern ...Run) Growth { return Growth{policy: growCycle, runs: nonNil(pattern)} }

// PolicyName is the name of a growth policy.
type PolicyName string

// The growth policies.
const (
	PolicyRepeat   PolicyName = "repeat"
	PolicyOneChunk PolicyName = "one_chunk"
	PolicyList     PolicyName = "list"
	PolicyPattern  PolicyName = "pattern"
)

// Policy returns the policy's name, the edges that it names, and the size for
// [RepeatSize], otherwise 0.
func (g Growth) Policy() (name PolicyName, size int64, edges []Run) {
	names := [...]PolicyName{PolicyRepeat, PolicyRepeat, PolicyOneChunk, PolicyList, PolicyPattern}
	return names[g.policy], g.size, g.runs
}

// IsDefault reports whether the policy is [Repeat].
func (g Growth) IsDefault() bool { return g.policy == growRepeat }

// Check returns an error if the policy's sizes are not valid.
func (g Growth) Check() error {
	switch {
	case g.policy == growSize:
		return Full(g.size).check()
	case g.policy == growCycle, g.policy == growList && len(g.runs) > 0:
		_, _, err := Sum(g.runs)
		return err
	}
	return nil
}

// grow returns the dimension d, whose edges reach declared, with an extent. It is not for
// Repeat, which each kind of Dimension does in its way.
func (g Growth) grow(d Dimension, declared, extent int64) (Dimension, error) {
	if err := g.check(declared, extent); err != nil {
		return nil, err
	}
	if g.policy == growCycle && continuesPattern(d, declared, g.runs) {
		return orNil(NewTiled(g.runs, extent))
	}
	if extent <= declared {
		return d.WithExtent(extent)
	}
	edges, err := g.edges(d.Cells(), declared, extent-declared)
	if err != nil {
		return nil, err
	}
	hasOtherSize := func(f Fixed) bool {
		return slices.ContainsFunc(edges, func(r Run) bool { return r.Edge != Full(f.size) })
	}
	if f, ok := d.(Fixed); ok && !hasOtherSize(f) {
		return f.WithExtent(extent)
	}
	return orNil(NewVarying(slices.Collect(chain(d.Runs(), slices.Values(edges))), extent))
}

// check returns an error if the policy is not valid, or its list is not for this growth.
func (g Growth) check(declared, extent int64) error {
	if err := checkExtent(extent); err != nil {
		return err
	}
	if err := g.Check(); err != nil {
		return fmt.Errorf("given edges: %w", err)
	}
	switch {
	case g.policy != growList || len(g.runs) == 0 && extent <= declared:
		return nil
	case len(g.runs) == 0:
		return fmt.Errorf("extent %d: the declared edges reach %d: %w", extent, declared, ErrNoMoreEdges)
	}
	_, length, err := Sum(g.runs)
	if err != nil {
		return err
	}
	return checkGrowth(declared, length, extent)
}

// ErrNoMoreEdges reports that an axis with a list of edges was to grow past the list.
var ErrNoMoreEdges = errors.New("the list of edges has no more; name the edges to add")

// edges returns the edges to add after the first n, which reach declared, for a length.
func (g Growth) edges(n, declared, length int64) ([]Run, error) {
	switch g.policy {
	case growSize:
		return repeatPast(declared, g.size, length), nil
	case growOneChunk:
		return []Run{Times(length, 1)}, nil
	case growList:
		return g.runs, nil
	}
	pattern := makeTable(g.runs)
	n %= pattern.edges()
	skipped := pattern.offsetOf(n)
	end, fits := add(skipped, length)
	if !fits {
		return nil, errors.New("pattern: the sum passes 2^63−1")
	}
	v, err := tile(pattern, end).Varying()
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return slices.Collect(skipEdges(v.Runs(), n)), nil
}

// continuesPattern reports whether the edges of a dimension are the first of a pattern
// that repeats.
func continuesPattern(d Dimension, declared int64, pattern []Run) bool {
	t := tile(makeTable(pattern), declared)
	if d.Cells() == 0 {
		return true
	}
	// The last edge of t may pass declared; then the edges differ.
	return t.Cells() == d.Cells() && equalRuns(d.Runs(), t.Runs(), d.Cells())
}

// skipEdges yields runs without their first n edges.
func skipEdges(runs iter.Seq[Run], n int64) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for run := range runs {
			skip := min(n, run.Count)
			n -= skip
			if run.Count -= skip; run.Count > 0 && !yield(run) {
				return
			}
		}
	}
}

// repeatPast returns edges of one size that fill a length after declared, or pass it by
// less than one edge. If that edge would end past 2^63−1, it is cut at the length.
func repeatPast(declared, size, length int64) []Run {
	n := ceilDiv(length, size)
	if sum, fits := mul(n, size); fits {
		if _, fits = add(declared, sum); fits {
			return []Run{Times(size, n)}
		}
	}
	return repeatTo(size, length)
}
