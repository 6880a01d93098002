package crs

import "slices"

// Attribute is an attribute of a grid mapping. Its value is a string, a float64 or a []float64.
type Attribute struct {
	Name  string
	Value any
}

// Codes of the EPSG dataset.
const (
	lambertConic1    = 9801
	lambertConic2    = 9802
	mercatorA        = 9804
	mercatorB        = 9805
	southOriented    = 9808
	krovak           = 9819
	krovakNorth      = 1041
	equidistant      = 1028
	polarVariantA    = 9810
	lambertAzimuthal = 9820
	polarVariantB    = 9829
	pseudoMercator   = 1024

	naturalLatitude  = 8801
	standardLatitude = 8832
)

// mapping is a grid mapping of CF: the attributes that parameters have in it, by the code of the parameter or by its name.
type mapping struct {
	name   string
	method any // code, or name if there is no code
	names  map[any]string
}

const (
	gridOrigin = "latitude_of_projection_origin"
	meridian   = "longitude_of_central_meridian"
	originLon  = "longitude_of_projection_origin"
	parallels  = "standard_parallel"
	originK    = "scale_factor_at_projection_origin"
	poleLon    = "straight_vertical_longitude_from_pole"
	height     = "perspective_point_height"
)

// falseOrigin are the parameters that all grid mappings share.
var falseOrigin = map[int]string{
	8806: "false_easting", 8807: "false_northing", 8816: "false_easting", 8817: "false_northing", 8826: "false_easting", 8827: "false_northing",
}

var (
	azimuthal = map[any]string{8801: gridOrigin, 8802: originLon}
	cone      = map[any]string{8821: gridOrigin, 8822: meridian, 8823: parallels, 8824: parallels}
	satellite = map[any]string{8802: originLon, satelliteHeight: height}

	mappings = []mapping{
		{"transverse_mercator", 9807, map[any]string{8801: gridOrigin, 8802: meridian, 8805: "scale_factor_at_central_meridian"}},
		{"albers_conical_equal_area", 9822, cone},
		{"lambert_conformal_conic", lambertConic2, cone},
		{"lambert_conformal_conic", lambertConic1, map[any]string{8801: parallels, 8802: meridian}},
		{"lambert_azimuthal_equal_area", lambertAzimuthal, azimuthal},
		{"azimuthal_equidistant", 1125, azimuthal},
		{"azimuthal_equidistant", 9832, azimuthal},
		{"orthographic", 9840, azimuthal},
		{"stereographic", stereographic, map[any]string{8801: gridOrigin, 8802: originLon, 8805: originK}},
		{"lambert_cylindrical_equal_area", 9835, map[any]string{8823: parallels, 8802: meridian}},
		{"mercator", mercatorA, map[any]string{8801: parallels, 8802: originLon, 8805: originK}},
		{"mercator", mercatorB, map[any]string{8823: parallels, 8802: originLon}},
		{"oblique_mercator", 9815, map[any]string{8811: gridOrigin, 8812: originLon, 8813: "azimuth_of_central_line", 8815: originK}},
		{"polar_stereographic", polarVariantA, map[any]string{8801: gridOrigin, 8802: poleLon, 8805: originK}},
		{"polar_stereographic", polarVariantB, map[any]string{8832: parallels, 8833: poleLon}},
		{"sinusoidal", "Sinusoidal", map[any]string{8802: originLon}},
		{"geostationary", sweepX, satellite},
		{"geostationary", sweepY, satellite},
		{"vertical_perspective", 9838, map[any]string{8840: height, 8834: gridOrigin, 8835: originLon}},
	}
)

// GridMapping returns the attributes of a CF grid mapping without crs_wkt, or nil if CF has no name for the projection. Angles are
// in degrees, lengths in the unit of the coordinates.
func (s *System) GridMapping() (list []Attribute) {
	add := func(name string, value any) { list = append(list, Attribute{name, value}) }
	if s.ToWGS84 != nil {
		add("towgs84", append(slices.Clone(s.ToWGS84), 0, 0, 0, 0)[:7])
	}
	h, base := s.Horizontal(), s.Geographic()
	if base != nil && base.Kind == Geographic {
		d := base.Datum
		if h.Kind == Geographic {
			add("grid_mapping_name", "latitude_longitude")
		} else if parameters := h.Conversion.attributes(); parameters != nil {
			list = append(list, parameters...)
			add("projected_crs_name", h.Name)
		} else {
			return list
		}
		add("semi_major_axis", d.Major)
		add("semi_minor_axis", d.Minor())
		add("inverse_flattening", d.Inverse)
		add("reference_ellipsoid_name", d.Ellipsoid.Name)
		add("longitude_of_prime_meridian", inDegrees(d.Longitude, d.Meridian.Unit))
		add("prime_meridian_name", d.Meridian.Name)
		add("geographic_crs_name", base.Name)
		add("horizontal_datum_name", d.Name)
	}
	for _, p := range append(slices.Clone(s.Parts), s) {
		if p.Kind == Vertical {
			add("geopotential_datum_name", p.Datum.Name)
		}
	}
	return list
}

// attributes returns the attributes of a projection, or nil if CF has no name for it.
func (c *Conversion) attributes() (list []Attribute) {
	for _, m := range mappings {
		if m.method != c.Method.Name && m.method != c.Method.Code {
			continue
		}
		list = append(list, Attribute{"grid_mapping_name", m.name})
		switch m.method {
		case sweepX, sweepY:
			list = append(list, Attribute{"sweep_angle_axis", map[any]string{sweepX: "x", sweepY: "y"}[m.method]}, Attribute{gridOrigin, 0.0})
		}
		for _, p := range c.Parameters {
			name, ok := m.names[p.Code]
			if p.Code == 0 {
				name, ok = m.names[p.Name]
			}
			if name == "" {
				name, ok = falseOrigin[p.Code], falseOrigin[p.Code] != ""
			}
			last, value := len(list)-1, inDegrees(p.Value, p.Unit)
			switch {
			case !ok:
			case name == parallels && list[last].Name == parallels:
				list[last].Value = []float64{list[last].Value.(float64), value}
			default:
				list = append(list, Attribute{name, value})
			}
		}
		return list
	}
	return nil
}

// inDegrees returns an angle in degrees, and other values as they are.
func inDegrees(value float64, unit Unit) float64 {
	if unit.Kind != Angle || unit.Factor == Degree.Factor {
		return value
	}
	return value * unit.Factor / Degree.Factor
}
