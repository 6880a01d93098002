package planner

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// settle decides whether files are concatenated along a dimension, and in which order.
func (p *alignment) settle(d *dim) error {
	live := d.live()
	switch {
	case d.role == spoiled || d.by == byOption || d.by == byAttributes:
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
		d.length = live[0].Len
		d.order = live
		return nil
	}
	if how := p.join(d); len(live) > 1 && how != plan.JoinExact {
		return p.joinCoords(d, live, how)
	}
	if len(live) > 1 && d.nature != coord.Text && !p.sameDirection(d, live) {
		d.role = spoiled
		return nil
	}
	return p.lineUp(d, live)
}

// placeApart concatenates files in one piece each: in the order of their least values, or of their names
// if a file has no values.
func (p *alignment) placeApart(d *dim) {
	if slices.Contains(d.of, noCoord) {
		p.inOrderOfNames(d)
		return
	}
	// Files with equal coordinates have positions of their own.
	var coords []*coord.Coord
	for f, n := range d.of {
		if n >= 0 {
			own := *d.coords[n]
			own.File, own.Files = int32(f), 1
			d.of[f] = int32(len(coords))
			coords = append(coords, &own)
		}
	}
	d.coords = coords
	d.role, d.order, d.length = flowing, d.live(), 0
	slices.SortFunc(d.order, func(a, b *coord.Coord) int { return cmp.Or(a.Low.Compare(b.Low), p.env.compareFirst(a, b)) })
	for _, c := range d.order {
		c.Start = d.length
		d.length += c.Len
	}
}

// flowsAlone reports whether a dimension counts as concatenated even if only one coordinate is
// known.
func (d *dim) flowsAlone() bool { return d.named || d.nature == coord.Instant }

// live returns the coordinates that have values.
func (d *dim) live() (live []*coord.Coord) {
	for _, c := range d.coords {
		if c.Len > 0 {
			live = append(live, c)
		}
	}
	return live
}

// allPlaced reports whether every file has a position along a dimension. It refuses files without a
// coordinate if other files show that they need one.
func (p *alignment) allPlaced(d *dim, live []*coord.Coord) bool {
	var lack []int32
	for f, n := range d.of {
		if n != noCoord {
			continue
		}
		length := p.survey.classes[p.survey.classOf[f]].dims[d.path].Length
		// If all other files have the same values, a file without values may share them.
		if len(live) > 1 || len(live) == 1 && (d.flowsAlone() || live[0].Len != length) {
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
func (p *alignment) sameDirection(d *dim, live []*coord.Coord) bool {
	ways := map[string][]*coord.Coord{}
	for _, c := range live {
		switch c.Direction {
		case 1:
			ways["upwards"] = append(ways["upwards"], c)
		case -1:
			ways["downwards"] = append(ways["downwards"], c)
		}
	}
	if len(ways) < 2 {
		return true
	}
	most, odd := majority(p.env, ways, strings.Clone), "upwards"
	if most == odd {
		odd = "downwards"
	}
	files := d.filesOf(ways[odd]...)
	p.env.find(p.env.odd(report.Finding{Code: report.DirectionDiffers, Array: d.coord, Effect: report.Refused, Dim: d.name(),
		Args: report.Args{"direction": odd, "others": most}, Remedies: append([]report.Remedy{report.Do(report.Flip, d.name(), report.ReadsReversed)}, byKind...)}, files, d.total()))
	return false
}

// lineUp concatenates coordinates in the order of their values.
func (p *alignment) lineUp(d *dim, live []*coord.Coord) error {
	falling := p.flipped[d.path] == plan.Decreasing || slices.ContainsFunc(live, func(c *coord.Coord) bool { return c.Direction == -1 })
	order := slices.Clone(live)
	slices.SortFunc(order, func(a, b *coord.Coord) int { return p.compareCoords(a, b, falling, d.nature == coord.Text) })
	clusters := clustersOf(order, falling)
	if d.nature == coord.Text {
		// Texts have no natural order, so alphabetical ranges mean nothing.
		clusters = [][]*coord.Coord{order}
	}
	// Overlapping values of a dimension that nobody expects to grow, such as lat, are more likely
	// the same grid with an error than files to concatenate.
	if len(clusters) < len(order) && !(d.hinted || d.named || p.env.opts.Overlap != plan.OverlapRefuse || d.labels(order)) {
		return p.settleConflict(d, live)
	}
	at := int64(0)
	for _, cluster := range clusters {
		end, ok, err := p.mergeCluster(d, cluster, at)
		if err != nil {
			return err
		}
		if !ok && !d.hinted && !d.named && d.nature != coord.Text { // the dimension is not concatenated, so the overlap option does not apply to it
			return p.settleConflict(d, live)
		}
		if !ok {
			p.refuseInterleaved(d, cluster)
			return nil
		}
		at = end
	}
	slices.SortStableFunc(order, func(a, b *coord.Coord) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	d.role, d.order, d.length = flowing, order, at
	return nil
}

// labels reports whether the values are distinct texts, such as station names.
func (d *dim) labels(order []*coord.Coord) bool {
	seen := map[string]bool{}
	total := 0
	for _, c := range order {
		switch c.Variable.Type.Kind {
		case codec.String, codec.FixedBytes, codec.FixedUTF32:
		default:
			return false
		}
		for _, t := range c.Texts() {
			seen[t] = true
			total++
		}
	}
	return len(seen) == total
}

func (p *alignment) compareCoords(a, b *coord.Coord, falling, label bool) int {
	c := a.Low.Compare(b.Low)
	if label {
		c = a.First.Compare(b.First)
	} else if falling {
		c = b.High.Compare(a.High)
	}
	if c == 0 {
		c = naming.Natural(p.env.files[a.File].URL, p.env.files[b.File].URL)
	}
	return c
}

// clustersOf splits sorted coordinates into groups whose value ranges do not overlap.
func clustersOf(order []*coord.Coord, falling bool) (clusters [][]*coord.Coord) {
	begin, reach := 0, order[0]
	for i := 1; i < len(order); i++ {
		c := order[i]
		apart := c.Low.Compare(reach.High) > 0
		if falling {
			apart = c.High.Compare(reach.Low) < 0
		}
		if apart {
			clusters = append(clusters, order[begin:i])
			begin, reach = i, c
			continue
		}
		if !falling && c.High.Compare(reach.High) > 0 || falling && c.Low.Compare(reach.Low) < 0 {
			reach = c
		}
	}
	return append(clusters, order[begin:])
}

// mergeCluster places coordinates whose value ranges overlap, starting at `at`. Each must be a
// contiguous part of the sorted union of their values; otherwise ok is false. end is where the next
// cluster starts.
func (p *alignment) mergeCluster(d *dim, cluster []*coord.Coord, at int64) (end int64, ok bool, err error) {
	if len(cluster) == 1 {
		cluster[0].Start = at
		return at + cluster[0].Len, true, nil
	}
	// A summary does not show which values two coordinates share.
	if slices.ContainsFunc(cluster, (*coord.Coord).Summarized) {
		return 0, false, nil
	}
	lists, apart, err := p.valuesOf(d, cluster)
	if err != nil {
		return 0, false, err
	}
	// Without a common value, nothing says that the files must interleave. The user named the
	// dimension, or texts have no order worth keeping, so each file stays in one piece.
	if apart && (d.nature == coord.Text || d.named) {
		return p.endToEnd(d, cluster, at), true, nil
	}
	all := slices.Concat(lists...)
	slices.SortFunc(all, coord.Key.Compare)
	all = slices.Compact(all)
	// A coordinate with one value has no direction, so the second one may show it.
	if cluster[0].Direction == -1 || len(cluster) > 1 && cluster[1].Direction == -1 {
		slices.Reverse(all)
	}
	place := make(map[coord.Key]int64, len(all))
	for i, k := range all {
		place[k] = int64(i)
	}
	for i, c := range cluster {
		for j, k := range lists[i] {
			if place[k] != place[lists[i][0]]+int64(j) {
				return 0, false, nil
			}
		}
		c.Start = at + place[lists[i][0]]
	}
	return at + int64(len(all)), true, nil
}

// endToEnd concatenates coordinates that share no value although their ranges overlap.
func (p *alignment) endToEnd(d *dim, cluster []*coord.Coord, at int64) int64 {
	for _, c := range cluster {
		c.Start, at = at, at+c.Len
	}
	if d.nature != coord.Text {
		files := d.filesOf(cluster...)
		p.env.find(p.env.odd(report.Finding{Code: report.OrderByLeast, Array: d.coord, Effect: report.Noted, Dim: d.name()}, files, d.total()))
	}
	return at
}

// valuesOf returns the values of coordinates; apart reports that no two values are equal.
func (p *alignment) valuesOf(d *dim, cluster []*coord.Coord) (lists [][]coord.Key, apart bool, err error) {
	lists, apart = make([][]coord.Key, len(cluster)), true
	seen := map[coord.Key]bool{}
	for i, c := range cluster {
		if lists[i], err = c.Keys(d.nature, d.ranks); err != nil {
			return nil, false, p.env.inFile(c.File, err)
		}
		for _, k := range lists[i] {
			apart = apart && !seen[k]
			seen[k] = true
		}
	}
	return lists, apart, nil
}

// refuseInterleaved refuses files whose values interleave with the values of other files.
func (p *alignment) refuseInterleaved(d *dim, cluster []*coord.Coord) {
	d.role = spoiled
	files := d.filesOf(cluster...)
	if slices.ContainsFunc(cluster, (*coord.Coord).Summarized) {
		p.env.find(p.env.odd(report.Finding{Code: report.OverlapUnknown, Array: d.coord, Effect: report.Refused, Dim: d.name(),
			Args:     report.Args{"range": p.rangeOf(cluster[0]), "other": p.rangeOf(cluster[1])},
			Remedies: []report.Remedy{compareAll(cluster)}}, files, d.total()))
		return
	}
	remedy := withoutValues(d)
	if _, apart, err := p.valuesOf(d, cluster); apart && err == nil {
		remedy = concatAlong(d, report.ByLeastValue)
	}
	last := cluster[len(cluster)-1]
	p.env.find(p.env.odd(report.Finding{Code: report.ValuesInterleave, Array: d.coord, Effect: report.Refused, Dim: d.name(),
		Args:     report.Args{"from": cluster[0].Say(0), "to": last.Say(last.Len - 1)},
		Remedies: []report.Remedy{remedy}}, files, d.total()))
}

// rangeOf returns a description such as "a.nc from 1 to 9".
func (p *alignment) rangeOf(c *coord.Coord) string {
	return p.env.label(p.env.files[c.File].URL) + " from " + c.Say(0) + " to " + c.Say(c.Len-1)
}

// compareAll returns the remedy that raises the size limit so that all values are compared.
func compareAll(coords []*coord.Coord) report.Remedy {
	most := int64(0)
	for _, c := range coords {
		most = max(most, c.Len*int64(c.Variable.Type.Size))
	}
	return report.Do(report.ValueBytes, strconv.FormatInt(most, 10), report.CompareValues)
}

// settleConflict decides about coordinates that should be equal but differ.
func (p *alignment) settleConflict(d *dim, live []*coord.Coord) error {
	standard := p.env.standard(live)
	if p.env.opts.Coords == plan.CoordsFirst {
		standard = slices.MinFunc(live, p.env.compareFirst)
	}
	var near, odd []*coord.Coord
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
		equal = equal && c.Len == standard.Len
		m, err := d.permuted(c, standard)
		if err != nil {
			return err
		}
		moved = moved || m
	}
	// The longest coordinate determines the length, also if a shorter one is used.
	d.length = 0
	for _, c := range live {
		d.length = max(d.length, c.Len)
	}
	// Different lengths cannot be a rounding difference, so padding decides and not the tolerance.
	switch {
	case len(odd) > 0 && !equal:
		return p.settleWidths(d, live)
	case len(odd) == 0 || p.env.opts.Coords == plan.CoordsFirst && !moved:
		d.order, d.first, d.overruled = []*coord.Coord{standard}, true, len(odd) > 0
		p.noteNear(d, near, standard)
		return p.noteOther(d, odd, standard)
	}
	return p.refuseCoords(d, odd, standard, moved)
}

// standard returns the coordinate that most files have. If several have as many files, the first file
// name decides.
func (p *env) standard(live []*coord.Coord) *coord.Coord {
	return slices.MinFunc(live, func(a, b *coord.Coord) int { return cmp.Or(cmp.Compare(b.Files, a.Files), p.compareFirst(a, b)) })
}

// compareFirst compares the names of the first files that have the coordinates.
func (p *env) compareFirst(a, b *coord.Coord) int {
	return naming.Natural(p.files[a.File].URL, p.files[b.File].URL)
}

// isNear reports whether two coordinates differ by at most the tolerance.
func (p *alignment) isNear(d *dim, a, b *coord.Coord) (bool, error) {
	if p.env.opts.Tolerance <= 0 || a.Len != b.Len {
		return false, nil
	}
	x, err := d.apart(a, b)
	return x.most <= p.env.opts.Tolerance, err
}

// difference compares the values of two numeric coordinates at equal positions.
type difference struct {
	most float64 // the largest distance; NaN if the coordinates cannot be compared
	step float64 // the smallest step of the other coordinate; infinite if it has one value
}

// isSmall reports whether the difference is far smaller than a cell. A larger one could equate
// neighbouring positions.
func (x difference) isSmall() bool { return x.most < x.step/10 && !math.IsInf(x.step, 1) }

// tolerance returns the tolerance that accepts a small difference, or "". It is rounded up to one digit, so that it is easy to read.
func (x difference) tolerance() string {
	if !x.isSmall() {
		return ""
	}
	digit := math.Pow(10, math.Floor(math.Log10(x.most)))
	if digit == 0 { // long integers differ by less than float64 can represent
		return ""
	}
	return strconv.FormatFloat(math.Ceil(x.most/digit*(1+1e-9))*digit, 'g', 2, 64)
}

// apart returns how far a is from b, as far as both have values.
func (d *dim) apart(a, b *coord.Coord) (difference, error) {
	unknown := difference{math.NaN(), math.NaN()}
	if d.nature != coord.Real && d.nature != coord.Whole || a.Summarized() || b.Summarized() {
		return unknown, nil
	}
	x, err := coord.ReadNumbers(a.Variable, a.Values.Data)
	if err != nil {
		return unknown, err
	}
	y, err := coord.ReadNumbers(b.Variable, b.Values.Data)
	if err != nil {
		return unknown, err
	}
	out := difference{step: math.Inf(1)}
	for i := range min(x.Len, y.Len) {
		out.most = max(out.most, math.Abs(x.Real(i)-y.Real(i)))
	}
	for i := 1; i < y.Len; i++ {
		out.step = min(out.step, math.Abs(y.Real(i)-y.Real(i-1)))
	}
	return out, nil
}

// farthest returns the largest difference between the coordinates and the standard.
func (d *dim) farthest(odd []*coord.Coord, standard *coord.Coord) (out difference, err error) {
	out.step = math.Inf(1)
	for _, c := range odd {
		x, err := d.apart(c, standard)
		if err != nil {
			return out, err
		}
		out.most, out.step = max(out.most, x.most), min(out.step, x.step)
	}
	return out, nil
}

// allowDifference returns the remedies for coordinates that differ. The first file's values are suggested
// only for a small difference: otherwise, data would get positions to which they do not belong.
func (p *alignment) allowDifference(d *dim, odd []*coord.Coord, standard *coord.Coord) ([]report.Remedy, error) {
	x, err := d.farthest(odd, standard)
	if err != nil {
		return nil, err
	}
	if !x.isSmall() {
		p.env.far[d.coord] = true
		if to, ok := p.sameMeridians(d, odd, standard); ok {
			return append([]report.Remedy{report.Do(report.Longitudes, string(to), report.SameMeridians)}, p.keepDifference(d, odd, standard)...), nil
		}
		return p.keepDifference(d, odd, standard), nil
	}
	if tolerance := x.tolerance(); tolerance != "" {
		return []report.Remedy{report.Do(report.Tolerance, tolerance, report.IfNear), takeFirst}, nil
	}
	return []report.Remedy{takeFirst}, nil
}

// keepDifference returns the remedies that keep all values of coordinates that differ by much. Horizontal
// coordinates without many common values are other grids, for which a union is mostly fill.
func (p *alignment) keepDifference(d *dim, odd []*coord.Coord, standard *coord.Coord) []report.Remedy {
	switch shared := d.shareValues(odd[0], standard); {
	case !p.canJoin(d, append(odd[:len(odd):len(odd)], standard)):
		return []report.Remedy{separate}
	case shared || !isHorizontal(standard.Variable):
		return []report.Remedy{joinOuter(d), separate}
	}
	return []report.Remedy{separate, joinOuter(d)}
}

// isHorizontal reports whether a coordinate declares that its values are horizontal positions.
func isHorizontal(v *manifest.Variable) bool {
	role := cf.RoleOfVariable(v)
	return role >= cf.LongitudeRole && role <= cf.YRole
}

// permuted reports whether two coordinates have the same values in another order. Then data of one
// file would get the labels of the other, so no option may ignore the difference.
func (d *dim) permuted(a, b *coord.Coord) (bool, error) {
	if a.Len != b.Len || a.Low != b.Low || a.High != b.High {
		return false, nil
	}
	if a.Summarized() || b.Summarized() {
		return coord.SameSummaries(a, b, func(x, y *manifest.Summary) bool { return x.Bag == y.Bag && x.Meant != y.Meant })
	}
	x, err := a.Keys(d.nature, d.ranks)
	if err != nil {
		return false, err
	}
	y, err := b.Keys(d.nature, d.ranks)
	// Keys returns a new list, so sorting it does not change the coordinate.
	slices.SortFunc(x, coord.Key.Compare)
	slices.SortFunc(y, coord.Key.Compare)
	return slices.Equal(x, y), err
}

// noteOther reports files whose coordinates are not used, and how far these are from the used one.
func (p *alignment) noteOther(d *dim, other []*coord.Coord, standard *coord.Coord) error {
	if len(other) == 0 {
		return nil
	}
	args := report.Args{"standard": p.env.file(standard.File)}
	x, err := d.farthest(other, standard)
	if err != nil {
		return err
	}
	if !math.IsNaN(x.most) && !math.IsInf(x.most, 0) {
		args["difference"] = x.most
		if !math.IsInf(x.step, 0) && !math.IsNaN(x.step) {
			args["step"] = x.step
		}
	}
	p.env.find(p.env.odd(report.Finding{Code: report.CoordinateDiffers, Array: d.coord, Effect: report.Noted, Dim: d.name(), By: p.env.byFirst(),
		Args: args}, d.filesOf(other...), d.total()))
	return nil
}

// noteNear reports files whose coordinates differ from the used one by at most the tolerance.
func (p *alignment) noteNear(d *dim, near []*coord.Coord, standard *coord.Coord) {
	if len(near) > 0 {
		p.env.find(p.env.odd(report.Finding{Code: report.CoordinateNear, Array: d.coord, Effect: report.Noted, Dim: d.name(), By: p.env.byTolerance(),
			Args: report.Args{"tolerance": p.env.opts.Tolerance, "standard": []report.File{p.env.file(standard.File)}}}, d.filesOf(near...), d.total()))
	}
}

func (p *alignment) refuseCoords(d *dim, odd []*coord.Coord, standard *coord.Coord, moved bool) error {
	files := d.filesOf(odd...)
	d.role = spoiled
	f := report.Finding{Code: report.CoordinateDiffers, Array: d.coord, Effect: report.Refused, Dim: d.name()}
	switch large := odd[0].Summarized() || standard.Summarized(); {
	case moved:
		f.Code, f.Remedies = report.CoordinatePermuted, byKind
	case large:
		f.Args = report.Args{"range": p.rangeOf(odd[0]), "other": p.rangeOf(standard)}
		f.Remedies = []report.Remedy{compareAll([]*coord.Coord{odd[0], standard})}
	default:
		at, err := d.firstDifference(odd[0], standard)
		if err != nil {
			return err
		}
		has, others := odd[0].Say(at), standard.Say(at)
		if has == others { // 0.1 as float32 differs from 0.1 as float64
			has, others = has+" of "+odd[0].Variable.Type.String(), others+" of "+standard.Variable.Type.String()
		}
		f.Args = report.Args{"example": p.env.file(odd[0].File), "value": has, "index": at, "standard": p.env.file(standard.File), "other": others}
		if f.Remedies, err = p.allowDifference(d, odd, standard); err != nil {
			return err
		}
	}
	p.env.find(p.env.odd(f, files, d.total()))
	return nil
}

func (d *dim) firstDifference(a, b *coord.Coord) (int64, error) {
	x, err := a.Keys(d.nature, d.ranks)
	if err != nil {
		return 0, err
	}
	y, err := b.Keys(d.nature, d.ranks)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return int64(i), err
		}
	}
	return int64(min(len(x), len(y))), err
}
