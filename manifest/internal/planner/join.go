package planner

import (
	"cmp"
	"slices"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// join returns how the coordinates of a dimension are combined.
func (p *env) join(d *dim) plan.Join {
	how := plan.JoinExact
	if all := p.opts.Join[""]; all != "" {
		how = all
	}
	for name, own := range p.opts.Join {
		if name != "" && own != "" && calls(name, d.path) {
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

// joinCoords places coordinates along the union or the intersection of their values. The result is
// sorted, and decreases if all coordinates do.
func (p *env) joinCoords(d *dim, live []*coord, how plan.Join) error {
	if slices.ContainsFunc(live, (*coord).summarized) {
		d.role = spoiled
		p.find(p.odd(report.Finding{Code: report.OverlapUnknown, Array: d.coord, Effect: report.Refused, Dim: d.name(),
			Args:     report.Args{"range": p.rangeOf(live[0]), "other": p.rangeOf(live[1])},
			Remedies: []report.Remedy{compareAll(live)}}, d.filesOf(live...), d.total()))
		return nil
	}
	lists := make([][]key, len(live))
	count := map[key]int{}
	falling, longest := true, int64(0)
	for i, c := range live {
		var err error
		if lists[i], err = c.keys(d.nature, d.ranks); err != nil {
			return p.inFile(c.rep, err)
		}
		seen := map[key]bool{}
		for _, k := range lists[i] {
			if seen[k] || missing(k, d.nature) {
				return p.refuseRepeatedLabel(d, c)
			}
			seen[k] = true
			count[k]++
		}
		falling, longest = falling && c.dir <= 0, max(longest, c.n)
	}
	var all []key
	for k, n := range count {
		if how == plan.JoinOuter || n == len(live) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, key.compare)
	if falling {
		slices.Reverse(all)
	}
	place := make(map[key]int64, len(all))
	for i, k := range all {
		place[k] = int64(i)
	}
	for i, c := range live {
		c.parts = partsOf(lists[i], place)
		for n, s := range c.parts {
			if n == 0 || s.origin < c.start {
				c.start = s.origin
			}
		}
	}
	d.cuts = cutsOf(live)
	if len(all) == 0 {
		d.role = spoiled
		p.find(p.odd(report.Finding{Code: report.NoCommonLabel, Array: d.coord, Effect: report.Refused, Dim: d.name(),
			Remedies: []report.Remedy{joinOuter(d)}}, d.filesOf(live...), d.total()))
		return nil
	}
	d.order = slices.Clone(live)
	slices.SortFunc(d.order, func(a, b *coord) int {
		return cmp.Or(cmp.Compare(a.start, b.start), p.compareFirst(a, b))
	})
	d.role, d.joined, d.length = flowing, true, int64(len(all))
	effect := report.Filled
	if how == plan.JoinInner {
		effect = report.Dropped
	}
	p.find(p.odd(report.Finding{Code: report.Joined, Array: d.coord, Effect: effect, Dim: d.name(), By: report.Setting{Option: report.JoinLabels, Value: d.name() + "=" + string(how)},
		Args: report.Args{"how": string(how), "length": d.length, "longest": longest}}, d.filesOf(live...), d.total()))
	return nil
}

// partsOf splits a coordinate into the longest parts whose values are adjacent in the result. place
// has the index of each value in the result; other values are left out.
func partsOf(keys []key, place map[key]int64) (parts []axisPart) {
	for i, k := range keys {
		at, ok := place[k]
		if !ok {
			continue
		}
		if n := len(parts) - 1; n >= 0 && parts[n].origin+parts[n].length == at && parts[n].start+parts[n].length == int64(i) {
			parts[n].length++
			continue
		}
		parts = append(parts, axisPart{at, int64(i), 1})
	}
	return parts
}

// cutsOf returns the sorted ends of all parts.
func cutsOf(coords []*coord) (cuts []int64) {
	for _, c := range coords {
		for _, s := range c.parts {
			cuts = append(cuts, s.origin, s.origin+s.length)
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// cutAt splits a part at positions of a sorted list.
func (s axisPart) cutAt(cuts []int64) (parts []axisPart) {
	i, _ := slices.BinarySearch(cuts, s.origin+1)
	for ; i < len(cuts) && cuts[i] < s.origin+s.length; i++ {
		n := cuts[i] - s.origin
		parts = append(parts, axisPart{s.origin, s.start, n})
		s = axisPart{cuts[i], s.start + n, s.length - n}
	}
	return append(parts, s)
}

// isJoinedOnly reports whether an array is placed along joined dimensions only. Several files may then
// hold the same positions.
func (a *array) isJoinedOnly() bool {
	return len(a.placed) > 0 && !slices.ContainsFunc(a.placed, func(d *dim) bool { return !d.joined })
}

// partsAt groups files by equal values in tiles that have the same position. It leaves out files with
// missing values.
func (c *comparison) partsAt(tiles []manifest.Tile) (groups [][]int32, missing []want, err error) {
	found := newComparer(c.alike, c.units)
	for i := range tiles {
		t := &tiles[i]
		at := placeOf(c.a.members, c.p.survey.classOf[t.File])
		m := &c.a.members[at]
		values := none
		if m.v.Storage.Layout != manifest.Nothing {
			w := c.elements(int32(t.File), m)
			var ok bool
			if values, ok, err = c.p.env.values(w); err != nil {
				return nil, nil, err
			}
			if !ok {
				missing = append(missing, w)
				continue
			}
		}
		x, err := content{m, c.means[at], values}.inTile(c.a, t)
		if err == nil {
			err = found.add(int32(t.File), x)
		}
		if err != nil {
			return nil, nil, c.p.env.inFile(int32(t.File), err)
		}
	}
	return found.groups, missing, nil
}

// inTile returns the content of the part of a file that is in a tile.
func (x content) inTile(a *array, t *manifest.Tile) (content, error) {
	start, shape := make([]int64, len(x.m.v.Shape)), slices.Clone(x.m.v.Shape)
	for i, d := range a.placed {
		if k := slices.Index(a.dims, d.path); k >= 0 {
			start[x.m.axes[k]], shape[x.m.axes[k]] = t.Start[i], t.Shape[i]
		}
	}
	m, narrow, v := *x.m, *x.m.planVar, *x.m.v
	v.Shape = shape
	narrow.v, m.planVar = &v, &narrow
	values, err := x.values, error(nil)
	if values != none {
		values, err = cropped(x.values, x.m.v.Shape, start, shape, v.Type)
	}
	return content{&m, x.means, values}, err
}

// refuseRepeatedLabel refuses a coordinate that has a value twice, or a missing value: it is not known
// which of its elements belongs to the label.
func (p *env) refuseRepeatedLabel(d *dim, c *coord) error {
	d.role = spoiled
	p.find(p.odd(report.Finding{Code: report.LabelRepeated, Array: d.coord, Effect: report.Refused, Dim: d.name(),
		Remedies: []report.Remedy{report.Do(report.LeaveOut, "", "")}}, d.filesOf(c), d.total()))
	return nil
}

// shareValues reports whether a coordinate has more than half of its values in common with another, so
// that they are labels of one kind. It is false if only summaries are known.
func (d *dim) shareValues(c, other *coord) bool {
	if c.summarized() || other.summarized() {
		return false
	}
	keys, err := other.keys(d.nature, d.ranks)
	if err != nil {
		return false
	}
	has := make(map[key]bool, len(keys))
	for _, k := range keys {
		has[k] = true
	}
	own, err := c.keys(d.nature, d.ranks)
	shared := 0
	for _, k := range own {
		if has[k] {
			shared++
		}
	}
	return err == nil && 2*shared > len(own)
}
