package zarrjson

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// Layout is how white space is put into a document.
type Layout uint8

// The layouts of documents.
const (
	Indented Layout = iota // by two spaces, as zarr-python does
	Compact                // none
)

// writer appends a document value by value.
type writer struct {
	out    []byte
	layout Layout
	depth  int
	bare   bool // nothing stands yet in the array or object begun last
	err    error
}

// encode returns the document that write writes, or nothing.
func encode(layout Layout, write func(*writer) error) ([]byte, error) {
	return encodeTo(nil, layout, write)
}

// encodeTo appends what encode returns.
func encodeTo(dst []byte, layout Layout, write func(*writer) error) ([]byte, error) {
	w := &writer{out: dst, layout: layout}
	if err := write(w); err != nil {
		return nil, err
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.out, nil
}

func (w *writer) begin(open byte) {
	w.out = append(w.out, open)
	w.depth++
	w.bare = true
}

func (w *writer) end(shut byte) {
	w.depth--
	if !w.bare {
		w.line()
	}
	w.out = append(w.out, shut)
	w.bare = false
}

// next begins an element, or a member whose name follows.
func (w *writer) next() {
	if !w.bare {
		w.out = append(w.out, ',')
	}
	w.bare = false
	w.line()
}

func (w *writer) line() {
	if w.layout == Compact {
		return
	}
	w.out = append(w.out, '\n')
	for range w.depth {
		w.out = append(w.out, "  "...)
	}
}

// name begins a member.
func (w *writer) name(name string) {
	w.next()
	w.text(name)
	w.colon()
}

func (w *writer) colon() {
	w.out = append(w.out, ':')
	if w.layout == Indented {
		w.out = append(w.out, ' ')
	}
}

// text appends a string. One that is no text is an error of the whole document.
func (w *writer) text(s string) {
	if w.err == nil && !utf8.ValidString(s) {
		w.err = wrong("", "the string %q is not UTF-8", abbreviate(s))
	}
	w.out = quote(w.out, s)
}

func (w *writer) whole(n int64) { w.out = strconv.AppendInt(w.out, n, 10) }

func (w *writer) wholes(list []int64) {
	w.begin('[')
	for _, n := range list {
		w.next()
		w.whole(n)
	}
	w.end(']')
}

func (w *writer) float(f float64) { w.out = appendFloat(w.out, f) }

// verbatim appends a value as it is.
func (w *writer) verbatim(raw []byte) { w.out = append(w.out, raw...) }

// value appends a JSON value that passed check, laid out anew but spelt as it is.
func (w *writer) value(raw []byte) {
	if w.layout == Compact {
		w.out = appendCompacted(w.out, raw)
		return
	}
	switch raw[0] {
	case '{':
		w.begin('{')
		for m := range spans(raw) {
			w.next()
			w.verbatim(raw[m.name:m.named])
			w.colon()
			w.value(raw[m.value:m.end])
		}
		w.end('}')
	case '[':
		w.begin('[')
		for _, e := range (value{raw: raw}).elements() {
			w.next()
			w.value(e.raw)
		}
		w.end(']')
	default:
		w.verbatim(raw)
	}
}

// compacted returns a value that passed check without white space.
func compacted(raw []byte) []byte { return appendCompacted(make([]byte, 0, len(raw)), raw) }

// appendCompacted appends a value that passed check without white space.
func appendCompacted(out, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if i = skipSpace(raw, i); i == len(raw) {
			break
		}
		end := i + 1
		if raw[i] == '"' {
			end = skipString(raw, i)
		}
		out = append(out, raw[i:end]...)
		i = end
	}
	return out
}

// appendFloat appends a finite number as Python's repr does: the fewest digits that
// are read as the same float64, and a point or an exponent in any case.
func appendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	if abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// member appends a member that is an integer.
func (w *writer) member(name string, n int64) {
	w.name(name)
	w.whole(n)
}
