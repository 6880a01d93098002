package hdf4

import (
	"encoding/binary"
	"fmt"

	"varve/readers"
	"varve/readers/internal/naming"
)

// Classes of Vgroups and Vdatas in the SD interface (hlimits.h).
const (
	classVariable  = "Var0.0"
	classDimension = "Dim0.0"
	classUnlimited = "UDim0.0"
	classAttribute = "Attr0.0"
	classLength    = "DimVal0.0" // has one row for each index of the dimension
	classLength01  = "DimVal0.1" // has one row with the length
)

// buildModel adds the datasets of the Vgroup of class CDF0.0.
func (b *builder) buildModel(root *vgroup) error {
	attributes, err := b.attributes(root)
	if err != nil {
		return err
	}
	b.out.Root.Attributes = attributes
	var variables []*vgroup
	for _, m := range root.members {
		if m.tag != tagVgroup {
			continue
		}
		g, err := b.vgroup(b.ctx, m.ref)
		if err == nil && g.class == classVariable {
			variables = append(variables, g)
		}
		if err == nil && (g.class == classDimension || g.class == classUnlimited) {
			_, err = b.dimension(g)
		}
		if err := b.reportIfAboutContent(fmt.Sprint("/Vgroup ", m.ref), err); err != nil {
			return err
		}
	}
	// Dimensions come first: a variable refers to them by name.
	for _, g := range variables {
		d, err := b.dataset(g)
		if err == nil {
			err = b.add(d)
		} else {
			err = b.reportIfAboutContent("/"+naming.Clean(g.name), err)
		}
		if err != nil {
			return err
		}
	}
	b.shareRecords()
	return nil
}

// dimension returns the dimension of a Vgroup. Vgroups with the same name are one dimension.
func (b *builder) dimension(g *vgroup) (*readers.Dimension, error) {
	name := naming.Clean(g.name)
	if d := b.dims[name]; d != nil {
		return d, nil
	}
	d := &readers.Dimension{Name: name, Path: "/" + name, Unlimited: g.class == classUnlimited}
	known := d.Unlimited // unlimited dimensions get the length of their longest variable
	for _, m := range g.members {
		if m.tag != tagVdata || known {
			continue
		}
		t, err := b.vdata(b.ctx, m.ref)
		if err != nil {
			return nil, err
		}
		switch t.class {
		// Older files have one row for each index.
		case classLength:
			d.Length, known = uint64(t.rows), true
		case classLength01:
			rows, err := b.values(b.ctx, t)
			if err != nil {
				return nil, err
			}
			if len(rows) < 4 || int32(binary.BigEndian.Uint32(rows)) < 0 {
				return nil, b.fail(-1, readers.Corruptf("dimension %q has no length", g.name))
			}
			d.Length, known = uint64(binary.BigEndian.Uint32(rows)), true
		}
	}
	if !known {
		return nil, b.fail(-1, readers.Corruptf("dimension %q has no length", g.name))
	}
	b.dims[name] = d
	b.out.Root.Dimensions = append(b.out.Root.Dimensions, d)
	return d, nil
}

// dataset reads the Vgroup of a dataset.
func (b *builder) dataset(g *vgroup) (*dataset, error) {
	d := &dataset{name: g.name, ref: g.ref}
	typed := false
	for _, m := range g.members {
		var err error
		switch m.tag {
		case tagVgroup:
			err = b.addDimension(d, m.ref)
		case tagNumberType:
			var raw []byte
			if raw, err = b.element(b.ctx, m.tag, m.ref); err == nil {
				typed = true
				d.code, err = numberType(raw)
			}
		case tagSD:
			if at, ok := b.find(tagSD, m.ref); ok {
				d.values, err = b.readStored(b.ctx, at)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if !typed {
		return nil, b.fail(-1, readers.Corruptf("dataset has no number type"))
	}
	var err error
	d.attributes, err = b.attributes(g)
	return d, err
}

func (b *builder) addDimension(d *dataset, ref uint16) error {
	g, err := b.vgroup(b.ctx, ref)
	if err != nil || g.class != classDimension && g.class != classUnlimited {
		return err
	}
	if len(d.dims) == maxRank {
		return b.fail(-1, unsupported("dataset with more than %d dimensions", maxRank))
	}
	dim, err := b.dimension(g)
	d.dims = append(d.dims, dim)
	return err
}

// attributes reads the attributes of a Vgroup. A damaged attribute is returned with its error.
func (b *builder) attributes(g *vgroup) ([]readers.Attribute, error) {
	var out []readers.Attribute
	for _, m := range g.members {
		if m.tag != tagVdata {
			continue
		}
		if err := b.spend(attributeCost); err != nil {
			return nil, err
		}
		t, err := b.vdata(b.ctx, m.ref)
		// Other tables of a Vgroup are dimension lengths, not attributes.
		if err == nil && t.class != classAttribute {
			continue
		}
		var a readers.Attribute
		if err == nil {
			a, err = b.attribute(t)
		}
		if err != nil && !isAboutContent(err) {
			return nil, err
		}
		if err != nil {
			a = readers.Attribute{Name: fmt.Sprint("attribute", m.ref), Value: readers.Value{Type: character}, Err: err}
		}
		out = append(out, a)
	}
	return out, nil
}

// attribute returns the attribute in a table of one field. A string is one row.
func (b *builder) attribute(t *vdata) (readers.Attribute, error) {
	rows, err := b.values(b.ctx, t)
	if err != nil {
		return readers.Attribute{}, err
	}
	if len(t.fields) != 1 {
		return readers.Attribute{}, b.fail(-1, readers.Corruptf("attribute %q has %d fields", t.name, len(t.fields)))
	}
	return numberAttribute(t.name, t.fields[0].code, rows), nil
}
