package kerchunk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"varve/readers"
	"varve/readers/source"
)

// The limits of a scanner.
const (
	block    = 128 << 10
	maxValue = 128 << 20 // bytes of one name or value that is looked at
	maxDepth = 64        // of values that are passed over
)

// scanner reads JSON text once, from one offset of a source to another, with no more of it
// in memory than the value that is looked at. After an error everything is the end.
type scanner struct {
	ctx context.Context
	src *source.Source
	end int64

	buf  []byte // the bytes from base on
	base int64
	pos  int
	mark int // where the value that is looked at begins, or -1
	err  error

	entry int64 // where the name is that next returned last
}

func newScanner(ctx context.Context, src *source.Source, start, end int64) *scanner {
	return &scanner{ctx: ctx, src: src, base: start, end: end, mark: -1}
}

// offset is where the next byte is.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = &readers.Error{Source: s.src.Name(), Offset: s.offset(), Err: readers.Corruptf(format, args...)}
	}
}

// fill reads on, and reports whether there is another byte.
func (s *scanner) fill() bool {
	if s.pos < len(s.buf) {
		return true
	}
	next := s.base + int64(len(s.buf))
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err != nil || next >= s.end {
		return false
	}
	keep := s.pos
	if s.mark >= 0 {
		keep = s.mark
	}
	kept := copy(s.buf, s.buf[keep:])
	if kept > maxValue {
		s.err = &readers.Error{Source: s.src.Name(), Offset: s.base, Err: fmt.Errorf("a value of more than %d bytes: %w", maxValue, errors.ErrUnsupported)}
		return false
	}
	s.base, s.pos = s.base+int64(keep), s.pos-keep
	if s.mark >= 0 {
		s.mark = 0
	}
	n := int(min(int64(max(block, kept)), s.end-next))
	if cap(s.buf) < kept+n {
		s.buf = append(make([]byte, 0, kept+n), s.buf[:kept]...)
	}
	s.buf = s.buf[:kept+n]
	if _, err := s.src.ReadAt(s.ctx, s.buf[kept:], next); err != nil {
		s.buf, s.err = s.buf[:kept], err
		return false
	}
	return true
}

// peek moves to the next byte that is not white space and returns it; 0 at the end.
func (s *scanner) peek() byte {
	for s.fill() {
		switch c := s.buf[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// ended reports whether nothing follows but white space.
func (s *scanner) ended() bool { return s.peek() == 0 && !s.fill() }

// want moves over a byte.
func (s *scanner) want(c byte) bool {
	if got := s.peek(); got != c {
		s.fail("want %q, found %s", c, shown(got))
		return false
	}
	s.pos++
	return true
}

func shown(c byte) string {
	if c == 0 {
		return "the end"
	}
	return fmt.Sprintf("%q", c)
}

// next moves to the next member of an object, over the comma if it is not the first, and
// returns its name. At the end of the object, or of what is scanned, ok is false.
func (s *scanner) next(first bool) (name string, ok bool) {
	c := s.peek()
	if c == '}' {
		s.pos++
		return "", false
	}
	if !first {
		s.want(',')
		c = s.peek()
	}
	if c != '"' {
		s.fail("want a name in double quotes, found %s", shown(c))
		return "", false
	}
	s.entry = s.offset()
	raw := s.capture()
	name, err := unquote(raw)
	if err != nil {
		s.fail("name %.80q: %w", raw, err)
	}
	return name, s.err == nil && s.want(':')
}

// capture returns the bytes of the next value, which are valid until the scanner moves on.
func (s *scanner) capture() []byte {
	s.peek()
	s.mark = s.pos
	s.skip()
	raw := s.buf[s.mark:s.pos]
	s.mark = -1
	if s.err != nil {
		return nil
	}
	return raw
}

// skip moves over a value. It checks no more of it than it must to find its end: values
// that count are parsed when they are looked at.
func (s *scanner) skip() {
	depth := 0
	for {
		switch c := s.peek(); c {
		case '{', '[':
			if depth++; depth > maxDepth {
				s.fail("nested deeper than %d", maxDepth)
				return
			}
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			if depth == 0 {
				s.fail("want a value, found %q", c)
				return
			}
			s.pos++
			continue
		case '"':
			s.text()
		case 0:
			s.fail("a value is missing its end")
			return
		default:
			s.bare()
		}
		if depth < 0 {
			s.fail("want a value, found a bracket")
		}
		if depth <= 0 || s.err != nil {
			return
		}
	}
}

// text moves over a string.
func (s *scanner) text() {
	s.pos++
	for s.fill() {
		rest := s.buf[s.pos:]
		quote := bytes.IndexByte(rest, '"')
		if quote >= 0 {
			rest = rest[:quote]
		}
		if escape := bytes.IndexByte(rest, '\\'); escape >= 0 {
			s.pos += escape + 1
			if s.fill() {
				s.pos++ // what is escaped
			}
			continue
		}
		s.pos += len(rest)
		if quote >= 0 {
			s.pos++
			return
		}
	}
	s.fail("a string without its end")
}

// ends are the bytes that a number or a word ends before.
var ends = func() (set [256]bool) {
	for c := range ' ' + 1 {
		set[c] = true
	}
	for _, c := range ",:[]{}\"" {
		set[c] = true
	}
	return set
}()

// bare moves over a number or a word.
func (s *scanner) bare() {
	start := s.offset()
	for s.fill() && !ends[s.buf[s.pos]] {
		s.pos++
	}
	if s.offset() == start {
		s.fail("want a value, found %q", s.peek())
	}
}

// unquote reads a string.
func unquote(raw []byte) (string, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", errors.New("not a string")
	}
	if inner := raw[1 : len(raw)-1]; plain(inner) {
		return string(inner), nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}

// plain reports whether the inside of a string stands for itself.
func plain(inner []byte) bool {
	for _, c := range inner {
		if c < ' ' || c == '\\' {
			return false
		}
	}
	return utf8.Valid(inner)
}
