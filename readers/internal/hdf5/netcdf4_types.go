package hdf5

import (
	"fmt"
	"strings"

	"varve/readers"
)

// netcdfType is a datatype as netcdf-c and netCDF4-python present it.
type netcdfType struct {
	class               readers.Class
	name                string
	key                 string // identifies the type in memory: equal types have equal keys
	label               string // name in netCDF4-python; empty if it skips variables of the type
	number              string // for numbers and enumerations: the NumPy name, little-endian
	size                int    // size of numbers
	isText              bool   // strings, and numbers that netcdf-c treats as strings
	isChar              bool   // single characters
	isListed            bool
	fields              []*netcdfType // for compounds: the members that were understood
	parts               []string      // names of members and choices that netCDF4-python reads
	hasArrayOfCompounds bool          // a member is an array of compounds, which NumPy does not support
}

// netcdfTypes holds the user-defined types that a file has defined or used so far.
type netcdfTypes struct {
	known          []*netcdfType
	names          []string // names of the types, their members and choices, as far as netCDF4-python reads them
	anonymousCount int
}

func (n *netcdfTypes) find(key string) *netcdfType {
	for _, t := range n.known {
		if t.key == key {
			return t
		}
	}
	return nil
}

// errNoNetCDFType marks datatypes without a counterpart in netCDF; netcdf-c skips variables and
// attributes of them.
var errNoNetCDFType = unsupported("netCDF has no such type")

// ofDataset returns the type of a dataset, or nil if netcdf-c skips it.
func (n *netcdfTypes) ofDataset(t *readers.Type) (*netcdfType, error) {
	key, err := nativeKey(t)
	if err != nil {
		return nil, err
	}
	switch t.Class {
	case readers.String, readers.Integer, readers.Float:
		return atomicType(t)
	case readers.VarLen:
		if t.IsText {
			return atomicType(t)
		}
	}
	if found := n.find(key); found != nil {
		return found, n.check(found)
	}
	if t.Class == readers.Reference {
		return nil, nil
	}
	n.anonymousCount++
	suffix := map[readers.Class]string{
		readers.Enum: "Enum", readers.Compound: "Compound", readers.VarLen: "Vlen", readers.Opaque: "Opaque",
	}[t.Class]
	if suffix == "" {
		suffix = "Unknown"
	}
	made, err := n.read(t, fmt.Sprintf("_Anonymous%s%d", suffix, n.anonymousCount), false)
	if err != nil {
		return nil, nil
	}
	return made, n.check(made)
}

// check returns an error for types that NumPy does not support.
func (n *netcdfTypes) check(t *netcdfType) error {
	if t.hasArrayOfCompounds {
		return unsupported("type %s has a member that is an array of compounds", t.name)
	}
	return nil
}

// readNamed reads a named datatype.
func (n *netcdfTypes) readNamed(t *readers.Type, name string) error {
	if _, err := nativeKey(t); err != nil {
		return err
	}
	if t.Class == readers.Reference {
		return unsupported("named datatype %s is a reference, which netCDF does not support", name)
	}
	made, err := n.read(t, name, true)
	if err != nil {
		return fmt.Errorf("named datatype %s: %w", name, err)
	}
	return n.check(made)
}

// read makes a type and adds it to the known ones, even if netCDF does not support it: netcdf-c
// does the same, and finds it for later variables.
func (n *netcdfTypes) read(t *readers.Type, name string, named bool) (*netcdfType, error) {
	key, err := nativeKey(t)
	if err != nil {
		return nil, err
	}
	made := &netcdfType{class: t.Class, name: name, key: key}
	n.known = append(n.known, made)
	switch t.Class {
	case readers.Compound:
		err = n.readCompound(made, t)
	case readers.String:
	case readers.VarLen:
		if t.IsText {
			break
		}
		var base *netcdfType
		if base, err = n.member(t.Base); err == nil && (base.number != "" || base.isChar) && base.class != readers.Enum {
			made.label = "VLType:" + name
		}
	case readers.Enum:
		// netcdf-c does not recognize big-endian enumerations that have a name.
		if named && t.Base.Order == readers.BigEndian && t.Base.Size > 1 {
			return nil, errNoNetCDFType
		}
		var base *netcdfType
		if base, err = n.member(t.Base); err == nil {
			made.number, made.size, made.label = base.number, base.size, "EnumType:"+name
			for _, c := range t.Choices {
				made.parts = append(made.parts, c.Name)
			}
		}
	case readers.Opaque:
	default:
		err = errNoNetCDFType
	}
	made.isListed = made.label != ""
	if err == nil && (made.isListed || t.Class == readers.Compound) {
		n.names = append(n.names, name)
		n.names = append(n.names, made.parts...)
	}
	return made, err
}

func (n *netcdfTypes) readCompound(made *netcdfType, t *readers.Type) error {
	made.label = "CompoundType:" + made.name
	for _, m := range t.Members {
		base := m.Type
		if base.Class == readers.Array {
			base = base.Base
		}
		f, err := n.member(base)
		if err != nil {
			return err
		}
		made.fields = append(made.fields, f)
		if made.label != "" {
			made.parts = append(made.parts, m.Name)
		}
		switch {
		case f.class == readers.Compound:
			made.hasArrayOfCompounds = made.hasArrayOfCompounds || f.hasArrayOfCompounds || m.Type.Class == readers.Array
			if f.label == "" {
				made.label = ""
			}
		case f.number == "" && !f.isChar || f.class == readers.Enum:
			made.label = ""
		}
	}
	return nil
}

// member returns the type of a member or an attribute, which must be atomic or known.
func (n *netcdfTypes) member(t *readers.Type) (*netcdfType, error) {
	key, err := nativeKey(t)
	if err != nil {
		return nil, err
	}
	switch {
	case t.Class == readers.String:
		return &netcdfType{class: t.Class, isChar: true}, nil
	case t.Class == readers.VarLen && t.IsText:
		return &netcdfType{class: t.Class, isText: true}, nil
	case t.Class == readers.Integer || t.Class == readers.Float:
		if a, err := atomicType(t); err == nil && a.number != "" {
			return a, nil
		}
		return nil, errNoNetCDFType
	}
	if found := n.find(key); found != nil {
		return found, nil
	}
	return nil, errNoNetCDFType
}

// atomicType returns the type of a dataset of numbers or strings.
func atomicType(t *readers.Type) (*netcdfType, error) {
	if t.Class == readers.String && t.Size == 1 {
		return &netcdfType{class: t.Class, isChar: true, label: "|S1", size: 1, isListed: true}, nil
	}
	text := &netcdfType{class: t.Class, isText: true, label: "VLType:None", isListed: true}
	if IsText(t) {
		return text, nil
	}
	if t.Order == readers.VAX {
		return nil, unsupported("numbers in VAX order")
	}
	key, err := nativeKey(t)
	if err != nil {
		return nil, err
	}
	// netcdf-c has no float16 and no long double, and takes them for strings.
	if key == "f2" || key == "f16" {
		text.key = key
		return text, nil
	}
	size := int(key[len(key)-1] - '0')
	mark := t.Order.Mark()
	if size == 1 {
		mark = "|"
	}
	number := "<" + key
	if size == 1 {
		number = "|" + key
	}
	return &netcdfType{class: t.Class, key: key, label: mark + key, number: number, size: size, isListed: true}, nil
}

// nativeKey returns a key of a type as libhdf5 represents it in memory on a 64-bit little-endian
// machine.
func nativeKey(t *readers.Type) (string, error) {
	switch t.Class {
	case readers.Integer:
		kind := "u"
		if t.Signed {
			kind = "i"
		}
		return kind + nativeSize(t.Precision), nil
	case readers.Float:
		return nativeFloat(t), nil
	case readers.Bitfield:
		return "b" + nativeSize(t.Precision), nil
	case readers.Time:
		return "", unsupported("libhdf5 has no time type in memory")
	case readers.Compound:
		return compoundKey(t)
	case readers.Enum:
		base, err := nativeKey(t.Base)
		named := *t
		return "enum<" + base + ">" + named.String(), err
	case readers.VarLen:
		if t.IsText {
			return t.String(), nil
		}
		base, err := nativeKey(t.Base)
		return "vlen<" + base + ">", err
	case readers.Array:
		base, err := nativeKey(t.Base)
		return fmt.Sprint("array", t.Dims, base), err
	case readers.Complex:
		base, err := nativeKey(t.Base)
		return "complex<" + base + ">", err
	}
	return t.String(), nil
}

func nativeSize(bits int) string {
	switch {
	case bits <= 8:
		return "1"
	case bits <= 16:
		return "2"
	case bits <= 32:
		return "4"
	}
	return "8"
}

func nativeFloat(t *readers.Type) string {
	switch {
	case t.Size == 2 && t.IsIEEE():
		return "f2"
	case t.Size <= 4:
		return "f4"
	case t.Size <= 8:
		return "f8"
	}
	return "f16"
}

func compoundKey(t *readers.Type) (string, error) {
	var b strings.Builder
	b.WriteString("compound{")
	for _, m := range t.SortedMembers() {
		key, err := nativeKey(m.Type)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%q:%s,", m.Name, key)
	}
	b.WriteByte('}')
	return b.String(), nil
}
