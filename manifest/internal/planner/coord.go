package planner

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// key is a coordinate value in a comparable form. Whole numbers and times are exact. Floats are
// bits that sort as the numbers do. Texts are ranks among the texts of the dimension.
type key struct {
	hi int64
	lo uint64 // the nanoseconds of a time; for a whole number, its excess above the greatest int64, or its deficit below a float64
}

// pair returns the key in its stored form.
func (k key) pair() [2]int64 { return [2]int64{k.hi, int64(k.lo)} }

func keyOf(pair [2]int64) key { return key{pair[0], uint64(pair[1])} }

func (k key) compare(l key) int { return cmp.Or(cmp.Compare(k.hi, l.hi), cmp.Compare(k.lo, l.lo)) }

// noTime is the key of a missing time, which sorts last.
var noTime = key{math.MaxInt64, 0}

// nature is the kind of a coordinate's values.
type nature uint8

const (
	whole nature = iota + 1
	real
	instant
	text
)

// coord is one distinct coordinate, which some files have along a dimension.
type coord struct {
	*meaning
	values *manifest.Values // only a summary if they are too many
	course
	sum     uint64 // hash of the keys, or of the first and last key if the dimension has a summarized coordinate
	summary *manifest.Summary

	files int64
	rep   int32      // the file with the first name
	start int64      // position along the dimension, once it is decided
	parts []axisPart // along a joined dimension; start is the least origin
}

// axisPart is a contiguous part of a coordinate, and its place along the dimension.
type axisPart struct{ origin, start, length int64 }

// course describes the order and the range of values.
type course struct {
	n           int64
	dir         int8 // 1 increasing, -1 decreasing, 0 fewer than two values, 2 neither
	first, last key
	low, high   key
	step        float64 // the largest difference between neighbours
}

// add appends a value. A missing value has no order, so the course becomes neither increasing nor
// decreasing.
func (c *course) add(k key, as nature) {
	none := missing(k, as)
	switch {
	case c.n == 0:
		c.first, c.low, c.high = k, k, k
	case none || missing(c.last, as):
		c.dir = 2
	default:
		order := int8(k.compare(c.last))
		// Repeated values, or a change of direction, make the order ambiguous.
		if order == 0 || c.n > 1 && c.dir != order {
			order = 2
		}
		c.dir = order
		c.step = max(c.step, math.Abs(distance(c.last, k, as)))
	}
	if !none && (k.compare(c.low) < 0 || missing(c.low, as)) {
		c.low = k
	}
	if !none && (k.compare(c.high) > 0 || missing(c.high, as)) {
		c.high = k
	}
	c.last = k
	c.n++
}

// onlyCounts reports whether several coordinates only number the elements of each file from 0 or 1,
// so that they do not place files.
func (d *dim) onlyCounts() bool {
	return len(d.coords) > 1 && !slices.ContainsFunc(d.coords, func(c *coord) bool { return !c.countsIn(d.nature) })
}

// countsIn reports whether the values are 0, 1, 2, … or 1, 2, 3, ….
func (c *course) countsIn(as nature) bool {
	if as != whole && as != real {
		return false
	}
	from := distance(key{}, c.first, as)
	return (c.n <= 1 || c.dir == 1 && c.step == 1) && (from == 0 || from == 1)
}

// missing reports whether a key is a missing time or NaN.
func missing(k key, as nature) bool {
	return as == instant && k == noTime || as == real && math.IsNaN(unsorted(k.hi))
}

// measure computes the course of a coordinate, once the nature of all files' values is known.
func (c *coord) measure(as nature, ranks map[string]int64) error {
	// The summary was computed when the values were read.
	if c.summarized() {
		c.course = courseOf(c.values.Summary, c.nature, as)
		return nil
	}
	keys, err := c.keys(as, ranks)
	if err != nil {
		return err
	}
	c.course = course{}
	for _, k := range keys {
		c.add(k, as)
	}
	if len(keys) > 0 {
		c.sum = hashKeys(keys)
	}
	return nil
}

var seed = maphash.MakeSeed()

func hashKeys(keys []key) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var word [16]byte
	for _, k := range keys {
		binary.LittleEndian.PutUint64(word[:], uint64(k.hi))
		binary.LittleEndian.PutUint64(word[8:], k.lo)
		h.Write(word[:])
	}
	return h.Sum64()
}

// distance returns b - a. The unit of times is seconds.
func distance(a, b key, as nature) float64 {
	switch as {
	case instant:
		return float64(b.hi-a.hi) + (float64(b.lo)-float64(a.lo))/1e9
	case real:
		return unsorted(b.hi) - unsorted(a.hi)
	default:
		return float64(b.hi) - float64(a.hi) + (float64(b.lo) - float64(a.lo))
	}
}

// keys returns the values in a comparable form.
func (c *coord) keys(as nature, ranks map[string]int64) ([]key, error) {
	switch as {
	case instant:
		return c.timeKeys()
	case text:
		texts := c.texts()
		keys := make([]key, len(texts))
		for i, t := range texts {
			keys[i].hi = ranks[t]
		}
		return keys, nil
	}
	return c.numberKeys(as)
}

func (c *coord) timeKeys() ([]key, error) {
	times := c.times
	times.Elements = c.values.Data
	at, ok, err := times.Instants()
	if err != nil {
		return nil, advise(fmt.Errorf("%s: %w", c.v.Path, err), report.DropPath(c.v.Path))
	}
	keys := make([]key, len(at))
	for i, t := range at {
		keys[i] = timeKey(t)
		if !ok[i] { // a missing time sorts after all times
			keys[i] = noTime
		}
	}
	return keys, nil
}

func timeKey(t cf.Instant) key { return key{t.Seconds, uint64(t.Nanoseconds)} }

func (c *coord) numberKeys(as nature) ([]key, error) {
	numbers, err := readNumbers(c.v, c.values.Data)
	if err != nil {
		return nil, err
	}
	keys := make([]key, numbers.n)
	for i := range keys {
		if as == whole {
			keys[i] = numbers.whole(i)
		} else {
			keys[i] = numbers.realKey(i)
		}
	}
	return keys, nil
}

// texts returns the values of a text coordinate, without padding.
func (c *coord) texts() []string {
	return textsOf(c.v, c.values)
}

func textsOf(v *manifest.Variable, values *manifest.Values) []string {
	if v.Type.Varies() {
		texts := make([]string, len(values.Texts))
		for i, t := range values.Texts {
			texts[i] = string(t)
		}
		return texts
	}
	size := max(v.Type.Size, 1)
	texts := make([]string, len(values.Data)/size)
	for i := range texts {
		element := values.Data[i*size : (i+1)*size]
		switch v.Type.Kind {
		case codec.FixedUTF32:
			texts[i] = utf32(element)
		case codec.FixedBytes:
			// netCDF and NumPy pad texts with zero bytes.
			texts[i] = strings.TrimRight(string(element), "\x00")
		default:
			texts[i] = string(element)
		}
	}
	return texts
}

func utf32(element []byte) string {
	var b strings.Builder
	for ; len(element) >= 4; element = element[4:] {
		if r := rune(binary.LittleEndian.Uint32(element)); r != 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// sortable maps floats to integers with the same order. Both zeros map to 0.
func sortable(f float64) int64 {
	if f == 0 {
		f = 0
	}
	bits := int64(math.Float64bits(f))
	if bits < 0 {
		return math.MinInt64 - bits
	}
	return bits
}

func unsorted(k int64) float64 {
	if k < 0 {
		k = math.MinInt64 - k
	}
	return math.Float64frombits(uint64(k))
}

// say formats a value for a message.
func (c *coord) say(i int64) string {
	if c.summarized() {
		return c.sayEnd(i)
	}
	switch c.nature {
	case text:
		if texts := c.texts(); i < int64(len(texts)) {
			return fmt.Sprintf("%q", texts[i])
		}
	case instant:
		if keys, err := c.timeKeys(); err == nil && i < int64(len(keys)) {
			return sayTime(keys[i], c.times.Units)
		}
	default:
		if numbers, err := readNumbers(c.v, c.values.Data); err == nil && i < int64(numbers.n) {
			return numbers.say(int(i))
		}
	}
	return "?"
}

func textOf(v *manifest.Variable, name string) string {
	if a := manifest.Lookup(v.Attributes, name); a != nil && len(a.Texts) > 0 {
		return a.Texts[0]
	}
	return ""
}
