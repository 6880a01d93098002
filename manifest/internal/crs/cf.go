package crs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"varve/manifest/internal/cf"
)

// parameter is a parameter of a projection.
type parameter struct {
	name string // in WKT 2
	code int    // of the EPSG dataset
	kind unitKind
	from []string // the names in CF, the preferred first
	or   *float64 // the value if CF's attribute is missing; nil if there must be one
}

// unitKind is what a parameter measures.
type unitKind int

const (
	angle unitKind = iota
	factor
	length // in the units of the coordinates, as CF has it
	metres
)

// method is a method of projection.
type method struct {
	name   string
	code   int
	params []parameter
}

var (
	zero, one = 0.0, 1.0

	longitude     = []string{"longitude_of_projection_origin", "longitude_of_central_meridian"}
	latitude      = []string{"latitude_of_projection_origin"}
	naturalLat    = parameter{"Latitude of natural origin", 8801, angle, latitude, nil}
	naturalLon    = parameter{"Longitude of natural origin", 8802, angle, longitude, nil}
	falseEasting  = parameter{"False easting", 8806, length, []string{"false_easting"}, &zero}
	falseNorthing = parameter{"False northing", 8807, length, []string{"false_northing"}, &zero}
	parallel      = parameter{"Latitude of 1st standard parallel", 8823, angle, []string{"standard_parallel"}, nil}
	// The parameters of cones with two parallels, which are added by cone.
	coneOrigin = []parameter{{"Latitude of false origin", 8821, angle, latitude, nil}, {"Longitude of false origin", 8822, angle, longitude, nil}}
	coneFalse  = []parameter{{"Easting at false origin", 8826, length, []string{"false_easting"}, &zero}, {"Northing at false origin", 8827, length, []string{"false_northing"}, &zero}}

	// methods are the methods that need no decision, by CF's name of the grid mapping.
	methods = map[string]method{
		"transverse_mercator": {"Transverse Mercator", 9807, []parameter{naturalLat, naturalLon,
			{"Scale factor at natural origin", 8805, factor, []string{"scale_factor_at_central_meridian"}, nil}, falseEasting, falseNorthing}},
		"lambert_azimuthal_equal_area": {"Lambert Azimuthal Equal Area", 9820, []parameter{naturalLat, naturalLon, falseEasting, falseNorthing}},
		"azimuthal_equidistant":        {"Azimuthal Equidistant", 0, []parameter{naturalLat, naturalLon, falseEasting, falseNorthing}},
		"orthographic":                 {"Orthographic", 9840, []parameter{naturalLat, naturalLon, falseEasting, falseNorthing}},
		"sinusoidal":                   {"Sinusoidal", 0, []parameter{naturalLon, falseEasting, falseNorthing}},
		"stereographic": {"Stereographic", 0, []parameter{naturalLat, naturalLon,
			{"Scale factor at natural origin", 8805, factor, []string{"scale_factor_at_projection_origin"}, nil}, falseEasting, falseNorthing}},
		"lambert_cylindrical_equal_area": {"Lambert Cylindrical Equal Area", 9835, []parameter{parallel, naturalLon, falseEasting, falseNorthing}},
	}
)

// Attributes of grid mappings that hold one number, and attributes that may hold several.
var (
	oneNumber = []string{"semi_major_axis", "semi_minor_axis", "inverse_flattening", "earth_radius", "longitude_of_prime_meridian",
		"latitude_of_projection_origin", "longitude_of_projection_origin", "longitude_of_central_meridian", "straight_vertical_longitude_from_pole",
		"scale_factor_at_central_meridian", "scale_factor_at_projection_origin", "false_easting", "false_northing", "perspective_point_height",
		"grid_north_pole_latitude", "grid_north_pole_longitude", "north_pole_grid_longitude"}
	manyNumbers = []string{"standard_parallel", "towgs84"}
)

// checkNumbers refuses parameters that are not numbers. Otherwise their defaults would be used.
func (p params) checkNumbers() error {
	for _, name := range slices.Concat(oneNumber, manyNumbers) {
		value, ok := p.attributes.Get(name)
		if list := p.numbers(name); ok && (list == nil || len(list) > 1 && slices.Contains(oneNumber, name)) {
			return Unsupported("its %s is %.40s, not a number", name, value)
		}
	}
	return nil
}

// fromCF returns the system of a grid mapping with this name.
func fromCF(name string, p params) (*CRS, error) {
	if err := p.checkNumbers(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(p.numbers("towgs84"), func(f float64) bool { return f != 0 }) {
		return nil, Unsupported("datum shifts (towgs84) are not supported")
	}
	switch name {
	case "latitude_longitude":
		return geographic(p)
	case "rotated_latitude_longitude":
		return rotated(p)
	}
	if p.units == "" {
		return nil, Unsupported("the coordinates have no units")
	}
	f, err := p.figure()
	if err != nil {
		return nil, err
	}
	base, err := p.base(f)
	if err != nil {
		return nil, err
	}
	conversion, height, err := p.conversion(name)
	if err != nil {
		return nil, err
	}
	title := cmp.Or(p.text("projected_crs_name"), "unnamed")
	wkt := "PROJCRS[" + quote(title) + ",BASEGEOGCRS[" + base + "],CONVERSION[" + quote(cmp.Or(p.text("projected_crs_name"), name)) + "," + conversion + "]," +
		`CS[Cartesian,2],AXIS["easting (X)",east,ORDER[1],LENGTHUNIT["metre",1]],AXIS["northing (Y)",north,ORDER[2],LENGTHUNIT["metre",1]]]`
	return &CRS{WKT2: wkt, Text: wkt, Kind: Projected, Unit: 1, Height: height}, nil
}

func (p params) text(name string) string { return strings.TrimSpace(cf.TextIn(p.attributes, name)) }

// degree is the unit of angles in WKT 2.
const degree = `ANGLEUNIT["degree",0.0174532925199433]`

// axesOfDegrees are the coordinates of a system of longitudes and latitudes. The longitude is first, as in the transforms of
// grids.
const axesOfDegrees = `CS[ellipsoidal,2],AXIS["longitude",east,ORDER[1],` + degree + `],AXIS["latitude",north,ORDER[2],` + degree + `]`

// geographic returns a system of longitudes and latitudes. It is WGS 84 if nothing is said about the datum and the ellipsoid, also
// not by a description that is not used.
func geographic(p params) (*CRS, error) {
	meridian, err := p.meridian()
	if err != nil {
		return nil, err
	}
	f, err := p.figure()
	switch {
	case err == errNoFigure && meridian == 0 && p.refused == nil:
		f, err = figure{ellipsoid: wgs84}, nil
	case err != nil:
		return nil, err
	}
	switch {
	case meridian != 0:
	case f.datum != nil:
		return f.datum.crs(), nil
	case f.named == "" && f.ellipsoid == wgs84:
		return WGS84(), nil
	}
	base, err := p.base(f)
	if err != nil {
		return nil, err
	}
	wkt := "GEOGCRS[" + base + "," + axesOfDegrees + "]"
	return &CRS{WKT2: wkt, Text: wkt, Kind: Geographic}, nil
}

// rotated returns a system of longitudes and latitudes with a rotated pole. Programs compute the rotation as on a sphere, whatever
// the ellipsoid is. So that of WGS 84 changes no position if the grid mapping says nothing.
func rotated(p params) (*CRS, error) {
	f, err := p.figure()
	if err == errNoFigure {
		f, err = figure{ellipsoid: wgs84}, nil
	}
	if err != nil {
		return nil, err
	}
	base, err := p.base(f)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, q := range []parameter{
		{"Grid north pole latitude (netCDF CF convention)", 0, angle, []string{"grid_north_pole_latitude"}, nil},
		{"Grid north pole longitude (netCDF CF convention)", 0, angle, []string{"grid_north_pole_longitude"}, nil},
		{"North pole grid longitude (netCDF CF convention)", 0, angle, []string{"north_pole_grid_longitude"}, &zero},
	} {
		if err := p.write(&b, q); err != nil {
			return nil, err
		}
	}
	wkt := `GEOGCRS["Rotated_pole",BASEGEOGCRS[` + base + `],DERIVINGCONVERSION["Pole rotation (netCDF CF convention)",METHOD["Pole rotation (netCDF CF convention)"]` + b.String() + "]," +
		axesOfDegrees + "]"
	return &CRS{WKT2: wkt, Text: wkt, Kind: Rotated}, nil
}

// conversion returns the method and the parameters of a projection, and the height of a satellite.
func (p params) conversion(name string) (text string, height float64, err error) {
	m, known := methods[name]
	_, hasParallel := p.number("standard_parallel")
	k, hasScale := p.number("scale_factor_at_projection_origin")
	switch {
	case name == "stereographic" && hasParallel:
		return "", 0, Unsupported("it has standard_parallel, which the projection %s does not have", name)
	case name == "lambert_cylindrical_equal_area" && hasScale && k != 1:
		return "", 0, Unsupported("it has both standard_parallel and scale_factor_at_projection_origin")
	}
	switch name {
	case "polar_stereographic":
		m, err = p.polar()
	case "lambert_conformal_conic":
		return p.cone("Lambert Conic Conformal (2SP)", 9802)
	case "albers_conical_equal_area":
		return p.cone("Albers Equal Area", 9822)
	case "mercator":
		m, err = p.mercator()
	case "geostationary":
		m, err = p.satellite()
		height, _ = p.number("perspective_point_height")
	default:
		if !known {
			return "", 0, Unsupported("the projection %.60s", name)
		}
	}
	if err != nil {
		return "", 0, err
	}
	text, err = p.apply(m)
	return text, height, err
}

// apply returns a method with its parameters.
func (p params) apply(m method) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "METHOD[%s%s]", quote(m.name), identifier(m.code))
	for _, q := range m.params {
		if err := p.write(&b, q); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// write writes a parameter with its value.
func (p params) write(b *strings.Builder, q parameter) error {
	value, found := 0.0, ""
	for _, name := range q.from {
		other, ok := p.number(name)
		if ok && found != "" && other != value {
			return Unsupported("its %s and its %s are different", found, name)
		}
		if ok && found == "" {
			value, found = other, name
		}
	}
	switch {
	case found != "":
	case q.or == nil:
		return Unsupported("it has no %s", strings.Join(q.from, " or "))
	default:
		value = *q.or
	}
	if q.kind == length && value != 0 {
		if p.unit == 0 {
			return Unsupported("its %s is in the units of coordinates that are no lengths", q.from[0])
		}
		value *= p.unit
	}
	b.WriteString(q.text(value))
	return nil
}

// text returns a parameter with a value.
func (q parameter) text(value float64) string {
	unit := map[unitKind]string{angle: degree, factor: `SCALEUNIT["unity",1]`, length: `LENGTHUNIT["metre",1]`, metres: `LENGTHUNIT["metre",1]`}[q.kind]
	return fmt.Sprintf(",PARAMETER[%s,%s,%s%s]", quote(q.name), decimal(value), unit, identifier(q.code))
}

// cone returns a conic projection with one or two standard parallels.
func (p params) cone(name string, code int) (text string, height float64, err error) {
	parallels := p.numbers("standard_parallel")
	if len(parallels) != 1 && len(parallels) != 2 {
		return "", 0, Unsupported("it has no standard_parallel")
	}
	if k, ok := p.number("scale_factor_at_projection_origin"); ok && k != 1 {
		return "", 0, Unsupported("it has both standard_parallel and scale_factor_at_projection_origin")
	}
	first, second := parallels[0], parallels[len(parallels)-1]
	if math.Abs(first+second) < 1e-9 {
		return "", 0, Unsupported("its standard_parallel are on opposite latitudes")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "METHOD[%s%s]", quote(name), identifier(code))
	for _, q := range coneOrigin {
		if err := p.write(&b, q); err != nil {
			return "", 0, err
		}
	}
	b.WriteString(parallel.text(first))
	b.WriteString(parameter{name: "Latitude of 2nd standard parallel", code: 8824, kind: angle}.text(second))
	for _, q := range coneFalse {
		if err := p.write(&b, q); err != nil {
			return "", 0, err
		}
	}
	return b.String(), 0, nil
}

// polar returns the method of a polar stereographic projection: by its standard parallel, or by the scale at the pole.
func (p params) polar() (method, error) {
	meridian := []string{"straight_vertical_longitude_from_pole", "longitude_of_projection_origin"}
	pole, hasPole := p.number("latitude_of_projection_origin")
	if hasPole && math.Abs(pole) != 90 {
		return method{}, Unsupported("its latitude_of_projection_origin is %g, not a pole", pole)
	}
	at, hasParallel := p.number("standard_parallel")
	k, hasScale := p.number("scale_factor_at_projection_origin")
	switch {
	case hasParallel && hasScale && k != 1:
		return method{}, Unsupported("it has both standard_parallel and scale_factor_at_projection_origin")
	case hasParallel && (at == 0 || math.Abs(at) > 90):
		return method{}, Unsupported("its standard_parallel is %g", at)
	case hasParallel && hasPole && (at > 0) != (pole > 0):
		return method{}, Unsupported("its standard_parallel and latitude_of_projection_origin are on different hemispheres")
	case hasParallel && math.Abs(at) < 90:
		return method{"Polar Stereographic (variant B)", 9829, []parameter{
			{"Latitude of standard parallel", 8832, angle, []string{"standard_parallel"}, nil}, {"Longitude of origin", 8833, angle, meridian, nil}, falseEasting, falseNorthing,
		}}, nil
	case !hasParallel && (!hasPole || !hasScale):
		return method{}, Unsupported("it has neither standard_parallel nor latitude_of_projection_origin and scale_factor_at_projection_origin")
	}
	if !hasPole {
		pole = at
	}
	return method{"Polar Stereographic (variant A)", 9810, []parameter{
		{"Latitude of natural origin", 8801, angle, latitude, &pole}, {"Longitude of natural origin", 8802, angle, meridian, nil},
		{"Scale factor at natural origin", 8805, factor, []string{"scale_factor_at_projection_origin"}, &one}, falseEasting, falseNorthing,
	}}, nil
}

// mercator returns the method of a Mercator projection: by its standard parallel, or by the scale at the equator.
func (p params) mercator() (method, error) {
	_, hasParallel := p.number("standard_parallel")
	k, hasScale := p.number("scale_factor_at_projection_origin")
	at, _ := p.number("latitude_of_projection_origin")
	switch {
	case at != 0:
		return method{}, Unsupported("its latitude_of_projection_origin is %g, not 0", at)
	case hasParallel && hasScale && k != 1:
		return method{}, Unsupported("it has both standard_parallel and scale_factor_at_projection_origin")
	case hasParallel:
		return method{"Mercator (variant B)", 9805, []parameter{parallel, naturalLon, falseEasting, falseNorthing}}, nil
	case !hasScale:
		return method{}, Unsupported("it has neither standard_parallel nor scale_factor_at_projection_origin")
	}
	equator := naturalLat
	equator.from, equator.or = nil, &zero
	return method{"Mercator (variant A)", 9804, []parameter{equator, naturalLon,
		{"Scale factor at natural origin", 8805, factor, []string{"scale_factor_at_projection_origin"}, nil}, falseEasting, falseNorthing}}, nil
}

// satellite returns the method of the view of a geostationary satellite. PROJ gave it its names; the EPSG dataset does not have
// it.
func (p params) satellite() (method, error) {
	if at, ok := p.number("latitude_of_projection_origin"); ok && at != 0 {
		return method{}, Unsupported("its latitude_of_projection_origin is %g, not 0", at)
	}
	sweep := strings.ToUpper(p.text("sweep_angle_axis"))
	if sweep == "" { // the axis that is fixed is the other one
		sweep = map[string]string{"X": "Y", "Y": "X"}[strings.ToUpper(p.text("fixed_angle_axis"))]
	}
	if sweep != "X" && sweep != "Y" {
		return method{}, Unsupported("it has neither sweep_angle_axis nor fixed_angle_axis")
	}
	h, ok := p.number("perspective_point_height")
	if !ok || h <= 0 {
		return method{}, Unsupported("it has no perspective_point_height")
	}
	height := parameter{name: "Satellite Height", kind: metres, from: []string{"perspective_point_height"}}
	return method{"Geostationary Satellite (Sweep " + sweep + ")", 0, []parameter{naturalLon, height, falseEasting, falseNorthing}}, nil
}
