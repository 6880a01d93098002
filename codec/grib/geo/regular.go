package geo

import (
	"math"
	"slices"

	"varve/codec/internal/corrupt"
)

// Axes returns the latitudes of the rows and the longitudes of the columns of a regular latitude-longitude or Gaussian grid, in scanning
// order. The coordinates of a rotated grid are in its rotated frame.
func (g *Grid) Axes() (lat, lon []float64, err error) {
	if !g.Regular() {
		return nil, nil, g.errShape()
	}
	if g.Ni > maxRows || g.Nj > maxRows {
		return nil, nil, corrupt.Errorf("grid %s: %d × %d points", g.Type, g.Ni, g.Nj)
	}
	switch g.Type {
	case "regular_gg", "rotated_gg":
		lat, err = g.gaussianRows()
	default:
		lat, err = g.evenRows()
	}
	return lat, g.evenColumns(), err
}

// evenColumns returns equidistant longitudes. Their distance is computed from the first and the last one, which are more exact than the
// increment.
func (g *Grid) evenColumns() []float64 {
	first, last := g.angle("longitudeOfFirstGridPoint"), g.angle("longitudeOfLastGridPoint")
	step := 0.0
	if g.Ni > 1 {
		span := last - first
		if g.Scan&iNegative != 0 {
			span = -span
		}
		if span <= 0 {
			span += 360
		}
		step = span / float64(g.Ni-1)
	}
	if g.Scan&iNegative != 0 {
		step = -step
	} else if first+float64(float64(g.Ni-2)*step) > 360 {
		first -= 360
	}
	out := make([]float64, g.Ni)
	for i := range out {
		out[i] = first + float64(float64(i)*step)
	}
	if g.Ni > 1 {
		if last > 0 && last >= 360 {
			last = math.Mod(last, 360)
		}
		if math.Abs(last-out[g.Ni-1]) < 1e-6 {
			out[g.Ni-1] = last // without rounding errors
		}
	}
	return out
}

// evenRows returns equidistant latitudes.
func (g *Grid) evenRows() ([]float64, error) {
	first, last := g.angle("latitudeOfFirstGridPoint"), g.angle("latitudeOfLastGridPoint")
	if north, south := max(first, last), min(first, last); g.Nj > 1 && (g.Scan&jPositive != 0) != (last == north) && north != south {
		return nil, corrupt.Errorf("grid %s: latitudes from %g to %g contradict the scanning mode", g.Type, first, last)
	}
	step, ok := g.Increment("j")
	if !ok && g.Nj > 1 {
		step = math.Abs(last-first) / float64(g.Nj-1)
	}
	if g.Scan&jPositive == 0 {
		step = -step
	}
	out := make([]float64, g.Nj)
	for j := range out {
		out[j] = first + float64(float64(j)*step)
	}
	out[g.Nj-1] = last
	return out, nil
}

// gaussianRows returns the latitudes of a Gaussian grid from the first grid point on.
func (g *Grid) gaussianRows() ([]float64, error) {
	all, err := GaussianLatitudes(g.number("N"))
	if err != nil {
		return nil, err
	}
	first := g.angle("latitudeOfFirstGridPoint")
	at := slices.IndexFunc(all, func(x float64) bool { return math.Abs(x-first) < 1e-3 })
	if at < 0 {
		return nil, corrupt.Errorf("grid %s: latitude %g is not one of the Gaussian grid N = %d", g.Type, first, len(all)/2)
	}
	step := 1
	if g.Scan&jPositive != 0 {
		step = len(all) - 1
	}
	out := make([]float64, g.Nj)
	for j := range out {
		out[j] = all[at]
		at = (at + step) % len(all)
	}
	return out, nil
}

// regular computes the coordinates of a regular latitude-longitude or Gaussian grid.
func (g *Grid) regular() (filler, error) {
	rows, columns, err := g.Axes()
	return func(lat, lon []float64) {
		g.each(func(n, i, j int) { lat[n], lon[n] = rows[j], columns[i] })
		g.unrotate(lat, lon)
	}, err
}

// maxGaussian bounds the number of parallels between a pole and the equator.
const maxGaussian = 1 << 12

// GaussianLatitudes returns the 2N latitudes of a Gaussian grid, from north to south.
func GaussianLatitudes(n int) ([]float64, error) {
	if n < 1 || n > maxGaussian {
		return nil, corrupt.Errorf("Gaussian grid of N = %d", n)
	}
	if known, ok := gaussian.Load(n); ok {
		return known.([]float64), nil
	}
	rows := 2 * n
	out := make([]float64, rows)
	denominator := math.Hypot(float64(rows)+0.5, math.Sqrt(1-(2/math.Pi)*(2/math.Pi)*0.25))
	guess := 0.0
	for j := range n {
		guess = besselZero(j, guess)
		root := math.Cos(guess / denominator)
		for range 12 {
			step := legendreStep(rows, root)
			if root -= step; math.Abs(step) < 1e-14 {
				break
			}
		}
		out[j] = math.Asin(root) * radian
		out[rows-1-j] = -out[j]
	}
	gaussian.Store(n, out)
	return out, nil
}

// legendreStep returns the step of Newton's method towards a root of the Legendre polynomial of a degree.
func legendreStep(degree int, x float64) float64 {
	before, p := 1.0, x
	for k := 1; k < degree; k++ {
		next := (float64((float64(2*float64(k))+1)*x*p) - float64(float64(k)*before)) / float64(k+1)
		before, p = p, next
	}
	return p / (float64(degree) * (before - float64(x*p)) / (1 - float64(x*x)))
}
