package geo

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// Nested reports whether the points of a HEALPix grid are in nested order instead of ring order.
func (g *Grid) Nested() bool { return g.number("ordering") == 1 }

// healpix computes the coordinates of a HEALPix grid.
func (g *Grid) healpix() (filler, error) {
	side := g.number("Nside")
	first, _ := g.Int("longitudeOfFirstGridPoint")
	switch {
	case side < 1 || side > 1<<14 || 12*side*side != g.Points:
		return nil, corrupt.Errorf("grid %s: Nside is %d, but there are %d points", g.Type, side, g.Points)
	case first != 45_000_000:
		return nil, fmt.Errorf("grid %s: the first point is at longitude %g, not 45: %w", g.Type, float64(first)/1e6, errors.ErrUnsupported)
	case g.Nested() && bits.OnesCount(uint(side)) != 1:
		return nil, corrupt.Errorf("grid %s: Nside %d of nested order is not a power of two", g.Type, side)
	}
	return func(lat, lon []float64) {
		n := 0
		for ring := 1; ring < 4*side; ring++ {
			y := ringLatitude(side, ring)
			points := 4 * min(ring, side, 4*side-ring)
			step := 360 / float64(points)
			start := 0.0
			if ring < side || ring > 3*side || (ring-1+side)%2 == 1 {
				start = step / 2
			}
			for i := range points {
				at := n
				if g.Nested() {
					at = nested(side, ring, i)
				}
				lat[at], lon[at] = y, start+float64(float64(i)*step)
				n++
			}
		}
	}, nil
}

// ringLatitude returns the latitude of a ring. Ring 1 is next to the north pole.
func ringLatitude(side, ring int) float64 {
	n, r := float64(side), float64(ring)
	switch {
	case ring > 2*side:
		return -ringLatitude(side, 4*side-ring)
	case ring == 2*side:
		return 0
	case ring < side:
		return 90 - float64(radian*math.Acos(1-r*r/(3*n*n)))
	}
	return 90 - float64(radian*math.Acos((float64(4*n)-float64(2*r))/(3*n)))
}

// nested returns the position in nested order of point i of a ring: the number of its face, followed by the interleaved bits of its two
// coordinates on the face. Specification: Górski et al. 2005, ApJ 622, section 4.
func nested(side, ring, i int) int {
	k := bits.Len(uint(side)) - 1
	size, shift := min(ring, side, 4*side-ring), 0
	var face int
	switch {
	case ring < side:
		face = i / size
	case ring > 3*side:
		face = i/size + 8
	default:
		t := ring - side
		shift = ring & 1
		up := 1 + (i-(1+t)>>1)>>k
		down := 1 + (i-(1-t+2*side)>>1)>>k
		switch {
		case down == up:
			face = down | 4
		case down < up:
			face = down
		default:
			face = up + 8
		}
	}
	// Where the face begins, in units of half an eighth of the circle.
	begin := [12]int{1, 3, 5, 7, 0, 2, 4, 6, 1, 3, 5, 7}[face]
	r := (2+face>>2)<<k - ring - 1
	p := 2*(i+1) - begin*size - shift - 1
	if p >= 2*side {
		p -= 8 * side
	}
	x, y := max(0, r+p)>>1, max(0, r-p)>>1
	return face<<(2*k) + spreadBits(x) + spreadBits(y)<<1
}

// spreadBits puts a zero between each two adjacent bits.
func spreadBits(n int) (out int) {
	for b := range 30 {
		out |= n >> b & 1 << (2 * b)
	}
	return out
}
