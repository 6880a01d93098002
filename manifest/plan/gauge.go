package plan

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

// Gauge makes the summary of numbers or times that are too many to be kept, which come some at
// a time.
type Gauge struct {
	*meaning
	course
	as      nature
	packing cf.Packing
	raw     *manifest.ValueHasher
	hash    hash.Hash
	w       *bufio.Writer // to hash
	bag     uint64
}

// NewGauge returns one for a variable of a header.
func NewGauge(h *manifest.Header, variable int) (*Gauge, error) {
	v := h.Variables[variable]
	what, err := newMeaning(cf.ParentsOf(h).Bounds(v))
	if err != nil {
		return nil, err
	}
	return newGauge(what, what.nature, elementsOf(v)*int64(v.Type.Size))
}

// newGauge returns one for so many bytes of values, taken for something.
func newGauge(what *meaning, as nature, bytes int64) (*Gauge, error) {
	g := &Gauge{meaning: what, as: as, hash: sha256.New(), raw: manifest.NewValueHasher(bytes)}
	g.w = bufio.NewWriter(g.hash)
	_, err := readNumbers(what.v, nil)
	if err == nil {
		g.packing, err = cf.PackingOf(what.v)
	}
	return g, err
}

// summaryOf makes the summary of values that are known, taken for something.
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

// Add takes the next elements, in memory form.
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
			g.mean(missingNumber)
		} else {
			g.mean(signed.exact(i))
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
		g.mean(k)
	}
	return nil
}

func (g *Gauge) missing(element []byte) bool {
	return slices.ContainsFunc(g.packing.Masks, func(m []byte) bool { return cf.SameNumber(g.packing.Type, m, element) })
}

// mean takes what an element stands for.
func (g *Gauge) mean(k key) {
	writeKey(g.w, k)
	g.bag += mixed(uint64(k.hi) ^ mixed(uint64(k.lo)+1))
}

// mixed broadcasts bits over a word, as SplitMix64 does.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Values are what is kept of the elements: their sum, and their summary.
func (g *Gauge) Values() *manifest.Values {
	_ = g.w.Flush() // a hash takes everything
	return &manifest.Values{ID: g.raw.ID(), Summed: true, Summary: &manifest.Summary{
		Nature: natureWords[g.as], Count: g.n, Run: g.dir, Step: g.step,
		First: g.first.pair(), Last: g.last.pair(), Least: g.low.pair(), Greatest: g.high.pair(),
		Meant: hex.EncodeToString(g.hash.Sum(nil)[:sha256.Size/2]), Bag: g.bag,
	}}
}

// natureWords are the natures that summaries are told in.
var natureWords = [...]string{whole: "whole", real: "numbers", instant: "times"}

// summaries reports whether a summary is one of a variable.
func summaries(o *manifest.Summary, v *manifest.Variable) bool {
	n := natureOf(v)
	return o != nil && n != text && o.Nature == natureWords[n] && o.Count == elementsOf(v)
}

// courseOf is how summarized values run that are of one nature, and are compared as another.
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

// sameSummaries compares the summaries of coordinates.
func sameSummaries(a, b *coord, same func(x, y *manifest.Summary) bool) (bool, error) {
	x, err := a.summaryOf()
	if err != nil {
		return false, err
	}
	y, err := b.summaryOf()
	return err == nil && same(x, y), err
}

// summaryOf is the summary of a coordinate, be it that its values are known.
func (c *coord) summaryOf() (o *manifest.Summary, err error) {
	switch {
	case c.summarized():
		return c.values.Summary, nil
	case c.summary == nil:
		c.summary, err = summaryOf(c.meaning, c.nature, c.values)
	}
	return c.summary, err
}

// sayEnd writes the first or the last of values of which only the summary is known.
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

// missingNumber is the key of what is called missing, and of NaN: clients see no difference.
var missingNumber = key{0, 1}

// exact is a number that is alike in all types: whole ones are told apart from others.
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
