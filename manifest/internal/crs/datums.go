package crs

import (
	"fmt"
	"math"
	"strings"
)

// ellipsoid is the form of the earth.
type ellipsoid struct {
	name              string
	major, flattening float64 // the semi-major axis in metres, and the inverse flattening, which is 0 for a sphere
}

// Ellipsoids of the EPSG dataset.
var (
	wgs84            = ellipsoid{"WGS 84", 6378137, 298.257223563}
	wgs72            = ellipsoid{"WGS 72", 6378135, 298.26}
	grs80            = ellipsoid{"GRS 1980", 6378137, 298.257222101}
	cgcs2000         = ellipsoid{"CGCS2000", 6378137, 298.257222101}
	clarke1866       = ellipsoid{"Clarke 1866", 6378206.4, 294.9786982138982}
	hayford          = ellipsoid{"International 1924", 6378388, 297}
	bessel           = ellipsoid{"Bessel 1841", 6377397.155, 299.1528128}
	airy             = ellipsoid{"Airy 1830", 6377563.396, 299.3249646}
	krassowsky       = ellipsoid{"Krassowsky 1940", 6378245, 298.3}
	ellipsoids       = []ellipsoid{wgs84, wgs72, grs80, cgcs2000, clarke1866, hayford, bessel, airy, krassowsky}
	ellipsoidAliases = map[string]ellipsoid{"WGS1984": wgs84, "WGS1972": wgs72, "GRS80": grs80, "HAYFORD": hayford, "BESSEL": bessel, "AIRY": airy, "KRASSOVSKY1940": krassowsky}
	ellipsoidByName  = namesOf(ellipsoids, ellipsoidAliases, func(e ellipsoid) []string { return []string{e.name} })
)

// datum is a geodetic datum of the EPSG dataset.
type datum struct {
	name   string
	system string // the name of its system of latitudes and longitudes from Greenwich, in degrees
	code   int    // the number of this system
	ellipsoid
}

// The datums that are known by their names.
var (
	wgs84Datum = &datum{"World Geodetic System 1984", "WGS 84", 4326, wgs84}
	nad83      = &datum{"North American Datum 1983", "NAD83", 4269, grs80}
	nad27      = &datum{"North American Datum 1927", "NAD27", 4267, clarke1866}
	etrs89     = &datum{"European Terrestrial Reference System 1989", "ETRS89", 4258, grs80}
	osgb36     = &datum{"Ordnance Survey of Great Britain 1936", "OSGB36", 4277, airy}
	datums     = []*datum{
		wgs84Datum, nad83, nad27, etrs89, osgb36,
		{"World Geodetic System 1972", "WGS 72", 4322, wgs72},
		{"Geocentric Datum of Australia 1994", "GDA94", 4283, grs80},
		{"Geocentric Datum of Australia 2020", "GDA2020", 7844, grs80},
		{"New Zealand Geodetic Datum 2000", "NZGD2000", 4167, grs80},
		{"Japanese Geodetic Datum 2000", "JGD2000", 4612, grs80},
		{"Japanese Geodetic Datum 2011", "JGD2011", 6668, grs80},
		{"Sistema de Referencia Geocentrico para las AmericaS 2000", "SIRGAS 2000", 4674, grs80},
		{"China 2000", "China Geodetic Coordinate System 2000", 4490, cgcs2000},
		{"European Datum 1950", "ED50", 4230, hayford},
		{"Deutsches Hauptdreiecksnetz", "DHDN", 4314, bessel},
		{"Amersfoort", "Amersfoort", 4289, bessel},
		{"Tokyo", "Tokyo", 4301, bessel},
		{"Pulkovo 1942", "Pulkovo 1942", 4284, krassowsky},
	}
	// Names by GDAL, ESRI and older versions of the EPSG dataset.
	datumAliases = map[string]*datum{
		"WGS1984": wgs84Datum, "WGS84CRS84": wgs84Datum, "CRS84": wgs84Datum, "NORTHAMERICAN1983": nad83, "NORTHAMERICAN1927": nad27,
		"ETRS1989": etrs89, "OSGB1936": osgb36,
	}
	datumByName = namesOf(datums, datumAliases, func(d *datum) []string { return []string{d.name, d.system} })
)

// namesOf returns things by their plain names, with more names.
func namesOf[T any](list []T, more map[string]T, names func(T) []string) map[string]T {
	out := map[string]T{}
	for _, thing := range list {
		for _, name := range names(thing) {
			out[plain(name)] = thing
		}
	}
	for name, thing := range more {
		out[name] = thing
	}
	return out
}

// plain returns a name in upper case without spaces and punctuation. A datum that has been realised several times is an ensemble
// in newer versions of the EPSG dataset.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-():", r) {
			return -1
		}
		return r
	}, strings.ToUpper(name))
	return strings.TrimSuffix(name, "ENSEMBLE")
}

// datumWith returns the datum whose system of latitudes and longitudes has a code, or nil.
func datumWith(code string) *datum {
	for _, d := range datums {
		if code == fmt.Sprintf("EPSG:%d", d.code) {
			return d
		}
	}
	return nil
}

// datumOf returns the datum with a name, or nil. ESRI's names begin with D_ and GCS_.
func datumOf(name string) *datum {
	name = plain(name)
	for _, prefix := range []string{"", "D", "GCS", "OGC"} {
		if d := datumByName[strings.TrimPrefix(name, prefix)]; d != nil {
			return d
		}
	}
	return nil
}

// ellipsoidOf returns the ellipsoid with a name, which may be that of a datum.
func ellipsoidOf(name string) (ellipsoid, bool) {
	e, ok := ellipsoidByName[plain(name)]
	if d := datumOf(name); !ok && d != nil {
		return d.ellipsoid, true
	}
	return e, ok
}

// minor returns the semi-minor axis in metres.
func (e ellipsoid) minor() float64 {
	if e.flattening == 0 {
		return e.major
	}
	return e.major - e.major/e.flattening
}

// isNear reports whether the axes of two ellipsoids differ by less than a metre. Files have axes of fewer digits, and programs
// ignore so little.
func (e ellipsoid) isNear(other ellipsoid) bool {
	return math.Abs(e.major-other.major) < 1 && math.Abs(e.minor()-other.minor()) < 1
}

// isWGS84 reports whether the ellipsoid is that of WGS 84. Its axes may differ by a tenth of a millimetre.
func (e ellipsoid) isWGS84() bool {
	return e.major == wgs84.major && math.Abs(e.flattening-wgs84.flattening) < 1e-6
}

// text returns the ellipsoid in WKT 2.
func (e ellipsoid) text() string {
	return fmt.Sprintf(`ELLIPSOID[%s,%s,%s,LENGTHUNIT["metre",1]]`, quote(e.name), decimal(e.major), decimal(e.flattening))
}

// crs returns the system of latitudes and longitudes on the datum.
func (d *datum) crs() *CRS {
	const axes = `CS[ellipsoidal,2],AXIS["geodetic latitude (Lat)",north,ORDER[1],` + degree + `],AXIS["geodetic longitude (Lon)",east,ORDER[2],` + degree + `]`
	return &CRS{Code: fmt.Sprintf("EPSG:%d", d.code), Kind: Geographic, IsNorthFirst: true,
		Text: fmt.Sprintf(`GEOGCRS[%s,DATUM[%s,%s],%s,%s,ID["EPSG",%d]]`, quote(d.system), quote(d.name), d.ellipsoid.text(), greenwich, axes, d.code)}
}

// greenwich is the prime meridian of most systems in WKT 2.
const greenwich = `PRIMEM["Greenwich",0,` + degree + `]`
