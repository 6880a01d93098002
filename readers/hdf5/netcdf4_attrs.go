package hdf5

import (
	"bytes"
	"errors"

	"varve/readers"
)

// hidden are attributes that netcdf-c keeps to itself.
var hidden = map[string]bool{
	attrClass: true, attrDimensionList: true, attrName: true, "REFERENCE_LIST": true, "_ARRAY_DIMENSIONS": true,
	"_Codecs": true, "_Format": true, "_IsNetcdf4": true, attrProperties: true, attrCoordinates: true,
	attrDimID: true, "_SuperblockVersion": true, attrStrict: true,
	"_nczarr_attr": true, "_nczarr_group": true, "_nczarr_array": true, "_nczarr_superblock": true,
}

// NetCDFAttribute is an attribute as netcdf-c gives it. One of Texts, Number and Kind says
// what it is.
type NetCDFAttribute struct {
	Name   string
	Texts  [][]byte // strings, cut at their first NUL
	Chars  bool     // Texts is one text that was stored as characters, NULs and all
	Number string   // NumPy's type of the numbers in Data
	Data   []byte   // little-endian
	Other  string   // the kind of what is neither: "compound", "other"
	Count  int
}

// errAttributeMeta is netcdf-c's complaint about attributes that netCDF cannot have.
var errAttributeMeta = errors.New("NetCDF: Can't open HDF5 attribute")

// readAttributes reads the attributes of groups and variables. netCDF4-python asks for
// those of variables when it opens a file, so that one bad one keeps it from opening.
func (b *netcdfBuilder) readAttributes(g *NetCDFGroup) {
	g.Attributes, g.AttrErr = b.attributesOf(g.object)
	for _, v := range g.Vars {
		if v.typ == nil {
			continue
		}
		v.Attributes, v.AttrErr = b.attributesOf(v.Object)
		b.refuse(v.AttrErr)
		b.refuse(checkFilters(v.Object.Dataset))
	}
	for _, child := range g.Groups {
		b.readAttributes(child)
	}
}

// checkFilters refuses what netcdf-c refuses: deflate and szip with other than the usual
// client values.
func checkFilters(d *Dataset) error {
	for _, f := range d.Filters {
		switch {
		case f.ID == filterDeflate && (len(f.Values) != 1 || f.Values[0] > 9),
			f.ID == filterSzip && len(f.Values) != 0 && len(f.Values) != 4:
			return unsupported("filter %d with client values %d", f.ID, f.Values)
		}
	}
	return nil
}

func (b *netcdfBuilder) attributesOf(o *Object) ([]NetCDFAttribute, error) {
	var out []NetCDFAttribute
	for i := range o.Attributes {
		a := &o.Attributes[i]
		if a.Type == nil {
			return out, errAttributeMeta
		}
		if hidden[a.Name] {
			continue
		}
		n, err := b.attribute(a)
		if errors.Is(err, errNoNetCDFType) {
			continue
		}
		if err != nil {
			return out, err
		}
		out = append(out, n)
	}
	return out, nil
}

func (b *netcdfBuilder) attribute(a *Attribute) (NetCDFAttribute, error) {
	out := NetCDFAttribute{Name: a.Name}
	typ, err := b.types.member(a.Type)
	if err != nil {
		if !errors.Is(err, errNoNetCDFType) {
			err = errAttributeMeta
		}
		return out, err
	}
	if typ.char || typ.text {
		return b.textAttribute(a, out)
	}
	if len(a.Shape) > 1 {
		return out, errAttributeMeta
	}
	if typ.class == readers.Bitfield {
		// A dataset of the same type has left a type without a class behind, on which
		// netcdf-c crashes here.
		b.crash(unsupported("attribute %q is of type %s", a.Name, a.Type))
		return out, errNoNetCDFType
	}
	out.Count = len(a.data) / a.Type.Size
	switch {
	case typ.class == readers.Compound && typ.label != "":
		out.Other = "compound"
	case typ.number == "":
		out.Other = "unsupported"
	default:
		base := a.Type
		if base.Class == readers.Enum {
			base = base.Base
		}
		out.Number = typ.number
		out.Data = appendNative(nil, base, typ, a.data)
	}
	return out, nil
}

// textAttribute reads strings. A scalar of a fixed size is characters to netcdf-c, all else
// are strings that end at their first NUL.
func (b *netcdfBuilder) textAttribute(a *Attribute, out NetCDFAttribute) (NetCDFAttribute, error) {
	if a.Type.Class == readers.String && len(a.Shape) == 0 {
		out.Chars, out.Count = true, len(a.data)
		out.Texts = [][]byte{a.data}
		return out, nil
	}
	if a.Type.Class == readers.VarLen {
		texts, err := b.tree.file.Texts(b.ctx, a.Type, a.data)
		out.Texts, out.Count = texts, len(texts)
		if err != nil {
			err = errAttributeMeta
		}
		return out, err
	}
	for data := a.data; len(data) >= a.Type.Size; data = data[a.Type.Size:] {
		s := data[:a.Type.Size]
		if n := bytes.IndexByte(s, 0); n >= 0 {
			s = s[:n]
		}
		out.Texts = append(out.Texts, s)
	}
	out.Count = len(out.Texts)
	return out, nil
}
