package present

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"varve/codec"
	"varve/manifest/internal/cf"
)

// numberLabels are numbers. A number in a query is rounded to the type of the labels first, because users do
// not write all digits of a float32.
type numberLabels struct {
	numbers []float64
	typ     codec.Type
	// words holds 64-bit integers, which float64 would round. Unsigned integers are mapped to signed ones with
	// the same order. It is nil for other types.
	words []int64
	// isCyclic is true for longitudes in degrees: labels that differ by a multiple of 360 are the same place.
	isCyclic bool
}

// bound is a number in a query.
type bound struct {
	number float64
	word   int64
	whole  bool // word is valid: the number is an integer of the labels' type
}

// newNumberLabels decodes the labels from elements.
func newNumberLabels(d *Decoder, elems []byte) *numberLabels {
	l := &numberLabels{numbers: make([]float64, len(elems)/d.typ.Size), typ: d.decodedType()}
	d.Float64s(l.numbers, elems)
	if stored := d.packing.Type; stored.Kind != codec.Float && stored.Size == 8 && !d.isScaled() {
		l.typ = stored
		l.words = make([]int64, len(l.numbers))
		for i := range l.words {
			l.words[i] = l.wordOf(cf.Word(elems[8*i:][:8]))
		}
	}
	return l
}

// wordOf maps the bits of an integer to an int64 with the same order, and back.
func (l *numberLabels) wordOf(bits uint64) int64 {
	if l.typ.Kind == codec.Uint {
		bits ^= 1 << 63
	}
	return int64(bits)
}

func (l *numberLabels) query(text string) query { return cutRange(text) }

func (l *numberLabels) matcher(q query) (func(i int64) bool, error) {
	low, high, err := l.bounds(q)
	return func(i int64) bool { return l.isNumber(i) && l.compare(i, low) >= 0 && l.compare(i, high) <= 0 }, err
}

// isNumber reports whether a label is not missing.
func (l *numberLabels) isNumber(i int64) bool { return l.numbers[i] == l.numbers[i] }

func (l *numberLabels) compare(i int64, b bound) int {
	if l.words != nil && b.whole {
		return cmp.Compare(l.words[i], b.word)
	}
	return cmp.Compare(l.numbers[i], b.number)
}

// bounds parses the ends of a range. A missing end is unbounded, in the direction of the axis.
func (l *numberLabels) bounds(q query) (low, high bound, err error) {
	low, high = bound{number: math.Inf(-1)}, bound{number: math.Inf(1)}
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
			return low, high, err
		}
	}
	if low.number > high.number || low.whole && high.whole && low.word > high.word {
		low, high = high, low
	}
	return low, high, nil
}

// parse parses a number and rounds it to the labels' type.
func (l *numberLabels) parse(text string) (b bound, err error) {
	b.number, err = strconv.ParseFloat(text, 64)
	if err != nil || b.number != b.number {
		return b, fmt.Errorf("%q is not a number", text)
	}
	switch {
	case l.typ.Kind == codec.Float && l.typ.Size == 4:
		b.number = float64(float32(b.number))
	case l.words != nil && l.typ.Kind == codec.Uint:
		n, err := strconv.ParseUint(text, 10, 64)
		b.word, b.whole = l.wordOf(n), err == nil
	case l.words != nil:
		n, err := strconv.ParseInt(text, 10, 64)
		b.word, b.whole = n, err == nil
	}
	return b, nil
}

func (l *numberLabels) falls() bool {
	n := int64(len(l.numbers))
	return n > 1 && l.numbers[0] > l.numbers[n-1]
}

func (l *numberLabels) nearest(text string) (near []string, areNear bool) {
	want, err := l.parse(text)
	if err != nil {
		return nil, false
	}
	below, above := int64(-1), int64(-1)
	for i := range int64(len(l.numbers)) {
		switch side := l.compare(i, want); {
		case !l.isNumber(i):
		case side <= 0 && (below < 0 || l.compare(i, l.bound(below)) > 0):
			below = i
		case side >= 0 && (above < 0 || l.compare(i, l.bound(above)) < 0):
			above = i
		}
	}
	for _, i := range []int64{below, above} {
		if i >= 0 {
			near = append(near, l.say(i))
		}
	}
	return near, true
}

// circle is the degrees of a circle.
const circle = 360

// closest implements distant. Distances of longitudes are those on a circle.
func (l *numberLabels) closest(text string) (int64, error) {
	want, err := l.parse(text)
	if err != nil {
		return 0, err
	}
	best, least := int64(-1), math.Inf(1)
	for i, n := range l.numbers {
		d := math.Abs(n - want.number)
		if l.isCyclic {
			d = math.Mod(d, circle)
			d = min(d, circle-d)
		}
		if l.compare(int64(i), want) == 0 {
			d = -1 // the number itself, which a float64 may not tell from others
		}
		if d < least || d == least && best >= 0 && n > l.numbers[best] {
			best, least = int64(i), d
		}
	}
	return best, nil
}

// across returns the labels of a longitude, or of a range, that is partly outside the labels: they are on the other side of the
// seam. They are in the order of the range, or of the labels if these fall. It returns nil if all labels are inside.
func (l *numberLabels) across(q query) ([]int64, error) {
	low, high, err := l.bounds(q)
	if err != nil || math.IsInf(low.number, 0) || math.IsInf(high.number, 0) {
		return nil, err
	}
	// The sum of a label and a multiple of 360 may differ from the bound by the rounding of the labels' type.
	tolerance := circle * math.Pow(2, -50)
	if l.typ.Size == 4 {
		tolerance = circle * math.Pow(2, -22)
	}
	var list []int64
	at := map[int64]float64{} // the positions of labels in the range
	isAcross := false
	for i, n := range l.numbers {
		turns := 0.0
		if n < low.number || n > high.number {
			turns = math.Ceil((low.number - tolerance - n) / circle)
		}
		if n += float64(turns * circle); n >= low.number-tolerance && n <= high.number+tolerance {
			list = append(list, int64(i))
			at[int64(i)] = n
			isAcross = isAcross || turns != 0
		}
	}
	if !isAcross {
		return nil, nil
	}
	slices.SortStableFunc(list, func(a, b int64) int {
		if l.falls() {
			a, b = b, a
		}
		return cmp.Compare(at[a], at[b])
	})
	return list, nil
}

// bound returns a label in the form of a number in a query, to compare other labels with it.
func (l *numberLabels) bound(i int64) bound {
	b := bound{number: l.numbers[i]}
	if l.words != nil {
		b.word, b.whole = l.words[i], true
	}
	return b
}

func (l *numberLabels) say(i int64) string {
	switch {
	case l.words == nil:
		return string(appendFloat(nil, l.numbers[i], 8*l.typ.Size))
	case l.typ.Kind == codec.Uint:
		return strconv.FormatUint(uint64(l.wordOf(uint64(l.words[i]))), 10)
	}
	return strconv.FormatInt(l.words[i], 10)
}
