package kerchunk

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve/readers"
)

// template is a text with expressions in double braces. The specification uses Jinja; this is the
// part that templates and generators need:
//
//	names, integers, 'texts', ( ), unary -, * // %, + -, ~ to join texts,
//	f(name=value, …) for a template with parameters
//
// Everything else is an error that names the expression.
type template []templatePart

// templatePart is a text, or an expression if expr is set.
type templatePart struct {
	text string
	expr expression
}

// value is an integer or a text.
type value struct {
	text   string
	number int64
	isText bool
}

func (v value) String() string {
	if v.isText {
		return v.text
	}
	return strconv.FormatInt(v.number, 10)
}

// scope holds the values of names: dimensions of a generator, or parameters, and templates.
type scope struct {
	values    map[string]value
	templates templates
}

type expression func(s scope) (value, error)

// Limits of templates.
const (
	maxTemplate = 64 << 10 // bytes of a template, and of its result
	maxBraces   = 64       // nesting of parentheses
)

func parseTemplate(text string) (template, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("template of %d bytes: %w", len(text), errors.ErrUnsupported)
	}
	var out template
	for {
		before, rest, ok := strings.Cut(text, "{{")
		// Statements would need the whole of Jinja.
		if strings.Contains(before, "{%") {
			return nil, fmt.Errorf("template %.80q has a statement: %w", before, errors.ErrUnsupported)
		}
		if before != "" {
			out = append(out, templatePart{text: before})
		}
		if !ok {
			return out, nil
		}
		p := expressionParser{rest: rest}
		expr := p.join(0)
		if !p.take("}}") && p.err == nil {
			p.err = readers.Corruptf("template %.80q: {{ without }}", text)
			if strings.Contains(p.rest, "}}") {
				p.err = fmt.Errorf("template %.80q: unexpected %.20q in an expression: %w", text, p.rest, errors.ErrUnsupported)
			}
		}
		if p.err != nil {
			return nil, p.err
		}
		out = append(out, templatePart{expr: expr})
		text = p.rest
	}
}

// prefix returns the text before the first expression, and whether there is one.
func (t template) prefix() (text string, more bool) {
	for _, p := range t {
		if p.expr != nil {
			return text, true
		}
		text += p.text
	}
	return text, false
}

// make returns the text with the values of a scope.
func (t template) make(s scope) (string, error) {
	var out strings.Builder
	for _, p := range t {
		text := p.text
		if p.expr != nil {
			v, err := p.expr(s)
			if err != nil {
				return "", err
			}
			text = v.String()
		}
		if out.Len()+len(text) > maxTemplate {
			return "", fmt.Errorf("result of a template has more than %d bytes: %w", maxTemplate, errors.ErrUnsupported)
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// expressionParser parses an expression. After an error it parses nothing.
type expressionParser struct {
	rest string
	err  error
}

func (p *expressionParser) peek() byte {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	if p.err != nil || p.rest == "" {
		return 0
	}
	return p.rest[0]
}

// take skips a mark, and reports whether it was there.
func (p *expressionParser) take(mark string) bool {
	p.peek()
	rest, ok := strings.CutPrefix(p.rest, mark)
	if ok = ok && p.err == nil; ok {
		p.rest = rest
	}
	return ok
}

func (p *expressionParser) fail(format string, args ...any) expression {
	if p.err == nil {
		p.err = fmt.Errorf(format+": %w", append(args, errors.ErrUnsupported)...)
	}
	return nil
}

// binary parses operands with marks between them, from left to right.
func (p *expressionParser) binary(depth int, operand func(int) expression, marks ...string) expression {
	left := operand(depth)
	for p.err == nil {
		mark := ""
		for _, m := range marks {
			if p.take(m) {
				mark = m
				break
			}
		}
		if mark == "" {
			return left
		}
		a, b := left, operand(depth)
		left = func(s scope) (value, error) { return apply(mark, a, b, s) }
	}
	return nil
}

func (p *expressionParser) join(depth int) expression { return p.binary(depth, p.sum, "~") }

func (p *expressionParser) sum(depth int) expression { return p.binary(depth, p.product, "+", "-") }

func (p *expressionParser) product(depth int) expression {
	return p.binary(depth, p.operand, "//", "*", "%")
}

func (p *expressionParser) operand(depth int) expression {
	if depth > maxBraces {
		return p.fail("expression is nested more than %d levels deep", maxBraces)
	}
	switch c := p.peek(); {
	case p.take("-"):
		x := p.operand(depth + 1)
		zero := func(scope) (value, error) { return value{}, nil }
		return func(s scope) (value, error) { return apply("-", zero, x, s) }
	case p.take("("):
		x := p.join(depth + 1)
		if !p.take(")") {
			return p.fail("missing ) before %.20q", p.rest)
		}
		return x
	case c == '\'' || c == '"':
		text, rest, ok := strings.Cut(p.rest[1:], string(c))
		if !ok || strings.Contains(text, `\`) {
			return p.fail("text in an expression has no end or an escape: %.20q", p.rest)
		}
		p.rest = rest
		return func(scope) (value, error) { return value{text: text, isText: true}, nil }
	case '0' <= c && c <= '9':
		digits := p.word()
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return p.fail("%.20q is not an integer", digits)
		}
		return func(scope) (value, error) { return value{number: n}, nil }
	}
	name := p.word()
	if name == "" {
		return p.fail("unexpected %.20q in an expression", p.rest)
	}
	if p.take("(") {
		return p.call(name, depth)
	}
	return func(s scope) (value, error) { return s.lookup(name) }
}

// word parses letters, digits and underscores.
func (p *expressionParser) word() string {
	p.peek()
	n := 0
	for n < len(p.rest) {
		c := p.rest[n]
		if c != '_' && (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'z') {
			break
		}
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

// call parses the arguments of a template with parameters.
func (p *expressionParser) call(name string, depth int) expression {
	arguments := map[string]expression{}
	for !p.take(")") {
		if len(arguments) > 0 && !p.take(",") {
			return p.fail("arguments of %q: unexpected %.20q", name, p.rest)
		}
		argument := p.word()
		if argument == "" || !p.take("=") {
			return p.fail("arguments of %q do not have the form name=value before %.20q", name, p.rest)
		}
		if arguments[argument] = p.join(depth + 1); p.err != nil {
			return nil
		}
	}
	return func(s scope) (value, error) {
		t, ok := s.templates[name]
		if !ok {
			return value{}, fmt.Errorf("template %q does not exist: %w", name, errors.ErrUnsupported)
		}
		inner := scope{values: map[string]value{}}
		for argument, x := range arguments {
			v, err := x(s)
			if err != nil {
				return value{}, err
			}
			inner.values[argument] = v
		}
		text, err := t.make(inner)
		return value{text: text, isText: true}, err
	}
}

func (s scope) lookup(name string) (value, error) {
	if v, ok := s.values[name]; ok {
		return v, nil
	}
	t, ok := s.templates[name]
	if !ok {
		return value{}, fmt.Errorf("template %q does not exist: %w", name, errors.ErrUnsupported)
	}
	text, more := t.prefix()
	if more {
		return value{}, fmt.Errorf("template %q needs parameters: %w", name, errors.ErrUnsupported)
	}
	return value{text: text, isText: true}, nil
}

// apply computes the result of the operator mark for two expressions.
func apply(mark string, a, b expression, s scope) (value, error) {
	x, err := a(s)
	if err != nil {
		return value{}, err
	}
	y, err := b(s)
	if err != nil {
		return value{}, err
	}
	if mark == "~" || mark == "+" && x.isText && y.isText {
		if text := x.String() + y.String(); len(text) <= maxTemplate {
			return value{text: text, isText: true}, nil
		}
		return value{}, fmt.Errorf("result of an expression has more than %d bytes: %w", maxTemplate, errors.ErrUnsupported)
	}
	if x.isText || y.isText {
		return value{}, fmt.Errorf("operator %s needs two numbers: %w", mark, errors.ErrUnsupported)
	}
	n, ok := calculate(mark, x.number, y.number)
	if !ok {
		return value{}, readers.Corruptf("%d %s %d is out of the range from −2^63 to 2^63−1", x.number, mark, y.number)
	}
	return value{number: n}, nil
}

// calculate computes like Python, within int64.
func calculate(mark string, x, y int64) (n int64, ok bool) {
	switch mark {
	case "+":
		n = x + y
		return n, (n > x) == (y > 0)
	case "-":
		n = x - y
		return n, (n < x) == (y > 0)
	case "*":
		n = x * y
		return n, x == 0 || n/x == y && (x != -1 || y != math.MinInt64)
	}
	if y == 0 || x == math.MinInt64 && y == -1 {
		return 0, false
	}
	quotient, rest := x/y, x%y
	if rest != 0 && (rest < 0) != (y < 0) {
		// Go truncates, while Python rounds down.
		quotient, rest = quotient-1, rest+y
	}
	if mark == "%" {
		return rest, true
	}
	return quotient, true
}
