package plot

import (
	"math"
	"sort"
	"strconv"
	"strings"
)

// isRising reports whether the last coordinate is at least the first, or there are none.
func (a *Axis) isRising() bool {
	return len(a.At) < 2 || a.At[len(a.At)-1] >= a.At[0]
}

// isMonotonic reports whether coordinates increase or decrease strictly.
func (a *Axis) isMonotonic() bool {
	up, down := true, true
	for i := 1; i < len(a.At); i++ {
		up = up && a.At[i] > a.At[i-1]
		down = down && a.At[i] < a.At[i-1]
	}
	return len(a.At) > 1 && (up || down)
}

// tick is a mark on an axis: its position in cells, and its text.
type tick struct {
	cell float64
	name string
}

// ticks returns the ticks of the axis. They are at round coordinates. If the coordinates are shown as
// texts or are not monotonic, they are at cells at equal distances.
func (a *Axis) ticks(most int) []tick {
	if a.At == nil {
		return a.ticksByIndex(most)
	}
	if a.Name != nil || !a.isMonotonic() {
		return a.ticksByName(most)
	}
	low, high := a.At[0], a.At[len(a.At)-1]
	var all []tick
	for _, t := range roundNumbers(min(low, high), max(low, high), most) {
		all = append(all, tick{a.cellOf(t), number(t)})
	}
	return all
}

func (a *Axis) ticksByIndex(most int) (all []tick) {
	for _, t := range roundNumbers(0, float64(a.Len-1), most) {
		if t == math.Trunc(t) {
			all = append(all, tick{t, number(t)})
		}
	}
	return all
}

func (a *Axis) ticksByName(most int) (all []tick) {
	n := min(a.Len, max(most-2, 2)) // texts such as dates are longer than numbers
	for i := range n {
		cell := 0
		if n > 1 {
			cell = i * (a.Len - 1) / (n - 1)
		}
		all = append(all, tick{float64(cell), a.name(a.At[cell])})
	}
	return all
}

func (a *Axis) name(v float64) string {
	if a.Name == nil {
		return number(v)
	}
	return a.Name(v)
}

// cellOf returns the position of a coordinate in cells, which need not be a whole number. It interpolates
// between neighbouring coordinates.
func (a *Axis) cellOf(v float64) float64 {
	n := len(a.At)
	up := a.isRising()
	i := sort.Search(n, func(i int) bool { return up == (a.At[i] >= v) || a.At[i] == v })
	i = min(max(i, 1), n-1)
	return float64(i-1) + (v-a.At[i-1])/(a.At[i]-a.At[i-1])
}

// draw draws the ticks and the label of an axis: below the frame, or to its left if beside is true.
func (a *Axis) draw(c canvas, frame box, beside bool) {
	for _, m := range a.ticks(7) {
		at := (m.cell + 0.5) / float64(a.Len)
		if beside {
			if a.isRising() {
				at = 1 - at
			}
			y := frame.y + frame.h*at
			c.line([]point{{frame.x - 4, y}, {frame.x, y}}, 1, ink)
			c.text(point{frame.x - 8, y + 4}, m.name, end)
			continue
		}
		x := frame.x + frame.w*at
		c.line([]point{{x, frame.y + frame.h}, {x, frame.y + frame.h + 4}}, 1, ink)
		// A long text at the last tick would extend beyond the picture.
		c.text(point{min(x, Width-3.5*float64(len(m.name))), frame.y + frame.h + 19}, m.name, middle)
	}
	if beside {
		c.text(point{16, frame.y + frame.h/2}, abbreviate(a.Label, 46), upright)
		return
	}
	c.text(point{frame.x + frame.w/2, frame.y + frame.h + 44}, abbreviate(a.Label, 80), middle)
}

// roundNumbers returns about most round numbers from low to high.
func roundNumbers(low, high float64, most int) []float64 {
	if !(high > low) || math.IsInf(high-low, 0) {
		return []float64{low}
	}
	step := niceStep((high - low) / float64(most))
	first := math.Ceil(low/step - 1e-9)
	var all []float64
	// Without the tolerance, rounding could drop the tick at either end.
	for i := first; i*step <= high+step*1e-9 && len(all) < 4*most; i++ {
		all = append(all, i*step)
	}
	if len(all) == 0 { // no round float64 is between the numbers
		return []float64{low}
	}
	return all
}

// niceStep returns the smallest step that is not less than least, and is 1, 2 or 5 times a power of ten.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	// The tolerance absorbs the rounding errors of Log10 and Pow.
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= least*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// number returns the text of a number with up to six significant digits, so that 0.1+0.2 is 0.3.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	text := strconv.FormatFloat(v, 'g', 6, 64)
	if a := math.Abs(v); a >= 1e-4 && a < 1e7 {
		text = strconv.FormatFloat(v, 'f', max(0, 5-int(math.Floor(math.Log10(a)))), 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
	}
	return strings.Replace(text, "-", "−", 1)
}
