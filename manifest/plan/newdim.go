package plan

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/report"
)

// makeDims gives files the dimensions that they do not have.
func (p *directions) makeDims() error {
	for _, n := range p.opts.NewDims {
		at := "/" + strings.Trim(n.Name, "/")
		if err := p.checkNew(&n, at); err != nil {
			return err
		}
		steps, lack, err := p.stepsOf(&n, at)
		if err != nil {
			return fmt.Errorf("new dimension %s: %w", n.Name, err)
		}
		if len(p.needs) > 0 {
			return nil
		}
		if len(lack) > 0 {
			p.find(p.odd(report.Finding{Kind: report.Coordinate, Array: at, Effect: report.Refused,
				Says: fmt.Sprintf("%s %s no value for the new dimension %s", count(len(lack), len(lack)+len(steps)), have(len(lack)), n.Name)},
				lack, int64(len(lack)+len(steps))))
			continue
		}
		if err := p.makeDim(at, steps); err != nil {
			return fmt.Errorf("new dimension %s: %w", n.Name, err)
		}
	}
	return nil
}

// checkNew refuses a name that files have something else by.
func (p *directions) checkNew(n *NewDim, at string) error {
	option, variable := "--new-dim "+n.Name, "/"+strings.Trim(n.Variable, "/")
	switch {
	case p.dims[at] != nil && n.Variable == "":
		return &OptionError{option, fmt.Sprintf("files have a dimension of this name: --rename %s=NAME makes room", n.Name)}
	case p.dims[at] != nil:
		return &OptionError{option, "files have a dimension of this name"}
	case n.Variable != "" && !p.anyHas(variable):
		return &OptionError{option + "=var:" + n.Variable, "no file has such a variable" + p.whichThere()}
	case variable == at || !p.anyHas(at):
		return nil
	}
	return &OptionError{option, fmt.Sprintf("files have a variable of this name: --new-dim %s=var:%s takes its values, --rename %s=NAME or --drop %s makes room", n.Name, n.Name, n.Name, n.Name)}
}

func (p *survey) anyHas(variable string) bool {
	return slices.ContainsFunc(p.classes, func(c *class) bool { return c.find(variable) >= 0 })
}

// step is the value of a new dimension in a file.
type step struct {
	v      *manifest.Variable
	values *manifest.Values
}

// stepsOf finds the value of each file, and the files that have none.
func (p *survey) stepsOf(n *NewDim, at string) (steps map[int32]step, lack []int32, err error) {
	if n.Variable != "" {
		return p.stepsIn("/"+strings.Trim(n.Variable, "/"), at)
	}
	told, lack, err := p.stepsTold(n)
	if err != nil {
		return nil, nil, err
	}
	v, values, err := elementsOfSteps(at, told)
	if err != nil {
		return nil, nil, err
	}
	steps = make(map[int32]step, len(told))
	distinct := map[string]*manifest.Values{}
	for f, x := range values {
		if distinct[x.ID] == nil {
			distinct[x.ID] = x
		}
		steps[f] = step{v, distinct[x.ID]}
	}
	return steps, lack, nil
}

// stepsIn takes the steps from a variable that has one element in each file. It is the
// coordinate from now on or, if it has another name than the dimension, what it says is.
func (p *survey) stepsIn(variable, at string) (steps map[int32]step, lack []int32, err error) {
	steps = map[int32]step{}
	var turned []func() // variables into coordinates, once it is known that all files have one
	for _, c := range p.classes {
		i := c.find(variable)
		if i < 0 || c.vars[i].v.Unreadable != "" || c.vars[i].v.Storage.Layout == manifest.Nothing {
			lack = append(lack, c.files...)
			continue
		}
		x := c.vars[i]
		if elementsOf(x.v) != 1 {
			return nil, nil, fmt.Errorf("%s: %s has the shape %v, and would have to be of one element", p.files[c.files[0]].URL, variable, x.v.Shape)
		}
		v := *x.v
		v.Path, v.Dims, v.Shape = at, []string{at}, []int64{1}
		for _, f := range c.files {
			switch values, ok := p.values(f, x.at, 1); {
			case !ok:
			case isMissing(&v, values):
				lack = append(lack, f)
			default:
				steps[f] = step{&v, values}
			}
		}
		turned = append(turned, func() {
			x.v, x.path, x.dims = &v, at, v.Dims
			c.setCoord(x)
		})
	}
	if len(lack) == 0 {
		for _, turn := range turned {
			turn()
		}
	}
	return steps, lack, p.fault
}

// isMissing reports whether the one element of a variable is called missing, or is no number.
func isMissing(v *manifest.Variable, values *manifest.Values) bool {
	what, err := newMeaning(v)
	if err != nil || what.nature == text {
		return false
	}
	g, err := newGauge(what, what.nature, int64(len(values.Data)))
	if err != nil || g.Add(values.Data) != nil {
		return false // what is wrong with it is found where it is read
	}
	return missing(g.first, g.as) || g.as != instant && g.missing(values.Data[:g.packing.Type.Size])
}

// told is the value of a new dimension in a file, as it is told.
type told struct {
	texts [7]string // year to second and day of the year, or a text
	dated bool
}

// timeGroups are the names of groups that tell a part of a moment, as strftime has them.
var timeGroups = []string{"y", "m", "d", "H", "M", "S", "j"}

// stepsTold finds what the names or the attributes of files, or a list, say.
func (p *survey) stepsTold(n *NewDim) (steps map[int32]told, lack []int32, err error) {
	var pattern *regexp.Regexp
	if n.Pattern != "" {
		if pattern, err = patternOf(n.Pattern); err != nil {
			return nil, nil, err
		}
	}
	if n.Values != nil && len(n.Values) != p.given() {
		return nil, nil, fmt.Errorf("a list of %d values for %d files", len(n.Values), p.given())
	}
	steps = map[int32]told{}
	at := 0
	for f, file := range p.files {
		if file.Hidden {
			continue
		}
		var s told
		ok := true
		switch {
		case pattern != nil:
			s, ok = matchStep(pattern, file.URL)
		case n.Attribute != "":
			s.texts[0], ok = attributeText(file.Groups, n.Attribute)
		case n.Values != nil:
			s.texts[0] = n.Values[at]
		}
		at++
		if p.classOf[f] < 0 {
			continue
		}
		if !ok {
			lack = append(lack, int32(f))
			continue
		}
		steps[int32(f)] = s
	}
	return steps, lack, nil
}

// patternOf reads a pattern, and refuses one of which a named group would not count.
func patternOf(text string) (*regexp.Regexp, error) {
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	if pattern.NumSubexp() == 0 {
		return nil, fmt.Errorf("the pattern %q has no group in parentheses", text)
	}
	names := slices.DeleteFunc(slices.Clone(pattern.SubexpNames()), func(name string) bool { return name == "" })
	isTime := func(name string) bool { return slices.Contains(timeGroups, name) }
	if !slices.ContainsFunc(names, isTime) {
		return pattern, nil
	}
	for _, name := range names {
		if !isTime(name) {
			return nil, fmt.Errorf("the pattern %q has a group %s, which is no part of a time: those are %s", text, name, strings.Join(timeGroups, ", "))
		}
	}
	if slices.Contains(names, "j") && (slices.Contains(names, "m") || slices.Contains(names, "d")) {
		return nil, fmt.Errorf("the pattern %q has the day twice: j is that of the year, without m and d", text)
	}
	return pattern, nil
}

// given counts the files that the user named.
func (p *inquiry) given() (n int) {
	for _, f := range p.files {
		if !f.Hidden {
			n++
		}
	}
	return n
}

// matchStep looks at the name of a file, and at its whole path if the name does not match.
func matchStep(pattern *regexp.Regexp, url string) (s told, ok bool) {
	m := pattern.FindStringSubmatch(report.Base(url))
	if m == nil {
		if m = pattern.FindStringSubmatch(url); m == nil {
			return s, false
		}
	}
	for i, name := range timeGroups {
		if k := pattern.SubexpIndex(name); k > 0 {
			s.texts[i], s.dated = m[k], true
		}
	}
	if !s.dated {
		s.texts[0] = m[1]
	}
	return s, true
}

// CheckRenamed is the error of a file that has another name now, if a dimension is made of what
// names say and this one says something else: what is planned anew later would place the file
// elsewhere.
func (o *Options) CheckRenamed(was, is string) error {
	for _, n := range o.NewDims {
		if n.Pattern == "" {
			continue
		}
		pattern, err := regexp.Compile(n.Pattern)
		if err != nil {
			return fmt.Errorf("dimension %s: %w", n.Name, err)
		}
		a, ok := matchStep(pattern, was)
		b, ok2 := matchStep(pattern, is)
		if ok != ok2 || a != b {
			return fmt.Errorf("%s is taken from names, and %s does not say what %s says", n.Name, is, was)
		}
	}
	return nil
}

func attributeText(g *manifest.GroupAttributes, name string) (string, bool) {
	if g == nil {
		return "", false
	}
	for _, group := range g.Groups {
		if group.Path != "/" {
			continue
		}
		a := manifest.Lookup(group.Attributes, name)
		if a == nil {
			return "", false
		}
		if len(a.Texts) > 0 {
			return a.Texts[0], true
		}
		x, err := readNumbers(&manifest.Variable{Path: name, Type: a.Type}, a.Data)
		if err != nil || x.n == 0 {
			return "", false
		}
		return x.say(0), true
	}
	return "", false
}

// makeDim makes a dimension of steps, in their order.
func (p *directions) makeDim(at string, steps map[int32]step) error {
	d := &dim{path: at, coord: at, made: true, named: true, role: flowing}
	d.of = make([]int32, len(p.files))
	for i := range d.of {
		d.of[i] = noDim
	}
	known := newInterned(p.files)
	for _, f := range sorted(steps) {
		if err := known.add(d, f, steps[f].v, steps[f].values); err != nil {
			return p.inFile(f, err)
		}
	}
	if err := p.measure(d); err != nil {
		return err
	}
	d.order = slices.Clone(d.coords)
	slices.SortFunc(d.order, func(a, b *coord) int { return a.low.compare(b.low) })
	for i, c := range d.order {
		c.start = int64(i)
	}
	d.length = int64(len(d.order))
	p.dims[at] = d
	p.dimOrder = append(p.dimOrder, at)
	slices.Sort(p.dimOrder)
	p.made = append(p.made, d)
	return nil
}

// elementsOfSteps chooses a type for steps: whole numbers, numbers, times or texts, whichever
// fits all.
func elementsOfSteps(at string, steps map[int32]told) (*manifest.Variable, map[int32]*manifest.Values, error) {
	v := &manifest.Variable{Path: at, Dims: []string{at}, Shape: []int64{1}, Type: codec.Type{Kind: codec.Int, Size: 8}}
	moments, whole, numbers := true, true, true
	times := map[int32]time.Time{}
	unit := stepUnits
	for _, f := range sorted(steps) {
		s := steps[f]
		t, err := s.time()
		if s.dated && err != nil {
			return nil, nil, err
		}
		moments = moments && err == nil
		times[f] = t
		for !unit[0].tells(t) {
			unit = unit[1:]
		}
		_, err = strconv.ParseInt(s.texts[0], 10, 64)
		whole = whole && err == nil
		exact := !errors.Is(err, strconv.ErrRange) // which more digits are not as a float
		_, err = strconv.ParseFloat(s.texts[0], 64)
		numbers = numbers && exact && err == nil
	}
	switch {
	case moments:
		v.Attributes = unit[0].attributes()
	case whole:
	case numbers:
		v.Type.Kind = codec.Float
	default:
		v.Type = codec.Type{Kind: codec.String}
	}
	values := map[int32]*manifest.Values{}
	for f, s := range steps {
		x := &manifest.Values{}
		switch {
		case moments:
			n, err := unit[0].count(times[f])
			if err != nil {
				return nil, nil, err
			}
			x.Data = binary.LittleEndian.AppendUint64(nil, uint64(n))
		case whole:
			n, _ := strconv.ParseInt(s.texts[0], 10, 64)
			x.Data = binary.LittleEndian.AppendUint64(nil, uint64(n))
		case numbers:
			n, _ := strconv.ParseFloat(s.texts[0], 64)
			x.Data = binary.LittleEndian.AppendUint64(nil, math.Float64bits(n))
		default:
			x.Texts = [][]byte{[]byte(s.texts[0])}
		}
		x.SetID()
		values[f] = x
	}
	return v, values, nil
}

// stepUnit is what moments are counted in.
type stepUnit struct {
	name   string
	length time.Duration
}

// stepUnits are the units of steps; of these the first counts that tells all of them.
var stepUnits = []stepUnit{
	{"days", 24 * time.Hour}, {"seconds", time.Second}, {"milliseconds", time.Millisecond}, {"microseconds", time.Microsecond}, {"nanoseconds", 1},
}

// tells reports whether a moment is a whole number of units.
func (u stepUnit) tells(t time.Time) bool {
	if u.length >= time.Second {
		return t.Nanosecond() == 0 && t.Unix()%int64(u.length/time.Second) == 0
	}
	return t.Nanosecond()%int(u.length) == 0
}

// count is how many units a moment is after 1970.
func (u stepUnit) count(t time.Time) (int64, error) {
	if u.length >= time.Second {
		return t.Unix() / int64(u.length/time.Second), nil
	}
	each := int64(time.Second / u.length)
	if s := t.Unix(); s <= math.MinInt64/each || s >= math.MaxInt64/each {
		return 0, fmt.Errorf("%s is too far from 1970 to be told in %s, as some steps have to be", t.Format(time.RFC3339Nano), u.name)
	}
	return t.Unix()*each + int64(t.Nanosecond())/int64(u.length), nil
}

func (u stepUnit) attributes() []manifest.Attribute {
	list := []manifest.Attribute{}
	for _, a := range [][2]string{{"standard_name", "time"}, {"units", u.name + " since 1970-01-01"}, {"calendar", "proleptic_gregorian"}} {
		list = append(list, manifest.Attribute{Name: a[0], Type: codec.Type{Kind: codec.String}, Texts: []string{a[1]}, Scalar: true})
	}
	return list
}

// time is the moment of a step: of named groups, or of a date written as ISO 8601 has it.
func (s told) time() (time.Time, error) {
	if !s.dated {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"} {
			if t, err := time.Parse(layout, s.texts[0]); err == nil {
				return t, nil
			}
		}
		return time.Time{}, fmt.Errorf("%q is no date", s.texts[0])
	}
	parts := [7]int{1970, 1, 1, 0, 0, 0, 0}
	for i, text := range s.texts {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is no number", text)
		}
		parts[i] = n
	}
	t := time.Date(parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5], 0, time.UTC)
	if s.texts[6] != "" {
		if t = t.AddDate(0, 0, parts[6]-1); t.YearDay() != parts[6] {
			return t, fmt.Errorf("%04d has no day %d", parts[0], parts[6])
		}
		parts[1], parts[2] = int(t.Month()), t.Day()
	}
	if [6]int(parts[:6]) != [6]int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second()} {
		return t, fmt.Errorf("%04d-%02d-%02d %02d:%02d:%02d is no time", parts[0], parts[1], parts[2], parts[3], parts[4], parts[5])
	}
	return t, nil
}

// giveMade gives an array the new dimensions, unless it is alike in all files: a coordinate, or
// a variable whose values are known to be.
func (p *layout) giveMade(a *array) {
	if len(p.made) == 0 {
		return
	}
	if p.isAxis(a) || a.aux && len(a.placed) > 0 {
		return
	}
	made := p.made
	if known, equal := p.known(a); a.aux {
		made = p.madeFor(a, known)
	} else if len(a.dims) == 0 && a.files > 1 && known && (equal || p.meanSame(a)) {
		return
	}
	for _, d := range made {
		a.made = append(a.made, d.path)
	}
	a.placed = append(slices.Clone(made), a.placed...)
}

// madeFor are the new dimensions that tell which values a file has of a variable that others name:
// none if all have the same. It asks for values that are not known, unless the first file's count.
func (p *layout) madeFor(a *array, known bool) []*dim {
	c := p.comparing(a)
	if !known && (p.opts.Coords == CoordsFirst || c.largest() > manifest.MostSummed) {
		return nil // which is said where such variables are compared
	}
	groups, err := c.parts(p.filesHaving(a))
	p.fault = cmp.Or(p.fault, err)
	if err != nil || len(groups) < 2 {
		return nil
	}
	made := slices.Clone(p.made)
	for _, d := range p.made {
		if rest := slices.DeleteFunc(slices.Clone(made), func(e *dim) bool { return e == d }); tell(rest, groups) {
			made = rest
		}
	}
	return made
}

// tell reports whether files of several groups lie in several places along some dimensions.
func tell(dims []*dim, groups [][]int32) bool {
	held := map[string]int{}
	for i, files := range groups {
		for _, f := range files {
			var at []byte
			for _, d := range dims {
				start, _, _ := d.starts(f)
				at = binary.AppendVarint(at, start)
			}
			if other, ok := held[string(at)]; ok && other != i {
				return false
			}
			held[string(at)] = i
		}
	}
	return true
}
