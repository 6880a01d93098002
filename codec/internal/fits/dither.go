package fits

import (
	"math"
	"sync"
)

// Methods of dithering, as ZQUANTIZ names them.
const (
	noDither    = "NO_DITHER"
	subtractive = "SUBTRACTIVE_DITHER_1"
	keepingZero = "SUBTRACTIVE_DITHER_2" // of which one integer stands for zero itself
)

// storedZero is the integer that stands for zero where dithering keeps zeros.
const storedZero = math.MinInt32 + 2

// quietNaN is the NaN that others write for what is missing; Go's own has another bit set.
const quietNaN = 0x7ff8 << 48

// randoms is how many numbers the sequence has.
const randoms = 10000

// sequence is the numbers from 0 to 1 of the standard's appendix I.
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

// dither gives the numbers that were added to the integers of a tile, one after another.
type dither struct {
	numbers     *[randoms]float32
	start, next int
}

// newDither begins where a tile does, of which number counts the tiles and what ZDITHER0 says.
func newDither(number int64) dither {
	d := dither{numbers: sequence(), start: int(number % randoms)}
	d.begin()
	return d
}

func (d *dither) begin() { d.next = int(d.numbers[d.start] * 500) }

func (d *dither) take() float64 {
	v := d.numbers[d.next]
	if d.next++; d.next == randoms {
		d.start = (d.start + 1) % randoms
		d.begin()
	}
	return float64(v)
}
