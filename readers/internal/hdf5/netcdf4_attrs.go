package hdf5

import (
	"bytes"
	"errors"

	"varve/readers"
)

// isHidden contains attributes that netcdf-c does not show.
var isHidden = map[string]bool{
	attrClass: true, attrDimensionList: true, attrName: true, "REFERENCE_LIST": true, "_ARRAY_DIMENSIONS": true,
	"_Codecs": true, "_Format": true, "_IsNetcdf4": true, attrProperties: true, attrCoordinates: true,
	attrDimID: true, "_SuperblockVersion": true, attrStrict: true,
	"_nczarr_attr": true, "_nczarr_group": true, "_nczarr_array": true, "_nczarr_superblock": true,
}

// NetCDFAttribute is an attribute as netcdf-c returns it. One of Texts, Number and Other is set.
type NetCDFAttribute struct {
	Name   string
	Texts  [][]byte // strings, cut at the first NUL
	Chars  bool     // Texts is one string that was stored as characters, including NULs
	Number string   // NumPy type of the numbers in Data
	Data   []byte   // little-endian
	Other  string   // kind of any other value: "compound", "unsupported"
	Count  int
}

// errAttributeMeta is netcdf-c's error for attributes whose type netCDF does not have.
var errAttributeMeta = errors.New("NetCDF: Can't open HDF5 attribute")

// readAttributes reads the attributes of groups and variables. netCDF4-python reads a variable's
// attributes when it opens a file, so one bad attribute of a variable prevents opening the file.
func (b *netcdfBuilder) readAttributes(g *NetCDFGroup) {
	g.Attributes, g.AttrErr = b.attributesOf(g.object)
	for _, v := range g.Vars {
		if v.typ == nil {
			continue
		}
		v.Attributes, v.AttrErr = b.attributesOf(v.Object)
		b.recordError(v.AttrErr)
		b.recordError(checkFilters(v.Object.Dataset))
	}
	for _, child := range g.Groups {
		b.readAttributes(child)
	}
}

// checkFilters returns the error of filters that netcdf-c rejects: deflate and szip with an unusual
// number of client data values.
func checkFilters(d *Dataset) error {
	for _, f := range d.Filters {
		switch {
		case f.ID == filterDeflate && (len(f.Values) != 1 || f.Values[0] > 9),
			f.ID == filterSzip && len(f.Values) != 0 && len(f.Values) != 4:
			return unsupported("filter %d with client data values %d", f.ID, f.Values)
		}
	}
	return nil
}

func (b *netcdfBuilder) attributesOf(o *Object) ([]NetCDFAttribute, error) {
	var out []NetCDFAttribute
	for i := range o.Attributes {
		a := &o.Attributes[i]
		// netcdf-c stops at the first attribute that it cannot open.
		if a.Type == nil {
			return out, errAttributeMeta
		}
		if isHidden[a.Name] {
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
	if typ.isChar || typ.isText {
		return b.textAttribute(a, out)
	}
	if len(a.Shape) > 1 {
		return out, errAttributeMeta
	}
	if typ.class == readers.Bitfield {
		// netcdf-c crashes here: a dataset of the same type has left a type without a class.
		b.recordCrash(unsupported("attribute %q has type %s", a.Name, a.Type))
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

// textAttribute reads strings. netcdf-c treats a scalar of a fixed size as characters, and cuts
// every other string at its first NUL.
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
