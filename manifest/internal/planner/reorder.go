package planner

import (
	"path"
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/zarrjson"
)

// reorder brings coordinates to the range and the direction that the options longitudes and flip name. From then on, the
// coordinates of a dimension are in the new order, and dim.views says in which order a file is read.
func (p *alignment) reorder() error {
	if err := p.checkReorder(); err != nil {
		return err
	}
	for _, at := range p.dimOrder {
		d := p.dims[at]
		if d.role == spoiled {
			continue
		}
		if err := p.moveLongitudes(d); err != nil {
			return err
		}
		name, to, ok := directionOf(p.env.opts.Flip, d.path)
		_, published, isPublished := directionOf(p.env.opts.DirectionsOf, d.path)
		if (ok || isPublished) && d.role != spoiled {
			if err := p.flip(d, name, to, published); err != nil {
				return err
			}
		}
		p.reorderWithout(d)
		if (d.isReordered() || d.moved != nil) && p.env.earlier != nil {
			return replanError{report.ReplanReordered}
		}
	}
	return nil
}

// checkReorder returns an error if a dimension to flip does not exist or has no values, or if no dimension has longitudes to
// move.
func (p *alignment) checkReorder() error {
	own := report.Setting{Option: report.Longitudes, Value: string(p.env.opts.Longitudes)}
	isLongitude := func(at string) bool { return p.dims[at].isLongitude() }
	if own.Value != "" && !p.env.opts.IsOptional(own) && !slices.ContainsFunc(p.dimOrder, isLongitude) {
		return optionError(own.Option, own.Value, "no file has longitudes that are the coordinate of a dimension"+listed(p.dimOrder))
	}
	for _, name := range sorted(p.env.opts.Flip) {
		own := report.Setting{Option: report.Flip, Value: name}
		i := slices.IndexFunc(p.dimOrder, func(at string) bool { return naming.Calls(name, at) })
		switch {
		case p.survey.dropsDim(name) || p.env.opts.IsOptional(own):
		case i < 0:
			return optionError(own.Option, name, "no dimension has this name"+listed(p.dimOrder))
		case len(p.dims[p.dimOrder[i]].coords) == 0:
			return optionError(own.Option, name, "no file has values along it that show a direction")
		}
	}
	return nil
}

// directionOf returns the name and the direction of a dimension in a list. Its path has precedence over its name.
func directionOf(list map[string]plan.Direction, at string) (name string, to plan.Direction, ok bool) {
	if to, ok = list[at]; ok {
		return at, to, true
	}
	for _, name := range sorted(list) {
		if naming.Calls(name, at) {
			return name, list[name], true
		}
	}
	return "", "", false
}

// reorderWithout gives files without the coordinate of a dimension the view of all other files. It refuses them if the other
// files have several views, or another length.
func (p *alignment) reorderWithout(d *dim) {
	lack := d.filesWithout()
	if d.role == spoiled || !d.isReordered() || len(lack) == 0 {
		return
	}
	var view []coord.Part
	length, same := int64(-1), true
	for f, n := range d.of {
		if n < 0 || d.coords[n].Len == 0 {
			continue
		}
		if length < 0 {
			view, length = d.views[int32(f)], d.coords[n].Len
		}
		same = same && slices.Equal(view, d.views[int32(f)])
	}
	for _, f := range lack {
		if same = same && p.survey.classes[p.survey.classOf[f]].dims[d.path].Length == length; same {
			d.setView(int(f), view)
		}
	}
	if !same {
		d.role = spoiled
		p.env.find(p.env.odd(report.Finding{Code: report.PositionUnknown, Array: d.coord, Effect: report.Refused, Dim: d.name(), Remedies: byKind}, lack, d.total()))
	} else if d.moved != nil {
		d.moved = slices.Sorted(slices.Values(slices.Concat(d.moved, lack)))
	}
}

// filesWithout returns the files that have a dimension without values of its coordinate.
func (d *dim) filesWithout() (files []int32) {
	for f, n := range d.of {
		if n == noCoord {
			files = append(files, int32(f))
		}
	}
	return files
}

// setView makes a file be read in another order.
func (d *dim) setView(file int, view []coord.Part) {
	if d.views == nil {
		d.views = map[int32][]coord.Part{}
	}
	d.views[int32(file)] = view
}

// flip reverses coordinates that do not run in the direction of an option. Published dimensions keep their direction.
func (p *alignment) flip(d *dim, name string, to, published plan.Direction) error {
	ways := map[plan.Direction][]*coord.Coord{}
	for _, c := range d.coords {
		switch c.Direction {
		case 1:
			ways[plan.Increasing] = append(ways[plan.Increasing], c)
		case -1:
			ways[plan.Decreasing] = append(ways[plan.Decreasing], c)
		}
	}
	if published == "" {
		published = p.olderDirection(d)
	}
	switch {
	case published != "" && to != plan.UsualDirection && to != published:
		return optionError(report.Flip, name+"="+string(to), "the files that were added before are "+string(published)+" along "+d.path+", and would be reversed; use "+name+"="+string(published)+", or build again")
	case published != "":
		to = published
	case to == plan.UsualDirection && len(ways) == 0:
		return nil
	case to == plan.UsualDirection:
		to = majority(p.env, ways, func(w plan.Direction) string { return string(w) })
	}
	other := plan.Increasing
	if to == other {
		other = plan.Decreasing
	}
	if p.flipped == nil {
		p.flipped = map[string]plan.Direction{}
	}
	p.flipped[d.path] = to
	odd := ways[other]
	if len(odd) == 0 {
		return nil
	}
	files := slices.Concat(d.filesOf(odd...), d.filesWithout())
	slices.Sort(files)
	if slices.ContainsFunc(odd, (*coord.Coord).Summarized) {
		d.role = spoiled
		p.env.find(p.env.odd(report.Finding{Code: report.OverlapUnknown, Array: d.coord, Effect: report.Refused, Dim: d.name(),
			Args:     report.Args{"range": p.rangeOf(odd[0]), "other": p.rangeOf(d.coords[0])},
			Remedies: []report.Remedy{compareAll(odd)}}, files, d.total()))
		return nil
	}
	for f, n := range d.of {
		if n >= 0 && slices.Contains(odd, d.coords[n]) {
			d.setView(f, coord.Backwards(d.views[int32(f)], d.coords[n].Len))
		}
	}
	for i, c := range d.coords {
		if slices.Contains(odd, c) {
			own := *c
			own.Values = coord.Reversed(c.Values, []int64{c.Len}, 0, c.Variable.Type)
			d.coords[i] = &own
		}
	}
	if err := p.measure(d); err != nil {
		return err
	}
	p.env.find(p.env.odd(report.Finding{Code: report.Flipped, Array: d.coord, Effect: report.Reencoded, Dim: d.name(), By: report.Setting{Option: report.Flip, Value: d.name()},
		Args: report.Args{"direction": string(other), "others": string(to)}}, files, d.total()))
	return nil
}

// olderDirection returns the direction of the files that an earlier snapshot has. Single values are in increasing order.
func (p *alignment) olderDirection(d *dim) plan.Direction {
	c := p.olderCoord(d, func(c *coord.Coord) bool { return c.Direction == 1 || c.Direction == -1 })
	if c != nil && c.Direction == -1 {
		return plan.Decreasing
	}
	first := p.olderCoord(d, func(c *coord.Coord) bool { return c.Len == 1 })
	if c != nil || first != nil && p.join(d) == plan.JoinExact && p.olderCoord(d, func(c *coord.Coord) bool { return c.Len == 1 && c != first }) != nil {
		return plan.Increasing
	}
	return plan.UsualDirection
}

// olderCoord returns the coordinate of a file that an earlier snapshot has, or nil.
func (p *alignment) olderCoord(d *dim, is func(c *coord.Coord) bool) *coord.Coord {
	for f := range min(p.env.opts.Older, len(d.of)) {
		if c := d.coordOf(int32(f)); c != nil && is(c) {
			return c
		}
	}
	return nil
}

// least returns the start of a range of longitudes.
func least(l plan.Longitudes) float64 {
	if l == plan.Around0 {
		return -180
	}
	return 0
}

func otherRange(l plan.Longitudes) plan.Longitudes {
	if l == plan.Around0 {
		return plan.From0To360
	}
	return plan.Around0
}

// isLongitude reports whether a dimension has longitudes.
func (d *dim) isLongitude() bool {
	if d.coord == "" || len(d.coords) == 0 || d.nature != coord.Whole && d.nature != coord.Real {
		return false
	}
	name := path.Base(d.coord)
	return name == "lon" || name == "longitude" || slices.ContainsFunc(d.coords, func(c *coord.Coord) bool { return cf.RoleOfVariable(c.Variable) == cf.LongitudeRole })
}

// moveLongitudes brings the longitudes along a dimension to the range of the option.
func (p *alignment) moveLongitudes(d *dim) error {
	to := p.env.opts.Longitudes
	if to == plan.AnyLongitudes || !d.isLongitude() {
		return nil
	}
	coords, views := slices.Clone(d.coords), make([][]coord.Part, len(d.coords))
	turns := make([][]int, len(d.coords))
	var moved []*coord.Coord
	for i, c := range d.coords {
		if c.Summarized() {
			p.refuseLongitudes(d, c, "they are too many to keep in memory")
			return nil
		}
		var err error
		if turns[i], err = c.Turns(least(to)); err == nil && !isZero(turns[i]) {
			coords[i], views[i], err = c.Turned(turns[i], d.nature)
			if err != nil && c.IsFullCircle(least(to)) {
				coords[i], err = c, nil
				clear(turns[i])
				continue
			}
			moved = append(moved, c)
		}
		if err != nil {
			p.refuseLongitudes(d, c, err.Error())
			return nil
		}
	}
	if len(moved) == 0 {
		return nil
	}
	d.moved = d.filesOf(moved...)
	if err := p.moveBounds(d, turns); err != nil {
		return err
	}
	for f, n := range d.of {
		if n >= 0 && views[n] != nil {
			d.setView(f, views[n])
		}
	}
	d.coords = coords
	return p.measure(d)
}

func isZero(list []int) bool { return !slices.ContainsFunc(list, func(n int) bool { return n != 0 }) }

func (p *alignment) refuseLongitudes(d *dim, c *coord.Coord, why string) {
	d.role = spoiled
	p.env.find(p.env.odd(report.Finding{Code: report.LongitudesFixed, Array: d.coord, Effect: report.Refused, Dim: d.name(),
		Args: report.Args{"range": string(p.env.opts.Longitudes), "reason": why}, Remedies: []report.Remedy{report.Do(report.Longitudes, string(otherRange(p.env.opts.Longitudes)), "")}}, d.filesOf(c), d.total()))
}

// sameMeridians returns the range of longitudes of a coordinate, if others have the same meridians in another range.
func (p *alignment) sameMeridians(d *dim, others []*coord.Coord, standard *coord.Coord) (to plan.Longitudes, ok bool) {
	if p.env.opts.Longitudes != plan.AnyLongitudes || !d.isLongitude() {
		return "", false
	}
	if c := p.olderCoord(d, func(c *coord.Coord) bool { return c.Len > 0 }); c != nil {
		standard = c // what is published keeps its longitudes
	}
	to = plan.From0To360
	if standard.Say(0)[0] == '-' || standard.Say(standard.Len - 1)[0] == '-' {
		to = plan.Around0
	}
	var moved []*coord.Coord
	for _, c := range append(others[:len(others):len(others)], standard) {
		turns, err := c.Turns(least(to))
		if err != nil {
			return "", false
		}
		if !isZero(turns) {
			if c, _, err = c.Turned(turns, d.nature); err != nil {
				return "", false
			}
		}
		moved = append(moved, c)
	}
	last := len(moved) - 1
	x, err := d.farthest(moved[:last], moved[last])
	return to, err == nil && (x.most == 0 || x.isSmall())
}

// moveBounds adds turns to the bounds of longitudes, and to the coordinate. It replaces the files by copies with these values.
func (p *alignment) moveBounds(d *dim, turns [][]int) error {
	bounds := make(map[int32]*planVar, len(d.classes)) // by class
	for _, n := range d.classes {
		bounds[n] = p.survey.classes[n].boundsAlong(d)
	}
	err := p.env.settle(func() (missing []want, err error) {
		for f, n := range d.of {
			if n < 0 || isZero(turns[n]) {
				continue
			}
			if x := bounds[p.survey.classOf[f]]; x != nil {
				w := p.env.all(int32(f), x.at, coord.ElementsOf(x.v))
				if _, ok, err := p.env.values(w); err != nil {
					return nil, err
				} else if !ok {
					missing = append(missing, w)
				}
			}
		}
		return missing, nil
	})
	if err != nil {
		return err
	}
	type key struct {
		values *manifest.Values
		v      *manifest.Variable
		of     int32
	}
	known := map[key]*manifest.Values{} // many files share their values
	files := slices.Clone(p.env.files)
	for f, n := range d.of {
		if n < 0 || isZero(turns[n]) {
			continue
		}
		file := *files[f]
		file.Values = slices.Clone(file.Values)
		c := p.survey.classes[p.survey.classOf[f]]
		for _, x := range []*planVar{bounds[p.survey.classOf[f]], c.varAt(d.coord)} {
			if x == nil {
				continue
			}
			k := key{file.Values[x.at], x.v, n}
			if known[k] == nil {
				if known[k], err = coord.AddTurns(x.v, k.values, turns[n]); err != nil {
					p.refuseLongitudes(d, d.coords[n], x.path[1:]+": "+err.Error())
					return nil
				}
			}
			file.Values[x.at] = known[k]
		}
		files[f] = &file
	}
	p.env = p.env.withFiles(files)
	p.survey.env = p.env
	return nil
}

// varAt returns the variable with a path, or nil.
func (c *class) varAt(at string) *planVar {
	if i := c.find(at); i >= 0 {
		return &c.vars[i]
	}
	return nil
}

// boundsAlong returns the variable with the bounds of a coordinate's cells, or nil.
func (c *class) boundsAlong(d *dim) *planVar {
	x := c.varAt(d.coord)
	if x == nil {
		return nil
	}
	name := coord.TextOf(x.v, "bounds")
	i := slices.IndexFunc(c.vars, func(b planVar) bool {
		return name != "" && b.v.Path == path.Join(path.Dir(x.v.Path), name) && len(b.dims) == 2 && b.dims[0] == d.path
	})
	if i < 0 || c.vars[i].v.Storage.Layout == manifest.Nothing || c.vars[i].v.Unreadable != "" {
		return nil
	}
	return &c.vars[i]
}

// hasMovedBounds reports whether an array has the bounds of longitudes that were changed. Only the manifest has their values.
func (p *arrangement) hasMovedBounds(a *array) bool {
	return len(a.dims) == 2 && p.alignment.dims[a.dims[0]].moved != nil && slices.ContainsFunc(a.members, func(m member) bool {
		x := p.survey.classes[m.class].boundsAlong(p.alignment.dims[a.dims[0]])
		return x != nil && x.path == a.path
	})
}

// noteSplit finds out whether chunks are split where a file is read in two parts.
func (p *alignment) noteSplit(a *array, g *grid.Grid) {
	if a.where == nil {
		return
	}
	for i, d := range a.where.dims {
		k := slices.Index(a.allDims(), d.path)
		for _, t := range a.where.tiles {
			if d.moved == nil || d.split || d.views[int32(t.File)] == nil {
				continue
			}
			at, _ := g.Dim(k).Find(t.Origin[i])
			begin, _ := g.Dim(k).Offset(at)
			m := a.memberOf(p.survey.classOf[t.File])
			chunks := m.v.Storage.Chunks
			d.split = begin != t.Origin[i] || m.v.Storage.Layout != manifest.Chunked || chunks == nil || t.Start[i]%chunks[m.axes[k-len(a.made)]] != 0
		}
	}
}

// rangeAttributes are attributes that say between which numbers the values are.
var rangeAttributes = []string{"valid_min", "valid_max", "valid_range", "actual_range"}

// dropRanges drops attributes of longitudes that were true for the range that some files have.
func (p *alignment) dropRanges(a *array, attributes *zarrjson.Attributes) {
	if len(a.dims) != 1 || a.path != p.dims[a.dims[0]].coord || p.dims[a.dims[0]].moved == nil {
		return
	}
	d := p.dims[a.dims[0]]
	for _, name := range rangeAttributes {
		if attributes.Delete(name) {
			d.ranges = append(d.ranges, name)
		}
	}
}

// noteLongitudes reports the files whose longitudes are brought to another range.
func (p *alignment) noteLongitudes() {
	for _, at := range p.dimOrder {
		d := p.dims[at]
		if d.moved == nil {
			continue
		}
		f := report.Finding{Code: report.LongitudesMoved, Array: d.coord, Effect: report.Noted, Dim: d.name(),
			By: report.Setting{Option: report.Longitudes, Value: string(p.env.opts.Longitudes)}, Args: report.Args{"in_two": d.isReordered()}}
		if d.ranges != nil {
			f.Args["left_out"] = d.ranges
		}
		if d.split {
			f.Effect = report.Reencoded
		}
		p.env.find(p.env.odd(f, d.moved, d.total()))
	}
}

// cutReordered collects where the parts of files begin and end along dimensions that are reordered.
func (p *alignment) cutReordered() {
	for _, d := range p.dims {
		if !d.isReordered() {
			continue
		}
		var cuts []int64
		for f, n := range d.of {
			if n == noDim {
				continue
			}
			parts, _ := p.survey.parts(d, int32(f))
			for _, s := range parts {
				cuts = append(cuts, s.Origin, s.Origin+s.Length)
			}
		}
		slices.Sort(cuts)
		d.cuts = slices.Compact(cuts)
	}
}

// refuseReordered refuses an array whose values are in other files: parts of them have no order of their own.
func (p *arrangement) refuseReordered(a *array) {
	p.env.find(p.env.odd(report.Finding{Code: report.PartsMoved, Array: a.path, Effect: report.Refused, Args: report.Args{"dims": dimList(a.placed)},
		Remedies: []report.Remedy{report.DropPath(path.Base(a.path))}}, p.survey.filesHaving(a), a.files))
}
