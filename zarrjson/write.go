package zarrjson

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// Layout is the use of white space in a document.
type Layout uint8

// The layouts of documents.
const (
	Indented Layout = iota // by two spaces, as zarr-python does
	Compact                // none
)

// writer appends a document value by value.
type writer struct {
	out     []byte
	layout  Layout
	depth   int
	isEmpty bool // the innermost open array or object has no member yet
	err     error
}

// encode returns the document that write writes, or nothing after an error.
func encode(layout Layout, write func(*writer) error) ([]byte, error) {
	return encodeTo(nil, layout, write)
}

// encodeTo appends the result of encode to dst.
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
	w.isEmpty = true
}

func (w *writer) end(shut byte) {
	w.depth--
	// An empty array or object is written as [] or {}, as Python does.
	if !w.isEmpty {
		w.line()
	}
	w.out = append(w.out, shut)
	w.isEmpty = false
}

// next begins an element, or a member whose name follows.
func (w *writer) next() {
	if !w.isEmpty {
		w.out = append(w.out, ',')
	}
	w.isEmpty = false
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

// text appends a string. A string that is not UTF-8 makes encode fail.
func (w *writer) text(s string) {
	// Keep the first error instead of returning it from every call.
	if w.err == nil && !utf8.ValidString(s) {
		w.err = corruptError("", "the string %q is not UTF-8", abbreviate(s))
	}
	w.out = quote(w.out, s)
}

func (w *writer) integer(n int64) { w.out = strconv.AppendInt(w.out, n, 10) }

func (w *writer) integers(list []int64) {
	w.begin('[')
	for _, n := range list {
		w.next()
		w.integer(n)
	}
	w.end(']')
}

func (w *writer) float(f float64) { w.out = appendFloat(w.out, f) }

// verbatim appends a value unchanged.
func (w *writer) verbatim(raw []byte) { w.out = append(w.out, raw...) }

// value appends a JSON value that passed check, with its spelling unchanged and the
// writer's white space.
func (w *writer) value(raw []byte) {
	if w.layout == Compact {
		w.out = appendCompact(w.out, raw)
		return
	}
	switch raw[0] {
	case '{':
		w.begin('{')
		for m := range spans(raw) {
			w.next()
			w.verbatim(raw[m.name:m.nameEnd])
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

// compactJSON returns a value that passed check without white space.
func compactJSON(raw []byte) []byte { return appendCompact(make([]byte, 0, len(raw)), raw) }

// appendCompact appends a value that passed check without white space.
func appendCompact(out, raw []byte) []byte {
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

// appendFloat appends a finite number as Python's repr does: the fewest digits that are
// read as the same float64, and always a point or an exponent.
func appendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	// Python's repr switches to an exponent below 1e-4 and from 1e16 on.
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

// member appends a member whose value is an integer.
func (w *writer) member(name string, n int64) {
	w.name(name)
	w.integer(n)
}
