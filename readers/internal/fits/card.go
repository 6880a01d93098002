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

// valueKind is the kind of a card's value.
type valueKind uint8

const (
	noValue   valueKind = iota // commentary: text without a value
	undefined                  // the value is left out
	text
	logical
	integer
	real
	complexNumber
	malformed
)

// card is a keyword with its value.
type card struct {
	keyword  string
	kind     valueKind
	text     string // string value, or the text of noValue and malformed cards
	truth    bool
	bits     uint64 // integer: two's complement if negative
	isSigned bool   // integer: it is negative, or fits in 63 bits
	real     float64
	imag     float64
}

// parseCard decodes the 80 characters of a card.
func parseCard(raw []byte) card {
	s := string(raw)
	keyword := strings.TrimRight(s[:8], " ")
	rest := s[8:]
	if keyword == "HIERARCH" {
		// HIERARCH is a registered convention for keywords of several words.
		if name, value, found := strings.Cut(rest, "="); found && strings.TrimSpace(name) != "" {
			return parseValue(strings.Join(strings.Fields(name), " "), value)
		}
	}
	if strings.HasPrefix(rest, "= ") && keyword != "" && keyword != "COMMENT" && keyword != "HISTORY" {
		return parseValue(keyword, rest[2:])
	}
	return card{keyword: keyword, text: strings.TrimRight(rest, " ")}
}

// parseValue decodes a value that may be followed by a comment (section 4.2).
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
	// A slash starts the comment; in strings it was handled above.
	s, _, _ = strings.Cut(s, "/")
	c.setNumber(strings.TrimSpace(s))
	return c
}

// quoted decodes a string in single quotes; two quotes inside it are one. Blanks at the end are not
// significant.
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
		c.kind, c.bits, c.isSigned = integer, uint64(n), true
		return true
	}
	// BZERO of uint64 is 2^63, which does not fit in an int64.
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

// parseReal decodes a number whose exponent may start with D.
func parseReal(s string) (float64, bool) {
	// ParseFloat also accepts hexadecimal numbers, underscores and names such as NaN.
	if strings.Trim(s, "0123456789+-.EDed") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.NewReplacer("D", "E", "d", "e").Replace(s), 64)
	return f, err == nil
}

// int returns the value of an integer card between least and most.
func (c *card) int(least, most uint64) (uint64, error) {
	if c.kind != integer || c.isSigned && int64(c.bits) < 0 || c.bits < least || c.bits > most {
		return 0, readers.Corruptf("%s is not an integer from %d to %d", c.keyword, least, most)
	}
	return c.bits, nil
}
