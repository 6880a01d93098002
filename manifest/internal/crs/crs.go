package crs

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// Kind is what a system's coordinates are.
type Kind int

// The kinds.
const (
	Geographic Kind = iota // longitudes and latitudes in degrees
	Rotated                // longitudes and latitudes in degrees, relative to a rotated pole
	Projected              // positions on a plane
)

// CRS is a coordinate reference system. Exactly one of Code and WKT2 is set.
type CRS struct {
	Code string // an authority and a number, such as EPSG:32633
	WKT2 string // ISO 19162:2019
	Kind Kind
	// Text is the system as well-known text that says the order of its axes, for programs that need the order: WKT 2, or WKT 1 with
	// axes, or a code whose axes are known. It is empty if only another code is known.
	Text string
	// IsNorthFirst says that the first axis of Text is a latitude or a northing.
	IsNorthFirst bool
	// Unit is the unit of the coordinates of a Projected system in metres. It is 0 if only a code is known.
	Unit float64
	// Height is the height of a satellite in metres: coordinates that are angles are multiplied by it. 0 means that coordinates
	// are no angles.
	Height float64
}

// WGS84 returns the system of longitudes and latitudes without a grid mapping.
func WGS84() *CRS { return wgs84Datum.crs() }

// codePattern is the form of a code in the convention proj.
var codePattern = regexp.MustCompile(`^[A-Z]+:[0-9]+$`)

// Parse returns the system that the attributes of a grid mapping describe, or an errors.ErrUnsupported that says why they
// describe none. units are those of the coordinates, which are also the units of a false easting.
func Parse(attributes zarrjson.Attributes, units string) (*CRS, error) {
	p := params{attributes: attributes, units: strings.TrimSpace(units)}
	p.unit = lengths[strings.ToLower(p.units)]
	name := cf.TextIn(attributes, "grid_mapping_name")
	for _, key := range []string{"crs_wkt", "spatial_ref"} {
		text := cf.TextIn(attributes, key)
		if text == "" || key == "spatial_ref" && text == cf.TextIn(attributes, "crs_wkt") {
			continue
		}
		c, err := ParseWKT(text)
		if err == nil {
			err = c.checkKind(name)
		}
		if err == nil {
			c.Height = p.height(c)
			c.complete()
			return c, nil
		}
		p.refused = joined(p.refused, fmt.Errorf("%s: %w", key, err))
	}
	switch code, err := p.code(); {
	case err != nil:
		p.refused = joined(p.refused, err)
	case code != "":
		return p.fromCode(code, name)
	}
	switch {
	case name != "":
		c, err := fromCF(name, p)
		return c, joined(p.refused, err)
	case p.refused != nil:
		return nil, p.refused
	}
	return nil, Unsupported("it has neither crs_wkt, spatial_ref, epsg_code nor grid_mapping_name")
}

// joined returns the reasons why descriptions are not used, on one line. It is nil if the last is used.
func joined(others, last error) error {
	if others == nil || last == nil {
		return last
	}
	return fmt.Errorf("%w; %w", others, last)
}

// kindOf returns the kind of the systems with a grid_mapping_name of CF.
func kindOf(name string) (k Kind, ok bool) {
	switch name {
	case "latitude_longitude":
		return Geographic, true
	case "rotated_latitude_longitude":
		return Rotated, true
	case "albers_conical_equal_area", "geostationary", "lambert_conformal_conic", "mercator", "oblique_mercator", "polar_stereographic", "vertical_perspective":
		return Projected, true
	}
	_, ok = methods[name]
	return Projected, ok
}

// checkKind refuses a system that cannot be the one with a grid_mapping_name. Some files have the text of the longitudes and
// latitudes below a projection.
func (c *CRS) checkKind(name string) error {
	if kind, ok := kindOf(name); ok && kind != c.Kind {
		return Unsupported("it is not a system of the kind %s, the grid_mapping_name", name)
	}
	return nil
}

// fromCode returns the system with a code. If this is the code of the longitudes and latitudes below a projection or a rotated
// pole, the system is that of CF's parameters. No code is that of a rotated pole.
func (p params) fromCode(code, name string) (*CRS, error) {
	kind, isKnown := kindOf(name)
	d := datumWith(code)
	switch {
	case isKnown && kind == Rotated, isKnown && kind == Projected && d != nil:
		return fromCF(name, p)
	case d != nil:
		if err := p.checkDatum(d); err != nil {
			return nil, err
		}
		return d.crs(), nil
	case !isKnown:
		kind = Projected
	}
	c := &CRS{Code: code, Kind: kind}
	c.complete()
	return c, nil
}

// complete adds the text of a system that is known only by its code, if the code is that of a datum or of eastFirst. The text that
// CF's parameters become is no substitute: its unit is the metre, its datum seldom has a name, and nothing says that the code means
// the same.
func (c *CRS) complete() {
	if c.Text != "" {
		return
	}
	if d := datumWith(c.Code); d != nil {
		known := d.crs()
		c.Text, c.IsNorthFirst = known.Text, known.IsNorthFirst
	} else if c.Kind == Projected && (c.Unit == 0 || c.Unit == 1) && isEastFirst(c.Code) {
		c.Text, c.Unit = c.Code, 1
	}
}

// isEastFirst reports whether a code is in eastFirst.
func isEastFirst(code string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(code, "EPSG:"))
	return err == nil && slices.ContainsFunc(eastFirst, func(r [2]int) bool { return r[0] <= n && n <= r[1] })
}

// eastFirst lists EPSG codes of common systems in metres whose first axis is the easting, as first and last code. Files of
// satellites often have only the code.
var eastFirst = [][2]int{
	{3857, 3857}, // Web Mercator
	// Maps of the poles: stereographic, of equal area, and EASE-Grid 2.0.
	{3031, 3031}, {3408, 3410}, {3413, 3413}, {3571, 3576}, {3976, 3976}, {3995, 3995}, {5041, 5042}, {6931, 6933},
	// UTM on ETRS89, NAD27, NAD83, WGS 72 and WGS 84.
	{25828, 25837}, {26701, 26722}, {26901, 26923}, {32201, 32260}, {32301, 32360}, {32601, 32660}, {32701, 32760},
}

// code returns the code in the attribute epsg_code, which is a text such as EPSG:3031, or a number. It is empty if there is none.
func (p params) code() (string, error) {
	value, ok := p.attributes.Get("epsg_code")
	text := strings.ToUpper(p.text("epsg_code"))
	if isText := len(value) > 0 && value[0] == '"'; !ok || isText && text == "" {
		return "", nil
	}
	if codePattern.MatchString(text) {
		return text, nil
	}
	if n, ok := p.number("epsg_code"); ok && n > 0 && n == math.Trunc(n) && n < 1<<31 {
		return fmt.Sprintf("EPSG:%d", int64(n)), nil
	}
	return "", Unsupported("epsg_code: %.40s is not a code", value)
}

// height returns the height of the satellite of a geostationary grid mapping.
func (p params) height(c *CRS) float64 {
	if h, ok := p.number("perspective_point_height"); ok && c.Kind == Projected && h > 0 && !math.IsInf(h, 0) {
		return h
	}
	return 0
}

// Scale returns the factor from coordinates with these units to the coordinates of the system.
func (c *CRS) Scale(units string) (float64, error) {
	units = strings.TrimSpace(units)
	if c.Kind != Projected {
		if units == "" || isDegree(units) {
			return 1, nil
		}
		return 0, Unsupported("coordinates with the units %.40q are no longitudes and latitudes in degrees", units)
	}
	if angle, ok := angles[strings.ToLower(units)]; ok {
		if c.Height == 0 {
			return 0, Unsupported("coordinates with the units %.40q need a grid mapping with perspective_point_height", units)
		}
		if c.Unit == 0 {
			return 0, Unsupported("coordinates with the units %.40q need a grid mapping with crs_wkt, not only a code", units)
		}
		return angle * c.Height / c.Unit, nil
	}
	length, known := lengths[strings.ToLower(units)]
	switch {
	case units == "", c.Unit == 0 && known && length < 1000:
		return 1, nil // the units of the system
	case !known:
		return 0, Unsupported("coordinates with the units %.40q", units)
	case c.Unit == 0:
		return length, nil // the codes of systems in kilometres are rare
	}
	return length / c.Unit, nil
}

func isDegree(units string) bool {
	return strings.HasPrefix(units, "degree") || strings.EqualFold(units, "deg") || units == "°"
}

// Units of coordinates, in radians and in metres.
var (
	angles = map[string]float64{
		"rad": 1, "radian": 1, "radians": 1, "microradian": 1e-6, "microradians": 1e-6,
		"degree": math.Pi / 180, "degrees": math.Pi / 180,
	}
	lengths = map[string]float64{
		"m": 1, "metre": 1, "metres": 1, "meter": 1, "meters": 1,
		"km": 1000, "kilometre": 1000, "kilometres": 1000, "kilometer": 1000, "kilometers": 1000,
		"ft": 0.3048, "foot": 0.3048, "feet": 0.3048, "us_survey_foot": 1200.0 / 3937, "us_survey_feet": 1200.0 / 3937, "us survey foot": 1200.0 / 3937,
	}
)

// Unsupported returns an errors.ErrUnsupported with a text that is complete.
func Unsupported(format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...)}
}

// refusal is the error of Unsupported. Its text does not end in that of errors.ErrUnsupported.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }
func (r *refusal) Unwrap() error { return errors.ErrUnsupported }

// params are the attributes of a grid mapping.
type params struct {
	attributes zarrjson.Attributes
	units      string  // of the coordinates
	unit       float64 // of the coordinates in metres; 0 if they are no lengths
	refused    error   // why other descriptions in the grid mapping are not used
}

// number returns an attribute that is one number.
func (p params) number(name string) (float64, bool) {
	list := p.numbers(name)
	if len(list) != 1 {
		return 0, false
	}
	return list[0], true
}

// numbers returns an attribute that is numbers, all of which are finite, or nil. Some writers store a number as a text.
func (p params) numbers(name string) (list []float64) {
	value, ok := p.attributes.Get(name)
	if !ok {
		return nil
	}
	if text, ok := cf.TextOf(value); ok {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
			f, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return nil
			}
			list = append(list, f)
		}
		return finite(list)
	}
	a, ok := cf.AttributeOf(&zarrjson.Array{}, name, value)
	if !ok || a.Type.Kind != codec.Float {
		return nil
	}
	for at := 0; at < len(a.Data); at += a.Type.Size {
		list = append(list, cf.Float(a.Type, a.Data[at:at+a.Type.Size]))
	}
	return finite(list)
}

// finite returns a list, or nil if a number of it is not finite.
func finite(list []float64) []float64 {
	for _, f := range list {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
	}
	return list
}
