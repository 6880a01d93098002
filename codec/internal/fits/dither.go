package fits

import (
	"math"
	"sync"
)

// Values of the keyword ZQUANTIZ.
const (
	noDither        = "NO_DITHER"
	dither1         = "SUBTRACTIVE_DITHER_1"
	ditherExactZero = "SUBTRACTIVE_DITHER_2" // like dither1, but the integer storedZero means exactly 0
)

// storedZero is the integer that means exactly 0 under SUBTRACTIVE_DITHER_2.
const storedZero = math.MinInt32 + 2

// quietNaN is the NaN that CFITSIO and astropy write for missing values. Go's math.NaN has another
// bit pattern.
const quietNaN = 0x7ff8 << 48

// randoms is the length of the sequence of random numbers.
const randoms = 10000

// sequence returns the random numbers between 0 and 1 of appendix I of the FITS Standard.
var sequence = sync.OnceValue(func() *[randoms]float32 {
	const a, m = 16807, 1<<31 - 1
	var out [randoms]float32
	seed := int64(1)
	for i := range out {
		seed = a * seed % m
		out[i] = float32(float64(seed) / m)
	}
	return &out
})

// dither returns, one by one, the random numbers that were added to the values of a tile before
// they were rounded.
type dither struct {
	numbers     *[randoms]float32
	start, next int
}

// newDither returns the dither of a tile. number is the index of the tile plus ZDITHER0 - 1.
func newDither(number int64) dither {
	d := dither{numbers: sequence(), start: int(number % randoms)}
	d.begin()
	return d
}

// begin moves to the position in the sequence that the current start number determines.
func (d *dither) begin() { d.next = int(d.numbers[d.start] * 500) }

// take returns the next random number.
func (d *dither) take() float64 {
	v := d.numbers[d.next]
	if d.next++; d.next == randoms {
		d.start = (d.start + 1) % randoms
		d.begin()
	}
	return float64(v)
}
