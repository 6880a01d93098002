// Package keys reads the sections of GRIB messages by the names that ecCodes has for what is in them.
//
// A layout says which key is at which octet. All layouts are in layouts.txt.gz, which fixtures/grib/generate.py
// makes of the definition files of ecCodes; fixtures/grib/layouts.py describes its form. A product definition
// of template 4.8 is read so:
//
//	v := keys.Read("4.8", section, 9)
//	category, ok := v.Int("parameterCategory")
//
// Integers of GRIB are big-endian; signed ones have the sign in the first bit. All bits set say that a value is missing, if it may be.
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
	optional     bool // all bits set say that it is missing
}

// part is a run of values, or a list of equal runs.
type part struct {
	size  int
	count string // key of the number of repetitions; empty for a run that is there once
}

// layout is what a section holds from some octet on.
type layout struct {
	items map[string]item
	parts []part
}

// lines are the layouts as they are written, and layouts what was made of them.
var lines = sync.OnceValue(func() map[string][]string {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic("keys: layouts.txt.gz: " + err.Error()) // embedded: a build that has it damaged is of no use
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

// Known reports whether there is a layout of a name.
func Known(name string) bool { return layoutOf(name) != nil }

// Values are the values of a section. The zero Values has none.
type Values struct {
	data   []byte
	layout *layout
	starts []int // of each part
	counts []int
}

// Read reads a section, of which a layout says what is in it from an octet on. If there is no such layout, or the section is shorter,
// what is not there is not found.
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

// End is the octet behind the last value.
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

// Int returns an integer. It is found if it is missing, too: then it is that with all bits set.
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

// Missing reports whether a value is there that may be missing, and has all bits set.
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

// Bytes returns a value as it is stored.
func (v Values) Bytes(name string) ([]byte, bool) {
	_, b := v.find(name, 0)
	return b, b != nil
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

// IBM reads a float of four bytes as IBM's System/360 has it: 7 bits of exponent to base 16, 24 bits of mantissa.
func IBM(b []byte) float64 {
	bits := binary.BigEndian.Uint32(b)
	f := math.Ldexp(float64(bits&0xffffff), 4*(int(bits>>24&0x7f)-64)-24)
	if bits>>31 != 0 {
		return -f
	}
	return f
}
