package geo

import (
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

// View is the view of a geostationary satellite.
type View struct {
	X, Y   []float64 // scanning angles of columns and rows, in radians
	Lon    float64   // longitude of the point below the satellite, in degrees
	Height float64   // above the ellipsoid, in metres
	earth  Earth
}

// View returns the view of a space view grid, in scanning order. Specification: CGMS 03, LRIT/HRIT Global Specification.
func (g *Grid) View() (*View, error) {
	earth := g.Earth()
	distance, ok := g.Int("Nr")
	switch {
	case !g.Regular() || g.Ni > maxRows || g.Nj > maxRows:
		return nil, g.errShape()
	case !ok || g.Missing("Nr"):
		return nil, fmt.Errorf("grid %s: an orthographic view: %w", g.Type, errors.ErrUnsupported)
	case distance <= 1e6 || earth.Major <= 0 || earth.Minor <= 0:
		return nil, corrupt.Errorf("grid %s: a satellite at %g radii of the earth, whose axes are %g and %g m", g.Type, float64(distance)/1e6, earth.Major, earth.Minor)
	case g.angle("latitudeOfSubSatellitePoint") != 0:
		return nil, fmt.Errorf("grid %s: the satellite is not above the equator: %w", g.Type, errors.ErrUnsupported)
	}
	nr := float64(distance) / 1e6
	dx, _ := g.Int("dx")
	dy, _ := g.Int("dy")
	if dx == 0 || dy == 0 {
		return nil, corrupt.Errorf("grid %s: the diameter of the earth is %d × %d points", g.Type, dx, dy)
	}
	size := 2 * math.Asin(1/nr)
	xp, _ := g.either("Xp", "XpInGridLengths")
	yp, _ := g.either("Yp", "YpInGridLengths")
	x, y := float64(xp), float64(yp)
	if g.Edition == 2 {
		x, y = x/1000, y/1000
	}
	x, y = x-float64(g.number("Xo")), y-float64(g.number("Yo"))
	if g.Scan&iNegative != 0 {
		x = float64(g.Ni-1) - x
	}
	if g.Scan&jPositive == 0 {
		y = float64(g.Nj-1) - y
	}
	v := &View{Lon: g.angle("longitudeOfSubSatellitePoint"), Height: (nr - 1) * earth.Major, earth: earth}
	rx, ry := size/float64(dx), earth.Minor/earth.Major*size/float64(dy)
	v.X, v.Y = steps(float64(-x*rx), rx, g.Ni), make([]float64, g.Nj)
	for j := range v.Y {
		v.Y[j] = (float64(g.Nj-1-j) - y) * ry
	}
	return v, nil
}

// spaceView computes the coordinates of the points of a space view. Points beside the earth get 0° N 0° E, as in ecCodes.
func (g *Grid) spaceView() (filler, error) {
	v, err := g.View()
	if err != nil {
		return nil, err
	}
	h := v.Height + v.earth.Major
	square := (v.earth.Major / v.earth.Minor) * (v.earth.Major / v.earth.Minor)
	limit := float64(h*h) - float64(v.earth.Major*v.earth.Major)
	return func(lat, lon []float64) {
		g.each(func(n, i, j int) {
			sinX, sinY := math.Sin(v.X[i]), math.Sin(v.Y[j])
			cosX, cosY := math.Sqrt(1-float64(sinX*sinX)), math.Sqrt(1-float64(sinY*sinY))
			flat := 1 + float64((square-1)*sinY*sinY)
			d := float64(h * cosX * cosY)
			root := float64(d*d) - float64(flat*limit)
			if root <= 0 {
				lat[n], lon[n] = 0, 0
				return
			}
			s := (d - math.Sqrt(root)) / flat
			s1, s2, s3 := h-float64(s*cosX*cosY), s*sinX*cosY, s*sinY
			lon[n] = float64(math.Atan(s2/s1)*radian) + v.Lon
			lat[n] = math.Atan(square*s3/math.Hypot(s1, s2)) * radian
		})
	}, nil
}
