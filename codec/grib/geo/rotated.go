package geo

import "math"

// Pole is the southern pole of a rotated grid and the angle of rotation around it, in degrees.
type Pole struct{ Lat, Lon, Angle float64 }

// Pole returns the southern pole of a rotated grid, or false.
func (g *Grid) Pole() (Pole, bool) {
	switch g.Type {
	case "rotated_ll", "stretched_rotated_ll", "rotated_gg", "reduced_rotated_gg", "stretched_rotated_gg", "reduced_stretched_rotated_gg":
	default:
		return Pole{}, false
	}
	p := Pole{Lat: g.angle("latitudeOfSouthernPole"), Lon: g.angle("longitudeOfSouthernPole")}
	if g.Edition == 1 {
		p.Angle, _ = g.Float("angleOfRotationInDegrees")
	} else {
		p.Angle, _ = g.Float("angleOfRotation")
	}
	return p, true
}

// unrotate converts coordinates in the frame of a rotated grid to geographical coordinates. Like ecCodes, it rounds them to float32
// numbers of millionths of a degree.
func (g *Grid) unrotate(lat, lon []float64) {
	p, ok := g.Pole()
	if !ok {
		return
	}
	sinT, cosT := math.Sincos(-(90 + p.Lat) * degree)
	sinO, cosO := math.Sincos(-p.Lon * degree)
	for n := range lat {
		sinLat, cosLat := math.Sincos(lat[n] * degree)
		sinLon, cosLon := math.Sincos(lon[n] * degree)
		xd, yd, zd := cosLon*cosLat, sinLon*cosLat, sinLat
		x := float64(cosT*cosO*xd) + float64(sinO*yd) + float64(sinT*cosO*zd)
		y := float64(-cosT*sinO*xd) + float64(cosO*yd) - float64(sinT*sinO*zd)
		z := min(max(float64(-sinT*xd)+float64(cosT*zd), -1), 1)
		lat[n] = micro(math.Asin(z) * radian)
		lon[n] = micro(math.Atan2(y, x)*radian) - p.Angle
	}
}

// micro rounds degrees to millionths, and the number of millionths to a float32.
func micro(x float64) float64 {
	return float64(float32(math.Round(float64(float32(x*1e6))))) / 1e6
}
