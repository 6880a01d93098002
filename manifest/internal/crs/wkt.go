package crs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Limits of well-known texts. The longest of the EPSG dataset have a few kilobytes and 8 levels. Each array gets a copy of its
// text.
const (
	longestWKT = 16 << 10
	deepestWKT = 32
)

// node is an element of a well-known text, KEYWORD["text",1.5,CHILD[…]].
type node struct {
	keyword  string // in upper case
	values   []string
	children []*node
}

// parser reads a well-known text.
type parser struct {
	text string
	at   int
}

// ParseWKT returns the system that a well-known text describes: by its code, or by the text if it is WKT 2.
func ParseWKT(text string) (*CRS, error) {
	if len(text) > longestWKT {
		return nil, Unsupported("the text has more than %d bytes", longestWKT)
	}
	p := &parser{text: text}
	root, err := p.node(0)
	if err == nil && p.skip() < len(p.text) {
		err = p.fail("nothing more")
	}
	if err != nil {
		return nil, err
	}
	c, err := root.horizontal().system()
	if err != nil {
		return nil, err
	}
	text = strings.TrimSpace(text)
	if at := root.horizontal(); at.child("AXIS") != nil {
		c.Text, c.IsNorthFirst = text, at.isNorthFirst()
	}
	if c.Code = root.code(); c.Code != "" {
		return c, nil
	}
	if !slices.Contains(wkt2, root.keyword) {
		if d := root.datum(); d != nil {
			return d.crs(), nil
		}
		return nil, Unsupported("WKT 1 without a code")
	}
	c.WKT2 = text
	return c, nil
}

// datum returns the datum that a system of WKT 1 has by its name, or nil. It is nil if the ellipsoid is another, if longitudes are
// not from Greenwich, or if there is a shift of the datum.
func (n *node) datum() *datum {
	of, meridian := n.child("DATUM"), n.child("PRIMEM")
	if n.keyword != "GEOGCS" || of == nil || of.child("SPHEROID") == nil {
		return nil
	}
	d, axes := datumOf(of.name()), of.child("SPHEROID").numbers()
	if d == nil || len(axes) < 2 || !d.isNear(ellipsoid{major: axes[0], flattening: axes[1]}) {
		return nil
	}
	for _, zero := range []*node{meridian, of.child("TOWGS84")} {
		if zero != nil && slices.ContainsFunc(zero.numbers(), func(f float64) bool { return f != 0 }) {
			return nil
		}
	}
	return d
}

// name returns the first value, which is the name of most elements.
func (n *node) name() string {
	if len(n.values) == 0 {
		return ""
	}
	return n.values[0]
}

// numbers returns the values that are numbers.
func (n *node) numbers() (list []float64) {
	for _, value := range n.values {
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			list = append(list, f)
		}
	}
	return list
}

// Keywords of the systems that WKT 1 and WKT 2 describe.
var (
	wkt2       = append([]string{"COMPOUNDCRS", "BOUNDCRS"}, slices.Concat(projected2, geographic2)...)
	projected2 = []string{"PROJCRS", "PROJECTEDCRS"}
	// Geocentric systems have these keywords too, with other axes.
	geographic2 = []string{"GEOGCRS", "GEOGRAPHICCRS", "GEODCRS", "GEODETICCRS"}
)

// horizontal returns the system of the horizontal coordinates of a compound or bound system.
func (n *node) horizontal() *node {
	for {
		next := (*node)(nil)
		switch n.keyword {
		case "COMPOUNDCRS", "COMPD_CS":
			if len(n.children) > 0 {
				next = n.children[0]
			}
		case "BOUNDCRS":
			if source := n.child("SOURCECRS"); source != nil && len(source.children) > 0 {
				next = source.children[0]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
}

// system returns the kind and the unit of a horizontal system.
func (n *node) system() (*CRS, error) {
	switch {
	case n.keyword == "PROJCS", slices.Contains(projected2, n.keyword):
		unit, ok := n.unit("LENGTHUNIT")
		if !ok {
			return nil, Unsupported("the system has no unit of length")
		}
		return &CRS{Kind: Projected, Unit: unit}, nil
	case n.keyword == "GEOGCS", slices.Contains(geographic2, n.keyword):
		unit, ok := n.unit("ANGLEUNIT")
		if !ok || math.Abs(unit-math.Pi/180) > 1e-9 {
			return nil, Unsupported("the system has no coordinates in degrees")
		}
		if n.child("DERIVINGCONVERSION") != nil {
			return &CRS{Kind: Rotated}, nil
		}
		return &CRS{Kind: Geographic}, nil
	}
	return nil, Unsupported("a system of the kind %.40s", n.keyword)
}

// unit returns the unit of the coordinates. It is a child of the system or of its axes.
func (n *node) unit(keyword string) (float64, bool) {
	places := []*node{n}
	for _, c := range n.children {
		if c.keyword == "AXIS" {
			places = append(places, c)
		}
	}
	for _, place := range places {
		for _, c := range place.children {
			if (c.keyword == keyword || c.keyword == "UNIT") && len(c.values) > 1 {
				f, err := strconv.ParseFloat(c.values[1], 64)
				return f, err == nil && f > 0 && !math.IsInf(f, 0)
			}
		}
	}
	return 0, false
}

// isNorthFirst reports whether the first axis of a system is a latitude or a northing. Axes at a pole all have the
// direction of a meridian, and are named (N) or northing.
func (n *node) isNorthFirst() bool {
	first := n.child("AXIS")
	if first == nil || len(first.values) < 2 {
		return false
	}
	name, direction := strings.ToLower(first.values[0]), strings.ToLower(first.values[1])
	if strings.Contains(name, "north") || strings.Contains(name, "(n)") || strings.Contains(name, "lat") {
		return true
	}
	return direction == "north" && !strings.Contains(name, "east") && !strings.Contains(name, "(e)")
}

// code returns the authority and the number of a system, or "".
func (n *node) code() string {
	for _, keyword := range []string{"ID", "AUTHORITY"} {
		if id := n.child(keyword); id != nil && len(id.values) > 1 {
			if code := strings.ToUpper(id.values[0]) + ":" + id.values[1]; codePattern.MatchString(code) {
				return code
			}
		}
	}
	return ""
}

// child returns the first child with a keyword, or nil.
func (n *node) child(keyword string) *node {
	for _, c := range n.children {
		if c.keyword == keyword {
			return c
		}
	}
	return nil
}

// skip skips white space and returns the position.
func (p *parser) skip() int {
	for p.at < len(p.text) && unicode.IsSpace(rune(p.text[p.at])) {
		p.at++
	}
	return p.at
}

// next skips white space and reports whether one of the bytes follows. It reads the byte.
func (p *parser) next(these string) bool {
	if p.skip() < len(p.text) && strings.IndexByte(these, p.text[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

func (p *parser) fail(want string) error {
	return Unsupported("not well-known text: want %s at byte %d", want, p.at)
}

// word reads letters, digits and the characters of numbers.
func (p *parser) word() string {
	from := p.skip()
	for p.at < len(p.text) && (p.text[p.at] == '_' || strings.IndexByte("+-.", p.text[p.at]) >= 0 ||
		p.text[p.at] < 0x80 && (unicode.IsLetter(rune(p.text[p.at])) || unicode.IsDigit(rune(p.text[p.at])))) {
		p.at++
	}
	return p.text[from:p.at]
}

// node reads a keyword and the list in its brackets.
func (p *parser) node(depth int) (*node, error) {
	if depth > deepestWKT {
		return nil, Unsupported("the text has more than %d levels", deepestWKT)
	}
	n := &node{keyword: strings.ToUpper(p.word())}
	if n.keyword == "" {
		return nil, p.fail("a keyword")
	}
	if !p.next("[(") {
		return nil, p.fail("[")
	}
	for {
		if err := p.item(n, depth); err != nil {
			return nil, err
		}
		if p.next("])") {
			return n, nil
		}
		if !p.next(",") {
			return nil, p.fail(", or ]")
		}
	}
}

// item reads a text, a number or word, or a node.
func (p *parser) item(n *node, depth int) error {
	if p.next(`"`) {
		text, err := p.quoted()
		n.values = append(n.values, text)
		return err
	}
	from := p.skip()
	word := p.word()
	if word == "" {
		return p.fail("a value")
	}
	if at := p.skip(); at < len(p.text) && strings.IndexByte("[(", p.text[at]) >= 0 {
		p.at = from
		child, err := p.node(depth + 1)
		n.children = append(n.children, child)
		return err
	}
	n.values = append(n.values, word)
	return nil
}

// quoted reads a text after its first quote. Two quotes are one in the text.
func (p *parser) quoted() (string, error) {
	from := p.at
	for ; p.at < len(p.text); p.at++ {
		if p.text[p.at] != '"' {
			continue
		}
		if p.at++; p.at == len(p.text) || p.text[p.at] != '"' {
			return strings.ReplaceAll(p.text[from:p.at-1], `""`, `"`), nil
		}
	}
	return "", p.fail(`"`)
}

// quote returns a text as well-known text has it.
func quote(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// decimal returns a number without an exponent.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// identifier returns the ID of a method or a parameter of the EPSG dataset, or "" for 0.
func identifier(code int) string {
	if code == 0 {
		return ""
	}
	return fmt.Sprintf(`,ID["EPSG",%d]`, code)
}
