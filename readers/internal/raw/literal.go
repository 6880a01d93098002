package raw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"varve/readers"
)

// Limits of a literal.
const (
	deepestLiteral = 16
	mostItems      = 1 << 14
)

// item is a value of a Python literal.
type item struct {
	kind   byte // s text, i integer, b truth (number is 1 or 0), n None, t tuple, l list, d dict
	at     int
	text   string
	number int64
	keys   []string // of a dict, as long as list
	list   []item
}

// literal parses the values that a header of NumPy can have: texts, integers, True, False, None, tuples, lists and dicts with texts as
// keys. Nothing is evaluated.
type literal struct {
	text  []byte
	at    int
	items int
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errors.ErrUnsupported)...)
}

func (p *literal) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *literal) accept(c byte) bool {
	p.skip()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// value reads a value.
func (p *literal) value(depth int) (v item, err error) {
	p.skip()
	if p.items++; depth > deepestLiteral || p.items > mostItems {
		return v, readers.Corruptf("more than %d levels or %d values", deepestLiteral, mostItems)
	}
	if v.at = p.at; p.at == len(p.text) {
		return v, readers.Corruptf("the header ends within a value")
	}
	switch c := p.text[p.at]; {
	case c == '\'' || c == '"':
		v.kind = 's'
		v.text, err = p.quoted()
		return v, err
	case c == '(' || c == '[' || c == '{':
		return p.several(depth, c)
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		return p.integer()
	}
	for word, known := range map[string]item{"True": {kind: 'b', number: 1}, "False": {kind: 'b'}, "None": {kind: 'n'}} {
		if strings.HasPrefix(string(p.text[p.at:min(p.at+5, len(p.text))]), word) {
			p.at += len(word)
			known.at = v.at
			return known, nil
		}
	}
	if (p.text[p.at] == 'u' || p.text[p.at] == 'b') && p.at+1 < len(p.text) && (p.text[p.at+1] == '\'' || p.text[p.at+1] == '"') {
		p.at++ // a text of Python 2
		v.kind = 's'
		v.text, err = p.quoted()
		return v, err
	}
	return v, readers.Corruptf("%.10q is not a literal of Python", p.text[p.at:])
}

// integer reads an integer, which may have the L of Python 2.
func (p *literal) integer() (v item, err error) {
	v.kind, v.at = 'i', p.at
	end := p.at + 1
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	if v.number, err = strconv.ParseInt(string(p.text[p.at:end]), 10, 64); err != nil {
		return v, readers.Corruptf("%.30q is not an integer of 64 bits", p.text[p.at:end])
	}
	if p.at = end; p.at < len(p.text) && p.text[p.at] == 'L' {
		p.at++
	}
	return v, nil
}

// several reads a tuple, a list or a dict. A value in parentheses without a comma is itself.
func (p *literal) several(depth int, opening byte) (v item, err error) {
	v.at = p.at
	v.kind = map[byte]byte{'(': 't', '[': 'l', '{': 'd'}[opening]
	closing := map[byte]byte{'(': ')', '[': ']', '{': '}'}[opening]
	p.at++
	hasComma := false
	for !p.accept(closing) {
		if len(v.list) > 0 && !hasComma {
			return v, readers.Corruptf("want a comma or %q", closing)
		}
		if opening == '{' {
			p.skip()
			key, err := p.value(depth + 1)
			if err != nil {
				return v, err
			}
			if key.kind != 's' || !p.accept(':') {
				return v, readers.Corruptf("want a text and a colon")
			}
			v.keys = append(v.keys, key.text)
		}
		one, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.list = append(v.list, one)
		hasComma = p.accept(',')
	}
	if opening == '(' && len(v.list) == 1 && !hasComma {
		return v.list[0], nil
	}
	return v, nil
}

// quoted reads a text in quotation marks.
func (p *literal) quoted() (string, error) {
	mark := p.text[p.at]
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == mark:
			return b.String(), nil
		case c == '\n':
			return "", readers.Corruptf("a text ends with its line")
		case c != '\\':
			b.WriteByte(c)
			continue
		}
		if p.at == len(p.text) {
			break
		}
		c = p.text[p.at]
		p.at++
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		switch {
		case strings.IndexByte(`\'"`, c) >= 0:
			b.WriteByte(c)
		case digits > 0 && p.at+digits <= len(p.text):
			n, err := strconv.ParseUint(string(p.text[p.at:p.at+digits]), 16, 31)
			if err != nil {
				return "", readers.Corruptf("%.12q is no character", p.text[p.at-2:])
			}
			b.WriteRune(rune(n))
			p.at += digits
		default:
			return "", readers.Corruptf("\\%c in a text", c)
		}
	}
	return "", readers.Corruptf("the header ends within a text")
}

// quoted returns a text in JSON, in which < and > are themselves.
func quoted(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // of a text, which has no error
	return bytes.TrimSpace(b.Bytes())
}

// appendJSON appends the value in JSON. Tuples become lists.
func (v *item) appendJSON(dst []byte) ([]byte, error) {
	switch v.kind {
	case 's':
		return append(dst, quoted(v.text)...), nil
	case 'i':
		return strconv.AppendInt(dst, v.number, 10), nil
	case 't', 'l':
		dst = append(dst, '[')
		for i := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = v.list[i].appendJSON(dst); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	}
	return dst, readers.Corruptf("a type has a value that is no text, integer, tuple or list")
}
