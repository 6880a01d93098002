package dmrpp

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"varve/readers"
)

// Limits of the content of a document that is kept in memory.
const (
	maxMetadata = 128 << 20 // bytes
	perObject   = 256       // bytes of an object in memory, besides its text
	maxInline   = 64 << 20  // bytes of one variable's inline values
	maxRank     = 1024
)

// parser builds a readers.Dataset from a document.
type parser struct {
	s    *scanner
	data dataset
	out  *readers.Dataset
	root *readers.Group
	dims map[string]*readers.Dimension // by path
	enum map[string]*readers.Type      // by path
	left int                           // remaining part of maxMetadata
}

func newParser(s *scanner, d dataset) *parser {
	root := &readers.Group{Path: "/"}
	return &parser{
		s: s, data: d, root: root, left: maxMetadata,
		out:  &readers.Dataset{Source: s.src, Format: "DMR++", Root: root},
		dims: map[string]*readers.Dimension{},
		enum: map[string]*readers.Type{},
	}
}

// account accounts for an object with n bytes of text.
func (p *parser) account(n int) error {
	if p.left -= n + perObject; p.left < 0 {
		return &readers.Error{Source: p.s.src.Name(), Offset: p.s.offset(), Err: unsupported("document with more than %d MiB of metadata", maxMetadata>>20)}
	}
	return nil
}

// child returns the next start tag inside the open element, or nil at its end. It appends text to
// text, unless that is nil.
func (p *parser) child(text *[]byte) (*token, error) {
	for {
		tok, err := p.s.next()
		if err != nil {
			return nil, err
		}
		switch tok.kind {
		case startTag:
			return tok, nil
		case endTag:
			return nil, nil
		}
		if text != nil {
			if p.left -= len(tok.text); p.left < 0 {
				return nil, p.account(0)
			}
			*text = append(*text, tok.text...)
		}
	}
}

// skip skips the open element.
func (p *parser) skip() error {
	for depth := p.s.depth(); p.s.depth() >= depth; {
		if _, err := p.s.next(); err != nil {
			return err
		}
	}
	return nil
}

// text returns the text of the open element, without the text of its children.
func (p *parser) text() ([]byte, error) {
	var text []byte
	for {
		tok, err := p.child(&text)
		if err != nil || tok == nil {
			return text, err
		}
		if err := p.skip(); err != nil {
			return nil, err
		}
	}
}

func join(group, name string) string { return strings.TrimSuffix(group, "/") + "/" + name }

// group reads the content of a group. above holds its ancestors, outermost first.
func (p *parser) group(g *readers.Group, above []*readers.Group) error {
	// Limit the capacity, so that subgroups do not overwrite each other's ancestors.
	within := append(above[:len(above):len(above)], g)
	for {
		tok, err := p.child(nil)
		if err != nil || tok == nil {
			return err
		}
		switch kind := string(tok.name); {
		case kind == "Dimension":
			err = p.dimension(g, tok)
		case kind == "Enumeration":
			err = p.enumeration(g, tok)
		case kind == "Group":
			err = p.subgroup(within, tok)
		case kind == "Attribute":
			err = p.globalAttribute(g, tok)
		case types[kind] != nil || isTextType(kind) || kind == "Enum":
			err = p.variable(within, kind, tok)
		case kind == "Structure" || kind == "Sequence" || kind == "Opaque":
			at := join(g.Path, string(tok.attr("name")))
			// Problems take memory too, and a document may have millions of them.
			if err = p.account(0); err == nil {
				p.addProblem(at, unsupported("variable of type %s", kind))
				err = p.skip()
			}
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
}

func (p *parser) subgroup(within []*readers.Group, tok *token) error {
	parent := within[len(within)-1]
	name := string(tok.attr("name"))
	if err := p.account(3*len(name) + len(parent.Path)); err != nil {
		return err
	}
	if name == "" {
		return p.s.corrupt("group without a name")
	}
	g := &readers.Group{Name: name, Path: join(parent.Path, name)}
	parent.Groups = append(parent.Groups, g)
	return p.group(g, within)
}

// length decodes a number of the document.
func (p *parser) length(text []byte, what string) (uint64, error) {
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 63)
	if err != nil {
		return 0, p.s.corrupt("%s is %q (want 0 to 2^63-1)", what, text)
	}
	return n, nil
}

func (p *parser) dimension(g *readers.Group, tok *token) error {
	name := string(tok.attr("name"))
	size, err := p.length(tok.attr("size"), "size of a dimension")
	if err != nil {
		return err
	}
	if err := p.account(2*len(name) + len(g.Path)); err != nil {
		return err
	}
	d := &readers.Dimension{Name: name, Path: join(g.Path, name), Length: size}
	g.Dimensions = append(g.Dimensions, d)
	p.dims[d.Path] = d
	return p.skip()
}

// lookup returns the object that a name refers to inside groups. A name with a leading slash is a
// path; any other is searched from the innermost group outwards.
func lookup[T any](table map[string]T, within []*readers.Group, name string) (T, bool) {
	if strings.HasPrefix(name, "/") {
		found, ok := table[name]
		return found, ok
	}
	for i := len(within) - 1; i >= 0; i-- {
		if found, ok := table[join(within[i].Path, name)]; ok {
			return found, true
		}
	}
	var none T
	return none, false
}

// enumeration reads an enumeration.
func (p *parser) enumeration(g *readers.Group, tok *token) error {
	at := join(g.Path, string(tok.attr("name")))
	t := &readers.Type{Class: readers.Enum, Base: types[string(tok.attr("basetype"))]}
	if t.Base == nil || t.Base.Class != readers.Integer {
		return p.s.corrupt("enumeration %s has base type %q", at, tok.attr("basetype"))
	}
	t.Size = t.Base.Size
	for {
		tok, err := p.child(nil)
		if err != nil {
			return err
		}
		if tok == nil {
			break
		}
		if string(tok.name) == "EnumConst" {
			name := string(tok.attr("name"))
			value, err := appendNumber(nil, t.Base, string(tok.attr("value")))
			if err != nil {
				return err
			}
			if err := p.account(len(name)); err != nil {
				return err
			}
			t.Choices = append(t.Choices, readers.Choice{Name: name, Value: value})
		}
		if err := p.skip(); err != nil {
			return err
		}
	}
	p.enum[at] = t
	return p.account(len(at))
}

// product returns the product of lengths, or 2^64-1 if it is out of range.
func product(list []uint64) uint64 {
	n := uint64(1)
	for _, l := range list {
		if l == 0 {
			return 0
		}
	}
	for _, l := range list {
		if n > math.MaxInt64/l {
			return math.MaxUint64
		}
		n *= l
	}
	return n
}
