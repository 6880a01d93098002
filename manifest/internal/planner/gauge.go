package planner

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
	"strconv"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// Gauge summarizes numbers or times that are too many to keep. The caller adds them in blocks.
type Gauge struct {
	*meaning
	course
	as      nature
	packing cf.Packing
	raw     *manifest.ValueHasher
	hash    hash.Hash
	w       *bufio.Writer // buffers writes to hash
	bag     uint64        // a digest that does not depend on the order of the elements
}

// NewGauge returns a Gauge for a variable of a header.
func NewGauge(h *manifest.Header, variable int) (*Gauge, error) {
	v := h.Variables[variable]
	what, err := newMeaning(cf.ParentsOf(h).Bounds(v))
	if err != nil {
		return nil, err
	}
	return newGauge(what, what.nature, elementsOf(v)*int64(v.Type.Size))
}

// newGauge returns a Gauge for values of a nature, with a total size in bytes.
func newGauge(what *meaning, as nature, bytes int64) (*Gauge, error) {
	g := &Gauge{meaning: what, as: as, hash: sha256.New(), raw: manifest.NewValueHasher(bytes)}
	g.w = bufio.NewWriter(g.hash)
	_, err := readNumbers(what.v, nil)
	if err == nil {
		g.packing, err = cf.PackingOf(what.v)
	}
	return g, err
}

// summaryOf summarizes known values as values of a nature.
func summaryOf(what *meaning, as nature, values *manifest.Values) (*manifest.Summary, error) {
	g, err := newGauge(what, as, int64(len(values.Data)))
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
	if g.as == instant {
		return g.addTimes(elements)
	}
	x, err := readNumbers(g.v, elements)
	if err != nil {
		return err
	}
	signed := x
	signed.t = g.packing.Type
	for i := range x.n {
		if g.as == whole {
			g.add(x.whole(i), whole)
		} else {
			g.add(x.realKey(i), real)
		}
		if g.missing(signed.element(i)[:signed.t.Size]) {
			g.addMeaning(missingNumber)
		} else {
			g.addMeaning(signed.exact(i))
		}
	}
	return nil
}

func (g *Gauge) addTimes(elements []byte) error {
	size := g.v.Type.Size
	for i := range len(elements) / size {
		at, ok, err := g.times.Instant(elements[i*size:][:size])
		if err != nil {
			return advise(fmt.Errorf("%s: time %d: %w", g.v.Path, g.n, err), report.DropPath(g.v.Path))
		}
		k := noTime
		if ok {
			k = timeKey(at)
		}
		g.add(k, instant)
		g.addMeaning(k)
	}
	return nil
}

func (g *Gauge) missing(element []byte) bool {
	return slices.ContainsFunc(g.packing.Masks, func(m []byte) bool { return cf.SameNumber(g.packing.Type, m, element) })
}

// addMeaning adds the meaning of an element to the digests. The bag is a sum, so it does not depend
// on the order of the elements.
func (g *Gauge) addMeaning(k key) {
	writeKey(g.w, k)
	g.bag += mixed(uint64(k.hi) ^ mixed(uint64(k.lo)+1))
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
		Nature: natureWords[g.as], Count: g.n, Run: g.dir, Step: g.step,
		First: g.first.pair(), Last: g.last.pair(), Least: g.low.pair(), Greatest: g.high.pair(),
		Meant: hex.EncodeToString(g.hash.Sum(nil)[:sha256.Size/2]), Bag: g.bag,
	}}
}

// natureWords names the natures in stored summaries.
var natureWords = [...]string{whole: "whole", real: "numbers", instant: "times"}

// summaries reports whether o can be a summary of a variable.
func summaries(o *manifest.Summary, v *manifest.Variable) bool {
	n := natureOf(v)
	return o != nil && n != text && o.Nature == natureWords[n] && o.Count == elementsOf(v)
}

// courseOf returns the course of summarized values of one nature, compared as another.
func courseOf(o *manifest.Summary, of, as nature) course {
	place := func(p [2]int64) key {
		if of == whole && as == real {
			return keyOf(p).asReal()
		}
		return keyOf(p)
	}
	return course{n: o.Count, dir: o.Run, step: o.Step,
		first: place(o.First), last: place(o.Last), low: place(o.Least), high: place(o.Greatest)}
}

// summarized reports whether only the summary of a coordinate is known.
func (c *coord) summarized() bool { return c.values != nil && c.values.Summary != nil }

// sameSummaries compares the summaries of two coordinates.
func sameSummaries(a, b *coord, same func(x, y *manifest.Summary) bool) (bool, error) {
	x, err := a.summaryOf()
	if err != nil {
		return false, err
	}
	y, err := b.summaryOf()
	return err == nil && same(x, y), err
}

// summaryOf returns the summary of a coordinate, and computes it from known values if necessary.
func (c *coord) summaryOf() (o *manifest.Summary, err error) {
	switch {
	case c.summarized():
		return c.values.Summary, nil
	case c.summary == nil:
		c.summary, err = summaryOf(c.meaning, c.nature, c.values)
	}
	return c.summary, err
}

// sayEnd formats the first or the last value of a summary for a message.
func (c *coord) sayEnd(i int64) string {
	at := c.values.Summary.First
	if i > 0 {
		at = c.values.Summary.Last
	}
	switch c.nature {
	case instant:
		return sayTime(keyOf(at), c.times.Units)
	case whole:
		return keyOf(at).sayWhole()
	}
	bits := 64
	if c.v.Type.Kind == codec.Float && c.v.Type.Size == 4 {
		bits = 32
	}
	return strconv.FormatFloat(unsorted(at[0]), 'g', -1, bits)
}

// missingNumber is the key of missing values and NaN, which clients cannot distinguish.
var missingNumber = key{0, 1}

// exact returns a key that is equal for equal numbers of all types. Whole numbers have their own
// keys, because a float64 cannot represent all of them.
func (x numbers) exact(i int) key {
	const wholeNumber, above = 2, 3 // within an int64, and above
	if x.t.Kind != codec.Float && x.scale == 1 && x.offset == 0 {
		k := x.whole(i)
		if k.lo > 0 {
			return key{int64(cf.Word(x.element(i)[:8])), above}
		}
		return key{k.hi, wholeNumber}
	}
	switch f := x.real(i); {
	case math.IsNaN(f):
		return missingNumber
	case f != math.Trunc(f) || f < -1<<63 || f >= 1<<64:
		return key{hi: sortable(f)}
	case f >= 1<<63:
		return key{int64(uint64(f)), above}
	default:
		return key{int64(f), wholeNumber}
	}
}
