package crs

import "strings"

// Methods that the EPSG dataset does not have, by the names of PROJ.
const (
	stereographic   = "Stereographic"
	sweepX          = "Geostationary Satellite (Sweep X)"
	sweepY          = "Geostationary Satellite (Sweep Y)"
	satelliteHeight = "Satellite Height"
)

// projection is a method of projection as files name it.
type projection struct {
	geoTIFF int    // the number of GeoTIFF's ProjCoordTransGeoKey, or 0
	names   string // of GDAL and ESRI in WKT 1, between spaces, in lower case
	code    int    // of the method in the EPSG dataset, or 0
	name    string // of the method, if there is no code
	list    []int  // codes of its parameters, if the dataset has no conversion by this method
}

var (
	falseOnly    = []int{8802, 8806, 8807}
	natural      = []int{8801, 8802, 8806, 8807}
	naturalScale = []int{8801, 8802, 8805, 8806, 8807}

	projections = []projection{
		{1, "transverse_mercator gauss_kruger transverse_mercator_complex", 9807, "", nil},
		{3, "hotine_oblique_mercator hotine_oblique_mercator_azimuth_natural_origin rectified_skew_orthomorphic_natural_origin", 9812, "", nil},
		{9815, "hotine_oblique_mercator_azimuth_center rectified_skew_orthomorphic_center oblique_mercator", 9815, "", nil},
		{4, "laborde_oblique_mercator", 9813, "", nil},
		{7, "mercator_1sp mercator_variant_a", mercatorA, "", nil},
		{0, "mercator mercator_2sp", mercatorB, "", nil},
		{0, "mercator_auxiliary_sphere popular_visualisation_pseudo_mercator", pseudoMercator, "", nil},
		{8, "lambert_conformal_conic_2sp lambert_conformal_conic", lambertConic2, "", nil},
		{9, "lambert_conformal_conic_1sp", lambertConic1, "", nil},
		{10, "lambert_azimuthal_equal_area", lambertAzimuthal, "", nil},
		{11, "albers albers_conic_equal_area", 9822, "", nil},
		{12, "azimuthal_equidistant", 1125, "", nil},
		{13, "equidistant_conic", 0, "Equidistant Conic", []int{8821, 8822, 8823, 8824, 8826, 8827}},
		{14, "stereographic", 0, stereographic, naturalScale},
		{15, "polar_stereographic stereographic_north_pole stereographic_south_pole polar_stereographic_variant_b", polarVariantB, "", nil},
		{0, "polar_stereographic_variant_a", polarVariantA, "", nil},
		{16, "oblique_stereographic double_stereographic", 9809, "", nil},
		{17, "equirectangular equidistant_cylindrical plate_carree", 1028, "", nil},
		{18, "cassini_soldner cassini", 9806, "", nil},
		{19, "gnomonic", 0, "Gnomonic", natural},
		{20, "miller_cylindrical", 0, "Miller Cylindrical", falseOnly},
		{21, "orthographic", 9840, "", natural},
		{22, "polyconic", 9818, "", nil},
		{23, "robinson", 0, "Robinson", falseOnly},
		{24, "sinusoidal", 0, "Sinusoidal", falseOnly},
		{25, "vandergrinten van_der_grinten_i", 0, "Van Der Grinten", falseOnly},
		{26, "new_zealand_map_grid", 9811, "", nil},
		{27, "transverse_mercator_south_orientated", southOriented, "", nil},
		{28, "cylindrical_equal_area behrmann", 9835, "", nil},
		{0, "mollweide", 0, "Mollweide", falseOnly},
		{0, "eckert_i", 0, "Eckert I", falseOnly},
		{0, "eckert_ii", 0, "Eckert II", falseOnly},
		{0, "eckert_iii", 0, "Eckert III", falseOnly},
		{0, "eckert_iv", 0, "Eckert IV", falseOnly},
		{0, "eckert_v", 0, "Eckert V", falseOnly},
		{0, "eckert_vi", 0, "Eckert VI", falseOnly},
		{0, "goode_homolosine", 0, "Goode Homolosine", falseOnly},
		{0, "gall_stereographic", 0, "Gall Stereographic", falseOnly},
		{0, "aitoff", 0, "Aitoff", falseOnly},
		{0, "hammer_aitoff", 0, "Hammer", falseOnly},
		{0, "loximuthal", 0, "Loximuthal", natural},
		{0, "winkel_tripel", 0, "Winkel Tripel", []int{8802, 8823, 8806, 8807}},
		{0, "bonne", 9827, "", natural},
		{0, "vertical_near_side_perspective", 9838, "", []int{8834, 8835, 8840, 8806, 8807}},
		{0, "natural_earth", 0, "Natural Earth", falseOnly},
		{0, "equal_earth", 1078, "", nil},
		{0, "krovak", 9819, "", nil},
		{0, "geostationary_satellite", 0, sweepY, []int{8802, 0, 8806, 8807}},
	}
)

// Source returns a parameter by its code in the EPSG dataset, in the units of the file, or false if there is none. The height of a
// satellite has the code 0.
type Source func(code int) (value float64, ok bool)

// GeoTIFF returns the conversion with a number of GeoTIFF's ProjCoordTransGeoKey, or nil.
func GeoTIFF(number int, from Source, angle, length Unit) *Conversion {
	for _, p := range projections {
		if p.geoTIFF == number && number != 0 {
			return p.conversion(from, angle, length)
		}
	}
	return nil
}

// projectionNamed returns the conversion with the name of a projection in WKT 1, or nil.
func projectionNamed(name string, from Source, angle, length Unit) *Conversion {
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
	for _, p := range projections {
		if strings.Contains(" "+p.names+" ", " "+name+" ") {
			return p.conversion(from, angle, length)
		}
	}
	return nil
}

// onSphere are the methods for spheres of methods for ellipsoids. CF has no names for them.
var onSphere = map[int]int{equidistant: 1029, lambertAzimuthal: 1027, 9835: 9834}

// OnSphere returns the conversion with the method for spheres, if there is another one for them.
func (c *Conversion) OnSphere() *Conversion {
	if code, ok := onSphere[c.Method.Code]; ok {
		return c.by(Method{Name: methodOf(code).Name, Code: code})
	}
	return c
}

// by returns the conversion with another method that has the same parameters.
func (c *Conversion) by(m Method) *Conversion {
	out := *c
	out.Method = m
	return &out
}

// In returns the conversion with lengths in a unit.
func (c *Conversion) In(unit Unit) *Conversion {
	out := *c
	out.Parameters = nil
	for _, p := range c.Parameters {
		if p.Unit.Kind == Length && p.Unit.Factor != unit.Factor {
			p.Value, p.Unit = p.Value*p.Unit.Factor/unit.Factor, unit
			out.Code = 0
		}
		out.Parameters = append(out.Parameters, p)
	}
	return &out
}

func (p projection) conversion(from Source, angle, length Unit) *Conversion {
	_, hasScale := from(8805)
	second, hasSecond := from(8824)
	first, hasFirst := from(8823)
	switch {
	case p.code == mercatorA && !hasScale && hasFirst:
		p.code = mercatorB
	case p.code == lambertConic2 && !hasSecond && (hasScale || !hasFirst):
		p.code = lambertConic1
	case p.code == polarVariantB:
		if at, ok := from(standardLatitude); !ok || at == 90 || at == -90 {
			p.code = polarVariantA
		}
	}
	if at, _ := from(8801); p.name == stereographic && (at == 90 || at == -90) {
		p = projection{code: polarVariantA}
	}
	c := &Conversion{Name: "unnamed", Method: Method{Name: p.name}}
	if p.code != 0 {
		c.Method = methodOf(p.code)
	}
	if p.list == nil {
		p.list = c.Method.list
	}
	for _, code := range p.list {
		q := Parameter{Name: satelliteHeight, Unit: Metre}
		if code != 0 {
			q = parameterOf(code)
		}
		value, ok := from(code)
		switch {
		case ok:
			q.Value = value
		case q.Unit.Kind == Scale:
			q.Value = 1
		case code == 8824:
			q.Value = first
		case code == 8814:
			q.Value = c.value(8813)
		}
		if code == 8824 && hasSecond {
			q.Value = second
		}
		switch q.Unit.Kind {
		case Angle:
			q.Unit = angle
		case Length:
			q.Unit = length
		}
		c.Parameters = append(c.Parameters, q)
	}
	return c
}

// WebMercator returns the projection of maps in browsers.
func WebMercator() *Conversion { return ConversionOf(3856) }
