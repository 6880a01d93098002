package planner

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// role says how a dimension relates to the files that have it.
type role uint8

const (
	fixed   role = iota // files have the whole dimension
	flowing             // files have parts of it and are concatenated
	spoiled             // refused; arrays with it are not planned further
)

// placedBy says what gives files their positions along a dimension.
type placedBy uint8

const (
	byValues     placedBy = iota // the values of a coordinate
	byNames                      // the order of the names of files
	byAttributes                 // attributes of files, such as DOMAIN_position_first
	byOption                     // a new dimension: an option gives a value to each file
	byLabels                     // coordinates differ in part, and Options.Join says how to combine them
)

// dim is a dimension of the plan, with the coordinates that files have along it.
type dim struct {
	path     string
	classes  []int32
	coord    string // path of the variable whose values place files; empty if there is none
	role     role
	by       placedBy
	named    bool // the user named it in Options.Concat
	separate bool // the user named it in Options.Apart
	hinted   bool // unlimited or a time, so files are probably concatenated along it
	owned    bool // a new dimension that files also have, with length 1
	abreast  bool // placed by names, and files with different variables start at the same position
	length   int64

	nature    coord.Nature
	ranks     map[string]int64
	coords    []*coord.Coord // the distinct coordinates
	large     bool           // some coords have only a summary
	of        []int32        // index into coords for each file, or noCoord or noDim
	order     []*coord.Coord // the non-empty coords, sorted by start
	first     bool           // the first file's coordinate is used for all files
	overruled bool           // first, and some coordinates differ by more than the tolerance
	cuts      []int64        // if hasParts, the ends of all parts of files

	views  map[int32][]coord.Part // of files that are read in another order, see coord.Backwards
	moved  []int32                // files whose longitudes were changed by turns
	ranges []string               // attributes of the coordinate that are left out, because longitudes were moved
	split  bool                   // the parts of moved files split some chunks
}

const (
	noDim   = -1 // the file does not have the dimension
	noCoord = -2 // the file has no values along it
)

// starts returns where a file starts along a concatenated dimension, and its length there.
func (d *dim) starts(file int32) (start, length int64, ok bool) {
	n := d.of[file]
	if n < 0 {
		return 0, 0, false
	}
	c := d.coords[n]
	if d.by != byLabels {
		return c.Start, c.Len, true
	}
	if len(c.Parts) == 0 {
		return 0, 0, true
	}
	for _, s := range c.Parts {
		length = max(length, s.Origin+s.Length-c.Start)
	}
	return c.Start, length, true
}

// parts returns the contiguous parts of a file along a dimension.
func (p *survey) parts(d *dim, file int32) ([]coord.Part, bool) {
	var own []coord.Part
	if d.by == byLabels && d.of[file] >= 0 {
		own = d.coords[d.of[file]].Parts
	} else {
		start, length, ok := p.extent(d, file)
		if !ok {
			return nil, false
		}
		own = []coord.Part{{Origin: start, Length: length}}
	}
	view := d.views[file]
	if view == nil {
		return own, true
	}
	var parts []coord.Part
	for _, s := range own {
		parts = append(parts, s.Through(view)...)
	}
	return parts, true
}

// isReordered reports whether some files are read in another order along the dimension than they are stored.
func (d *dim) isReordered() bool { return d.views != nil }

// hasParts reports whether a file may have several places along the dimension.
func (d *dim) hasParts() bool { return d.by == byLabels || d.isReordered() }

// collectDims collects the dimensions of all variables.
func (p *alignment) collectDims() {
	p.dims = map[string]*dim{}
	for n, c := range p.survey.classes {
		used := map[string]bool{}
		for _, x := range c.vars {
			for _, d := range x.dims {
				used[d] = true
			}
		}
		for at := range used {
			d := p.dims[at]
			if d == nil {
				d = &dim{path: at, named: p.isNamed(at), separate: slices.ContainsFunc(p.env.opts.Apart, func(name string) bool { return naming.Calls(name, at) })}
				p.dims[at] = d
			}
			d.classes = append(d.classes, int32(n))
			d.hinted = d.hinted || c.dims[at].Unlimited
			if _, ok := c.coords[at]; ok {
				d.coord = at
			}
		}
	}
	for at, d := range p.dims {
		p.dimOrder = append(p.dimOrder, at)
		switch {
		case p.isStep(at):
			d.coord = "" // the new dimension replaces the coordinate
		case d.coord == "":
			// Swaths and profiles have times along a dimension that is not called time.
			d.coord = p.timesAlong(d)
		}
	}
	slices.Sort(p.dimOrder)
}

func (p *alignment) isNamed(at string) bool {
	return slices.ContainsFunc(p.env.opts.Concat, func(name string) bool { return naming.Calls(name, at) })
}

// guessed reports whether the variable that places files has another name than the dimension. CF
// does not call it a coordinate variable then, so this is a guess.
func (d *dim) guessed() bool { return d.coord != "" && d.coord != d.path && d.by != byOption }

// dropGuess discards guessed times along a dimension if new dimensions already distinguish all files
// and all files have the same length along it. Such times are the valid times of forecasts, along
// which files are not concatenated. It keeps the times if the user named the dimension.
func (p *alignment) dropGuess(d *dim) {
	if !d.guessed() || d.named || d.isReordered() || d.by == byAttributes || len(p.made) == 0 {
		return
	}
	var files [][]int32
	for _, n := range d.classes {
		c := p.survey.classes[n]
		if c.dims[d.path].Length != p.survey.classes[d.classes[0]].dims[d.path].Length {
			return
		}
		for _, f := range c.files {
			files = append(files, []int32{f})
		}
	}
	if !distinguish(p.made, files) {
		return
	}
	d.coord, d.coords = "", nil
	for f, n := range d.of {
		if n >= 0 {
			d.of[f] = noCoord
		}
	}
}

// readCoords collects the distinct coordinates that files have along a dimension, once all their values
// are known.
func (p *alignment) readCoords(d *dim) (missing []want, err error) {
	d.coords, d.of = nil, make([]int32, len(p.env.files))
	for i := range d.of {
		d.of[i] = noDim
	}
	known := newInterned(p.env.files)
	for _, n := range d.classes {
		c := p.survey.classes[n]
		at := -1
		if d.coord != "" {
			at = c.find(d.coord)
		}
		if at >= 0 && !slices.Equal(c.vars[at].dims, []string{d.path}) {
			at = -1 // the variable has other dimensions in this class
		}
		for _, f := range c.files {
			// This stays if the file has no usable values, and settle decides what that means.
			d.of[f] = noCoord
			if at < 0 || c.vars[at].v.Unreadable != "" || c.vars[at].v.Storage.Layout == manifest.Nothing && c.dims[d.path].Length > 0 {
				continue
			}
			v := p.survey.withAttributesOf(n, c.vars[at].at, c.vars[at].v, f)
			w := p.env.course(f, c, c.vars[at].at, c.dims[d.path].Length)
			if w.means != nil {
				w.means = v
			}
			values, ok, err := p.env.values(w)
			if err != nil {
				return nil, err
			}
			if !ok {
				missing = append(missing, w)
				continue
			}
			if err := known.add(d, f, v, values); err != nil {
				return nil, p.env.inFile(f, err)
			}
		}
	}
	if len(missing) > 0 {
		return missing, nil
	}
	d.large = slices.ContainsFunc(d.coords, (*coord.Coord).Summarized)
	return nil, p.measure(d)
}

// measure computes comparable keys for all coordinates, and merges coordinates with equal values.
func (p *alignment) measure(d *dim) error {
	if !p.settleNature(d) {
		return nil
	}
	into := make([]int32, len(d.coords))
	var kept []*coord.Coord
	bySum := map[uint64][]int32{}
	for i, c := range d.coords {
		if err := c.Measure(d.nature, d.ranks); err != nil {
			return p.env.inFile(c.File, err)
		}
		// The full values of large coordinates are unknown, so the end points choose the
		// candidates.
		if d.large {
			c.Sum = coord.HashKeys([]coord.Key{c.First, c.Last})
		}
		into[i] = -1
		for _, k := range bySum[c.Sum] {
			if same, err := d.equal(c, kept[k]); err != nil {
				return p.env.inFile(c.File, err)
			} else if same {
				into[i] = k
				p.absorb(kept[k], c)
				break
			}
		}
		if into[i] < 0 {
			into[i] = int32(len(kept))
			bySum[c.Sum] = append(bySum[c.Sum], into[i])
			kept = append(kept, c)
		}
	}
	d.coords = kept
	for f, n := range d.of {
		if n >= 0 {
			d.of[f] = into[n]
		}
	}
	return nil
}

// absorb merges an equal coordinate into c. The file that comes first by name represents both, so
// that the order of the input does not matter.
func (p *alignment) absorb(c, other *coord.Coord) {
	c.Files += other.Files
	if naming.Natural(p.env.files[other.File].URL, p.env.files[c.File].URL) < 0 {
		c.File, c.Meaning, c.Values, c.Summary = other.File, other.Meaning, other.Values, other.Summary
	}
}

func (d *dim) equal(a, b *coord.Coord) (bool, error) {
	if a.Len != b.Len || a.First != b.First || a.Last != b.Last || a.Low != b.Low || a.High != b.High {
		return false, nil
	}
	if a.Summarized() || b.Summarized() {
		return coord.SameSummaries(a, b, func(x, y *manifest.Summary) bool { return x.Meant == y.Meant })
	}
	x, err := a.Keys(d.nature, d.ranks)
	if err != nil {
		return false, err
	}
	y, err := b.Keys(d.nature, d.ranks)
	return slices.Equal(x, y), err
}

// settleNature decides whether a dimension's values are numbers, times or text. It refuses files
// whose values cannot be compared with the others, and returns false if there are any.
func (p *alignment) settleNature(d *dim) bool {
	if len(d.coords) == 0 {
		return true
	}
	groups := map[sort][]*coord.Coord{}
	d.nature = coord.Whole
	for _, c := range d.coords {
		s := sortOf(c)
		groups[s] = append(groups[s], c)
		// Whole numbers and floats can be compared as floats.
		d.nature = max(d.nature, c.Nature)
	}
	if d.nature == coord.Text {
		d.rankTexts()
	}
	d.hinted = d.hinted || d.nature == coord.Instant
	joinUnitless(groups)
	if len(groups) < 2 || p.env.opts.Coords == plan.CoordsFirst && d.nature < coord.Instant {
		return true
	}
	p.refuseSorts(d, groups)
	return false
}

// joinUnitless removes coordinates that state no units if others are numbers with units. The schema
// reports them.
func joinUnitless(groups map[sort][]*coord.Coord) {
	none := sort{kind: "numbers"}
	isOther := func(s sort) bool { return s.kind == none.kind && s != none }
	if len(groups) < 2 || !slices.ContainsFunc(slices.Collect(maps.Keys(groups)), isOther) {
		return
	}
	groups[none] = slices.DeleteFunc(groups[none], func(c *coord.Coord) bool { return !c.StatesUnits() })
	if len(groups[none]) == 0 {
		delete(groups, none)
	}
}

// sort identifies coordinates that can be compared with one another: numbers with one unit, times
// with one calendar, or text.
type sort struct {
	kind string // "text", "times" or "numbers"
	unit string // the unit of numbers, or the calendar of times
}

func sortOf(c *coord.Coord) sort {
	switch c.Nature {
	case coord.Instant:
		return sort{"times", calendarOf(c)}
	case coord.Whole, coord.Real:
		return sort{"numbers", c.Unit}
	}
	return sort{kind: "text"}
}

// String returns a description for messages, such as "times (noleap calendar)".
func (s sort) String() string {
	switch {
	case s.kind == "times":
		return "times (" + s.unit + " calendar)"
	case s.kind == "numbers" && s.unit != "":
		return "numbers in " + s.unit
	}
	return s.kind
}

func calendarOf(c *coord.Coord) string {
	if c.Times.Units.Calendar <= 1 { // standard and Gregorian calendars agree since 1582
		return "standard"
	}
	return c.Times.Units.Calendar.String()
}

// refuseSorts refuses files whose coordinates cannot be compared with the coordinates of most files.
func (p *alignment) refuseSorts(d *dim, groups map[sort][]*coord.Coord) {
	// The majority is probably right, so the finding names the other files.
	most := majority(p.env, groups, sort.String)
	usual := int64(len(d.filesOf(groups[most]...)))
	var numbers []*coord.Coord // numbers with other units; they share a finding, because each file may have its own units
	units := 0
	for _, s := range slices.SortedFunc(maps.Keys(groups), func(a, b sort) int { return strings.Compare(a.String(), b.String()) }) {
		switch {
		case s == most:
		case s.kind == "numbers":
			numbers, units = append(numbers, groups[s]...), units+1
		case s.kind == "times" && most.kind == "times":
			p.refuseSort(d, groups[s], report.Finding{Code: report.CoordinateCalendar, Args: report.Args{"calendar": s.unit, "others": most.unit, "others_count": usual}, Remedies: byKind})
		default:
			p.refuseSort(d, groups[s], report.Finding{Code: report.CoordinateKind, Args: report.Args{"kind": s.String(), "others": most.String()}, Remedies: byKind})
		}
	}
	if len(numbers) > 0 {
		p.refuseNumbers(d, numbers, units, most, groups[most], usual)
	}
	d.role = spoiled
}

// refuseNumbers refuses numeric coordinates whose units differ from the units of most files.
// The first file's values are suggested only if the numbers are about equal: then the units are an error.
func (p *alignment) refuseNumbers(d *dim, odd []*coord.Coord, units int, most sort, others []*coord.Coord, usual int64) {
	first := slices.MinFunc(odd, p.env.compareFirst)
	f := report.Finding{Code: report.CoordinateKind, Args: report.Args{"kind": sortOf(first).String(), "others": most.String()}, Remedies: byKind}
	if most.kind == "numbers" {
		f.Code, f.Args = report.CoordinateUnits, report.Args{"units": first.Units, "others": most.unit, "others_count": usual, "variants": int64(units), "example": p.env.file(first.File)}
		f.Remedies = []report.Remedy{separate}
		standard := p.env.standard(others)
		hasOtherLength := func(c *coord.Coord) bool { return c.Len != standard.Len }
		if x, err := d.farthest(odd, standard); err == nil && x.isSmall() && !slices.ContainsFunc(odd, hasOtherLength) {
			f.Remedies = []report.Remedy{takeFirst}
		}
	}
	if _, _, err := cf.UnitsOf(first.Variable); err != nil {
		// Units such as "days since launch" are times that cannot be decoded, so only file names
		// give an order.
		f.Args["invalid"] = strings.TrimPrefix(err.Error(), fmt.Sprintf("%s: time units %q: ", first.Variable.Path, first.Units))
		f.Remedies = []report.Remedy{withoutValues(d)}
	}
	p.refuseSort(d, odd, f)
}

func (p *alignment) refuseSort(d *dim, odd []*coord.Coord, f report.Finding) {
	f.Array, f.Effect, f.Dim = d.coord, report.Refused, d.name()
	p.env.find(p.env.odd(f, d.filesOf(odd...), d.total()))
}

// majority returns the key with the most files. If several have as many, the first file name
// decides.
func majority[K comparable](p *env, groups map[K][]*coord.Coord, text func(K) string) (best K) {
	bestFiles, bestName := int64(-1), ""
	for _, key := range slices.SortedFunc(maps.Keys(groups), func(a, b K) int { return strings.Compare(text(a), text(b)) }) {
		files, name := int64(0), ""
		for _, c := range groups[key] {
			files += c.Files
			if url := p.files[c.File].URL; name == "" || naming.Natural(url, name) < 0 {
				name = url
			}
		}
		if files > bestFiles || files == bestFiles && naming.Natural(name, bestName) < 0 {
			best, bestFiles, bestName = key, files, name
		}
	}
	return best
}

// name returns the dimension's name as users know it, without its group.
func (d *dim) name() string { return path.Base(d.path) }

// filesWhose lists the files whose coordinate satisfies a condition.
func (d *dim) filesWhose(is func(c *coord.Coord) bool) (files []int32) {
	for f, n := range d.of {
		if n >= 0 && is(d.coords[n]) {
			files = append(files, int32(f))
		}
	}
	return files
}

// filesOf lists the files that have one of the given coordinates.
func (d *dim) filesOf(coords ...*coord.Coord) []int32 {
	if len(coords) == 1 {
		return d.filesWhose(func(c *coord.Coord) bool { return c == coords[0] })
	}
	in := make(map[*coord.Coord]bool, len(coords))
	for _, c := range coords {
		in[c] = true
	}
	return d.filesWhose(func(c *coord.Coord) bool { return in[c] })
}

func (d *dim) total() (n int64) {
	for _, of := range d.of {
		if of != noDim {
			n++
		}
	}
	return n
}

func (d *dim) rankTexts() {
	all := map[string]bool{}
	for _, c := range d.coords {
		for _, t := range c.Texts() {
			all[t] = true
		}
	}
	// Ranks are keys of a fixed size that compare as the texts do.
	d.ranks = make(map[string]int64, len(all))
	for i, t := range sorted(all) {
		d.ranks[t] = int64(i)
	}
}

// onlyCounts reports whether several coordinates only number the elements of each file from 0 or 1,
// so that they do not place files.
func (d *dim) onlyCounts() bool {
	return len(d.coords) > 1 && !slices.ContainsFunc(d.coords, func(c *coord.Coord) bool { return !c.CountsIn(d.nature) })
}

// interned finds equal coordinates, so that a million files with one coordinate share it.
type interned struct {
	files  []*manifest.File
	meant  []*coord.Meaning
	byKey  map[string]int     // index into meant, by coord.MeaningKey
	lastOf *manifest.Variable // the variable of the file before: most files of a class share it
	last   int                // its index into meant
	coords map[meant]int32
}

type meant struct {
	meaning int
	values  *manifest.Values
}

func (in *interned) add(d *dim, file int32, v *manifest.Variable, values *manifest.Values) error {
	m, ok := in.last, in.lastOf == v
	if !ok {
		key := coord.MeaningKey(v)
		if m, ok = in.byKey[key]; !ok {
			made, err := coord.NewMeaning(v)
			if err != nil {
				return err
			}
			m = len(in.meant)
			in.meant = append(in.meant, made)
			in.byKey[key] = m
		}
		in.last, in.lastOf = m, v
	}
	at, ok := in.coords[meant{m, values}]
	if !ok {
		at = int32(len(d.coords))
		d.coords = append(d.coords, &coord.Coord{Meaning: in.meant[m], Values: values, File: file})
		in.coords[meant{m, values}] = at
	}
	d.of[file] = at
	c := d.coords[at]
	c.Files++
	if c.File != file && naming.Natural(in.files[file].URL, in.files[c.File].URL) < 0 {
		c.File = file
	}
	return nil
}

// newInterned returns an empty interned.
func newInterned(files []*manifest.File) *interned {
	return &interned{files: files, byKey: map[string]int{}, coords: map[meant]int32{}}
}

// extent returns the position and length of a file along a dimension. The position is 0 if files
// are not concatenated along it.
func (p *survey) extent(d *dim, file int32) (start, length int64, ok bool) {
	if d.role == flowing {
		return d.starts(file)
	}
	dimension, ok := p.classes[p.classOf[file]].dims[d.path]
	return 0, dimension.Length, ok
}

func (d *dim) coordOf(file int32) *coord.Coord {
	if int(file) < len(d.of) && d.of[file] >= 0 {
		return d.coords[d.of[file]]
	}
	return nil
}

func dimNames(dims []*dim) string { return strings.Join(dimList(dims), ", ") }

func dimList(dims []*dim) []string {
	short := make([]string, len(dims))
	for i, d := range dims {
		short[i] = d.name()
	}
	return short
}

// places reports whether files are placed along a dimension.
func (d *dim) places() bool {
	return d.role == flowing && (len(d.order) > 1 || d.nature == coord.Instant || d.named)
}
