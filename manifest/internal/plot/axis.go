package plot

import (
	"math"
	"sort"
	"strconv"
	"strings"
)

// isRising reports whether coordinates increase with the cell, or there are none.
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

// mark is a tick of an axis: its position in cells, and its text.
type mark struct {
	cell float64
	name string
}

// marks returns the ticks of the axis: round coordinates or, for coordinates with texts of their own,
// cells at equal distances.
func (a *Axis) marks(most int) []mark {
	if a.At == nil {
		return a.marksByIndex(most)
	}
	if a.Name != nil || !a.isMonotonic() {
		return a.marksByName(most)
	}
	low, high := a.At[0], a.At[len(a.At)-1]
	var all []mark
	for _, t := range ticks(min(low, high), max(low, high), most) {
		all = append(all, mark{a.cellOf(t), number(t)})
	}
	return all
}

func (a *Axis) marksByIndex(most int) (all []mark) {
	for _, t := range ticks(0, float64(a.Len-1), most) {
		if t == math.Trunc(t) {
			all = append(all, mark{t, number(t)})
		}
	}
	return all
}

func (a *Axis) marksByName(most int) (all []mark) {
	n := min(a.Len, max(most-2, 2)) // texts are long
	for i := range n {
		cell := 0
		if n > 1 {
			cell = i * (a.Len - 1) / (n - 1)
		}
		all = append(all, mark{float64(cell), a.name(a.At[cell])})
	}
	return all
}

func (a *Axis) name(v float64) string {
	if a.Name == nil {
		return number(v)
	}
	return a.Name(v)
}

// cellOf returns the fractional cell of a coordinate.
func (a *Axis) cellOf(v float64) float64 {
	n := len(a.At)
	up := a.isRising()
	i := sort.Search(n, func(i int) bool { return up == (a.At[i] >= v) || a.At[i] == v })
	i = min(max(i, 1), n-1)
	return float64(i-1) + (v-a.At[i-1])/(a.At[i]-a.At[i-1])
}

// draw draws the ticks and the label of an axis, below the frame or to its left.
func (a *Axis) draw(c canvas, frame box, beside bool) {
	for _, m := range a.marks(7) {
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
		c.text(point{min(x, Width-3.5*float64(len(m.name))), frame.y + frame.h + 19}, m.name, middle) // keep a long last text inside
	}
	if beside {
		c.text(point{16, frame.y + frame.h/2}, abbreviate(a.Label, 46), upright)
		return
	}
	c.text(point{frame.x + frame.w/2, frame.y + frame.h + 44}, abbreviate(a.Label, 80), middle)
}

// ticks returns about most round numbers from low to high.
func ticks(low, high float64, most int) []float64 {
	if !(high > low) || math.IsInf(high-low, 0) {
		return []float64{low}
	}
	step := niceStep((high - low) / float64(most))
	first := math.Ceil(low/step - 1e-9)
	var all []float64
	// The tolerance keeps ticks at both ends despite rounding.
	for i := first; i*step <= high+step*1e-9 && len(all) < 4*most; i++ {
		all = append(all, i*step)
	}
	if len(all) == 0 { // the numbers are too close for float64
		return []float64{low}
	}
	return all
}

// niceStep returns the smallest 1, 2 or 5 times a power of ten that is at least least.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= least*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// number returns the text of a tick, without digits that are rounding errors.
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
