package geo

import (
	"math"
	"sync"
)

// gaussian caches latitudes by N.
var gaussian sync.Map

// besselZeros are the first zeros of the Bessel function J0, which are near the roots of Legendre polynomials.
var besselZeros = [...]float64{
	2.4048255577, 5.5200781103, 8.6537279129, 11.7915344391, 14.9309177086, 18.0710639679, 21.2116366299, 24.3524715308, 27.4934791320, 30.6346064684,
}

// besselZero returns zero j of J0, counted from 0. before is the zero before it.
func besselZero(j int, before float64) float64 {
	if j < len(besselZeros) {
		return besselZeros[j]
	}
	return before + math.Pi
}
