package grib

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// place is where a field lies in the variable that it is of. Axes that a variable does not have are left out of account.
type place struct {
	number    int64         // of the ensemble's member
	time      int64         // reference time, in seconds since 1970
	step      time.Duration // the end of it
	top, base float64       // the level, and the bottom of a layer
}

// axis is one of the dimensions in front of the grid.
type axis uint8

const (
	memberAxis axis = iota
	timeAxis
	stepAxis
	levelAxis
	axes // how many there are
)

func (p *place) along(a axis) float64 {
	switch a {
	case memberAxis:
		return float64(p.number)
	case timeAxis:
		return float64(p.time)
	case stepAxis:
		return float64(p.step)
	}
	return p.top
}

// cell is a field with its place.
type cell struct {
	*Field
	place
}

// cube is a variable: fields of one parameter, on one grid and type of level, of one statistic.
type cube struct {
	name      string
	first     *Field
	kind      kind
	levelType string
	cells     []cell
	has       [axes]bool // the dimensions that it has
}

// kind tells fields apart that are of the same parameter and yet of different things.
type kind struct {
	param      string // the name of the variable, as short as it can be
	grid       *gridGroup
	levelType  string
	statistic  string
	derived    string // of an ensemble: mean, percentile, probability
	qualifiers string // the rest
}

// vertical are the types of levels that are a coordinate by nature. Of others a single level is a property of the variable.
var vertical = map[string]bool{
	"isobaricInhPa": true, "isobaricInPa": true, "hybrid": true, "hybridLayer": true, "hybridPressure": true, "hybridHeight": true,
	"generalVertical": true, "generalVerticalLayer": true, "theta": true, "sigma": true, "sigmaLayer": true, "eta": true,
	"heightAboveSea": true, "depthBelowSea": true, "depthBelowLand": true, "depthBelowLandLayer": true, "soil": true, "soilLayer": true,
	"oceanModel": true, "oceanModelLayer": true, "isobaricLayer": true, "potentialVorticity": true, "snowLayer": true,
}

// placeOf returns what a field is of, and where it lies.
func (s *sorter) placeOf(f *Field) (kind, place, error) {
	var p place
	when, err := f.Reference()
	if err != nil {
		return kind{}, p, err
	}
	p.time = when.Unix()
	if step, ok := f.Step(); ok {
		p.step = step.End
	} else if valid, ok := f.Valid(); ok {
		p.step = valid.Sub(when)
	}
	if n, ok := f.member(); ok {
		p.number = n
	}
	k := kind{param: identifier(f), grid: s.groupOf(f), levelType: unknown, statistic: f.StepType(), derived: f.derived(), qualifiers: f.qualifiers()}
	if l, ok := f.Level(); ok {
		k.levelType, p.top, p.base = l.Type, l.Value, l.Bottom
	}
	return k, p, nil
}

// member is the number of an ensemble's member, or false if the field is of no ensemble.
func (f *Field) member() (int64, bool) {
	n, ok := f.Int("perturbationNumber")
	if total, _ := f.Int("numberOfForecastsInEnsemble"); !ok || total == 0 && n == 0 && f.Edition == 1 {
		return 0, false
	}
	return n, true
}

// derived says of what an ensemble's field is that is of no member.
func (f *Field) derived() string {
	if n, ok := f.param.Int("derivedForecast"); ok {
		if name := derivedForecasts[n]; name != "" {
			return name
		}
		return fmt.Sprintf("derived%d", n)
	}
	if n, ok := f.param.Int("percentileValue"); ok {
		return fmt.Sprintf("p%02d", n)
	}
	n, ok := f.param.Int("probabilityType")
	if !ok {
		return ""
	}
	limit := func(which string) string {
		v, _ := f.param.Int("scaledValueOf" + which)
		scale, _ := f.param.Int("scaleFactorOf" + which)
		text := fmt.Sprintf("%de%d", v, -scale)
		return strings.NewReplacer("e0", "", "-", "m").Replace(text)
	}
	switch n {
	case 0, 3:
		return map[int64]string{0: "below_", 3: "above_"}[n] + limit(map[int64]string{0: "LowerLimit", 3: "LowerLimit"}[n])
	case 1, 4:
		return map[int64]string{1: "above_", 4: "below_"}[n] + limit("UpperLimit")
	}
	return "between_" + limit("LowerLimit") + "_" + limit("UpperLimit")
}

// derivedForecasts are short names for code table 4.7.
var derivedForecasts = map[int64]string{0: "mean", 1: "wmean", 2: "sd", 3: "nsd", 4: "spread", 5: "anomaly", 6: "cmean", 8: "min", 9: "max"}

// qualifiers are keys that tell fields of one parameter apart, but for the usual case that they are the same in all.
func (f *Field) qualifiers() string {
	var out []string
	for _, key := range []string{"constituentType", "aerosolType", "scaledValueOfFirstSize", "scaledValueOfFirstWavelength", "modeNumber", "waveDirectionNumber", "waveFrequencyNumber",
		"directionNumber", "frequencyNumber", "satelliteNumber", "scaledValueOfCentralWaveNumber", "tileIndex"} {
		if n, ok := f.Int(key); ok {
			out = append(out, fmt.Sprintf("%s=%d", key, n))
		}
	}
	return strings.Join(out, " ")
}

// identifier is a name for the parameter of a field that can be that of a variable.
func identifier(f *Field) string {
	name := f.Names().VarName
	if name == unknown || name == "p0" || name == "" {
		if f.Edition == 1 {
			table, _ := f.Int("table2Version")
			number, _ := f.Int("indicatorOfParameter")
			return fmt.Sprintf("param%d_%d", number, table)
		}
		category, _ := f.Int("parameterCategory")
		number, _ := f.Int("parameterNumber")
		return fmt.Sprintf("param%d_%d_%d", f.Discipline, category, number)
	}
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '_' {
			return r
		}
		return '_'
	}, name)
	if unicode.IsDigit(rune(clean[0])) {
		clean = "_" + clean
	}
	return clean
}

// sorter puts the fields of a file into cubes.
type sorter struct {
	groups []*gridGroup
	byKey  map[string]*gridGroup
	cubes  map[kind]*cube
}

// gridGroup are the cubes on one grid.
type gridGroup struct {
	first *Field
	name  string
	cubes []*cube
}

func (s *sorter) groupOf(f *Field) *gridGroup {
	key := string(f.definition)
	if f.Edition == 1 && len(f.definition) > 3 {
		key = gridKey1(f)
	}
	g := s.byKey[key]
	if g == nil {
		g = &gridGroup{first: f}
		s.byKey[key] = g
		s.groups = append(s.groups, g)
	}
	return g
}

// gridKey1 is a grid definition of edition 1 without its vertical coordinates, which come with the fields of model levels.
func gridKey1(f *Field) string {
	b := slices.Clone(f.definition)
	nv := int(b[3])
	at := f.Grid.VerticalAt(b)
	b[0], b[1], b[2], b[3], b[4] = 0, 0, 0, 0, 0
	if end := at + 4*nv; end <= len(b) && at <= end {
		b = append(b[:min(at, len(b))], b[end:]...)
	}
	return string(b)
}

// add adds a field.
func (s *sorter) add(f *Field) error {
	k, p, err := s.placeOf(f)
	if err != nil {
		return err
	}
	c := s.cubes[k]
	if c == nil {
		c = &cube{first: f, kind: k, levelType: k.levelType}
		s.cubes[k] = c
		k.grid.cubes = append(k.grid.cubes, c)
	}
	c.cells = append(c.cells, cell{f, p})
	return nil
}

// shape decides which dimensions a cube has.
func (c *cube) shape() {
	levels := map[float64]float64{}
	steps, members := false, false
	doubled := false
	for i := range c.cells {
		p := &c.cells[i].place
		if base, ok := levels[p.top]; ok && base != p.base {
			doubled = true
		}
		levels[p.top] = p.base
		steps = steps || p.step != 0
		if _, ok := c.cells[i].member(); ok {
			members = true
		}
	}
	c.has = [axes]bool{memberAxis: members, timeAxis: true, stepAxis: steps, levelAxis: (len(levels) > 1 || vertical[c.levelType]) && !doubled}
}

// splitLayers makes cubes of their own of layers that have their level in common and not their bottom.
func (g *gridGroup) splitLayers() {
	var out []*cube
	for _, c := range g.cubes {
		c.shape()
		bases := map[[2]float64][]cell{}
		for _, x := range c.cells {
			at := [2]float64{x.top, x.base}
			bases[at] = append(bases[at], x)
		}
		if c.has[levelAxis] || len(bases) == 1 {
			out = append(out, c)
			continue
		}
		for _, at := range slices.SortedFunc(maps.Keys(bases), func(a, b [2]float64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
			part := &cube{first: bases[at][0].Field, kind: c.kind, levelType: c.levelType, cells: bases[at]}
			part.kind.qualifiers += fmt.Sprintf(" layer=%g-%g", at[0], at[1])
			part.shape()
			out = append(out, part)
		}
	}
	g.cubes = out
}

// nameCubes gives the cubes of a grid names that differ. The name of the parameter is enough for one of each; what tells others from
// it comes behind: the statistic, the kind of ensemble product, the type of level, and a number if all that is not enough.
func (g *gridGroup) nameCubes() {
	byParam := map[string][]*cube{}
	for _, c := range g.cubes {
		name := c.kind.param
		if c.kind.derived != "" {
			name += "_" + c.kind.derived
		}
		c.name = name
		byParam[name] = append(byParam[name], c)
	}
	for _, name := range slices.Sorted(maps.Keys(byParam)) {
		rename(byParam[name])
	}
	taken := map[string]int{}
	for _, c := range g.cubes {
		if n := taken[c.name]; n > 0 {
			c.name = fmt.Sprintf("%s_%d", c.name, n+1)
		}
		taken[c.name]++
	}
}

// rename tells apart cubes that have the same name so far.
func rename(list []*cube) {
	if len(list) < 2 {
		return
	}
	distinct := func(of func(*cube) string) int {
		seen := map[string]bool{}
		for _, c := range list {
			seen[of(c)] = true
		}
		return len(seen)
	}
	levelType := func(c *cube) string { return c.levelType }
	statistic := func(c *cube) string { return c.kind.statistic }
	if distinct(levelType) > 1 {
		main := mainLevel(list)
		for _, c := range list {
			if c.levelType != main {
				c.name += "_" + c.levelType
			}
		}
	}
	if distinct(statistic) > 1 {
		main := list[0].kind.statistic
		if slices.ContainsFunc(list, func(c *cube) bool { return c.kind.statistic == "instant" }) {
			main = "instant"
		}
		for _, c := range list {
			if c.kind.statistic != main {
				c.name += "_" + c.kind.statistic
			}
		}
	}
}

// mainLevel is the type of level whose variable needs no other name.
func mainLevel(list []*cube) string {
	for _, t := range []string{"isobaricInhPa", "isobaricInPa", "hybrid", "hybridPressure", "generalVerticalLayer", "generalVertical", "surface", "meanSea", "heightAboveGround"} {
		if slices.ContainsFunc(list, func(c *cube) bool { return c.levelType == t }) {
			return t
		}
	}
	return list[0].levelType
}
