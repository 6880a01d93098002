package planner

import (
	"cmp"
	"slices"

	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// join returns how the coordinates of a dimension are combined.
func (p *alignment) join(d *dim) plan.Join {
	how := plan.JoinExact
	if all := p.env.opts.Join[""]; all != "" {
		how = all
	}
	for name, own := range p.env.opts.Join {
		if name != "" && own != "" && naming.Calls(name, d.path) {
			return own
		}
	}
	// Files are concatenated along such dimensions, so their coordinates have to differ.
	if d.hinted || d.named || d.guessed() {
		return plan.JoinExact
	}
	return how
}

// joinOuter returns the remedy that takes the union of coordinates.
func joinOuter(d *dim) report.Remedy {
	return report.Do(report.JoinLabels, d.name()+"="+string(plan.JoinOuter), report.FillLacking)
}

// canJoin reports whether the values of coordinates are labels, so that an outer join is possible.
func (p *alignment) canJoin(d *dim, coords []*coord.Coord) bool {
	if d.hinted || d.named || d.guessed() {
		return false
	}
	return !slices.ContainsFunc(coords, func(c *coord.Coord) bool {
		if c.Summarized() {
			return true
		}
		keys, err := c.Keys(d.nature, d.ranks)
		return err != nil || !areLabels(keys, d.nature)
	})
}

// areLabels reports whether each key is there once and not missing.
func areLabels(keys []coord.Key, nature coord.Nature) bool {
	seen := make(map[coord.Key]bool, len(keys))
	for _, k := range keys {
		if seen[k] || coord.Missing(k, nature) {
			return false
		}
		seen[k] = true
	}
	return true
}

// joinCoords places coordinates along the union or the intersection of their values. The result is
// sorted, and decreases if all coordinates do.
func (p *alignment) joinCoords(d *dim, live []*coord.Coord, how plan.Join) error {
	if slices.ContainsFunc(live, (*coord.Coord).Summarized) {
		d.role = spoiled
		p.env.find(p.env.odd(report.Finding{Code: report.OverlapUnknown, Array: d.coord, Effect: report.Refused, Dim: d.name(),
			Args:     report.Args{"range": p.rangeOf(live[0]), "other": p.rangeOf(live[1])},
			Remedies: []report.Remedy{compareAll(live)}}, d.filesOf(live...), d.total()))
		return nil
	}
	lists := make([][]coord.Key, len(live))
	count := map[coord.Key]int{}
	falling, longest := true, int64(0)
	for i, c := range live {
		var err error
		if lists[i], err = c.Keys(d.nature, d.ranks); err != nil {
			return p.env.inFile(c.File, err)
		}
		if !areLabels(lists[i], d.nature) {
			return p.refuseRepeatedLabel(d, c)
		}
		for _, k := range lists[i] {
			count[k]++
		}
		falling, longest = falling && c.Direction <= 0, max(longest, c.Len)
	}
	var all []coord.Key
	for k, n := range count {
		if how == plan.JoinOuter || n == len(live) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, coord.Key.Compare)
	if falling {
		slices.Reverse(all)
	}
	place := make(map[coord.Key]int64, len(all))
	for i, k := range all {
		place[k] = int64(i)
	}
	for i, c := range live {
		c.Parts = coord.PartsOf(lists[i], place)
		for n, s := range c.Parts {
			if n == 0 || s.Origin < c.Start {
				c.Start = s.Origin
			}
		}
	}
	d.cuts = coord.CutsOf(live)
	if len(all) == 0 {
		d.role = spoiled
		p.env.find(p.env.odd(report.Finding{Code: report.NoCommonLabel, Array: d.coord, Effect: report.Refused, Dim: d.name(),
			Remedies: []report.Remedy{joinOuter(d)}}, d.filesOf(live...), d.total()))
		return nil
	}
	d.order = slices.Clone(live)
	slices.SortFunc(d.order, func(a, b *coord.Coord) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), p.env.compareFirst(a, b))
	})
	d.role, d.by, d.length = flowing, byLabels, int64(len(all))
	effect := report.Filled
	if how == plan.JoinInner {
		effect = report.Dropped
	}
	p.env.find(p.env.odd(report.Finding{Code: report.Joined, Array: d.coord, Effect: effect, Dim: d.name(), By: report.Setting{Option: report.JoinLabels, Value: d.name() + "=" + string(how)},
		Args: report.Args{"how": string(how), "length": d.length, "longest": longest}}, d.filesOf(live...), d.total()))
	return nil
}

// refuseRepeatedLabel refuses a coordinate that has a value twice, or a missing value: it is not known
// which of its elements belongs to the label.
func (p *alignment) refuseRepeatedLabel(d *dim, c *coord.Coord) error {
	d.role = spoiled
	p.env.find(p.env.odd(report.Finding{Code: report.LabelRepeated, Array: d.coord, Effect: report.Refused, Dim: d.name(),
		Remedies: []report.Remedy{report.Do(report.LeaveOut, "", "")}}, d.filesOf(c), d.total()))
	return nil
}

// shareValues reports whether a coordinate has more than half of its values in common with another, so
// that they are labels of one kind. It is false if only summaries are known.
func (d *dim) shareValues(c, other *coord.Coord) bool {
	if c.Summarized() || other.Summarized() {
		return false
	}
	keys, err := other.Keys(d.nature, d.ranks)
	if err != nil {
		return false
	}
	has := make(map[coord.Key]bool, len(keys))
	for _, k := range keys {
		has[k] = true
	}
	own, err := c.Keys(d.nature, d.ranks)
	shared := 0
	for _, k := range own {
		if has[k] {
			shared++
		}
	}
	return err == nil && 2*shared > len(own)
}
