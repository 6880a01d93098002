package crs

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// figure is the figure of the earth of a grid mapping.
type figure struct {
	ellipsoid
	datum *datum // nil if it has no name that is known
	named string // the name of another datum, or ""
}

// errNoFigure is returned if a grid mapping does not say anything about the figure of the earth.
var errNoFigure = Unsupported("it has no figure of the earth: semi_major_axis with inverse_flattening or semi_minor_axis, or earth_radius")

// figure returns the figure of the earth: by the axes of the ellipsoid, by the names of the ellipsoid and the datum, or by several of
// these if they agree. The name of a datum that is not known needs an ellipsoid, and that of an ellipsoid needs axes.
func (p params) figure() (f figure, err error) {
	axes, hasAxes, err := p.axes()
	if err != nil {
		return f, err
	}
	name := p.name("reference_ellipsoid_name")
	known, isKnown := ellipsoidOf(name)
	switch {
	case name != "" && !isKnown && !hasAxes:
		return f, Unsupported("its reference_ellipsoid_name %.60q is not known, and it has no axes of an ellipsoid", name)
	case isKnown && hasAxes && !known.isNear(axes):
		return f, Unsupported("its reference_ellipsoid_name is %.60q, but its axes are others", name)
	case isKnown:
		f.ellipsoid = known
	case hasAxes && axes.isWGS84():
		f.ellipsoid = wgs84
	case hasAxes:
		f.ellipsoid = axes
		f.name = cmp.Or(name, "unknown")
	}
	hasShape := isKnown || hasAxes
	if f.datum, f.named, err = p.datum(hasShape); err != nil {
		return f, err
	}
	switch {
	case f.datum == nil && !hasShape:
		return f, errNoFigure
	case f.datum != nil && hasShape && !f.datum.ellipsoid.isNear(f.ellipsoid):
		return f, Unsupported("its datum is %s, but its ellipsoid is another", f.datum.system)
	case f.datum != nil:
		f.ellipsoid = f.datum.ellipsoid
	}
	return f, nil
}

// datum returns the datum that a grid mapping names, or the name of one that is not known. horizontal_datum_name is preferred to
// geographic_crs_name, which is often a free text. hasShape says that the ellipsoid is known without the datum.
func (p params) datum(hasShape bool) (d *datum, other string, err error) {
	for _, attribute := range []string{"horizontal_datum_name", "geographic_crs_name"} {
		name := p.name(attribute)
		known := datumOf(name)
		switch {
		case name == "":
		case known != nil && d != nil && known != d:
			return nil, "", Unsupported("its horizontal_datum_name and its geographic_crs_name are of different datums, %s and %s", d.system, known.system)
		case known != nil && other != "":
			return nil, "", Unsupported("its horizontal_datum_name %.60q is not known, but its geographic_crs_name is %s", other, known.system)
		case known != nil:
			d = known
		case d == nil && other == "" && !hasShape:
			return nil, "", Unsupported("its %s %.60q is not known, and it has no ellipsoid", attribute, name)
		case d == nil && other == "":
			other = name
		}
	}
	return d, other, nil
}

// name returns an attribute that is a name, or "" if it says that there is none.
func (p params) name(attribute string) string {
	name := p.text(attribute)
	for _, none := range []string{"UNKNOWN", "UNDEFINED", "NOTSPECIFIED"} { // as in "Unknown based on GRS 1980 ellipsoid"
		if strings.HasPrefix(plain(name), none) {
			return ""
		}
	}
	return name
}

// axes returns the ellipsoid that numbers describe. ok is false if there are none.
func (p params) axes() (e ellipsoid, ok bool, err error) {
	major, hasMajor := p.number("semi_major_axis")
	minor, hasMinor := p.number("semi_minor_axis")
	inverse, hasInverse := p.number("inverse_flattening")
	radius, hasRadius := p.number("earth_radius")
	switch {
	case !hasMajor && !hasMinor && !hasInverse && !hasRadius:
		return e, false, nil
	case hasMajor && hasInverse:
		e = ellipsoid{major: major, flattening: inverse}
	case hasMajor && hasMinor && minor != major:
		e = ellipsoid{major: major, flattening: major / (major - minor)}
	case hasMajor && (hasMinor || hasRadius):
		e = ellipsoid{major: major}
	case hasRadius:
		e = ellipsoid{major: radius}
	default:
		return e, false, Unsupported("its figure of the earth is not complete: it needs semi_major_axis with inverse_flattening or semi_minor_axis, or earth_radius")
	}
	isFlat := e.flattening == 0 || e.flattening > 1
	if !(e.major > 0) || !isFlat {
		return e, false, Unsupported("its figure of the earth has a semi-major axis of %g and an inverse flattening of %g", e.major, e.flattening)
	}
	// A radius beside the axes of an ellipsoid is their mean, and no contradiction.
	if hasMinor && math.Abs(minor-e.minor()) >= 1 || hasRadius && e.flattening == 0 && math.Abs(radius-e.major) >= 1 || !hasMajor && inverse != 0 {
		return e, false, Unsupported("the attributes of its figure of the earth contradict each other")
	}
	return e, true, nil
}

// checkDatum refuses a grid mapping with the epsg_code of one datum and the parameters of another.
func (p params) checkDatum(d *datum) error {
	axes, hasAxes, err1 := p.axes()
	named, _, err2 := p.datum(true)
	meridian, err3 := p.meridian()
	if err := cmp.Or(p.checkNumbers(), err1, err2, err3); err != nil {
		return err
	}
	known, isKnown := ellipsoidOf(p.name("reference_ellipsoid_name"))
	if hasAxes && !axes.isNear(d.ellipsoid) || named != nil && named != d || isKnown && !known.isNear(d.ellipsoid) || meridian != 0 {
		return Unsupported("its epsg_code is that of %s, but its parameters are those of another datum or prime meridian", d.system)
	}
	return nil
}

// meridian returns the longitude of the prime meridian, from Greenwich.
func (p params) meridian() (float64, error) {
	longitude, ok := p.number("longitude_of_prime_meridian")
	if name := p.name("prime_meridian_name"); !ok && name != "" && !strings.EqualFold(name, "Greenwich") {
		return 0, Unsupported("its prime_meridian_name is %.60q, and it has no longitude_of_prime_meridian", name)
	}
	return longitude, nil
}

// base returns the name, the datum and the prime meridian of the system of longitudes and latitudes.
func (p params) base(f figure) (string, error) {
	meridian, err := p.meridian()
	if err != nil {
		return "", err
	}
	name, primem := p.name("geographic_crs_name"), greenwich
	if name == "" && f.datum != nil && meridian == 0 {
		name = f.datum.system
	}
	if meridian != 0 {
		primem = fmt.Sprintf(`PRIMEM[%s,%s,%s]`, quote(cmp.Or(p.text("prime_meridian_name"), "unknown")), decimal(meridian), degree)
	}
	datum := f.named
	switch {
	case f.datum != nil:
		datum = f.datum.name
	case datum == "" && f.ellipsoid.name == "unknown":
		datum = "unknown"
	case datum == "":
		datum = "Unknown based on " + f.ellipsoid.name + " ellipsoid"
	}
	return fmt.Sprintf(`%s,DATUM[%s,%s],%s`, quote(cmp.Or(name, "unknown")), quote(datum), f.ellipsoid.text(), primem), nil
}
