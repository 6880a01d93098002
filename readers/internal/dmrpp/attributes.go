package dmrpp

import (
	"bytes"

	"varve/readers"
)

// globalAttribute reads an attribute of a group. Writers store the root's attributes in the
// container HDF5_GLOBAL or NC_GLOBAL, and their own settings in build_dmrpp_metadata, which is
// skipped.
func (p *parser) globalAttribute(g *readers.Group, tok *token) error {
	name := string(tok.attr("name"))
	if string(tok.attr("type")) != "Container" {
		return p.attribute(&g.Attributes, "", tok)
	}
	switch name {
	case "build_dmrpp_metadata":
		return p.skip()
	case "HDF5_GLOBAL", "NC_GLOBAL":
		return p.container(&g.Attributes, "")
	}
	return p.container(&g.Attributes, name+".")
}

// container reads the attributes in a container and adds a prefix to their names.
func (p *parser) container(list *[]readers.Attribute, prefix string) error {
	for {
		tok, err := p.child(nil)
		if err != nil || tok == nil {
			return err
		}
		if string(tok.name) == "Attribute" {
			err = p.attribute(list, prefix, tok)
		} else {
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
}

// attribute reads one attribute.
func (p *parser) attribute(list *[]readers.Attribute, prefix string, tok *token) error {
	name, kind := prefix+string(tok.attr("name")), string(tok.attr("type"))
	if err := p.account(len(name)); err != nil {
		return err
	}
	if kind == "Container" {
		return p.container(list, name+".")
	}
	values, err := p.attributeValues()
	if err != nil {
		return err
	}
	a := readers.Attribute{Name: name}
	t := types[kind]
	switch {
	case isTextType(kind):
		a.Value = readers.Value{Type: textType, Texts: values}
		if len(values) != 1 {
			a.Shape = []uint64{uint64(len(values))}
		}
	case t == nil:
		// Keep the attribute: its name is still useful.
		a.Type, a.Err = textType, unsupported("attribute of type %q", kind)
	default:
		a.Value = readers.Value{Type: t, Shape: []uint64{uint64(len(values))}}
		for _, v := range values {
			if a.Data, a.Err = appendNumber(a.Data, t, string(v)); a.Err != nil {
				break
			}
		}
	}
	*list = append(*list, a)
	return nil
}

// attributeValues reads the Value elements of an attribute.
func (p *parser) attributeValues() ([][]byte, error) {
	var values [][]byte
	for {
		tok, err := p.child(nil)
		if err != nil || tok == nil {
			return values, err
		}
		if string(tok.name) != "Value" {
			if err := p.skip(); err != nil {
				return nil, err
			}
			continue
		}
		given := bytes.Clone(tok.attr("value"))
		text, err := p.text()
		if err != nil {
			return nil, err
		}
		if given != nil {
			text = given
		}
		if err := p.account(len(given)); err != nil {
			return nil, err
		}
		values = append(values, text)
	}
}
