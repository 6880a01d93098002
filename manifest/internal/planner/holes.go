package planner

import (
	"slices"

	"varve/manifest/internal/planner/internal/tiling"
	"varve/manifest/report"
)

// mostPlaces is the number of uncovered places that a finding lists. mostBlocks bounds the memory that finds them.
const (
	mostPlaces = 10
	mostBlocks = 1 << 20
)

// blocks divides an array, along the dimensions of a placing, at the ends of all tiles. Each block is covered or not.
type blocks struct {
	cuts  [][]int64 // along each dimension: 0, the ends and the length
	taken []bool    // covered by a file, or part of a place that was found
}

// uncovered returns the places of an array that no file covers, up to mostPlaces, and the number of all. It returns none
// if there are too many blocks to search.
func (p *arrangement) uncovered(w *placing) (places [][]report.Place, count int64) {
	b, ok := p.blocksOf(w)
	if !ok {
		return nil, 0
	}
	at := make([]int, len(b.cuts))
	for i := range b.taken {
		if b.taken[i] {
			continue
		}
		for k, rest := len(at)-1, i; k >= 0; k-- {
			n := len(b.cuts[k]) - 1
			at[k], rest = rest%n, rest/n
		}
		end := b.grow(at)
		b.each(at, end, func(j int) bool { b.taken[j] = true; return true })
		if count++; count > mostPlaces {
			continue
		}
		place := make([]report.Place, len(at))
		for k, d := range w.dims {
			place[k] = d.place(b.cuts[k][at[k]], b.cuts[k][end[k]])
		}
		places = append(places, place)
	}
	return places, count
}

// blocksOf returns the blocks of an array, and false if there are too many.
func (p *arrangement) blocksOf(w *placing) (*blocks, bool) {
	b := &blocks{cuts: make([][]int64, len(w.dims))}
	old, total := p.env.earlier, 1
	for k, d := range w.dims {
		cuts := []int64{0, d.length}
		for i := range w.tiles {
			cuts = append(cuts, w.tiles[i].Origin[k], min(tiling.End(&w.tiles[i], k), d.length))
		}
		if old != nil && d.path == old.Dim {
			cuts = append(cuts, old.Length)
		}
		slices.Sort(cuts)
		b.cuts[k] = slices.Compact(cuts)
		if total *= len(b.cuts[k]) - 1; total > mostBlocks || total == 0 {
			return nil, false
		}
	}
	b.taken = make([]bool, total)
	from, to := make([]int, len(w.dims)), make([]int, len(w.dims))
	for i := range w.tiles {
		for k, d := range w.dims {
			from[k] = b.at(k, w.tiles[i].Origin[k])
			to[k] = b.at(k, min(tiling.End(&w.tiles[i], k), d.length))
		}
		b.each(from, to, func(j int) bool { b.taken[j] = true; return true })
	}
	// The files of an earlier plan cover all its positions.
	for k, d := range w.dims {
		if old == nil || d.path != old.Dim {
			continue
		}
		for j := range w.dims {
			from[j], to[j] = 0, len(b.cuts[j])-1
		}
		to[k] = b.at(k, old.Length)
		b.each(from, to, func(j int) bool { b.taken[j] = true; return true })
	}
	return b, true
}

// at returns the index of a cut.
func (b *blocks) at(axis int, cut int64) int {
	i, _ := slices.BinarySearch(b.cuts[axis], cut)
	return i
}

// each calls visit with the index of each block from one corner to another, until it returns false.
func (b *blocks) each(from, to []int, visit func(int) bool) bool {
	var walk func(axis, base int) bool
	walk = func(axis, base int) bool {
		if axis == len(from) {
			return visit(base)
		}
		for i := from[axis]; i < to[axis]; i++ {
			if !walk(axis+1, base*(len(b.cuts[axis])-1)+i) {
				return false
			}
		}
		return true
	}
	return walk(0, 0)
}

// grow returns the end of the largest box that begins at a block and has no taken one, extended along the last axis first.
func (b *blocks) grow(at []int) (end []int) {
	end = make([]int, len(at))
	for k := range at {
		end[k] = at[k] + 1
	}
	for k := len(at) - 1; k >= 0; k-- {
		for end[k] < len(b.cuts[k])-1 {
			from, to := slices.Clone(at), slices.Clone(end)
			from[k], to[k] = end[k], end[k]+1
			if !b.each(from, to, func(j int) bool { return !b.taken[j] }) {
				break
			}
			end[k]++
		}
	}
	return end
}

// place describes a range of a dimension.
func (d *dim) place(from, to int64) report.Place {
	p := report.Place{Stretch: report.Stretch{Dim: d.name(), Count: to - from, From: d.sayAt(from)}, Start: from}
	if to-from > 1 {
		p.To = d.sayAt(to - 1)
	}
	return p
}

// sayAt returns the coordinate's value at a position, or "" if it is not known.
func (d *dim) sayAt(at int64) string {
	for _, c := range d.order {
		switch {
		case c.Variable == nil || c.Summarized():
		case d.by != byLabels && c.Start <= at && at < c.Start+c.Len:
			return c.Say(at - c.Start)
		case d.by == byLabels:
			for _, s := range c.Parts {
				if s.Origin <= at && at < s.Origin+s.Length {
					return c.Say(s.Start + at - s.Origin)
				}
			}
		}
	}
	return ""
}
