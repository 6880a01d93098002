package geo

import "math"

// Earth has the semi-axes of the ellipsoid of a grid, in metres. They are equal for a sphere.
type Earth struct{ Major, Minor float64 }

// Sphere reports whether both axes are equal.
func (e Earth) Sphere() bool { return e.Major == e.Minor }

// eccentricity returns the first eccentricity of the ellipsoid.
func (e Earth) eccentricity() float64 {
	ratio := e.Minor / e.Major
	return math.Sqrt(1 - float64(ratio*ratio))
}

// iau65 is the ellipsoid of edition 1, and of shape 2 of edition 2.
var iau65 = Earth{6378160, 6356775}

// earths are the shapes of code table 3.2 whose axes are not in the section.
var earths = map[int64]Earth{
	0: {6367470, 6367470}, 2: iau65, 4: {6378137, 6356752.314}, 5: {6378137, 6356752.314}, 6: {6371229, 6371229}, 8: {6371200, 6371200},
	9: {6377563.396, 6356256.909},
}

// Earth returns the shape of the earth, or zeros if it is unknown.
func (g *Grid) Earth() Earth {
	if g.Edition == 1 {
		if flags, _ := g.Int("resolutionAndComponentFlags"); flags&0x40 != 0 {
			return iau65
		}
		return earths[0]
	}
	switch shape, _ := g.Int("shapeOfTheEarth"); shape {
	case 1:
		r := g.scaled("RadiusOfSphericalEarth")
		return Earth{r, r}
	case 3: // in kilometres
		return Earth{1000 * g.scaled("EarthMajorAxis"), 1000 * g.scaled("EarthMinorAxis")}
	case 7:
		return Earth{g.scaled("EarthMajorAxis"), g.scaled("EarthMinorAxis")}
	default:
		return earths[shape]
	}
}

// scaled returns a value that is stored with a decimal scale factor.
func (g *Grid) scaled(name string) float64 {
	factor, _ := g.Int("scaleFactorOf" + name)
	value, _ := g.Int("scaledValueOf" + name)
	return Scaled(value, factor)
}

// Scaled returns a value divided by a power of ten.
func Scaled(value, factor int64) float64 {
	v := float64(value)
	for ; factor > 0 && factor < 300; factor-- {
		v /= 10
	}
	for ; factor < 0 && factor > -300; factor++ {
		v *= 10
	}
	return v
}
