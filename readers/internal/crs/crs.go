package crs

// Kind is the kind of a system.
type Kind int

const (
	Geographic Kind = iota // latitude and longitude, with a height if there are three axes
	Geocentric
	Projected
	Vertical
	Compound    // a horizontal and a vertical system
	Engineering // coordinates that nothing relates to the earth
)

// System is a coordinate reference system.
type System struct {
	Kind       Kind
	Name       string
	Code       int     // of the EPSG dataset, or 0
	Datum      *Datum  // of a geographic, geocentric or vertical system
	Base       *System // the geographic system of a projected one
	Conversion *Conversion
	Axes       []Axis
	Parts      []*System // of a compound system
	ToWGS84    []float64 // shift of the datum: 3 metres, or also 3 seconds of arc and parts per million; nil if it is not known
	Remark     string
}

// Datum relates coordinates to the earth. A vertical datum has no ellipsoid and no meridian.
type Datum struct {
	Name  string
	Code  int
	Epoch float64 // year to which a dynamic datum refers, or 0
	Ellipsoid
	Meridian
}

// Ellipsoid is the figure of the earth.
type Ellipsoid struct {
	Name    string
	Code    int
	Major   float64 // semi-major axis in metres
	Inverse float64 // inverse flattening, or 0 for a sphere
}

// Minor returns the semi-minor axis in metres.
func (e Ellipsoid) Minor() float64 {
	if e.Inverse == 0 {
		return e.Major
	}
	return e.Major - e.Major/e.Inverse
}

// Meridian is the prime meridian.
type Meridian struct {
	Name      string
	Code      int
	Longitude float64 // from Greenwich, in Unit
	Unit      Unit
}

// UnitKind is what a unit measures.
type UnitKind byte

const (
	Angle  UnitKind = 'a'
	Length UnitKind = 'l'
	Scale  UnitKind = 's'
)

// Unit is a unit of measure.
type Unit struct {
	Name   string
	Kind   UnitKind
	Factor float64 // in radians, metres or 1
}

// Largest bounds the parameters of systems, so that no product of one with a unit overflows.
const Largest = 1e30

// IsUnit reports whether a number can be the size of a unit in radians or metres.
func IsUnit(size float64) bool { return size > 1e-9 && size < 1e9 }

var (
	Degree = Unit{"degree", Angle, 0.0174532925199433}
	Metre  = Unit{"metre", Length, 1}
	unity  = Unit{"unity", Scale, 1}
)

// Conversion is a projection with its parameters.
type Conversion struct {
	Name string
	Code int
	Method
	Parameters []Parameter
}

// Method is the method of a projection.
type Method struct {
	Name string
	Code int // or 0 if the EPSG dataset has none
	list []int
}

// Parameter is a parameter of a projection.
type Parameter struct {
	Name  string
	Code  int
	Value float64
	Unit  Unit
}

// Axis is an axis of coordinates.
type Axis struct {
	Name      string
	Direction string   // "east", "north", …
	Meridian  *float64 // longitude of the meridian along which the axis points, in degrees, or nil
	Unit      Unit
}

// LongitudeLatitude returns the axes of a geographic system that has no code.
func LongitudeLatitude(unit Unit) []Axis {
	return []Axis{{Name: "longitude", Direction: "east", Unit: unit}, {Name: "latitude", Direction: "north", Unit: unit}}
}

// EastNorth returns the axes of a projected system that has no code. Around a pole, both point away from it, as PROJ has them.
func EastNorth(c *Conversion, unit Unit) []Axis {
	east, north := Axis{"easting", "east", nil, unit}, Axis{"northing", "north", nil, unit}
	if c == nil {
		return []Axis{east, north}
	}
	latitude, pole := 0.0, 0.0
	switch c.Method.Code {
	case polarVariantA, lambertAzimuthal:
		latitude, pole = c.value(naturalLatitude), 90
	case polarVariantB:
		latitude = c.value(standardLatitude)
	case southOriented:
		return []Axis{{"westing", "west", nil, unit}, {"southing", "south", nil, unit}}
	case krovak:
		return []Axis{{"southing", "south", nil, unit}, {"westing", "west", nil, unit}}
	}
	switch {
	case latitude > 0 && latitude >= pole:
		east.Direction, north.Direction = "south", "south"
	case latitude < 0 && -latitude >= pole:
		east.Direction, north.Direction = "north", "north"
	}
	return []Axis{east, north}
}

// value returns a parameter by its code, in its unit, or 0.
func (c *Conversion) value(code int) float64 {
	for _, p := range c.Parameters {
		if p.Code == code {
			return p.Value
		}
	}
	return 0
}

// Horizontal returns the system of the horizontal coordinates.
func (s *System) Horizontal() *System {
	if s.Kind == Compound && len(s.Parts) > 0 {
		return s.Parts[0]
	}
	return s
}

// Geographic returns the geographic system on which a system is based, or nil.
func (s *System) Geographic() *System {
	switch s = s.Horizontal(); s.Kind {
	case Projected:
		return s.Base
	case Geographic, Geocentric:
		return s
	}
	return nil
}

// WithUnit returns a projected system with coordinates in another unit. It has no code.
func (s *System) WithUnit(unit Unit) *System {
	out := *s
	out.Code, out.Conversion, out.Axes = 0, s.Conversion.In(unit), nil
	for _, a := range s.Axes {
		a.Unit = unit
		out.Axes = append(out.Axes, a)
	}
	return &out
}
