package present

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve/codec"
)

// numberLabels are numbers. What a user writes is rounded to their type first, as nobody
// writes out a float32.
type numberLabels struct {
	numbers []float64
	typ     codec.Type
}

func (l *numberLabels) query(text string) query { return cutRange(text) }

func (l *numberLabels) matcher(q query) (func(i int64) bool, error) {
	low, high, err := l.bounds(q)
	return func(i int64) bool { return l.numbers[i] >= low && l.numbers[i] <= high }, err
}

// bounds reads numbers; what is left out is without bound, on the side where the axis has
// its beginning, or its end.
func (l *numberLabels) bounds(q query) (low, high float64, err error) {
	low, high = math.Inf(-1), math.Inf(1)
	if l.falls() {
		low, high = high, low
	}
	if q.from != "" || !q.isRange {
		if low, err = l.parse(q.from); err != nil || !q.isRange {
			return low, low, err
		}
	}
	if q.to != "" {
		if high, err = l.parse(q.to); err != nil {
			return 0, 0, err
		}
	}
	return min(low, high), max(low, high), nil
}

// parse reads a number as the labels' type has it.
func (l *numberLabels) parse(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != f {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if l.typ.Kind == codec.Float && l.typ.Size == 4 {
		f = float64(float32(f))
	}
	return f, nil
}

func (l *numberLabels) falls() bool {
	n := len(l.numbers)
	return n > 1 && l.numbers[0] > l.numbers[n-1]
}

func (l *numberLabels) around(text string) string {
	want, err := l.parse(text)
	if err != nil {
		return ""
	}
	below, above := math.Inf(-1), math.Inf(1)
	for _, n := range l.numbers {
		if n <= want {
			below = max(below, n)
		}
		if n >= want {
			above = min(above, n)
		}
	}
	var near []string
	for _, n := range []float64{below, above} {
		if !math.IsInf(n, 0) {
			near = append(near, string(appendFloat(nil, n, 8*l.typ.Size)))
		}
	}
	return nearestText(near)
}

func nearestText(near []string) string {
	switch len(near) {
	case 0:
		return ""
	case 1:
		return "; the nearest is " + near[0]
	}
	return "; the nearest are " + strings.Join(near, " and ")
}
