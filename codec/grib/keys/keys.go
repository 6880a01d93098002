// Package keys reads the values in the sections of GRIB messages by ecCodes' names for them, which are called keys.
//
// A layout says which key is at which octet. All layouts are in layouts.txt.gz, which fixtures/grib/generate.py
// generates from the definition files of ecCodes; fixtures/grib/layouts.py describes the format. To read a product
// definition of template 4.8:
//
//	v := keys.Read("4.8", section, 9)
//	category, ok := v.Int("parameterCategory")
//
// Integers of GRIB are big-endian; signed ones have the sign in the first bit. An optional value is missing if all its bits are set.
package keys

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
)

//go:embed layouts.txt.gz
var compressed []byte

// kind says how a value is stored.
type kind byte

const (
	unsigned kind = 0
	signed   kind = 's'
	ieee     kind = 'f'
	ibm      kind = 'i'
	text     kind = 'a'
	raw      kind = 'b'
)

// item is a value within a run or one repetition of a list.
type item struct {
	offset, size int
	kind         kind
	part         int
	optional     bool // missing if all bits are set
}

// part is a run of values, or a list that repeats a run.
type part struct {
	size  int
	count string // key of the number of repetitions; empty if the run is not repeated
}

// layout describes the values of a section from some octet on.
type layout struct {
	items map[string]item
	parts []part
}

// lines has the words of each layout by its name. layouts caches the parsed layouts.
var lines = sync.OnceValue(func() map[string][]string {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic("keys: layouts.txt.gz: " + err.Error()) // the file is embedded, so only a broken build gets here
	}
	b, err := io.ReadAll(z)
	if err != nil {
		panic("keys: layouts.txt.gz: " + err.Error())
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) > 0 {
			out[words[0]] = words[1:]
		}
	}
	return out
})

var layouts sync.Map

func layoutOf(name string) *layout {
	if l, ok := layouts.Load(name); ok {
		return l.(*layout)
	}
	words, ok := lines()[name]
	if !ok {
		return nil
	}
	l := &layout{items: map[string]item{}, parts: []part{{}}}
	l.add(words)
	layouts.Store(name, l)
	return l
}

// add adds items, and reports whether more can follow them.
func (l *layout) add(words []string) bool {
	for _, word := range words {
		last := &l.parts[len(l.parts)-1]
		switch {
		case word == "!":
			return false
		case word == ")":
			l.parts = append(l.parts, part{})
		case word[0] == '@':
			if !l.add(lines()[word[1:]]) {
				return false
			}
		case word[0] == '*':
			l.parts = append(l.parts, part{count: strings.TrimSuffix(word[1:], "(")})
		default:
			name, format, _ := strings.Cut(word, ":")
			it := item{offset: last.size, part: len(l.parts) - 1}
			if format[0] > '9' {
				it.kind, format = kind(format[0]), format[1:]
			}
			format, it.optional = strings.CutSuffix(format, "?")
			it.size, _ = strconv.Atoi(format)
			if _, known := l.items[name]; !known {
				l.items[name] = it
			}
			last.size += it.size
		}
	}
	return true
}

// Known reports whether there is a layout with a name.
func Known(name string) bool { return layoutOf(name) != nil }

// Values are the values of a section. The zero Values has none.
type Values struct {
	data   []byte
	layout *layout
	starts []int // of each part
	counts []int
}

// Read returns the values of a section. name is the layout of the bytes from at on. Without such a layout the result has no values,
// and if the section is shorter than the layout, the values after its end are not found.
func Read(name string, section []byte, at int) Values {
	v := Values{data: section, layout: layoutOf(name)}
	if v.layout == nil {
		return Values{}
	}
	v.starts, v.counts = make([]int, len(v.layout.parts)), make([]int, len(v.layout.parts))
	for i, p := range v.layout.parts {
		v.starts[i], v.counts[i] = at, 1
		if p.count != "" {
			n, _ := v.Int(p.count)
			v.counts[i] = int(min(max(n, 0), int64(len(section))))
		}
		at += p.size * v.counts[i]
	}
	return v
}

// End returns the offset of the first byte after the layout.
func (v Values) End() int {
	if v.layout == nil {
		return 0
	}
	last := len(v.starts) - 1
	return v.starts[last] + v.layout.parts[last].size*v.counts[last]
}

// find returns the bytes of a value, in the nth repetition if it is in a list.
func (v Values) find(name string, nth int) (item, []byte) {
	if v.layout == nil {
		return item{}, nil
	}
	it, ok := v.layout.items[name]
	if !ok || nth >= v.counts[it.part] || nth > 0 && v.layout.parts[it.part].count == "" {
		return item{}, nil
	}
	at := v.starts[it.part] + nth*v.layout.parts[it.part].size + it.offset
	if at > len(v.data) || it.size > len(v.data)-at {
		return item{}, nil
	}
	return it, v.data[at : at+it.size]
}

// Has reports whether a key is in the section.
func (v Values) Has(name string) bool {
	_, b := v.find(name, 0)
	return b != nil
}

// Int returns an integer. A missing integer is found, too: all its bits are set.
func (v Values) Int(name string) (int64, bool) { return v.IntAt(name, 0) }

// IntAt returns an integer of the nth repetition of a list.
func (v Values) IntAt(name string, nth int) (int64, bool) {
	it, b := v.find(name, nth)
	if b == nil || it.size > 8 || it.kind != unsigned && it.kind != signed {
		return 0, false
	}
	if it.kind == signed {
		return Signed(b), true
	}
	return int64(Unsigned(b)), true
}

// Missing reports whether the section has an optional value with all bits set.
func (v Values) Missing(name string) bool {
	it, b := v.find(name, 0)
	if b == nil || !it.optional {
		return false
	}
	for _, c := range b {
		if c != 0xff {
			return false
		}
	}
	return true
}

// Float returns a number of any kind.
func (v Values) Float(name string) (float64, bool) {
	it, b := v.find(name, 0)
	switch {
	case b == nil:
		return 0, false
	case it.kind == ieee:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), true
	case it.kind == ibm:
		return IBM(b), true
	}
	n, ok := v.Int(name)
	return float64(n), ok
}

// Bytes returns the stored bytes of a value.
func (v Values) Bytes(name string) ([]byte, bool) {
	_, b := v.find(name, 0)
	return b, b != nil
}

// Clear sets the bytes of a key to 0 in a copy of the section that v reads, at all repetitions.
func (v Values) Clear(section []byte, name string) {
	for nth := 0; ; nth++ {
		it, b := v.find(name, nth)
		if b == nil {
			return
		}
		at := v.starts[it.part] + nth*v.layout.parts[it.part].size + it.offset
		clear(section[at : at+it.size])
	}
}

// Unsigned reads an unsigned integer of up to eight bytes.
func Unsigned(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// Signed reads an integer whose first bit is its sign.
func Signed(b []byte) int64 {
	n, sign := Unsigned(b), uint64(1)<<(8*len(b)-1)
	if n&sign != 0 {
		return -int64(n &^ sign)
	}
	return int64(n)
}

// IBM reads a float of IBM's System/360 from four bytes: a sign, 7 bits of an exponent to base 16 with a bias of 64, and 24 bits of a
// fraction. Every one is a float64.
func IBM(b []byte) float64 {
	v := binary.BigEndian.Uint32(b)
	exponent, fraction := int(v>>24&0x7f), v&0xffffff
	if exponent == 0 && fraction <= 1 {
		return 0 // as in ecCodes
	}
	x := math.Ldexp(float64(fraction), 4*(exponent-64)-24)
	if v>>31 != 0 {
		return -x
	}
	return x
}

// Set stores an integer of the nth repetition in the section. It returns false, and stores nothing, if the section does not have the key or
// the integer does not fit.
func (v Values) Set(name string, nth int, n int64) bool {
	it, b := v.find(name, nth)
	if b == nil || it.size > 8 || it.kind != unsigned && it.kind != signed {
		return false
	}
	bits := uint(8 * it.size)
	magnitude, sign := uint64(n), uint64(0)
	if it.kind == signed {
		bits--
		if n < 0 {
			magnitude, sign = uint64(-n), 1<<bits
		}
	} else if n < 0 {
		return false
	}
	if bits < 64 && magnitude>>bits != 0 {
		return false
	}
	for i, word := len(b)-1, magnitude|sign; i >= 0; i, word = i-1, word>>8 {
		b[i] = byte(word)
	}
	return true
}
