package planner

import (
	"cmp"
	"slices"

	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// settleBare decides about a dimension without coordinate values.
func (p *alignment) settleBare(d *dim) error {
	if d.named {
		p.inOrderOfNames(d)
		return nil
	}
	lengths := map[int64][]int32{}
	for _, n := range d.classes {
		length := p.survey.classes[n].dims[d.path].Length
		lengths[length] = append(lengths[length], p.survey.classes[n].files...)
		d.length = max(d.length, length)
	}
	if p.survey.isTextLength(d) {
		p.notePaddedTexts(d, lengths)
		return nil
	}
	if len(lengths) < 2 || p.env.opts.Pad == plan.PadFill {
		p.notePadded(d, lengths)
		return nil
	}
	p.refuseWidths(d, lengths, alike)
	return nil
}

// settleWidths decides about coordinates of different lengths. With padding, the longest is used,
// and the others must equal its first values.
func (p *alignment) settleWidths(d *dim, live []*coord.Coord) error {
	longest := slices.MaxFunc(live, func(a, b *coord.Coord) int { return cmp.Compare(a.Len, b.Len) })
	var odd []*coord.Coord
	are := alike
	partly := false // a shorter coordinate shares some values with the longest
	for _, c := range live {
		if begins, err := d.begins(c, longest); err != nil {
			return err
		} else if begins {
			continue
		}
		odd = append(odd, c)
		are = max(are, differ)
		if d.nature != coord.Text && (c.High.Compare(longest.Low) < 0 || longest.High.Compare(c.Low) < 0) {
			are = max(are, apart)
		}
		partly = partly || c != longest && d.shareValues(c, longest)
		within, err := d.within(c, longest)
		if err != nil {
			return err
		}
		// The values exist in the longest coordinate at other positions: padding would misplace them.
		if within {
			are = elsewhere
		}
	}
	lengths := map[int64][]int32{}
	for f, n := range d.of {
		if n >= 0 && d.coords[n].Len > 0 {
			lengths[d.coords[n].Len] = append(lengths[d.coords[n].Len], int32(f))
		}
	}
	if p.env.opts.Pad == plan.PadFill && p.padHelps(are) {
		d.order = []*coord.Coord{longest}
		p.notePadded(d, lengths)
		return p.noteOther(d, odd, longest)
	}
	p.refuseWidths(d, lengths, are)
	return p.adviseWidths(d, &p.env.report.Findings[len(p.env.report.Findings)-1], odd, longest, partly)
}

// adviseWidths adds the remedies that depend on the values of coordinates of different lengths.
func (p *alignment) adviseWidths(d *dim, f *report.Finding, odd []*coord.Coord, longest *coord.Coord, partly bool) error {
	x, err := d.farthest(odd, longest)
	if err != nil {
		return err
	}
	all := append(odd[:len(odd):len(odd)], longest)
	if f.Args["values"] == "differ" && interleave(all) {
		f.Remedies = []report.Remedy{separate} // no order of the files gives a sorted coordinate
	}
	if f.Args["values"] == "differ" && x.isSmall() {
		first := report.Do(report.Coords, string(plan.CoordsFirst), report.LongestCounts)
		if p.env.opts.Pad != plan.PadFill {
			first = first.And(report.Pad, string(plan.PadFill))
		}
		f.Remedies = slices.Insert(f.Remedies, 0, first)
		return nil
	}
	// Padding would misplace values whose labels differ, so the join comes first.
	if partly && p.env.opts.Pad != plan.PadFill {
		f.Remedies = nil
	}
	if partly || f.Args["values"] == "differ" && !isHorizontal(longest.Variable) && p.canJoin(d, all) {
		f.Remedies = slices.Insert(f.Remedies, 0, joinOuter(d))
	}
	return nil
}

// interleave reports whether the ranges of coordinates have more than their ends in common.
func interleave(all []*coord.Coord) bool {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *coord.Coord) int { return a.Low.Compare(b.Low) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].Low.Compare(sorted[i-1].High) < 0 {
			return true
		}
	}
	return false
}

// padHelps reports whether files whose values have this relation to the longest coordinate can be
// padded.
func (p *alignment) padHelps(are relation) bool {
	return are == alike || p.env.opts.Coords == plan.CoordsFirst && are < elsewhere
}

// relation says how the values of shorter coordinates relate to the longest coordinate.
type relation uint8

const (
	alike     relation = iota // all shorter coordinates equal the first values of the longest
	differ                    // some files have other values, within the range of the longest
	apart                     // some files have only values outside the range of the longest
	elsewhere                 // some files have values of the longest at other positions
)

// begins reports whether c equals the first values of longest. It is false if only summaries are
// known.
func (d *dim) begins(c, longest *coord.Coord) (bool, error) {
	if c == longest || c.Summarized() || longest.Summarized() {
		return c == longest, nil
	}
	at, err := d.firstDifference(c, longest)
	return at == c.Len, err
}

// within reports whether all values of c are values of longest, in any order.
func (d *dim) within(c, longest *coord.Coord) (bool, error) {
	if c.Summarized() || longest.Summarized() {
		return false, nil
	}
	x, err := c.Keys(d.nature, d.ranks)
	if err != nil {
		return false, err
	}
	y, err := longest.Keys(d.nature, d.ranks)
	there := make(map[coord.Key]bool, len(y))
	for _, k := range y {
		there[k] = true
	}
	return !slices.ContainsFunc(x, func(k coord.Key) bool { return !there[k] }), err
}

// usual returns the length that most files have. If several have as many files, it returns the
// smallest.
func usual(lengths map[int64][]int32) (most int64) {
	for i, n := range sorted(lengths) {
		if i == 0 || len(lengths[n]) > len(lengths[most]) {
			most = n
		}
	}
	return most
}

func (p *alignment) notePadded(d *dim, lengths map[int64][]int32) {
	var narrow []int32
	for n, files := range lengths {
		if n < d.length {
			narrow = append(narrow, files...)
		}
	}
	if len(narrow) == 0 {
		return
	}
	p.env.find(p.env.odd(report.Finding{Code: report.WidthsPadded, Effect: report.Filled, Dim: d.name(), By: report.Setting{Option: report.Pad, Value: string(plan.PadFill)},
		Args: report.Args{"length": d.length}}, narrow, d.total()))
}

func (p *alignment) refuseWidths(d *dim, lengths map[int64][]int32, are relation) {
	d.role = spoiled
	most := usual(lengths)
	var odd []int32
	var others []int64
	for _, n := range sorted(lengths) {
		if n != most {
			odd = append(odd, lengths[n]...)
			others = append(others, n)
		}
	}
	f := report.Finding{Code: report.WidthsDiffer, Effect: report.Refused, Dim: d.name(),
		Args: report.Args{"lengths": others, "usual": most, "usual_files": p.env.span(lengths[most])}}
	pad := report.Do(report.Pad, string(plan.PadFill), report.FillBeyond)
	switch {
	case p.padHelps(are) && d.coord == "":
		f.Remedies = []report.Remedy{pad, concatAlong(d, report.ByName)}
	// A coordinate that only numbers its elements does not place files; dropping it loses nothing.
	case p.padHelps(are) && d.onlyCounts():
		f.Remedies = []report.Remedy{pad, withoutValues(d)}
	case p.padHelps(are):
		f.Remedies = []report.Remedy{pad}
	case are == elsewhere:
		f.Args["values"] = "elsewhere"
		f.Remedies = []report.Remedy{concatAlong(d, report.IfStretches).And(report.Overlap, string(plan.OverlapLast))}
	case are == apart:
		f.Args["values"] = "beyond"
		f.Remedies = []report.Remedy{concatAlong(d, "")}
	default:
		f.Args["values"] = "differ"
		f.Remedies = []report.Remedy{concatAlong(d, "")}
	}
	p.env.find(p.env.odd(f, odd, d.total()))
}

// inOrderOfNames concatenates files in the order of their names. Files that share no variable are
// placed at the same positions.
func (p *alignment) inOrderOfNames(d *dim) {
	d.role, d.by = flowing, byNames
	d.coords = nil
	groups := p.sideBySide(d)
	d.abreast = len(groups) > 1
	for _, group := range groups {
		at := int64(0)
		var files []int32
		for _, n := range group {
			files = append(files, p.survey.classes[n].files...)
		}
		slices.SortFunc(files, p.env.byName)
		for _, f := range files {
			n := p.survey.classes[p.survey.classOf[f]].dims[d.path].Length
			d.of[f] = int32(len(d.coords))
			d.coords = append(d.coords, &coord.Coord{Meaning: coord.Unknown, Course: coord.Course{Len: n}, Files: 1, File: f, Start: at})
			at += n
		}
		d.length = max(d.length, at)
	}
	d.order = slices.Clone(d.coords)
	slices.SortStableFunc(d.order, func(a, b *coord.Coord) int { return int(a.Start - b.Start) })
	all := d.filesWhose(func(*coord.Coord) bool { return true })
	if len(all) > 1 {
		p.env.find(p.env.odd(report.Finding{Code: report.OrderByName, Effect: report.Noted, Dim: d.name()}, all, d.total()))
	}
}

// sideBySide groups the classes of a dimension: classes that share a variable along it are in one
// group.
func (p *alignment) sideBySide(d *dim) [][]int32 {
	sets := newSets(len(d.classes))
	owner := map[string]int{}
	for i, n := range d.classes {
		for _, x := range p.survey.classes[n].vars {
			if !slices.Contains(x.dims, d.path) {
				continue
			}
			if k, ok := owner[x.path]; ok {
				sets.join(i, k)
			} else {
				owner[x.path] = i
			}
		}
	}
	var groups [][]int32
	for _, members := range sets.all() {
		var group []int32
		for _, i := range members {
			group = append(group, d.classes[i])
		}
		groups = append(groups, group)
	}
	return groups
}
