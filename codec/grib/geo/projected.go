package geo

import (
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

// projection converts between latitude and longitude in radians and metres on a plane.
type projection interface {
	forward(lat, lon float64) (x, y float64)
	inverse(x, y float64) (lat, lon float64)
}

// Plane is a grid on a plane: the coordinates of its points and the attributes of CF's grid mapping.
type Plane struct {
	X, Y []float64 // coordinates of columns and of rows, in metres
	Name string    // CF's grid_mapping_name
	// Numbers are the parameters of the grid mapping with their names in CF.
	Numbers []Number
	project projection
}

// Number is a parameter of a grid mapping. It has several values if there are two standard parallels.
type Number struct {
	Name   string
	Values []float64
}

// Plane returns the plane of a projected grid.
func (g *Grid) Plane() (*Plane, error) {
	earth := g.Earth()
	if earth.Major <= 0 || earth.Minor <= 0 || earth.Minor > earth.Major {
		return nil, corrupt.Errorf("grid %s: an earth with axes of %g and %g metres", g.Type, earth.Major, earth.Minor)
	}
	p, dx, dy, err := g.projection(earth)
	if err != nil {
		return nil, err
	}
	if !g.Regular() {
		return nil, g.errShape()
	}
	if g.Ni > maxRows || g.Nj > maxRows {
		return nil, corrupt.Errorf("grid %s: %d × %d points", g.Type, g.Ni, g.Nj)
	}
	lat, lon := g.angle("latitudeOfFirstGridPoint"), g.angle("longitudeOfFirstGridPoint")
	x0, y0 := p.project.forward(lat*degree, lon*degree)
	if math.IsNaN(x0) || math.IsInf(x0, 0) || math.IsNaN(y0) || math.IsInf(y0, 0) {
		return nil, corrupt.Errorf("grid %s: the first point, %g° N %g° E, has no position on the plane", g.Type, lat, lon)
	}
	if g.Scan&iNegative != 0 {
		dx = -dx
	}
	if g.Scan&jPositive == 0 {
		dy = -dy
	}
	p.X, p.Y = steps(x0, dx, g.Ni), steps(y0, dy, g.Nj)
	if earth.Sphere() {
		p.add("earth_radius", earth.Major)
	} else {
		p.add("semi_major_axis", earth.Major)
		p.add("semi_minor_axis", earth.Minor)
	}
	return p, nil
}

// steps returns n numbers, each step more than the one before.
func steps(first, step float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = first + float64(float64(i)*step)
	}
	return out
}

func (p *Plane) add(name string, values ...float64) {
	p.Numbers = append(p.Numbers, Number{name, values})
}

func (g *Grid) projection(earth Earth) (p *Plane, dx, dy float64, err error) {
	p = &Plane{}
	dx, _ = g.Metres("Dx", "DxInMetres", "xDirectionGridLengthInMillimetres", "Di", "DiInMetres")
	dy, _ = g.Metres("Dy", "DyInMetres", "yDirectionGridLengthInMillimetres", "Dj", "DjInMetres")
	lov := g.angle("LoV")
	if g.Has("orientationOfTheGrid") {
		lov = g.angle("orientationOfTheGrid")
	}
	switch g.Type {
	case "lambert", "albers":
		lad, first, second := g.angle("LaD"), g.angle("Latin1"), g.angle("Latin2")
		if g.Edition == 1 {
			lad = first
		}
		parallels := []float64{first, second}
		if first == second {
			parallels = parallels[:1]
		}
		if g.Type == "albers" {
			p.Name, p.project = "albers_conical_equal_area", newAlbers(earth, lad*degree, lov*degree, first*degree, second*degree)
		} else {
			p.Name, p.project = "lambert_conformal_conic", newLambert(earth, lad*degree, lov*degree, first*degree, second*degree)
		}
		if math.Abs(first+second) < 1e-10 {
			return nil, 0, 0, corrupt.Errorf("grid %s: standard parallels %g and %g", g.Type, first, second)
		}
		p.add("standard_parallel", parallels...)
		p.add("latitude_of_projection_origin", lad)
		p.add("longitude_of_central_meridian", Normal(lov))
	case "polar_stereographic":
		lad := 60.0
		if g.Edition == 2 {
			lad = g.angle("LaD")
		}
		if flag, _ := g.Int("projectionCentreFlag"); flag&0x80 != 0 && (lad > 0 || g.Edition == 1) {
			lad = -math.Abs(lad)
		}
		p.Name, p.project = "polar_stereographic", newStereographic(earth, lad*degree, lov*degree)
		p.add("straight_vertical_longitude_from_pole", Normal(lov))
		p.add("latitude_of_projection_origin", math.Copysign(90, lad))
		p.add("standard_parallel", lad)
	case "mercator":
		lad := g.angle("LaD")
		if g.Edition == 1 {
			lad, lov = g.angle("Latin"), 0
		}
		p.Name, p.project = "mercator", newMercator(earth, lad*degree, lov*degree)
		p.add("standard_parallel", lad)
		p.add("longitude_of_projection_origin", Normal(lov))
	case "lambert_azimuthal_equal_area":
		lat, lon := g.angle("standardParallelInMicrodegrees"), g.angle("centralLongitudeInMicrodegrees")
		p.Name, p.project = "lambert_azimuthal_equal_area", newAzimuthal(earth, lat*degree, lon*degree)
		p.add("latitude_of_projection_origin", lat)
		p.add("longitude_of_projection_origin", Normal(lon))
	default:
		return nil, 0, 0, fmt.Errorf("grid %s: %w", g.Type, errors.ErrUnsupported)
	}
	return p, dx, dy, nil
}

// projected computes the coordinates of a grid on a plane.
func (g *Grid) projected() (filler, error) {
	p, err := g.Plane()
	return func(lat, lon []float64) {
		g.each(func(n, i, j int) {
			a, b := p.project.inverse(p.X[i], p.Y[j])
			lat[n], lon[n] = a*radian, b*radian
		})
	}, err
}

// turn adds or subtracts one turn, to move an angle of up to 3π into [-π, π].
func turn(x float64) float64 {
	if x > math.Pi {
		x -= 2 * math.Pi
	}
	if x < -math.Pi {
		x += 2 * math.Pi
	}
	return x
}

// smallT is Snyder's t, (15-9): the tangent of half the colatitude, corrected for an ellipsoid.
func smallT(e, lat float64) float64 {
	con := float64(e * math.Sin(lat))
	return math.Tan(0.5*(math.Pi/2-lat)) / math.Pow((1-con)/(1+con), 0.5*e)
}

// latitudeOf returns the latitude whose smallT is t: Snyder, (7-9).
func latitudeOf(e, t float64) float64 {
	lat := math.Pi/2 - float64(2*math.Atan(t))
	if e == 0 {
		return lat
	}
	for range 16 {
		con := float64(e * math.Sin(lat))
		d := math.Pi/2 - float64(2*math.Atan(t*math.Pow((1-con)/(1+con), 0.5*e))) - lat
		if lat += d; math.Abs(d) <= 1e-10 {
			break
		}
	}
	return lat
}

// smallM is Snyder's m, (14-15): the radius of a parallel divided by the major axis.
func smallM(e, lat float64) float64 {
	con := float64(e * math.Sin(lat))
	return math.Cos(lat) / math.Sqrt(1-float64(con*con))
}

// lambert is Lambert's conformal conic projection.
type lambert struct{ a, e, n, f, rho0, lon0 float64 }

func newLambert(earth Earth, origin, lon0, first, second float64) projection {
	e := earth.eccentricity()
	n := math.Sin(first)
	if math.Abs(first-second) > 1e-10 {
		n = math.Log(smallM(e, first)/smallM(e, second)) / math.Log(smallT(e, first)/smallT(e, second))
	}
	l := lambert{a: earth.Major, e: e, n: n, f: smallM(e, first) / (n * math.Pow(smallT(e, first), n)), lon0: lon0}
	l.rho0 = l.rho(origin)
	return l
}

func (l lambert) rho(lat float64) float64 {
	if math.Abs(math.Abs(lat)-math.Pi/2) < 1e-10 && lat*l.n > 0 {
		return 0
	}
	return l.a * l.f * math.Pow(smallT(l.e, lat), l.n)
}

func (l lambert) forward(lat, lon float64) (x, y float64) {
	sin, cos := math.Sincos(l.n * turn(lon-l.lon0))
	rho := l.rho(lat)
	return rho * sin, l.rho0 - float64(rho*cos)
}

func (l lambert) inverse(x, y float64) (lat, lon float64) {
	y = l.rho0 - y
	rho := math.Copysign(math.Hypot(x, y), l.n)
	if rho == 0 {
		return math.Copysign(math.Pi/2, l.n), l.lon0
	}
	if l.n < 0 {
		x, y = -x, -y
	}
	t := math.Pow(rho/(l.a*l.f), 1/l.n)
	return latitudeOf(l.e, t), math.Atan2(x, y)/l.n + l.lon0
}

// stereographic is the polar stereographic projection, true at a latitude.
type stereographic struct{ scale, e, sign, lon0 float64 }

func newStereographic(earth Earth, trueAt, lon0 float64) projection {
	s := stereographic{e: earth.eccentricity(), sign: 1, lon0: lon0}
	if trueAt < 0 {
		s.sign = -1
	}
	at := float64(s.sign * trueAt)
	if math.Abs(at-math.Pi/2) > 1e-10 {
		s.scale = earth.Major * smallM(s.e, at) / smallT(s.e, at)
	} else {
		s.scale = 2 * earth.Major / math.Sqrt(math.Pow(1+s.e, 1+s.e)*math.Pow(1-s.e, 1-s.e))
	}
	return s
}

func (s stereographic) forward(lat, lon float64) (x, y float64) {
	sin, cos := math.Sincos(s.sign * (lon - s.lon0))
	rho := s.scale * smallT(s.e, s.sign*lat)
	return s.sign * rho * sin, -s.sign * rho * cos
}

func (s stereographic) inverse(x, y float64) (lat, lon float64) {
	x, y = x*s.sign, y*s.sign
	rho := math.Hypot(x, y)
	lat = s.sign * latitudeOf(s.e, rho/s.scale)
	if rho == 0 {
		return lat, s.lon0
	}
	return lat, float64(s.sign*math.Atan2(x, -y)) + s.lon0
}

// mercator is Mercator's projection, true at a latitude.
type mercator struct{ scale, e, lon0 float64 }

func newMercator(earth Earth, trueAt, lon0 float64) projection {
	e := earth.eccentricity()
	return mercator{scale: earth.Major * smallM(e, trueAt), e: e, lon0: lon0}
}

func (m mercator) forward(lat, lon float64) (x, y float64) {
	return m.scale * turn(lon-m.lon0), -m.scale * math.Log(smallT(m.e, lat))
}

func (m mercator) inverse(x, y float64) (lat, lon float64) {
	return latitudeOf(m.e, math.Exp(-y/m.scale)), m.lon0 + x/m.scale
}
