package tiff

import (
	"cmp"
	"math"
	"strings"

	"varve/readers/internal/crs"
)

// peString starts the well-known text of ESRI's programs in a citation. It says more than the keys.
const peString = "ESRI PE String = "

// system returns the coordinate reference system that GeoKeys describe, as GDAL does. Keys that name none describe an engineering
// system.
func (k *geoKeys) system() *crs.System {
	model := k.code(modelTypeKey)
	if model == 0 && k.code(projectedKey) != 0 {
		model = projectedModel
	}
	named := map[int]int{projectedModel: k.code(projectedKey), geographicModel: k.code(geodeticKey)}[model]
	s := k.fromCitation()
	if s != nil && crs.EPSG(named) == nil {
		return s
	}
	switch s = nil; model {
	case projectedModel:
		s = k.projected()
	case geographicModel:
		s = k.geographic(nil)
		if s.Code != 0 {
			s = k.official(s)
		}
	}
	if s == nil {
		s = k.engineering()
	}
	k.setShift(s)
	return k.withHeights(s)
}

// fromCitation returns the system of a well-known text in a citation, or nil.
func (k *geoKeys) fromCitation() *crs.System {
	for _, key := range []uint16{projectedCitationKey, citationKey, geodeticCitationKey} {
		if _, text, ok := strings.Cut(k.text(key), peString); ok {
			if s, err := crs.ParseWKT1(text); err == nil {
				return s
			}
		}
	}
	return nil
}

// setShift sets the shift of a datum that no code names. The shifts of others are not exact, and GDAL drops them.
func (k *geoKeys) setShift(s *crs.System) {
	shift, _ := k.values[toWGS84Key].([]float64)
	g := s.Geographic()
	if g == nil || s.Code != 0 || g.Code != 0 || g.Datum.Code != 0 || len(shift) != 3 && len(shift) != 7 {
		return
	}
	for _, f := range shift {
		if !(math.Abs(f) < crs.Largest) {
			return
		}
	}
	s.ToWGS84 = shift
}

// engineering returns the system of keys that name none.
func (k *geoKeys) engineering() *crs.System {
	name := cmp.Or(k.text(citationKey), k.text(geodeticCitationKey), "unnamed")
	if k.code(modelTypeKey) == projectedModel {
		name = k.projectedName()
	}
	return &crs.System{Kind: crs.Engineering, Name: name, Axes: crs.EastNorth(nil, k.linearUnit(crs.Metre))}
}

// imagine starts the citations of ERDAS IMAGINE, in which names are on lines.
const imagine = "IMAGINE GeoTIFF Support"

// projectedName returns the name of a projected system.
func (k *geoKeys) projectedName() string {
	for _, key := range []uint16{projectedCitationKey, citationKey} {
		for part := range strings.FieldsFuncSeq(k.text(key), func(r rune) bool { return r == '|' || r == '\n' }) {
			for _, prefix := range []string{"PCS Name = ", "Projection Name = "} {
				if name, ok := strings.CutPrefix(part, prefix); ok {
					return name
				}
			}
		}
		if text := k.text(key); text != "" && !strings.HasPrefix(text, imagine) {
			return text
		}
	}
	return "unnamed"
}

// official returns the system of the EPSG dataset in place of one of the same code with the axes that keys say. GDAL trusts the
// dataset for WGS 84 and other datums that move.
func (k *geoKeys) official(s *crs.System) *crs.System {
	if e := crs.EPSG(s.Code); e.Datum.Epoch != 0 || e.Datum.Name == "World Geodetic System 1984" {
		return e
	}
	return s
}

// linearUnit returns the unit of lengths.
func (k *geoKeys) linearUnit(absent crs.Unit) crs.Unit {
	if u, ok := crs.UnitOf(k.code(linearUnitKey)); ok && u.Kind == crs.Length {
		return u
	}
	if size, ok := k.number(linearUnitSizeKey); ok && crs.IsUnit(size) {
		return crs.Unit{Name: "unknown", Kind: crs.Length, Factor: size}
	}
	return absent
}

// angularUnit returns the unit of angles.
func (k *geoKeys) angularUnit(absent crs.Unit) crs.Unit {
	if u, ok := crs.UnitOf(k.code(angularUnitKey)); ok && u.Kind == crs.Angle {
		return u
	}
	if size, ok := k.number(angularUnitSizeKey); ok && crs.IsUnit(size) {
		return crs.Unit{Name: "unknown", Kind: crs.Angle, Factor: size}
	}
	return absent
}

// citation holds the names that GDAL and ESRI write into a citation: "GCS Name = …|Datum = …|Ellipsoid = …|Primem = …".
type citation struct{ system, datum, ellipsoid, meridian string }

func (k *geoKeys) citation() (c citation) {
	text := k.text(geodeticCitationKey)
	isImagine := strings.HasPrefix(text, imagine)
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || isImagine && r == '\n' }) {
		name, value, ok := strings.Cut(part, " = ")
		switch {
		case !ok && !isImagine:
			c.system = part
		case name == "GCS Name":
			c.system = value
		case name == "Datum":
			c.datum = value
		case name == "Ellipsoid":
			c.ellipsoid = value
		case name == "Primem":
			c.meridian = value
		}
	}
	return c
}

// geographic returns the geographic system of keys. Its parts are those of the code of the system, of the datum, of the ellipsoid,
// and the numbers, each of which overrides the ones before. absent is used if no key names a system or a part of one.
func (k *geoKeys) geographic(absent *crs.System) *crs.System {
	known := crs.EPSG(k.code(geodeticKey))
	if known == nil || known.Kind != crs.Geographic {
		known = absent
	}
	names := k.citation()
	s := &crs.System{Kind: crs.Geographic, Name: cmp.Or(names.system, "unknown"), Datum: &crs.Datum{Name: "unnamed", Meridian: crs.Greenwich()}}
	unit := crs.Degree
	if known != nil {
		*s = *known
		datum := *known.Datum
		s.Datum, unit = &datum, known.Axes[0].Unit
	} else if d := crs.DatumOf(k.code(datumKey)); d != nil {
		s.Datum = d
	} else {
		s.Name = cmp.Or(names.system, names.datum, "unknown")
		s.Datum.Name = cmp.Or(names.datum, s.Datum.Name)
		if d := crs.DatumNamed(names.datum); d != nil && names.datum != "" {
			s.Datum.Name = d.Name
		}
	}
	k.override(s.Datum, names)
	if s.Axes == nil || k.has(angularUnitKey) {
		if u := k.angularUnit(unit); s.Axes == nil || u.Factor != unit.Factor {
			s.Axes = crs.LongitudeLatitude(u)
		}
	}
	return s
}

// override sets the ellipsoid and the meridian of a datum to those that keys name.
func (k *geoKeys) override(d *crs.Datum, names citation) {
	if e := crs.EllipsoidOf(k.code(ellipsoidKey)); e != nil {
		d.Ellipsoid = *e
	}
	e := d.Ellipsoid
	if major, ok := k.number(semiMajorKey); ok && major > 0 {
		e.Major = major
	}
	minor, hasMinor := k.number(semiMinorKey)
	inverse, hasInverse := k.number(inverseFlatteningKey)
	switch {
	case hasInverse && (inverse == 0 || inverse > 1):
		e.Inverse = inverse
	case hasMinor && minor == e.Major:
		e.Inverse = 0
	case hasMinor && minor > 0 && minor < e.Major:
		e.Inverse = e.Major / (e.Major - minor)
	}
	switch {
	case e.Major == 0:
		e = *crs.EllipsoidOf(7030)
	case !e.IsNear(d.Ellipsoid):
		e.Code = 0
		e.Name = cmp.Or(names.ellipsoid, e.Name, "unnamed")
	default:
		e = d.Ellipsoid
	}
	d.Ellipsoid = e
	f, ok := k.number(meridianLongitudeKey)
	if m := crs.MeridianOf(k.code(meridianKey)); m != nil {
		d.Meridian = *m
	} else if ok && f > -360 && f < 360 && (f != d.Longitude || names.meridian != "") {
		d.Meridian = crs.Meridian{Name: cmp.Or(names.meridian, "unknown"), Longitude: f, Unit: k.angularUnit(crs.Degree)}
	}
}

// projected returns the projected system of keys.
func (k *geoKeys) projected() *crs.System {
	known := crs.EPSG(k.code(projectedKey))
	if known != nil && known.Kind != crs.Projected {
		known = nil
	}
	if known != nil && !k.has(geodeticKey, datumKey, ellipsoidKey, projectionKey, methodKey) {
		if unit := k.linearUnit(known.Axes[0].Unit); !same(unit.Factor, known.Axes[0].Unit.Factor) {
			return known.WithUnit(unit)
		}
		return known
	}
	s := &crs.System{Kind: crs.Projected, Name: k.projectedName()}
	unit := crs.Metre
	var base *crs.System
	if known != nil {
		*s = *known
		unit, base = known.Axes[0].Unit, known.Base
	}
	s.Base = k.geographic(base)
	unit = k.linearUnit(unit)
	angle := s.Base.Axes[0].Unit
	if c := crs.ConversionOf(k.code(projectionKey)); c != nil {
		s.Conversion = c.In(unit)
	} else if c := crs.GeoTIFF(k.code(methodKey), k.parameter, k.angularUnit(angle), unit); c != nil {
		s.Conversion = c
	}
	if s.Conversion == nil {
		return k.engineering()
	}
	if name := strings.ToLower(s.Name); strings.HasPrefix(name, "wgs_1984_web_mercator") {
		// ESRI's first Web Mercator is a Mercator projection on a sphere.
		s.Conversion = crs.WebMercator()
	}
	if s.Base.Datum.Inverse == 0 {
		s.Conversion = s.Conversion.OnSphere()
	}
	if known == nil || !same(unit.Factor, known.Axes[0].Unit.Factor) {
		s.Axes = crs.EastNorth(s.Conversion, unit)
	}
	return s.Official()
}

// same reports whether units have the same size. Programs write a US survey foot with fewer digits.
func same(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }

// parameterKeys are the GeoKeys of parameters of projections by their codes in the EPSG dataset, the usual first.
var parameterKeys = map[int][]uint16{
	8801: {3081, 3089, 3085}, 8802: {3080, 3088, 3084, 3095},
	8805: {3092, 3093}, 8806: {3082, 3090, 3086}, 8807: {3083, 3091, 3087},
	8811: {3089, 3081, 3085}, 8812: {3088, 3080, 3084}, 8813: {3094}, 8814: {3096}, 8815: {3093, 3092},
	8816: {3090, 3082, 3086}, 8817: {3091, 3083, 3087},
	8821: {3085, 3081, 3089}, 8822: {3084, 3080, 3088}, 8823: {3078}, 8824: {3079}, 8826: {3086, 3082, 3090}, 8827: {3087, 3083, 3091},
	8832: {3081, 3089, 3078}, 8833: {3095, 3080, 3088},
}

func (k *geoKeys) parameter(code int) (float64, bool) { return k.number(parameterKeys[code]...) }

// withHeights adds the vertical system that keys of GeoTIFF 1.1 name. GDAL does not report those of version 1.0.
func (k *geoKeys) withHeights(s *crs.System) *crs.System {
	code := k.code(verticalKey)
	if s.Kind == crs.Geographic && code != 0 {
		if e := crs.EPSG(code); e != nil && e.Kind == crs.Geographic && len(e.Axes) == 3 && e.Datum.Code == s.Datum.Code {
			return e
		}
	}
	if k.minor == 0 || s.Kind == crs.Engineering || code == 0 && !k.has(verticalDatumKey, verticalUnitKey) {
		return s
	}
	name := k.text(citationKey)
	if strings.Contains(name, " = ") {
		name = ""
	}
	if code != 0 {
		v := crs.EPSG(code)
		if v == nil || v.Kind != crs.Vertical {
			return s
		}
		return crs.Combine(s, v, name)
	}
	unit, ok := crs.UnitOf(k.code(verticalUnitKey))
	if !ok || unit.Kind != crs.Length {
		unit = crs.Metre
	}
	return crs.Combine(s, crs.VerticalOf(cmp.Or(k.text(verticalCitationKey), "unknown"), k.code(verticalDatumKey), unit), name)
}
