package coord

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"strconv"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// Gauge summarizes numbers or times that are too many to keep. The caller adds them in blocks.
type Gauge struct {
	*Meaning
	Course
	As      Nature
	Packing cf.Packing
	raw     *manifest.ValueHasher
	hash    hash.Hash
	w       *bufio.Writer // buffers writes to hash
	bag     uint64        // a digest that does not depend on the order of the elements
}

// GaugeOf returns a Gauge for a variable of a header.
func GaugeOf(h *manifest.Header, variable int) (*Gauge, error) {
	v := h.Variables[variable]
	what, err := NewMeaning(cf.ParentsOf(h).Bounds(v))
	if err != nil {
		return nil, err
	}
	return NewGauge(what, what.Nature, ElementsOf(v)*int64(v.Type.Size))
}

// NewGauge returns a Gauge for values of a nature, with a total size in bytes.
func NewGauge(what *Meaning, as Nature, bytes int64) (*Gauge, error) {
	g := &Gauge{Meaning: what, As: as, hash: sha256.New(), raw: manifest.NewValueHasher(bytes)}
	g.w = bufio.NewWriter(g.hash)
	_, err := ReadNumbers(what.Variable, nil)
	if err == nil {
		g.Packing, err = cf.PackingOf(what.Variable)
	}
	return g, err
}

// SummaryOf summarizes known values as values of a nature.
func SummaryOf(what *Meaning, as Nature, values *manifest.Values) (*manifest.Summary, error) {
	g, err := NewGauge(what, as, int64(len(values.Data)))
	if err == nil {
		err = g.Add(values.Data)
	}
	if err != nil {
		return nil, err
	}
	return g.Values().Summary, nil
}

// Add appends elements in memory form (little-endian).
func (g *Gauge) Add(elements []byte) error {
	_, _ = g.raw.Write(elements)
	if g.As == Instant {
		return g.addTimes(elements)
	}
	x, err := ReadNumbers(g.Variable, elements)
	if err != nil {
		return err
	}
	signed := x
	signed.Type = g.Packing.Type
	for i := range x.Len {
		if g.As == Whole {
			g.add(x.Whole(i), Whole)
		} else {
			g.add(x.realKey(i), Real)
		}
		if g.Packing.IsMask(signed.Type, signed.Element(i)[:signed.Type.Size]) {
			g.addMeaning(missingNumber)
		} else {
			g.addMeaning(signed.exact(i))
		}
	}
	return nil
}

func (g *Gauge) addTimes(elements []byte) error {
	size := g.Variable.Type.Size
	for i := range len(elements) / size {
		at, ok, err := g.Times.Instant(elements[i*size:][:size])
		if err != nil {
			return manifest.WithRemedy(fmt.Errorf("%s: time %d: %w", g.Variable.Path, g.Len, err), string(report.Drop), report.DropPath(g.Variable.Path).Value)
		}
		k := noTime
		if ok {
			k = timeKey(at)
		}
		g.add(k, Instant)
		g.addMeaning(k)
	}
	return nil
}

// addMeaning adds the meaning of an element to the digests. The bag is a sum, so it does not depend
// on the order of the elements.
func (g *Gauge) addMeaning(k Key) {
	writeKey(g.w, k)
	g.bag += mixed(uint64(k.Hi) ^ mixed(uint64(k.lo)+1))
}

// mixed mixes the bits of a word as SplitMix64 does.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Values returns the digest and the summary of the elements.
func (g *Gauge) Values() *manifest.Values {
	_ = g.w.Flush() // a hash never fails
	return &manifest.Values{ID: g.raw.ID(), Summed: true, Summary: &manifest.Summary{
		Nature: NatureWords[g.As], Count: g.Len, Run: g.Direction, Step: g.Step,
		First: g.First.Pair(), Last: g.Last.Pair(), Least: g.Low.Pair(), Greatest: g.High.Pair(),
		Meant: hex.EncodeToString(g.hash.Sum(nil)[:sha256.Size/2]), Bag: g.bag,
	}}
}

// NatureWords names the natures in stored summaries.
var NatureWords = [...]string{Whole: "whole", Real: "numbers", Instant: "times"}

// Summaries reports whether o can be a summary of a variable.
func Summaries(o *manifest.Summary, v *manifest.Variable) bool {
	n := NatureOf(v)
	return o != nil && n != Text && o.Nature == NatureWords[n] && o.Count == ElementsOf(v)
}

// courseOf returns the course of summarized values of one nature, compared as another.
func courseOf(o *manifest.Summary, of, as Nature) Course {
	place := func(p [2]int64) Key {
		if of == Whole && as == Real {
			return KeyOf(p).asReal()
		}
		return KeyOf(p)
	}
	return Course{Len: o.Count, Direction: o.Run, Step: o.Step,
		First: place(o.First), Last: place(o.Last), Low: place(o.Least), High: place(o.Greatest)}
}

// Summarized reports whether only the summary of a coordinate is known.
func (c *Coord) Summarized() bool { return c.Values != nil && c.Values.Summary != nil }

// SameSummaries compares the summaries of two coordinates.
func SameSummaries(a, b *Coord, same func(x, y *manifest.Summary) bool) (bool, error) {
	x, err := a.summaryOf()
	if err != nil {
		return false, err
	}
	y, err := b.summaryOf()
	return err == nil && same(x, y), err
}

// summaryOf returns the summary of a coordinate, and computes it from known values if necessary.
func (c *Coord) summaryOf() (o *manifest.Summary, err error) {
	switch {
	case c.Summarized():
		return c.Values.Summary, nil
	case c.Summary == nil:
		c.Summary, err = SummaryOf(c.Meaning, c.Nature, c.Values)
	}
	return c.Summary, err
}

// sayEnd formats the first or the last value of a summary for a message.
func (c *Coord) sayEnd(i int64) string {
	at := c.Values.Summary.First
	if i > 0 {
		at = c.Values.Summary.Last
	}
	switch c.Nature {
	case Instant:
		return sayTime(KeyOf(at), c.Times.Units)
	case Whole:
		return KeyOf(at).sayWhole()
	}
	bits := 64
	if c.Variable.Type.Kind == codec.Float && c.Variable.Type.Size == 4 {
		bits = 32
	}
	return strconv.FormatFloat(unsorted(at[0]), 'g', -1, bits)
}

// missingNumber is the key of missing values and NaN, which clients cannot distinguish.
var missingNumber = Key{0, 1}

// exact returns a key that is equal for equal numbers of all types. Whole numbers have their own
// keys, because a float64 cannot represent all of them.
func (x Numbers) exact(i int) Key {
	const wholeNumber, above = 2, 3 // within an int64, and above
	if x.Type.Kind != codec.Float && x.scale == 1 && x.offset == 0 {
		k := x.Whole(i)
		if k.lo > 0 {
			return Key{int64(cf.Word(x.Element(i)[:8])), above}
		}
		return Key{k.Hi, wholeNumber}
	}
	switch f := x.Real(i); {
	case math.IsNaN(f):
		return missingNumber
	case f != math.Trunc(f) || f < -1<<63 || f >= 1<<64:
		return Key{Hi: sortable(f)}
	case f >= 1<<63:
		return Key{int64(uint64(f)), above}
	default:
		return Key{int64(f), wholeNumber}
	}
}

func writeKey(w *bufio.Writer, k Key) {
	word := w.AvailableBuffer()
	word = binary.LittleEndian.AppendUint64(word, uint64(k.Hi))
	_, _ = w.Write(binary.LittleEndian.AppendUint32(word, uint32(k.lo)))
}
