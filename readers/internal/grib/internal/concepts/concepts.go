// Package concepts finds ecCodes' names for parameters, types of levels and types of steps of GRIB messages.
//
// A concept of ecCodes is a list of names. Each name has conditions on keys of the message. Among the names whose conditions are all
// true, the name with the most conditions is used; among several with equally many, the last. All lists are in concepts.txt.gz, which
// fixtures/grib/generate.py makes from the definition files of ecCodes.
package concepts

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed concepts.txt.gz
var compressed []byte

//go:embed codes.txt.gz
var compressedCodes []byte

// Keys are the keys of a message.
type Keys interface {
	// Int returns an integer, and whether the message has it.
	Int(key string) (int64, bool)
	// IntAt returns the nth integer of a list.
	IntAt(key string, nth int) (int64, bool)
	// Missing reports whether the message has a key, with all bits set.
	Missing(key string) bool
	// Text returns a key as a text, and whether the message has it.
	Text(key string) (string, bool)
}

// List names a list of names: a folder of the definition files, and the end of the name of its files.
type List struct{ Folder, Variant string }

// condition is that a key has one of some values.
type condition struct {
	key     string
	values  []int64
	isList  bool   // that it has all of them, one behind the other
	text    string // instead
	isText  bool
	missing bool // instead
}

func (c *condition) holds(k Keys) bool {
	switch {
	case c.missing:
		return k.Missing(c.key)
	case c.isText:
		text, ok := k.Text(c.key)
		return ok && text == c.text
	}
	if c.isList {
		for i, v := range c.values {
			if n, ok := k.IntAt(c.key, i); !ok || n != v {
				return false
			}
		}
		_, more := k.IntAt(c.key, len(c.values))
		return !more
	}
	n, ok := k.Int(c.key)
	if ok && k.Missing(c.key) {
		n = math.MinInt64 // equal to no value
	}
	return ok && slices.Contains(c.values, n)
}

// row is one name of each of the concepts of a block, and its conditions.
type row struct {
	conditions []condition
	weight     int // how many conditions there are, each value of a list for one
	names      []string
}

// block is what a folder has of some concepts.
type block struct {
	once     sync.Once
	text     string
	concepts []string
	rows     []row
	// By the numbers of the parameter, where a row depends on these: the rows of it, and all others.
	byNumber map[[3]int64][]int
	others   []int
}

// numbers are the keys that tell parameters apart, of either edition.
var numbers = [][]string{{"discipline", "parameterCategory", "parameterNumber"}, {"table2Version", "indicatorOfParameter"}}

type tables struct {
	blocks  map[string]*block // by folder, variant and concept
	records []string
}

var load = sync.OnceValue(func() *tables {
	t := &tables{blocks: map[string]*block{}}
	var now *block
	var start int
	text := unpack(compressed)
	for at := 0; at < len(text); {
		end := at + strings.IndexByte(text[at:], '\n')
		switch line := text[at:end]; {
		case strings.HasPrefix(line, "= "):
			if now != nil {
				now.text = text[start:at]
			}
			words := strings.Fields(line)
			now, start = &block{concepts: words[3:]}, end+1
			for _, c := range words[3:] {
				t.blocks[words[1]+" "+strings.TrimPrefix(words[2], "-")+" "+c] = now
			}
		default:
			if _, names, ok := strings.Cut(line, "\t"); ok && !strings.HasPrefix(names, "@") {
				t.records = append(t.records, names)
			}
		}
		at = end + 1
	}
	now.text = text[start:]
	return t
})

func unpack(b []byte) string {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err == nil {
		b, err = io.ReadAll(z)
	}
	if err != nil {
		panic("concepts: " + err.Error()) // embedded: a build that has it damaged is of no use
	}
	return string(b)
}

// parse makes rows of the lines of a block.
func (b *block) parse() {
	records := load().records
	b.byNumber = map[[3]int64][]int{}
	var keys []string
	for line := range strings.Lines(b.text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "K"); ok && !strings.Contains(line, "\t") {
			keys = strings.Fields(rest)
			continue
		}
		values, names, _ := strings.Cut(line, "\t")
		if rest, ok := strings.CutPrefix(names, "@"); ok {
			n, _ := strconv.Atoi(rest)
			names = records[n]
		}
		r := row{names: strings.Split(names, "\t")}
		for i, v := range strings.Fields(values) {
			r.conditions = append(r.conditions, newCondition(keys[i], v))
		}
		for _, c := range r.conditions {
			if r.weight++; c.isList {
				r.weight += len(c.values) - 1
			}
		}
		if n, ok := r.number(); ok {
			b.byNumber[n] = append(b.byNumber[n], len(b.rows))
		} else {
			b.others = append(b.others, len(b.rows))
		}
		b.rows = append(b.rows, r)
	}
}

func newCondition(key, value string) condition {
	c := condition{key: key}
	switch {
	case value == "~":
		c.missing = true
	case value[0] == '\'' || value[0] == '"':
		c.isText, c.text = true, strings.Trim(value, `'"`)
	default:
		c.isList = strings.Contains(value, ",")
		for v := range strings.SplitSeq(strings.ReplaceAll(value, ",", "|"), "|") {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				n = math.MinInt64 // a fraction: no key is equal to it
			}
			c.values = append(c.values, n)
		}
	}
	return c
}

// number returns the numbers of the parameter that a row is for.
func (r *row) number() (n [3]int64, ok bool) {
	for _, keys := range numbers {
		found := 0
		for i, key := range keys {
			for _, c := range r.conditions {
				if c.key == key && len(c.values) == 1 {
					n[i] = c.values[0]
					found++
				}
			}
		}
		if found == len(keys) {
			return n, true
		}
	}
	return n, false
}

func numberOf(k Keys) (n [3]int64) {
	for _, keys := range numbers {
		found := 0
		for i, key := range keys {
			v, ok := k.Int(key)
			if n[i] = v; ok {
				found++
			}
		}
		if found == len(keys) {
			return n
		}
		n = [3]int64{}
	}
	return n
}

// Find returns the name that the lists have for a message. Among names with equally many conditions, a name of a
// later list takes precedence.
func Find(concept string, k Keys, lists ...List) (name string, ok bool) {
	most, number := -1, numberOf(k)
	for _, l := range lists {
		b := load().blocks[l.Folder+" "+l.Variant+" "+concept]
		if b == nil {
			continue
		}
		b.once.Do(b.parse)
		column, last := slices.Index(b.concepts, concept), -1
		for _, candidates := range [][]int{b.byNumber[number], b.others} {
			for _, i := range candidates {
				r := &b.rows[i]
				if n := r.weight; n < most || n == most && i < last || slices.ContainsFunc(r.conditions, func(c condition) bool { return !c.holds(k) }) {
					continue
				}
				most, last, name, ok = r.weight, i, r.names[column], true
			}
		}
	}
	return name, ok
}

// codes are the tables of codes, by their names.
var codes = sync.OnceValue(func() map[string]map[int64]string {
	out := map[string]map[int64]string{}
	var now map[int64]string
	for line := range strings.Lines(unpack(compressedCodes)) {
		words := strings.Fields(line)
		switch {
		case len(words) != 2:
		case words[0] == "=":
			now = map[int64]string{}
			out[words[1]] = now
		default:
			n, _ := strconv.ParseInt(words[0], 10, 64)
			now[n] = words[1]
		}
	}
	return out
})

// Code returns the text of a number in a code table, or the number.
func Code(table string, n int64) string {
	if text, ok := codes()[table][n]; ok {
		return text
	}
	return strconv.FormatInt(n, 10)
}
