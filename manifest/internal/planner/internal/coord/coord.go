// Package coord gives coordinate values a form in which the values of all files can be compared and
// sorted: times of any units, numbers of any type and packing, and texts.
package coord

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// Key is a coordinate value in a comparable form. Whole numbers and times are exact. Floats are
// bits that sort as the numbers do. Texts are ranks among the texts of the dimension.
type Key struct {
	Hi int64
	lo uint64 // the nanoseconds of a time; for a whole number, its excess above the greatest int64, or its deficit below a float64
}

// Pair returns the key in its stored form.
func (k Key) Pair() [2]int64 { return [2]int64{k.Hi, int64(k.lo)} }

// KeyOf returns the key with a stored form.
func KeyOf(pair [2]int64) Key { return Key{pair[0], uint64(pair[1])} }

func (k Key) Compare(l Key) int { return cmp.Or(cmp.Compare(k.Hi, l.Hi), cmp.Compare(k.lo, l.lo)) }

// noTime is the key of a missing time, which sorts last.
var noTime = Key{math.MaxInt64, 0}

// Nature is the kind of a coordinate's values.
type Nature uint8

const (
	Whole Nature = iota + 1
	Real
	Instant
	Text
)

// Coord is one distinct coordinate, which some files have along a dimension.
type Coord struct {
	*Meaning
	Values *manifest.Values // only a summary if they are too many
	Course
	Sum     uint64 // hash of the keys, or of the first and last key if the dimension has a summarized coordinate
	Summary *manifest.Summary

	Files int64
	File  int32  // the file with the first name
	Start int64  // position along the dimension, once it is decided
	Parts []Part // along a joined dimension; start is the least origin
}

// Course describes the order and the range of values.
type Course struct {
	Len         int64
	Direction   int8 // 1 increasing, -1 decreasing, 0 fewer than two values, 2 neither
	First, Last Key
	Low, High   Key
	Step        float64 // the largest difference between neighbours
}

// add appends a value. A missing value has no order, so the course becomes neither increasing nor
// decreasing.
func (c *Course) add(k Key, as Nature) {
	none := Missing(k, as)
	switch {
	case c.Len == 0:
		c.First, c.Low, c.High = k, k, k
	case none || Missing(c.Last, as):
		c.Direction = 2
	default:
		order := int8(k.Compare(c.Last))
		// Repeated values, or a change of direction, make the order ambiguous.
		if order == 0 || c.Len > 1 && c.Direction != order {
			order = 2
		}
		c.Direction = order
		c.Step = max(c.Step, math.Abs(Distance(c.Last, k, as)))
	}
	if !none && (k.Compare(c.Low) < 0 || Missing(c.Low, as)) {
		c.Low = k
	}
	if !none && (k.Compare(c.High) > 0 || Missing(c.High, as)) {
		c.High = k
	}
	c.Last = k
	c.Len++
}

// CountsIn reports whether the values are 0, 1, 2, … or 1, 2, 3, ….
func (c *Course) CountsIn(as Nature) bool {
	if as != Whole && as != Real {
		return false
	}
	from := Distance(Key{}, c.First, as)
	return (c.Len <= 1 || c.Direction == 1 && c.Step == 1) && (from == 0 || from == 1)
}

// Missing reports whether a key is a missing time or NaN.
func Missing(k Key, as Nature) bool {
	return as == Instant && k == noTime || as == Real && math.IsNaN(unsorted(k.Hi))
}

// Measure computes the course of a coordinate, once the nature of all files' values is known.
func (c *Coord) Measure(as Nature, ranks map[string]int64) error {
	// The summary was computed when the values were read.
	if c.Summarized() {
		c.Course = courseOf(c.Values.Summary, c.Nature, as)
		return nil
	}
	keys, err := c.Keys(as, ranks)
	if err != nil {
		return err
	}
	c.Course = Course{}
	for _, k := range keys {
		c.add(k, as)
	}
	if len(keys) > 0 {
		c.Sum = HashKeys(keys)
	}
	return nil
}

var seed = maphash.MakeSeed()

// HashKeys returns a hash that is equal for equal keys within one process.
func HashKeys(keys []Key) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var word [16]byte
	for _, k := range keys {
		binary.LittleEndian.PutUint64(word[:], uint64(k.Hi))
		binary.LittleEndian.PutUint64(word[8:], k.lo)
		h.Write(word[:])
	}
	return h.Sum64()
}

// Distance returns b - a. The unit of times is seconds.
func Distance(a, b Key, as Nature) float64 {
	switch as {
	case Instant:
		return float64(b.Hi-a.Hi) + (float64(b.lo)-float64(a.lo))/1e9
	case Real:
		return unsorted(b.Hi) - unsorted(a.Hi)
	default:
		return float64(b.Hi) - float64(a.Hi) + (float64(b.lo) - float64(a.lo))
	}
}

// Keys returns the values in a comparable form.
func (c *Coord) Keys(as Nature, ranks map[string]int64) ([]Key, error) {
	switch as {
	case Instant:
		return c.timeKeys()
	case Text:
		texts := c.Texts()
		keys := make([]Key, len(texts))
		for i, t := range texts {
			keys[i].Hi = ranks[t]
		}
		return keys, nil
	}
	return c.numberKeys(as)
}

func (c *Coord) timeKeys() ([]Key, error) {
	times := c.Times
	times.Elements = c.Values.Data
	at, ok, err := times.Instants()
	if err != nil {
		return nil, manifest.WithRemedy(fmt.Errorf("%s: %w", c.Variable.Path, err), string(report.Drop), report.DropPath(c.Variable.Path).Value)
	}
	keys := make([]Key, len(at))
	for i, t := range at {
		keys[i] = timeKey(t)
		if !ok[i] { // a missing time sorts after all times
			keys[i] = noTime
		}
	}
	return keys, nil
}

func timeKey(t cf.Instant) Key { return Key{t.Seconds, uint64(t.Nanoseconds)} }

func (c *Coord) numberKeys(as Nature) ([]Key, error) {
	numbers, err := ReadNumbers(c.Variable, c.Values.Data)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, numbers.Len)
	for i := range keys {
		if as == Whole {
			keys[i] = numbers.Whole(i)
		} else {
			keys[i] = numbers.realKey(i)
		}
	}
	return keys, nil
}

// Texts returns the values of a text coordinate.
func (c *Coord) Texts() []string { return TextsOf(c.Variable, c.Values) }

// TextsOf returns the elements of a variable as texts, without the zero bytes that pad them.
func TextsOf(v *manifest.Variable, values *manifest.Values) []string {
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

// Say formats a value for a message.
func (c *Coord) Say(i int64) string {
	if c.Summarized() {
		return c.sayEnd(i)
	}
	switch c.Nature {
	case Text:
		if texts := c.Texts(); i < int64(len(texts)) {
			return fmt.Sprintf("%q", texts[i])
		}
	case Instant:
		if keys, err := c.timeKeys(); err == nil && i < int64(len(keys)) {
			return sayTime(keys[i], c.Times.Units)
		}
	default:
		if numbers, err := ReadNumbers(c.Variable, c.Values.Data); err == nil && i < int64(numbers.Len) {
			return numbers.Say(int(i))
		}
	}
	return "?"
}

// TextOf returns the first text of an attribute, or "" if the variable has no such attribute.
func TextOf(v *manifest.Variable, name string) string {
	if a := manifest.Lookup(v.Attributes, name); a != nil && len(a.Texts) > 0 {
		return a.Texts[0]
	}
	return ""
}
