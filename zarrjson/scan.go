package zarrjson

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// maxDepth is the deepest nesting of a document, and so of every recursion in this
// package.
const maxDepth = 128

// scanner walks over JSON text once and checks it: the grammar of RFC 8259, plus the NaN,
// Infinity and -Infinity that Python writes, minus duplicate names in an object. Accepted
// text is then read lazily, level by level, as a value.
type scanner struct {
	text []byte
	pos  int
}

// check returns an error for the first fault in a JSON text.
func check(text []byte) error {
	s := &scanner{text: text}
	if err := s.value(0); err != nil {
		return err
	}
	if s.space(); s.pos < len(text) {
		return s.fail("text after the document")
	}
	return nil
}

func (s *scanner) fail(format string, args ...any) error {
	found := "the end"
	if s.pos < len(s.text) {
		found = abbreviate(s.text[s.pos:])
	}
	return corruptError("", "not JSON: byte %d: %s; found %s", s.pos, fmt.Sprintf(format, args...), found)
}

func (s *scanner) space() { s.pos = skipSpace(s.text, s.pos) }

// peek returns the next byte that is not white space, or 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos == len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

func (s *scanner) value(depth int) error {
	if depth > maxDepth {
		return s.fail("nested deeper than %d", maxDepth)
	}
	switch c := s.peek(); c {
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case '"':
		return s.str()
	case 0:
		return s.fail("a value is missing")
	default:
		return s.bare()
	}
}

func (s *scanner) array(depth int) error {
	s.pos++
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		if err := s.value(depth + 1); err != nil {
			return err
		}
		if done, err := s.next(']'); done || err != nil {
			return err
		}
	}
}

func (s *scanner) object(depth int) error {
	s.pos++
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	var names nameSet
	for {
		if err := s.member(&names, depth); err != nil {
			return err
		}
		if done, err := s.next('}'); done || err != nil {
			return err
		}
	}
}

func (s *scanner) member(names *nameSet, depth int) error {
	if s.peek() != '"' {
		return s.fail("want a name in double quotes")
	}
	start := s.pos
	if err := s.str(); err != nil {
		return err
	}
	name, ok := unquote(s.text[start:s.pos])
	if !ok {
		s.pos = start
		return s.fail("half of a surrogate pair in a name")
	}
	if !names.add(name) {
		return corruptError("", "byte %d: the name %q occurs twice in one object", start, abbreviate(name))
	}
	// Duplicate names are refused since readers disagree on which of the two values
	// counts.
	if s.peek() != ':' {
		return s.fail("want a colon")
	}
	s.pos++
	return s.value(depth + 1)
}

// next moves past a comma, or past the end of the array or object.
func (s *scanner) next(end byte) (done bool, err error) {
	switch s.peek() {
	case ',':
		s.pos++
		return false, nil
	case end:
		s.pos++
		return true, nil
	}
	return false, s.fail("want a comma or %q", end)
}

// str moves past a string.
func (s *scanner) str() error {
	start := s.pos
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			// Check the whole string once instead of each character.
			if !utf8.Valid(s.text[start:s.pos]) {
				s.pos = start
				return s.fail("a string that is not UTF-8")
			}
			return nil
		case c < ' ':
			return s.fail("a control character in a string")
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		}
	}
	return s.fail("a string without a closing quote")
}

// escape moves to the last byte of an escape sequence.
func (s *scanner) escape() error {
	rest := s.text[s.pos+1:]
	if len(rest) > 0 && bytes.IndexByte([]byte(`"\/bfnrt`), rest[0]) >= 0 {
		s.pos++
		return nil
	}
	if _, ok := unicodeEscape(s.text[s.pos:]); !ok {
		return s.fail("an unknown escape sequence")
	}
	s.pos += 5
	return nil
}

// bare moves past a number or a literal.
func (s *scanner) bare() error {
	start := s.pos
	word := s.text[start:skipBare(s.text, start)]
	switch string(word) {
	case "true", "false", "null", "NaN", "Infinity", "-Infinity":
	default:
		if !isNumber(word) {
			return s.fail("want a value")
		}
	}
	s.pos += len(word)
	return nil
}

// isNumber reports whether b is a number in JSON's spelling.
func isNumber(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	whole := countDigits(b)
	if whole == 0 || b[0] == '0' && whole > 1 {
		return false
	}
	if b = b[whole:]; len(b) > 0 && b[0] == '.' {
		n := countDigits(b[1:])
		if n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		return len(b) > 0 && countDigits(b) == len(b)
	}
	return len(b) == 0
}

// countDigits returns the number of decimal digits at the start of b.
func countDigits(b []byte) int {
	n := 0
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}

// nameSet detects duplicate names. Up to 16 names are compared one by one, which is
// faster than a map.
type nameSet struct {
	few  []string
	many map[string]struct{}
}

// add adds a name and returns false if the set has it already.
func (n *nameSet) add(name string) bool {
	if n.many == nil {
		for _, f := range n.few {
			if f == name {
				return false
			}
		}
		if n.few = append(n.few, name); len(n.few) == 16 {
			n.many = make(map[string]struct{}, 32)
			for _, f := range n.few {
				n.many[f] = struct{}{}
			}
		}
		return true
	}
	before := len(n.many)
	n.many[name] = struct{}{}
	return len(n.many) > before
}
