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

// Limits of a scanner.
const (
	block    = 128 << 10
	maxValue = 128 << 20 // bytes of one captured name or value
	maxDepth = 64        // nesting of skipped values
)

// scanner reads JSON text once, between two offsets of a source. It keeps only the captured value
// in memory. After an error it behaves as at the end.
type scanner struct {
	ctx context.Context
	src *source.Source
	end int64

	buf  []byte // bytes from offset base on
	base int64
	pos  int
	mark int // start of the captured value, or -1
	err  error

	entry int64 // offset of the name that next returned last
}

func newScanner(ctx context.Context, src *source.Source, start, end int64) *scanner {
	return &scanner{ctx: ctx, src: src, base: start, end: end, mark: -1}
}

// offset returns the offset of the next byte.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = &readers.Error{Source: s.src.Name(), Offset: s.offset(), Err: readers.Corruptf(format, args...)}
	}
}

// fill reads more if needed, and reports whether there is another byte.
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
	// Keep the bytes of a captured value, which must be contiguous.
	if s.mark >= 0 {
		keep = s.mark
	}
	kept := copy(s.buf, s.buf[keep:])
	if kept > maxValue {
		s.err = &readers.Error{Source: s.src.Name(), Offset: s.base, Err: fmt.Errorf("value of more than %d bytes: %w", maxValue, errors.ErrUnsupported)}
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

// peek skips white space and returns the next byte, or 0 at the end.
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

// isAtEnd reports whether only white space follows.
func (s *scanner) isAtEnd() bool { return s.peek() == 0 && !s.fill() }

// want skips a byte that must be c.
func (s *scanner) want(c byte) bool {
	if got := s.peek(); got != c {
		s.fail("found %[2]s (want %[1]q)", c, describeByte(got))
		return false
	}
	s.pos++
	return true
}

func describeByte(c byte) string {
	if c == 0 {
		return "the end"
	}
	return fmt.Sprintf("%q", c)
}

// next advances to the next member of an object and returns its name. It skips a comma unless the
// member is the first. At the end of the object or of the range, ok is false.
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
		s.fail("found %s (want a name in double quotes)", describeByte(c))
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

// capture returns the bytes of the next value. They are valid until the scanner advances.
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

// skip skips a value. It checks only what it needs to find the value's end; values that matter are
// parsed later.
func (s *scanner) skip() {
	depth := 0
	for {
		switch c := s.peek(); c {
		case '{', '[':
			if depth++; depth > maxDepth {
				s.fail("values are nested more than %d levels deep", maxDepth)
				return
			}
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			if depth == 0 {
				s.fail("found %q (want a value)", c)
				return
			}
			s.pos++
			continue
		case '"':
			s.text()
		case 0:
			s.fail("value has no end")
			return
		default:
			s.bare()
		}
		if depth < 0 {
			s.fail("found a bracket (want a value)")
		}
		if depth <= 0 || s.err != nil {
			return
		}
	}
}

// text skips a string.
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
				s.pos++ // the escaped byte
			}
			continue
		}
		s.pos += len(rest)
		if quote >= 0 {
			s.pos++
			return
		}
	}
	s.fail("string has no end")
}

// ends contains the bytes that end a number or a word.
var ends = func() (set [256]bool) {
	for c := range ' ' + 1 {
		set[c] = true
	}
	for _, c := range ",:[]{}\"" {
		set[c] = true
	}
	return set
}()

// bare skips a number or a word.
func (s *scanner) bare() {
	start := s.offset()
	for s.fill() && !ends[s.buf[s.pos]] {
		s.pos++
	}
	if s.offset() == start {
		s.fail("found %q (want a value)", s.peek())
	}
}

// unquote decodes a string.
func unquote(raw []byte) (string, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", errors.New("not a string")
	}
	if inner := raw[1 : len(raw)-1]; isPlain(inner) {
		return string(inner), nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}

// isPlain reports whether the inside of a string has no escapes.
func isPlain(inner []byte) bool {
	for _, c := range inner {
		if c < ' ' || c == '\\' {
			return false
		}
	}
	return utf8.Valid(inner)
}
