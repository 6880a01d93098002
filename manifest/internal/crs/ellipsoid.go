package crs

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// ellipsoid is a figure of the earth.
type ellipsoid struct {
	name              string
	major, flattening float64 // the semi-major axis in metres, and the inverse flattening, which is 0 for a sphere
}

// errNoEllipsoid is returned if a grid mapping does not describe the figure of the earth.
var errNoEllipsoid = unsupported("it has no figure of the earth: semi_major_axis with inverse_flattening or semi_minor_axis, or earth_radius")

// named are figures of the earth by their names, in upper case without spaces and punctuation.
var named = map[string]ellipsoid{
	"WGS84":                                  {"WGS 84", 6378137, 298.257223563},
	"WGS1984":                                {"WGS 84", 6378137, 298.257223563},
	"WORLDGEODETICSYSTEM1984":                {"WGS 84", 6378137, 298.257223563},
	"DWGS1984":                               {"WGS 84", 6378137, 298.257223563},
	"GRS80":                                  {"GRS 1980", 6378137, 298.257222101},
	"GRS1980":                                {"GRS 1980", 6378137, 298.257222101},
	"ETRS89":                                 {"GRS 1980", 6378137, 298.257222101},
	"NAD83":                                  {"GRS 1980", 6378137, 298.257222101},
	"NORTHAMERICANDATUM1983":                 {"GRS 1980", 6378137, 298.257222101},
	"EUROPEANTERRESTRIALREFERENCESYSTEM1989": {"GRS 1980", 6378137, 298.257222101},
}

// plain returns a name in upper case without spaces and punctuation.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-()", r) {
			return -1
		}
		return r
	}, strings.ToUpper(name))
}

// ellipsoid returns the figure of the earth.
func (p params) ellipsoid() (ellipsoid, error) {
	e := ellipsoid{name: cmp.Or(p.text("reference_ellipsoid_name"), "unknown")}
	minor, hasMinor := p.number("semi_minor_axis")
	inverse, hasInverse := p.number("inverse_flattening")
	major, hasMajor := p.number("semi_major_axis")
	radius, hasRadius := p.number("earth_radius")
	switch {
	case hasRadius && !hasMajor:
		e.major = radius
	case hasMajor && hasInverse:
		e.major, e.flattening = major, inverse
	case hasMajor && hasMinor && minor != major:
		e.major, e.flattening = major, major/(major-minor)
	case hasMajor && (hasMinor || hasRadius && radius == major):
		e.major = major
	default:
		for _, name := range []string{"reference_ellipsoid_name", "horizontal_datum_name", "geographic_crs_name"} {
			if known, ok := named[plain(p.text(name))]; ok {
				return known, nil
			}
		}
		return e, errNoEllipsoid
	}
	isFlat := e.flattening == 0 || e.flattening > 1
	if !(e.major > 0) || !isFlat || math.IsInf(e.major, 0) {
		return e, unsupported("its figure of the earth has a semi-major axis of %g and an inverse flattening of %g", e.major, e.flattening)
	}
	if e.isWGS84() {
		e.name = "WGS 84"
	}
	return e, nil
}

// isWGS84 reports whether the ellipsoid is that of WGS 84. Its axes may differ by a tenth of a millimetre.
func (e ellipsoid) isWGS84() bool {
	return e.major == 6378137 && math.Abs(e.flattening-298.257223563) < 1e-6
}

// wgs84 is the name of the datum of WGS 84 in WKT 2.
const wgs84 = "World Geodetic System 1984"

// datum returns the name of the datum, or "".
func (p params) datum() string {
	for _, name := range []string{"horizontal_datum_name", "geographic_crs_name"} {
		if text := p.text(name); text != "" && !strings.EqualFold(text, "unknown") {
			if known, ok := named[plain(text)]; ok && known.name == "WGS 84" {
				return wgs84
			}
			return text
		}
	}
	return ""
}

// base returns the name, the datum and the prime meridian of the system of longitudes and latitudes.
func (p params) base(e ellipsoid) string {
	datum := p.datum()
	name := cmp.Or(p.text("geographic_crs_name"), "unknown")
	switch {
	case datum != "":
	case e.name == "unknown":
		datum = "unknown"
	default:
		datum = "Unknown based on " + e.name + " ellipsoid"
	}
	text := fmt.Sprintf(`%s,DATUM[%s,ELLIPSOID[%s,%s,%s,LENGTHUNIT["metre",1]]]`, quote(name), quote(datum), quote(e.name), decimal(e.major), decimal(e.flattening))
	if meridian, ok := p.number("longitude_of_prime_meridian"); ok && meridian != 0 {
		text += fmt.Sprintf(`,PRIMEM[%s,%s,%s]`, quote(cmp.Or(p.text("prime_meridian_name"), "unknown")), decimal(meridian), degree)
	} else {
		text += `,PRIMEM["Greenwich",0,` + degree + `]`
	}
	return text
}
