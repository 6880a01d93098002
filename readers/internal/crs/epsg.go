package crs

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// compressed is the EPSG dataset, which fixtures/tiff/epsg.py generates from the database of PROJ. It is text in sections that
// begin with "=" and a name. A line is a record of fields between tabs; fields at its end may be missing. The first two are code
// and name, the others are:
//
//	unit            factor to radians, metres or 1; kind: a, l or s
//	ellipsoid       semi-major axis; its unit, if not metre; inverse flattening, or semi-minor axis; names by ESRI between |
//	meridian        longitude; unit
//	datum           ellipsoid; meridian, if not Greenwich; epoch or "ensemble"; names by ESRI
//	vertical datum  epoch or "ensemble"
//	axes            (no name) kind; for each axis name|abbreviation|direction|unit
//	parameter       unit
//	method          codes of parameters
//	conversion      method; for each of its parameters value, or value|unit
//	geodetic        axes; datum; "3" if three-dimensional, "c" if geocentric; names by ESRI
//	projected       axes; geodetic system; conversion; names by ESRI. No name: "geodetic / conversion"
//	vertical        axes; datum
//	compound        horizontal system; vertical system. No name: "horizontal + vertical"
//
//go:embed epsg.txt.zst
var compressed []byte

// table holds the sections of the dataset. Each starts and ends with a line break.
var table = sync.OnceValue(readTable)

func readTable() map[string]string {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic("crs: " + err.Error()) // the options are fixed, so only a broken build gets here
	}
	defer z.Close()
	b, err := z.DecodeAll(compressed, nil)
	if err != nil {
		panic("crs: epsg.txt.zst: " + err.Error()) // the file is embedded, so only a broken build gets here
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(b), "\n=")[1:] {
		name, _, _ := strings.Cut(s, "\n")
		sections[name] = s[len(name):] + "\n"
	}
	return sections
}

// record is a line of the dataset.
type record []string

func (r record) text(i int) string {
	if i < len(r) {
		return r[i]
	}
	return ""
}

func (r record) code(i int) int {
	n, _ := strconv.Atoi(r.text(i))
	return n
}

func (r record) number(i int) float64 {
	f, _ := strconv.ParseFloat(r.text(i), 64)
	return f
}

// lookup returns the record of a section with a code, or nil.
func lookup(section string, code int) record {
	text, key := table()[section], "\n"+strconv.Itoa(code)+"\t"
	at := strings.Index(text, key)
	if at < 0 {
		return nil
	}
	line, _, _ := strings.Cut(text[at+1:], "\n")
	return strings.Split(line, "\t")
}

// systems holds the systems that have been looked up.
var systems sync.Map

// EPSG returns the system with a code of the EPSG dataset, or nil. It must not be changed.
func EPSG(code int) *System {
	if s, ok := systems.Load(code); ok {
		return s.(*System)
	}
	s := find(code)
	if s != nil {
		systems.Store(code, s)
	}
	return s
}

func find(code int) *System {
	for _, find := range []func(int) *System{geodetic, projected, vertical, compound} {
		if s := find(code); s != nil {
			return s
		}
	}
	return nil
}

func geodetic(code int) *System {
	r := lookup("geodetic", code)
	if r == nil {
		return nil
	}
	kind := Geographic
	if r.text(4) == "c" {
		kind = Geocentric
	}
	return &System{Kind: kind, Name: r[1], Code: code, Axes: axes(r.code(2)), Datum: DatumOf(r.code(3))}
}

func projected(code int) *System {
	r := lookup("projected", code)
	if r == nil {
		return nil
	}
	s := &System{Kind: Projected, Name: r[1], Code: code, Axes: axes(r.code(2)), Base: geodetic(r.code(3)), Conversion: ConversionOf(r.code(4))}
	if s.Name == "" {
		s.Name = s.Base.Name + " / " + s.Conversion.Name
	}
	return s
}

func vertical(code int) *System {
	r := lookup("vertical", code)
	if r == nil {
		return nil
	}
	return &System{Kind: Vertical, Name: r[1], Code: code, Axes: axes(r.code(2)), Datum: verticalDatum(r.code(3))}
}

func compound(code int) *System {
	r := lookup("compound", code)
	if r == nil {
		return nil
	}
	s := &System{Kind: Compound, Name: r[1], Code: code, Parts: []*System{EPSG(r.code(2)), vertical(r.code(3))}}
	if s.Name == "" {
		s.Name = s.Parts[0].Name + " + " + s.Parts[1].Name
	}
	return s
}

// Combine returns the compound system of a horizontal and a vertical one, with its code if the EPSG dataset has it.
func Combine(horizontal, vertical *System, name string) *System {
	h, v := strconv.Itoa(horizontal.Code), strconv.Itoa(vertical.Code)
	if horizontal.Code != 0 && vertical.Code != 0 {
		text, parts := table()["compound"], "\t"+h+"\t"+v+"\n"
		if at := strings.Index(text, parts); at >= 0 {
			line := text[strings.LastIndexByte(text[:at], '\n')+1:]
			return EPSG(record(strings.Split(line[:strings.IndexByte(line, '\t')], "\t")).code(0))
		}
	}
	if name == "" {
		name = horizontal.Name + " + " + vertical.Name
	}
	return &System{Kind: Compound, Name: name, Parts: []*System{horizontal, vertical}}
}

// DatumOf returns the geodetic datum with a code, or nil.
func DatumOf(code int) *Datum {
	r := lookup("datum", code)
	if r == nil {
		return nil
	}
	d := &Datum{Name: strings.TrimSuffix(r[1], " ensemble"), Code: code, Epoch: r.number(4), Ellipsoid: *EllipsoidOf(r.code(2)), Meridian: Greenwich()}
	if m := MeridianOf(r.code(3)); m != nil {
		d.Meridian = *m
	}
	return d
}

func verticalDatum(code int) *Datum {
	r := lookup("vertical datum", code)
	if r == nil {
		return nil
	}
	return &Datum{Name: r[1], Code: code, Epoch: r.number(2)}
}

// VerticalOf returns a vertical system without a code.
func VerticalOf(name string, datum int, unit Unit) *System {
	s := &System{Kind: Vertical, Name: name, Datum: verticalDatum(datum), Axes: []Axis{{"gravity-related height", "up", nil, unit}}}
	if s.Datum == nil {
		s.Datum = &Datum{Name: "unknown"}
	}
	return s
}

// EllipsoidOf returns the ellipsoid with a code, or nil.
func EllipsoidOf(code int) *Ellipsoid {
	r := lookup("ellipsoid", code)
	if r == nil {
		return nil
	}
	e := &Ellipsoid{Name: r[1], Code: code, Major: r.number(2), Inverse: r.number(4)}
	if minor := r.number(5); minor != 0 && minor != e.Major {
		e.Inverse = e.Major / (e.Major - minor)
	}
	if u, ok := UnitOf(r.code(3)); ok {
		e.Major *= u.Factor
	}
	return e
}

// Greenwich returns the usual prime meridian.
func Greenwich() Meridian { return Meridian{Name: "Greenwich", Code: 8901, Unit: Degree} }

// MeridianOf returns the prime meridian with a code, or nil.
func MeridianOf(code int) *Meridian {
	r := lookup("meridian", code)
	if r == nil {
		return nil
	}
	value, unit := measure(r.text(2), r.code(3))
	return &Meridian{Name: r[1], Code: code, Longitude: value, Unit: unit}
}

// UnitOf returns the unit with a code. Angles in sexagesimal notation have no factor and are not found.
func UnitOf(code int) (Unit, bool) {
	switch code {
	case 0:
		return Unit{}, false
	case 9102, 9122:
		return Degree, true
	case 9001:
		return Metre, true
	case 9201:
		return unity, true
	}
	r := lookup("unit", code)
	if r.number(2) == 0 {
		return Unit{}, false
	}
	return Unit{r[1], UnitKind(r.text(3)[0]), r.number(2)}, true
}

// sexagesimal is the unit of angles that are written as degrees, a point, and digits of minutes and seconds.
const sexagesimal = 9110

// measure decodes a number of the dataset. Sexagesimal angles become degrees.
func measure(text string, unit int) (float64, Unit) {
	if unit != sexagesimal {
		value, _ := strconv.ParseFloat(text, 64)
		u, _ := UnitOf(unit)
		return value, u
	}
	whole, rest, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	rest += "0000"
	degrees, _ := strconv.ParseFloat(whole, 64)
	minutes, _ := strconv.ParseFloat(rest[:2], 64)
	seconds, _ := strconv.ParseFloat(rest[2:4]+"."+rest[4:], 64)
	if degrees += minutes/60 + seconds/3600; strings.HasPrefix(text, "-") {
		degrees = -degrees
	}
	return degrees, Degree
}

func axes(code int) (list []Axis) {
	r := lookup("axes", code)
	for _, text := range r[min(len(r), 2):] {
		f := strings.Split(text, "|")
		a := Axis{Name: strings.ToLower(f[0][:1]) + f[0][1:] + " (" + f[1] + ")", Direction: f[2]}
		unit, _ := strconv.Atoi(f[3])
		var ok bool
		if a.Unit, ok = UnitOf(unit); !ok {
			a.Unit = Degree // angles in sexagesimal notation
		}
		// "North along 130°W", and "South along 90°E"
		if direction, meridian, ok := strings.Cut(f[2], " along "); ok {
			degrees, isWest := strings.CutSuffix(meridian, "°W")
			longitude, _ := strconv.ParseFloat(strings.TrimSuffix(degrees, "°E"), 64)
			if isWest {
				longitude = -longitude
			}
			a.Direction, a.Meridian = strings.ToLower(direction), &longitude
		}
		list = append(list, a)
	}
	return list
}

// methodOf returns the method with a code.
func methodOf(code int) Method {
	r := lookup("method", code)
	m := Method{Name: r.text(1), Code: code}
	for text := range strings.SplitSeq(r.text(2), ",") {
		if n, err := strconv.Atoi(text); err == nil {
			m.list = append(m.list, n)
		}
	}
	return m
}

// parameterOf returns a parameter without its value, in the usual unit.
func parameterOf(code int) Parameter {
	r := lookup("parameter", code)
	p := Parameter{Name: r.text(1), Code: code}
	p.Unit, _ = UnitOf(r.code(2))
	return p
}

// ConversionOf returns the conversion with a code, or nil.
func ConversionOf(code int) *Conversion {
	r := lookup("conversion", code)
	if r == nil {
		return nil
	}
	c := &Conversion{Name: r[1], Code: code, Method: methodOf(r.code(2))}
	for i, of := range c.Method.list {
		p := parameterOf(of)
		text, unit, hasUnit := strings.Cut(r.text(3+i), "|")
		if n, err := strconv.Atoi(unit); hasUnit && err == nil {
			p.Value, p.Unit = measure(text, n)
		} else {
			p.Value, _ = strconv.ParseFloat(text, 64)
		}
		c.Parameters = append(c.Parameters, p)
	}
	return c
}

// plain returns a name in lower case without spaces and punctuation, and without the prefix of ESRI.
func plain(name string) string {
	name = strings.ToLower(name)
	for _, prefix := range []string{"d_", "gcs_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-():.,'", r) {
			return -1
		}
		return r
	}, name)
	return strings.TrimSuffix(name, "ensemble")
}

// codes are the codes of records by their plain names and those by ESRI. Projected systems have only the latter.
var codes = map[string]func() map[string]int{
	"datum":     sync.OnceValue(func() map[string]int { return index("datum", 5) }),
	"ellipsoid": sync.OnceValue(func() map[string]int { return index("ellipsoid", 6) }),
	"geodetic":  sync.OnceValue(func() map[string]int { return index("geodetic", 5) }),
	"projected": sync.OnceValue(func() map[string]int { return index("projected", 5) }),
}

// index returns the codes of the records of a section by name. aliases is the field with the names by ESRI.
func index(section string, aliases int) map[string]int {
	out := map[string]int{}
	add := func(name string, code int) {
		if name = plain(name); name != "" && out[name] == 0 {
			out[name] = code
		}
	}
	for line := range strings.Lines(table()[section]) {
		r := record(strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		if len(r) < 2 {
			continue
		}
		add(r[1], r.code(0))
		for alias := range strings.SplitSeq(r.text(aliases), "|") {
			add(alias, r.code(0))
		}
	}
	return out
}

func codeOf(section, name string) int { return codes[section]()[plain(name)] }

// DatumNamed returns the geodetic datum with a name, which may be one by ESRI, or nil.
func DatumNamed(name string) *Datum { return DatumOf(codeOf("datum", name)) }

// EllipsoidNamed returns the ellipsoid with a name, which may be one by ESRI, or nil.
func EllipsoidNamed(name string) *Ellipsoid { return EllipsoidOf(codeOf("ellipsoid", name)) }

// Official returns the system of the EPSG dataset that a projected system is by ESRI's name for it, or the system itself. The
// projections must be equal: ESRI and the dataset may count standard parallels in different orders.
func (s *System) Official() *System {
	if s.Kind != Projected || s.Code != 0 || !strings.Contains(s.Name, "_") {
		return s
	}
	known := EPSG(codeOf("projected", s.Name))
	if known == nil || known.Base.Datum.Name != s.Base.Datum.Name || !known.Conversion.equal(s.Conversion) || known.Axes[0].Unit.Factor-s.Axes[0].Unit.Factor > 1e-9 ||
		s.Axes[0].Unit.Factor-known.Axes[0].Unit.Factor > 1e-9 {
		return s
	}
	return known
}

// equal reports whether conversions have the same method, and parameters that differ only by rounding.
func (c *Conversion) equal(o *Conversion) bool {
	if c.Method.Code != o.Method.Code || len(c.Parameters) != len(o.Parameters) {
		return false
	}
	c, o = c.ordered(), o.ordered()
	for i, p := range c.Parameters {
		q := o.Parameters[i]
		a, b := float64(p.Value*p.Unit.Factor), float64(q.Value*q.Unit.Factor)
		if p.Code != q.Code || math.Abs(a-b) > 1e-10*max(1, math.Abs(a)) {
			return false
		}
	}
	return true
}

// ordered returns the conversion with the smaller standard parallel first.
func (c *Conversion) ordered() *Conversion {
	out := *c
	out.Parameters = slices.Clone(c.Parameters)
	for i := range out.Parameters[:max(len(out.Parameters)-1, 0)] {
		p, q := &out.Parameters[i], &out.Parameters[i+1]
		if p.Code == 8823 && q.Code == 8824 && p.Value > q.Value {
			p.Value, q.Value = q.Value, p.Value
		}
	}
	return &out
}
