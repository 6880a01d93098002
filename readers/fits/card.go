package fits

import (
	"strconv"
	"strings"

	"varve/readers"
)

const (
	blockSize = 2880
	cardSize  = 80
)

// valueKind says what the value of a card is.
type valueKind uint8

const (
	noValue   valueKind = iota // commentary: text only
	undefined                  // a value that is left out
	text
	logical
	integer
	real
	complexNumber
	malformed
)

// card is a keyword with what it says.
type card struct {
	keyword string
	kind    valueKind
	text    string // text, and what noValue and malformed cards say
	truth   bool
	bits    uint64 // integer: two's complement if negative
	signed  bool   // integer: it is negative, or fits in 63 bits
	real    float64
	imag    float64
}

// parseCard reads the 80 characters of a card.
func parseCard(raw []byte) card {
	s := string(raw)
	keyword := strings.TrimRight(s[:8], " ")
	rest := s[8:]
	if keyword == "HIERARCH" {
		if name, value, found := strings.Cut(rest, "="); found && strings.TrimSpace(name) != "" {
			return parseValue(strings.Join(strings.Fields(name), " "), value)
		}
	}
	if strings.HasPrefix(rest, "= ") && keyword != "" && keyword != "COMMENT" && keyword != "HISTORY" {
		return parseValue(keyword, rest[2:])
	}
	return card{keyword: keyword, text: strings.TrimRight(rest, " ")}
}

// parseValue reads a value and the comment behind it (section 4.2).
func parseValue(keyword, s string) card {
	c := card{keyword: keyword}
	s = strings.TrimLeft(s, " ")
	if strings.HasPrefix(s, "'") {
		var closed bool
		if c.text, _, closed = quoted(s); !closed {
			return card{keyword: keyword, kind: malformed, text: s}
		}
		c.kind = text
		return c
	}
	s, _, _ = strings.Cut(s, "/")
	c.setNumber(strings.TrimSpace(s))
	return c
}

// quoted reads a string in quotes, in which ” stands for one. Blanks at its end do not
// count, but a string of blanks keeps one.
func quoted(s string) (value, rest string, closed bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			b.WriteByte('\'')
			i++
			continue
		}
		return strings.TrimRight(b.String(), " "), s[i+1:], true
	}
	return "", "", false
}

func (c *card) setNumber(s string) {
	switch {
	case s == "":
		c.kind = undefined
	case s == "T" || s == "F":
		c.kind, c.truth = logical, s == "T"
	case c.setInteger(s), c.setComplex(s):
	default:
		var ok bool
		c.kind = real
		if c.real, ok = parseReal(s); !ok {
			c.kind, c.text = malformed, s
		}
	}
}

func (c *card) setInteger(s string) bool {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		c.kind, c.bits, c.signed = integer, uint64(n), true
		return true
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64)
	if err != nil {
		return false
	}
	c.kind, c.bits = integer, n
	return true
}

func (c *card) setComplex(s string) bool {
	inner, ok := strings.CutPrefix(s, "(")
	inner, ok2 := strings.CutSuffix(inner, ")")
	re, im, ok3 := strings.Cut(inner, ",")
	if !ok || !ok2 || !ok3 {
		return false
	}
	var good, good2 bool
	c.real, good = parseReal(strings.TrimSpace(re))
	c.imag, good2 = parseReal(strings.TrimSpace(im))
	if good && good2 {
		c.kind = complexNumber
	}
	return good && good2
}

// parseReal reads a number whose exponent may begin with D.
func parseReal(s string) (float64, bool) {
	if strings.Trim(s, "0123456789+-.EDed") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.NewReplacer("D", "E", "d", "e").Replace(s), 64)
	return f, err == nil
}

// int returns the value of an integer card that is not negative.
func (c *card) int(least, most uint64) (uint64, error) {
	if c.kind != integer || c.signed && int64(c.bits) < 0 || c.bits < least || c.bits > most {
		return 0, readers.Corruptf("%s is no integer from %d to %d", c.keyword, least, most)
	}
	return c.bits, nil
}
