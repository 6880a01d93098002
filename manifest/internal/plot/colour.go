package plot

import (
	_ "embed" // the tables
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"sync"
)

//go:embed font/colours.txt
var colourText string

// colours returns the colour maps by name, as colours at equal steps.
var colours = sync.OnceValue(func() map[string][]color.NRGBA {
	maps := map[string][]color.NRGBA{}
	for line := range strings.Lines(colourText) {
		fields := strings.Fields(line)
		for _, f := range fields[1:] {
			c := color.NRGBA{A: 0xff}
			if _, err := fmt.Sscanf(f, "%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
				panic("font/colours.txt: " + err.Error()) // an embedded file, checked by the tests
			}
			maps[fields[0]] = append(maps[fields[0]], c)
		}
	}
	return maps
})

// scale maps values to positions from 0 to 1, and to colours.
type scale struct {
	low, high float64
	table     []color.NRGBA
}

// newScale returns the scale of all finite values. It uses a diverging colour map, centred on zero, if
// values are on both sides of zero.
func newScale(values []float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high {
		low, high = 0, 1
	}
	name := "viridis"
	if low < 0 && high > 0 {
		name = "RdBu_r"
		// The range has to be symmetric, so that the middle colour means zero.
		high = max(-low, high)
		low = -high
	}
	// If all values are equal, a range of 0 would divide by zero.
	if low == high {
		pad := max(math.Abs(low)/10, 0.5)
		low, high = low-pad, high+pad
	}
	return scale{low, high, colours()[name]}
}

// at returns the position of a value. It divides by 2 first, because high-low can overflow.
func (s scale) at(v float64) float64 {
	return min(max((v/2-s.low/2)/(s.high/2-s.low/2), 0), 1)
}

// colour returns the colour of a value, between the two nearest colours of the map.
func (s scale) colour(v float64) color.NRGBA {
	if math.IsNaN(v) {
		return missing
	}
	f := s.at(v) * float64(len(s.table)-1)
	i := min(int(f), len(s.table)-2)
	return mix(s.table[i], s.table[i+1], f-float64(i))
}

// mix returns the colour a if f is 0, b if f is 1, and a mixture between.
func mix(a, b color.NRGBA, f float64) color.NRGBA {
	part := func(a, b uint8) uint8 { return uint8(float64(a) + (float64(b)-float64(a))*f + 0.5) }
	return color.NRGBA{part(a.R, b.R), part(a.G, b.G), part(a.B, b.B), 0xff}
}

// ramp returns the image of the colour bar.
func (s scale) ramp() image.Image {
	const steps = 256
	img := image.NewNRGBA(image.Rect(0, 0, 1, steps))
	for y := range steps {
		f := float64(steps-1-y) / (steps - 1)
		img.SetNRGBA(0, y, s.colour(s.low*(1-f)+s.high*f))
	}
	return img
}
