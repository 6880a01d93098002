package planner

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// settle decides whether files are concatenated along a dimension, and in which order.
func (p *survey) settle(d *dim) error {
	live := d.live()
	switch {
	case d.role == spoiled || d.made || d.settled:
		return nil
	case d.coord == "" || len(d.coords) == 0:
		return p.settleBare(d)
	case d.separate:
		p.placeApart(d)
		return nil
	case !p.allPlaced(d, live):
		d.role = spoiled
		return nil
	case len(live) == 0:
		return nil
	// All files have the same values, so they share the dimension. A single time is an exception:
	// more files will follow, and their chunks must be able to grow along it.
	case len(live) == 1 && !d.flowsAlone():
		d.length = live[0].n
		d.order = live
		return nil
	}
	if how := p.env.join(d); len(live) > 1 && how != plan.JoinExact {
		return p.env.joinCoords(d, live, how)
	}
	if len(live) > 1 && d.nature != text && !p.env.sameDirection(d, live) {
		d.role = spoiled
		return nil
	}
	return p.env.lineUp(d, live)
}

// placeApart concatenates files in one piece each: in the order of their least values, or of their names
// if a file has no values.
func (p *survey) placeApart(d *dim) {
	if slices.Contains(d.of, noCoord) {
		p.inOrderOfNames(d)
		return
	}
	// Files with equal coordinates have positions of their own.
	var coords []*coord
	for f, n := range d.of {
		if n >= 0 {
			own := *d.coords[n]
			own.rep, own.files = int32(f), 1
			d.of[f] = int32(len(coords))
			coords = append(coords, &own)
		}
	}
	d.coords = coords
	d.role, d.order, d.length = flowing, d.live(), 0
	slices.SortFunc(d.order, func(a, b *coord) int { return cmp.Or(a.low.compare(b.low), p.env.compareFirst(a, b)) })
	for _, c := range d.order {
		c.start = d.length
		d.length += c.n
	}
}

// flowsAlone reports whether a dimension counts as concatenated even if only one coordinate is
// known.
func (d *dim) flowsAlone() bool { return d.named || d.nature == instant }

// live returns the coordinates that have values.
func (d *dim) live() (live []*coord) {
	for _, c := range d.coords {
		if c.n > 0 {
			live = append(live, c)
		}
	}
	return live
}

// allPlaced reports whether every file has a position along a dimension. It refuses files without a
// coordinate if other files show that they need one.
func (p *survey) allPlaced(d *dim, live []*coord) bool {
	var lack []int32
	for f, n := range d.of {
		if n != noCoord {
			continue
		}
		length := p.classes[p.classOf[f]].dims[d.path].Length
		// If all other files have the same values, a file without values may share them.
		if len(live) > 1 || len(live) == 1 && (d.flowsAlone() || live[0].n != length) {
			lack = append(lack, int32(f))
		}
	}
	if len(lack) == 0 {
		return true
	}
	remedy := withoutValues(d)
	if p.holdsStep(d.path) {
		remedy = stackBy(d.path, report.IfOneStep)
	}
	p.env.find(p.env.odd(report.Finding{Code: report.PositionUnknown, Array: d.coord, Effect: report.Refused, Dim: d.name(),
		Remedies: []report.Remedy{remedy}}, lack, d.total()))
	return false
}

// sameDirection refuses files whose values increase where most decrease, or the reverse.
func (p *env) sameDirection(d *dim, live []*coord) bool {
	ways := map[string][]*coord{}
	for _, c := range live {
		switch c.dir {
		case 1:
			ways["upwards"] = append(ways["upwards"], c)
		case -1:
			ways["downwards"] = append(ways["downwards"], c)
		}
	}
	if len(ways) < 2 {
		return true
	}
	most, odd := majority(p, ways, strings.Clone), "upwards"
	if most == odd {
		odd = "downwards"
	}
	files := d.filesOf(ways[odd]...)
	p.find(p.odd(report.Finding{Code: report.DirectionDiffers, Array: d.coord, Effect: report.Refused, Dim: d.name(),
		Args: report.Args{"direction": odd, "others": most}}, files, d.total()))
	return false
}

// lineUp concatenates coordinates in the order of their values.
func (p *env) lineUp(d *dim, live []*coord) error {
	falling := slices.ContainsFunc(live, func(c *coord) bool { return c.dir == -1 })
	order := slices.Clone(live)
	slices.SortFunc(order, func(a, b *coord) int { return p.compareCoords(a, b, falling, d.nature == text) })
	clusters := clustersOf(order, falling)
	if d.nature == text {
		// Texts have no natural order, so alphabetical ranges mean nothing.
		clusters = [][]*coord{order}
	}
	// Overlapping values of a dimension that nobody expects to grow, such as lat, are more likely
	// the same grid with an error than files to concatenate.
	if len(clusters) < len(order) && !(d.hinted || d.named || p.opts.Overlap != plan.OverlapRefuse || d.labels(order)) {
		return p.settleConflict(d, live)
	}
	at := int64(0)
	for _, cluster := range clusters {
		end, ok, err := p.mergeCluster(d, cluster, at)
		if err != nil {
			return err
		}
		if !ok && !d.hinted && !d.named && d.nature != text { // the dimension is not concatenated, so the overlap option does not apply to it
			return p.settleConflict(d, live)
		}
		if !ok {
			p.refuseInterleaved(d, cluster)
			return nil
		}
		at = end
	}
	slices.SortStableFunc(order, func(a, b *coord) int { return int(min(max(a.start-b.start, -1), 1)) })
	d.role, d.order, d.length = flowing, order, at
	return nil
}

// labels reports whether the values are distinct texts, such as station names.
func (d *dim) labels(order []*coord) bool {
	seen := map[string]bool{}
	total := 0
	for _, c := range order {
		switch c.v.Type.Kind {
		case codec.String, codec.FixedBytes, codec.FixedUTF32:
		default:
			return false
		}
		for _, t := range c.texts() {
			seen[t] = true
			total++
		}
	}
	return len(seen) == total
}

func (p *env) compareCoords(a, b *coord, falling, label bool) int {
	c := a.low.compare(b.low)
	if label {
		c = a.first.compare(b.first)
	} else if falling {
		c = b.high.compare(a.high)
	}
	if c == 0 {
		c = natural(p.files[a.rep].URL, p.files[b.rep].URL)
	}
	return c
}

// clustersOf splits sorted coordinates into groups whose value ranges do not overlap.
func clustersOf(order []*coord, falling bool) (clusters [][]*coord) {
	begin, reach := 0, order[0]
	for i := 1; i < len(order); i++ {
		c := order[i]
		apart := c.low.compare(reach.high) > 0
		if falling {
			apart = c.high.compare(reach.low) < 0
		}
		if apart {
			clusters = append(clusters, order[begin:i])
			begin, reach = i, c
			continue
		}
		if !falling && c.high.compare(reach.high) > 0 || falling && c.low.compare(reach.low) < 0 {
			reach = c
		}
	}
	return append(clusters, order[begin:])
}

// mergeCluster places coordinates whose value ranges overlap, starting at `at`. Each must be a
// contiguous part of the sorted union of their values; otherwise ok is false. end is where the next
// cluster starts.
func (p *env) mergeCluster(d *dim, cluster []*coord, at int64) (end int64, ok bool, err error) {
	if len(cluster) == 1 {
		cluster[0].start = at
		return at + cluster[0].n, true, nil
	}
	// A summary does not show which values two coordinates share.
	if slices.ContainsFunc(cluster, (*coord).summarized) {
		return 0, false, nil
	}
	lists, apart, err := p.valuesOf(d, cluster)
	if err != nil {
		return 0, false, err
	}
	// Without a common value, nothing says that the files must interleave. The user named the
	// dimension, or texts have no order worth keeping, so each file stays in one piece.
	if apart && (d.nature == text || d.named) {
		return p.endToEnd(d, cluster, at), true, nil
	}
	all := slices.Concat(lists...)
	slices.SortFunc(all, key.compare)
	all = slices.Compact(all)
	// A coordinate with one value has no direction, so the second one may show it.
	if cluster[0].dir == -1 || len(cluster) > 1 && cluster[1].dir == -1 {
		slices.Reverse(all)
	}
	place := make(map[key]int64, len(all))
	for i, k := range all {
		place[k] = int64(i)
	}
	for i, c := range cluster {
		for j, k := range lists[i] {
			if place[k] != place[lists[i][0]]+int64(j) {
				return 0, false, nil
			}
		}
		c.start = at + place[lists[i][0]]
	}
	return at + int64(len(all)), true, nil
}

// endToEnd concatenates coordinates that share no value although their ranges overlap.
func (p *env) endToEnd(d *dim, cluster []*coord, at int64) int64 {
	for _, c := range cluster {
		c.start, at = at, at+c.n
	}
	if d.nature != text {
		files := d.filesOf(cluster...)
		p.find(p.odd(report.Finding{Code: report.OrderByLeast, Array: d.coord, Effect: report.Noted, Dim: d.name()}, files, d.total()))
	}
	return at
}

// valuesOf returns the values of coordinates; apart reports that no two values are equal.
func (p *env) valuesOf(d *dim, cluster []*coord) (lists [][]key, apart bool, err error) {
	lists, apart = make([][]key, len(cluster)), true
	seen := map[key]bool{}
	for i, c := range cluster {
		if lists[i], err = c.keys(d.nature, d.ranks); err != nil {
			return nil, false, p.inFile(c.rep, err)
		}
		for _, k := range lists[i] {
			apart = apart && !seen[k]
			seen[k] = true
		}
	}
	return lists, apart, nil
}

// refuseInterleaved refuses files whose values interleave with the values of other files.
func (p *env) refuseInterleaved(d *dim, cluster []*coord) {
	d.role = spoiled
	files := d.filesOf(cluster...)
	if slices.ContainsFunc(cluster, (*coord).summarized) {
		p.find(p.odd(report.Finding{Code: report.OverlapUnknown, Array: d.coord, Effect: report.Refused, Dim: d.name(),
			Args:     report.Args{"range": p.rangeOf(cluster[0]), "other": p.rangeOf(cluster[1])},
			Remedies: []report.Remedy{compareAll(cluster)}}, files, d.total()))
		return
	}
	remedy := withoutValues(d)
	if _, apart, err := p.valuesOf(d, cluster); apart && err == nil {
		remedy = concatAlong(d, report.ByLeastValue)
	}
	last := cluster[len(cluster)-1]
	p.find(p.odd(report.Finding{Code: report.ValuesInterleave, Array: d.coord, Effect: report.Refused, Dim: d.name(),
		Args:     report.Args{"from": cluster[0].say(0), "to": last.say(last.n - 1)},
		Remedies: []report.Remedy{remedy}}, files, d.total()))
}

// rangeOf returns a description such as "a.nc from 1 to 9".
func (p *env) rangeOf(c *coord) string {
	return p.label(p.files[c.rep].URL) + " from " + c.say(0) + " to " + c.say(c.n-1)
}

// compareAll returns the remedy that raises the size limit so that all values are compared.
func compareAll(coords []*coord) report.Remedy {
	most := int64(0)
	for _, c := range coords {
		most = max(most, c.n*int64(c.v.Type.Size))
	}
	return report.Do(report.ValueBytes, strconv.FormatInt(most, 10), report.CompareValues)
}

// settleConflict decides about coordinates that should be equal but differ.
func (p *env) settleConflict(d *dim, live []*coord) error {
	standard := p.standard(live)
	if p.opts.Coords == plan.CoordsFirst {
		standard = slices.MinFunc(live, p.compareFirst)
	}
	var near, odd []*coord
	equal, moved := true, false
	for _, c := range live {
		if c == standard {
			continue
		}
		if is, err := p.isNear(d, c, standard); err != nil {
			return err
		} else if is {
			near = append(near, c)
			continue
		}
		odd = append(odd, c)
		equal = equal && c.n == standard.n
		m, err := d.permuted(c, standard)
		if err != nil {
			return err
		}
		moved = moved || m
	}
	// The longest coordinate determines the length, also if a shorter one is used.
	d.length = 0
	for _, c := range live {
		d.length = max(d.length, c.n)
	}
	// Different lengths cannot be a rounding difference, so padding decides and not the tolerance.
	switch {
	case len(odd) > 0 && !equal:
		return p.settleWidths(d, live)
	case len(odd) == 0 || p.opts.Coords == plan.CoordsFirst && !moved:
		d.order, d.first, d.overruled = []*coord{standard}, true, len(odd) > 0
		p.noteNear(d, near, standard)
		p.noteOther(d, odd, standard)
		return nil
	}
	return p.refuseCoords(d, odd, standard, moved)
}

// standard returns the coordinate that most files have. If several have as many files, the first file
// name decides.
func (p *env) standard(live []*coord) *coord {
	return slices.MinFunc(live, func(a, b *coord) int { return cmp.Or(cmp.Compare(b.files, a.files), p.compareFirst(a, b)) })
}

// compareFirst compares the names of the first files that have the coordinates.
func (p *env) compareFirst(a, b *coord) int {
	return natural(p.files[a.rep].URL, p.files[b.rep].URL)
}

// isNear reports whether two coordinates differ by at most the tolerance.
func (p *env) isNear(d *dim, a, b *coord) (bool, error) {
	if p.opts.Tolerance <= 0 {
		return false, nil
	}
	delta, _, err := d.apart(a, b)
	return delta <= p.opts.Tolerance, err
}

// apart returns the largest difference between two numeric coordinates, and the smallest step of b.
// Both are NaN if the coordinates cannot be compared.
func (d *dim) apart(a, b *coord) (delta, step float64, err error) {
	if a.n != b.n || d.nature != real && d.nature != whole || a.summarized() || b.summarized() {
		return math.NaN(), math.NaN(), nil
	}
	x, err := readNumbers(a.v, a.values.Data)
	if err != nil {
		return math.NaN(), math.NaN(), err
	}
	y, err := readNumbers(b.v, b.values.Data)
	if err != nil {
		return math.NaN(), math.NaN(), err
	}
	step = math.Inf(1)
	for i := range x.n {
		delta = max(delta, math.Abs(x.real(i)-y.real(i)))
		if i > 0 {
			step = min(step, math.Abs(y.real(i)-y.real(i-1)))
		}
	}
	return delta, step, nil
}

// allowDifference returns the remedies for coordinates that differ. It suggests a tolerance only if
// that is less than a tenth of the smallest step: a larger one could equate neighbouring positions.
func (d *dim) allowDifference(odd []*coord, standard *coord) ([]report.Remedy, error) {
	most, least := 0.0, math.Inf(1)
	for _, c := range odd {
		delta, step, err := d.apart(c, standard)
		if err != nil {
			return nil, err
		}
		most, least = max(most, delta), min(least, step)
	}
	// Round up to one digit, so that the tolerance is easy to read and still covers all of these
	// files. The digit is 0 if long integers differ by less than float64 can represent.
	digit := math.Pow(10, math.Floor(math.Log10(most)))
	if !(most < least/10) || math.IsInf(least, 1) || digit == 0 {
		return []report.Remedy{takeFirst}, nil
	}
	tolerance := strconv.FormatFloat(math.Ceil(most/digit*(1+1e-9))*digit, 'g', 2, 64)
	return []report.Remedy{report.Do(report.Tolerance, tolerance, report.IfNear), takeFirst}, nil
}

// permuted reports whether two coordinates have the same values in another order. Then data of one
// file would get the labels of the other, so no option may ignore the difference.
func (d *dim) permuted(a, b *coord) (bool, error) {
	if a.n != b.n || a.low != b.low || a.high != b.high {
		return false, nil
	}
	if a.summarized() || b.summarized() {
		return sameSummaries(a, b, func(x, y *manifest.Summary) bool { return x.Bag == y.Bag && x.Meant != y.Meant })
	}
	x, err := a.keys(d.nature, d.ranks)
	if err != nil {
		return false, err
	}
	y, err := b.keys(d.nature, d.ranks)
	// keys returns a new list, so sorting it does not change the coordinate.
	slices.SortFunc(x, key.compare)
	slices.SortFunc(y, key.compare)
	return slices.Equal(x, y), err
}

// noteOther reports files whose coordinates are not used.
func (p *env) noteOther(d *dim, other []*coord, standard *coord) {
	if len(other) > 0 {
		p.find(p.odd(report.Finding{Code: report.CoordinateDiffers, Array: d.coord, Effect: report.Noted, Dim: d.name(), By: p.byFirst(),
			Args: report.Args{"standard": p.file(standard.rep)}}, d.filesOf(other...), d.total()))
	}
}

// noteNear reports files whose coordinates differ from the used one by at most the tolerance.
func (p *env) noteNear(d *dim, near []*coord, standard *coord) {
	if len(near) > 0 {
		p.find(p.odd(report.Finding{Code: report.CoordinateNear, Array: d.coord, Effect: report.Noted, Dim: d.name(), By: p.byTolerance(),
			Args: report.Args{"tolerance": p.opts.Tolerance, "standard": []report.File{p.file(standard.rep)}}}, d.filesOf(near...), d.total()))
	}
}

func (p *env) refuseCoords(d *dim, odd []*coord, standard *coord, moved bool) error {
	files := d.filesOf(odd...)
	d.role = spoiled
	f := report.Finding{Code: report.CoordinateDiffers, Array: d.coord, Effect: report.Refused, Dim: d.name()}
	switch large := odd[0].summarized() || standard.summarized(); {
	case moved:
		f.Code = report.CoordinatePermuted
	case large:
		f.Args = report.Args{"range": p.rangeOf(odd[0]), "other": p.rangeOf(standard)}
		f.Remedies = []report.Remedy{takeFirst, compareAll([]*coord{odd[0], standard})}
	default:
		at, err := d.firstDifference(odd[0], standard)
		if err != nil {
			return err
		}
		has, others := odd[0].say(at), standard.say(at)
		if has == others { // 0.1 as float32 differs from 0.1 as float64
			has, others = has+" of "+odd[0].v.Type.String(), others+" of "+standard.v.Type.String()
		}
		f.Args = report.Args{"example": p.file(odd[0].rep), "value": has, "index": at, "standard": p.file(standard.rep), "other": others}
		if f.Remedies, err = d.allowDifference(odd, standard); err != nil {
			return err
		}
		if f.Remedies[0].Option != report.Tolerance && d.shareValues(odd[0], standard) {
			f.Remedies = slices.Insert(f.Remedies, 0, joinOuter(d))
		}
	}
	p.find(p.odd(f, files, d.total()))
	return nil
}

func (d *dim) firstDifference(a, b *coord) (int64, error) {
	x, err := a.keys(d.nature, d.ranks)
	if err != nil {
		return 0, err
	}
	y, err := b.keys(d.nature, d.ranks)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return int64(i), err
		}
	}
	return int64(min(len(x), len(y))), err
}
