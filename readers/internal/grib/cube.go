package grib

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve/codec/grib/geo"
)

// place holds the coordinates of a field along the dimensions in front of the grid.
type place struct {
	number    int64         // the ensemble member
	time      int64         // the reference time, in seconds since 1970
	step      time.Duration // the end of the step
	lead      time.Duration // the end of the step, if time is the valid time and step is 0
	top, base float64       // the level, and the bottom of a layer; equal if it is no layer
}

// axis is one of the dimensions in front of the grid.
type axis uint8

const (
	memberAxis axis = iota
	timeAxis
	stepAxis
	levelAxis
	axes // the number of axes
)

// along returns the coordinate along an axis.
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

// placedField is a field with its place.
type placedField struct {
	*Field
	place
}

// cube holds the fields of one variable. They are equal in all respects of kind, and differ in their places.
type cube struct {
	name      string
	first     *Field
	kind      kind
	levelType string
	levelDim  string // the dimension of levels: levelType, and a number if several are needed
	fields    []placedField
	has       [axes]bool // the dimensions of the variable in front of the grid
}

// kind is the key by which fields are sorted into cubes.
type kind struct {
	param      string // the shortest name for the variable
	grid       *gridGroup
	levelType  string
	statistic  string // over time: instant, accum, avg
	derived    string // from an ensemble: mean, percentile, probability; empty for a member
	area       string // over an area around each point: avg, max; empty for the value at the point
	qualifiers string // any other keys by which variables of one parameter differ
}

// vertical lists the types of levels that become a dimension even if a variable has only one level. A single level of another type
// becomes a scalar coordinate.
var vertical = map[string]bool{
	"isobaricInhPa": true, "isobaricInPa": true, "hybrid": true, "hybridLayer": true, "hybridPressure": true, "hybridHeight": true,
	"generalVertical": true, "generalVerticalLayer": true, "theta": true, "sigma": true, "sigmaLayer": true, "eta": true,
	"heightAboveSea": true, "depthBelowSea": true, "depthBelowLand": true, "depthBelowLandLayer": true, "soil": true, "soilLayer": true,
	"oceanModel": true, "oceanModelLayer": true, "isobaricLayer": true, "potentialVorticity": true, "snowLayer": true,
}

// summary has the kind and the place of a field, except its grid and its reference time. Fields that are derived from one template share
// it, since it takes long to look up names.
type summary struct {
	names NameScheme // of kind.param
	kind  kind
	place place
	err   error
}

// summarize returns the summary of a field. when is the reference time.
func (f *Field) summarize(names NameScheme, when time.Time) *summary {
	if f.summary != nil && f.summary.names == names {
		return f.summary
	}
	var p place
	f.summary = &summary{names: names}
	if step, ok := f.Step(); ok {
		p.step = step.End
	} else if valid, ok := f.Valid(); ok {
		p.step = valid.Sub(when)
	} else if err := f.unknownUnit(); err != nil {
		f.summary.err = err
		return f.summary
	}
	if n, ok := f.member(); ok {
		p.number = n
	}
	k := kind{param: names.variable(f), levelType: unknown, statistic: f.StepType(), derived: f.derived(), area: f.overArea(), qualifiers: f.qualifiers()}
	if l, ok := f.Level(); ok {
		k.levelType, p.top, p.base = l.Type, l.Value, l.Bottom
	}
	f.summary.kind, f.summary.place = k, p
	return f.summary
}

// placeOf returns the kind and the place of a field.
func (s *sorter) placeOf(f *Field) (kind, place, error) {
	when, err := f.Reference()
	if err != nil {
		return kind{}, place{}, err
	}
	known := f.summarize(s.names, when)
	k, p := known.kind, known.place
	k.grid, p.time = s.groupOf(f), when.Unix()
	s.times.place(&p)
	return k, p, known.err
}

// member returns the number of the ensemble member, or false if the field does not belong to an ensemble.
func (f *Field) member() (int64, bool) {
	n, ok := f.Int("perturbationNumber")
	if total, _ := f.Int("numberOfForecastsInEnsemble"); !ok || total == 0 && n == 0 && f.Edition == 1 {
		return 0, false
	}
	return n, true
}

// derived names the quantity that a field derives from all members of an ensemble, or returns "" for any other field.
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
	if n, ok := f.probability1(); ok {
		return f.thresholds1(n)
	}
	n, ok := f.param.Int("probabilityType") // code table 4.9
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
	case 0:
		return "below_" + limit("LowerLimit")
	case 1:
		return "above_" + limit("UpperLimit")
	case 2:
		return "between_" + limit("LowerLimit") + "_" + limit("UpperLimit")
	case 3:
		return "above_" + limit("LowerLimit")
	case 4:
		return "below_" + limit("UpperLimit")
	case 5:
		return "equal_" + limit("LowerLimit")
	}
	return fmt.Sprintf("probability%d", n)
}

// overArea names the statistic over an area around each point, or returns "" for values at the points.
func (f *Field) overArea() string {
	n, ok := f.param.Int("statisticalProcess") // code table 4.10
	if !ok || n == 255 {
		return ""
	}
	return cmp.Or(statistics[n], strconv.FormatInt(n, 10))
}

// probability1 returns the probabilityType, in code table 4.9, of a field of edition 1 with ECMWF's local definition 5.
func (f *Field) probability1() (int64, bool) {
	number, _ := f.localNumber()
	if f.Edition != 1 || number != 5 {
		return 0, false
	}
	indicator, _ := f.extra.Int("thresholdIndicator")
	kind, ok := map[int64]int64{1: 3, 2: 4, 3: 2}[indicator]
	return kind, ok
}

// thresholds1 is derived for a field of edition 1 with a probabilityType.
func (f *Field) thresholds1(kind int64) string {
	scale, _ := f.extra.Int("localDecimalScaleFactor")
	limit := func(key string) string {
		v, _ := f.extra.Int(key)
		return strings.NewReplacer("e0", "", "-", "m").Replace(fmt.Sprintf("%de%d", v, -scale))
	}
	switch kind {
	case 3:
		return "above_" + limit("lowerThreshold")
	case 4:
		return "below_" + limit("upperThreshold")
	}
	return "between_" + limit("lowerThreshold") + "_" + limit("upperThreshold")
}

// derivedForecasts has short names for the numbers of code table 4.7.
var derivedForecasts = map[int64]string{0: "mean", 1: "wmean", 2: "sd", 3: "nsd", 4: "spread", 5: "anomaly", 6: "cmean", 8: "min", 9: "max"}

// qualifiers returns the keys, apart from those of kind and place, by which variables of one parameter can differ.
func (f *Field) qualifiers() string {
	var out []string
	for _, key := range []string{"constituentType", "aerosolType", "scaledValueOfFirstSize", "scaledValueOfFirstWavelength", "modeNumber", "waveDirectionNumber", "waveFrequencyNumber",
		"directionNumber", "frequencyNumber", "satelliteNumber", "scaledValueOfCentralWaveNumber", "tileIndex", "spatialProcessing"} {
		if n, ok := f.Int(key); ok {
			out = append(out, fmt.Sprintf("%s=%d", key, n))
		}
	}
	return strings.Join(out, " ")
}

// sorter puts the fields of a file into cubes.
type sorter struct {
	names  NameScheme
	times  Times
	groups []*gridGroup
	byKey  map[string]*gridGroup    // by the grid definition
	byGrid map[*geo.Grid]*gridGroup // the same groups: fields share grids, and a pointer is faster to find than a definition
	cubes  map[kind]*cube
}

// gridGroup holds the cubes on one grid.
type gridGroup struct {
	first *Field
	cubes []*cube
}

func (s *sorter) groupOf(f *Field) *gridGroup {
	if g := s.byGrid[f.Grid]; g != nil {
		return g
	}
	key := string(f.definition)
	if f.Edition == 1 {
		key = gridKey1(f)
	}
	g := s.byKey[key]
	s.byGrid[f.Grid] = g
	if g == nil {
		g = &gridGroup{first: f}
		s.byKey[key], s.byGrid[f.Grid] = g, g
		s.groups = append(s.groups, g)
	}
	return g
}

// gridKey1 returns a grid definition of edition 1 without its vertical coordinates. Only fields on model levels have these, so fields on
// the same grid would differ.
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
	c.fields = append(c.fields, placedField{f, p})
	return nil
}

// shape decides which dimensions a cube has in front of the grid.
func (c *cube) shape() {
	levels := map[float64]bool{}
	steps, members := false, false
	for i := range c.fields {
		p := &c.fields[i].place
		levels[p.top] = true
		steps = steps || p.step != 0
		if _, ok := c.fields[i].member(); ok {
			members = true
		}
	}
	c.has = [axes]bool{memberAxis: members, timeAxis: true, stepAxis: steps, levelAxis: len(levels) > 1 || vertical[c.levelType]}
}

// splitLayers splits a cube with layers that have the same top and different bottoms, since a coordinate must not have a value twice: the
// thinnest layer of each top becomes the first cube, the next the second, and so on.
func (g *gridGroup) splitLayers() {
	var out []*cube
	for _, c := range g.cubes {
		rank := c.rankLayers()
		var parts []*cube
		for _, x := range c.fields {
			n := rank[x.bounds()]
			for len(parts) <= n {
				part := &cube{kind: c.kind, levelType: c.levelType}
				if len(parts) > 0 {
					part.kind.qualifiers += fmt.Sprintf(" layer=%d", len(parts)+1)
				}
				parts = append(parts, part)
			}
			parts[n].fields = append(parts[n].fields, x)
		}
		for _, part := range parts {
			part.first = part.fields[0].Field
			part.shape()
		}
		out = append(out, parts...)
	}
	g.cubes = out
}

// rankLayers returns for each layer of a cube the number of thinner layers with the same top.
func (c *cube) rankLayers() map[[2]float64]int {
	rank := map[[2]float64]int{}
	for i := range c.fields {
		rank[c.fields[i].bounds()] = 0
	}
	thickness := func(l [2]float64) float64 { return math.Abs(l[1] - l[0]) }
	before := [2]float64{math.NaN()}
	for _, l := range slices.SortedFunc(maps.Keys(rank), func(a, b [2]float64) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(thickness(a), thickness(b)), compareLevels(a, b))
	}) {
		if l[0] == before[0] {
			rank[l] = rank[before] + 1
		}
		before = l
	}
	return rank
}

// nameCubes gives the cubes of a grid different names. A name begins with the parameter and the ensemble product. If several cubes have
// the same, the type of level and the statistic follow in all but the most usual one, then a statistic over an area, and a number if names
// are still equal.
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

// rename appends the type of level and the statistics to the names of cubes that have the same name so far.
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
	if distinct(func(c *cube) string { return c.kind.area }) > 1 {
		for _, c := range list {
			if c.kind.area != "" {
				c.name += "_area_" + c.kind.area
			}
		}
	}
}

// mainLevel returns the type of level that names leave out.
func mainLevel(list []*cube) string {
	for _, t := range []string{"isobaricInhPa", "isobaricInPa", "hybrid", "hybridPressure", "generalVerticalLayer", "generalVertical", "surface", "meanSea", "heightAboveGround"} {
		if slices.ContainsFunc(list, func(c *cube) bool { return c.levelType == t }) {
			return t
		}
	}
	return list[0].levelType
}
