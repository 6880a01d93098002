package geo

import "math"

// authalic converts between latitudes on an ellipsoid and on a sphere of the same area: Snyder, (3-12) and (3-18).
type authalic struct {
	e, qp  float64
	series [3]float64
}

func newAuthalic(earth Earth) authalic {
	e := earth.eccentricity()
	e2 := e * e
	a := authalic{e: e, series: [3]float64{
		float64(e2*(1./3)) + float64(e2*e2*(31./180)) + float64(e2*e2*e2*(517./5040)),
		float64(e2*e2*(23./360)) + float64(e2*e2*e2*(251./3780)),
		e2 * e2 * e2 * (761. / 45360),
	}}
	a.qp = a.q(1)
	return a
}

func (a authalic) q(sin float64) float64 {
	if a.e < 1e-7 {
		return 2 * sin
	}
	con := float64(a.e * sin)
	return (1 - float64(a.e*a.e)) * (sin/(1-float64(con*con)) - float64(0.5/a.e*math.Log((1-con)/(1+con))))
}

func (a authalic) latitude(beta float64) float64 {
	return beta + float64(a.series[0]*math.Sin(2*beta)) + float64(a.series[1]*math.Sin(4*beta)) + float64(a.series[2]*math.Sin(6*beta))
}

// azimuthal is Lambert's azimuthal equal-area projection.
type azimuthal struct {
	authalic
	radius, d, lon0 float64
	sin1, cos1      float64
}

func newAzimuthal(earth Earth, lat0, lon0 float64) projection {
	z := azimuthal{authalic: newAuthalic(earth), d: 1, lon0: lon0}
	z.radius = earth.Major * math.Sqrt(0.5*z.qp)
	sin := math.Sin(lat0)
	z.sin1 = z.q(sin) / z.qp
	z.cos1 = math.Sqrt(max(1-float64(z.sin1*z.sin1), 0))
	if z.cos1 > 1e-10 {
		z.d = earth.Major * smallM(z.e, lat0) / (z.radius * z.cos1)
	}
	return z
}

func (z azimuthal) forward(lat, lon float64) (x, y float64) {
	sinB := z.q(math.Sin(lat)) / z.qp
	cosB := math.Sqrt(max(1-float64(sinB*sinB), 0))
	sin, cos := math.Sincos(lon - z.lon0)
	b := z.radius * math.Sqrt(2/(1+float64(z.sin1*sinB)+float64(z.cos1*cosB*cos)))
	return b * z.d * cosB * sin, b / z.d * (float64(z.cos1*sinB) - float64(z.sin1*cosB*cos))
}

func (z azimuthal) inverse(x, y float64) (lat, lon float64) {
	x, y = x/z.d, y*z.d
	rho := math.Hypot(x, y)
	if rho < 1e-10 {
		return z.latitude(math.Asin(z.sin1)), z.lon0
	}
	sin, cos := math.Sincos(2 * math.Asin(min(rho/(2*z.radius), 1)))
	beta := math.Asin(min(max(float64(cos*z.sin1)+y*sin*z.cos1/rho, -1), 1))
	return z.latitude(beta), z.lon0 + math.Atan2(x*sin, float64(rho*z.cos1*cos)-float64(y*z.sin1*sin))
}

// albers is the conical equal-area projection of Albers.
type albers struct {
	authalic
	a, n, c, rho0, lon0 float64
}

func newAlbers(earth Earth, lat0, lon0, first, second float64) projection {
	p := albers{authalic: newAuthalic(earth), a: earth.Major, lon0: lon0}
	m1, m2 := smallM(p.e, first), smallM(p.e, second)
	q1, q2 := p.q(math.Sin(first)), p.q(math.Sin(second))
	p.n = math.Sin(first)
	if math.Abs(first-second) > 1e-10 {
		p.n = (float64(m1*m1) - float64(m2*m2)) / (q2 - q1)
	}
	p.c = float64(m1*m1) + float64(p.n*q1)
	p.rho0 = p.rho(lat0)
	return p
}

func (p albers) rho(lat float64) float64 {
	return p.a * math.Sqrt(max(p.c-float64(p.n*p.q(math.Sin(lat))), 0)) / p.n
}

func (p albers) forward(lat, lon float64) (x, y float64) {
	sin, cos := math.Sincos(p.n * turn(lon-p.lon0))
	rho := p.rho(lat)
	return rho * sin, p.rho0 - float64(rho*cos)
}

func (p albers) inverse(x, y float64) (lat, lon float64) {
	y = p.rho0 - y
	rho := math.Hypot(x, y)
	if p.n < 0 {
		x, y = -x, -y
	}
	q := (p.c - rho*rho*p.n*p.n/(p.a*p.a)) / p.n
	return p.latitude(math.Asin(min(max(q/p.qp, -1), 1))), math.Atan2(x, y)/p.n + p.lon0
}
