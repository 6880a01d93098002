package dap

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest/export/netcdf"
	"varve/manifest/internal/cf"
	"varve/manifest/present"
)

// escape2 escapes a name for a DDS or DAS: what is no letter, digit, underscore or hyphen becomes %XX.
func escape2(name string) string {
	var out strings.Builder
	for i := range len(name) {
		if c := name[i]; isPlain(c) || c == '-' {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// isPlain reports whether a character is an ASCII letter, a digit or an underscore.
func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// beginPlainly puts an underscore before a name that begins with another character: netCDF-C opens no dataset that has a name
// which begins with % or a hyphen.
func beginPlainly(name string) string {
	if name == "" || isPlain(name[0]) {
		return name
	}
	return "_" + name
}

// DDS returns the declarations of the variables that a constraint expression selects, or of all for an empty one.
func (d *Dataset) DDS(ctx context.Context, query string) (string, error) {
	if err := d.decide(ctx); err != nil {
		return "", err
	}
	choices, err := d.parse2(query)
	if err != nil {
		return "", err
	}
	return d.dds(choices), nil
}

func (d *Dataset) dds(choices []*choice) string {
	var out strings.Builder
	out.WriteString("Dataset {\n")
	for _, c := range choices {
		switch {
		case c.isParts:
			out.WriteString("    Structure {\n")
			for _, l := range c.leaves() {
				l.declare(&out, "        ")
			}
			fmt.Fprintf(&out, "    } %s;\n", escape2(c.name2))
		case c.maps != nil:
			out.WriteString("    Grid {\n      Array:\n")
			for i, l := range c.leaves() {
				if i == 1 {
					out.WriteString("      Maps:\n")
				}
				l.declare(&out, "        ")
			}
			fmt.Fprintf(&out, "    } %s;\n", escape2(c.name2))
		default:
			for _, l := range c.leaves() {
				l.declare(&out, "    ")
			}
		}
	}
	fmt.Fprintf(&out, "} %s;\n", escape2(d.name))
	return out.String()
}

// declare writes the declaration of an array.
func (l leaf) declare(out *strings.Builder, indent string) {
	fmt.Fprintf(out, "%s%s %s", indent, l.type2, escape2(l.name2))
	for axis, s := range l.slabs {
		fmt.Fprintf(out, "[%s = %d]", escape2(flat(l.dims[axis].path())), s.length())
	}
	out.WriteString(";\n")
}

// defaultLength is the number of bytes after which netCDF-C cuts texts, unless attributes say that there are longer ones.
const defaultLength = 64

// DAS returns the attributes of all variables. Those of groups are in the container NC_GLOBAL.
func (d *Dataset) DAS(ctx context.Context) (string, error) {
	if err := d.decide(ctx); err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("Attributes {\n    NC_GLOBAL {\n")
	for _, a := range d.globals() {
		writeAttribute2(&out, a)
	}
	out.WriteString("    }\n")
	for _, v := range d.variables {
		if v.omitted2 != "" {
			continue
		}
		fmt.Fprintf(&out, "    %s {\n", escape2(v.name2))
		for _, a := range v.attributes {
			if a.Name == cf.Unsigned && v.hasOtherSign() {
				continue
			}
			writeAttribute2(&out, v.attribute2(d.flatNames(v, a)))
		}
		if v.longest > defaultLength {
			fmt.Fprintf(&out, "        Int32 DODS.strlen %d;\n", v.longest)
		}
		out.WriteString("    }\n")
	}
	out.WriteString("}\n")
	return out.String(), nil
}

// globals returns the attributes of all groups, and the one that lists the omitted arrays. Names of attributes begin with the path
// of their group, except in the root group.
func (d *Dataset) globals() (out []netcdf.Attribute) {
	seen := map[string]bool{}
	for _, g := range d.groups {
		prefix := strings.ReplaceAll(strings.TrimPrefix(g.path+"/", "/"), "/", ".")
		for _, a := range g.attributes {
			if a.Name = strings.TrimPrefix(prefix, ".") + a.Name; !seen[a.Name] {
				seen[a.Name] = true
				out = append(out, a)
			}
		}
	}
	return append(out, omissions(slices.Concat(d.omitted, d.omitted2))...)
}

// omittedName is the name of the attribute that lists the arrays which DAP cannot hold.
const omittedName = "varve_omitted"

func omissions(omitted []string) []netcdf.Attribute {
	if len(omitted) == 0 {
		return nil
	}
	return []netcdf.Attribute{netcdf.Text(omittedName, strings.Join(omitted, "; "))}
}

// attribute2 returns an attribute whose stored numbers have the type that the variable has in DAP2.
func (v *variable) attribute2(a netcdf.Attribute) netcdf.Attribute {
	stored, ok := codecTypes[a.Type]
	to := map[type2]netcdf.Type{typeByte: netcdf.UByte, typeInt16: netcdf.Short, typeInt32: netcdf.Int, typeFloat32: netcdf.Float, typeFloat64: netcdf.Double}[v.type2]
	typ, _ := present.NetCDFType(v.array.Schema().DataType.Type())
	if !ok || to == 0 || !present.IsStoredNumber(a.Name) || a.Type != typ {
		return a
	}
	if cf.IsInteger(v.elements) {
		stored = v.elements // the same bits, as _Unsigned declares
	}
	out := netcdf.Attribute{Name: a.Name, Type: to}
	for at := 0; at < len(a.Data); at += stored.Size {
		e, ok := cf.Cast(codecTypes[to], stored, a.Data[at:at+stored.Size])
		if !ok {
			return a
		}
		out.Data = append(out.Data, e...)
	}
	return out
}

// flatNames returns an attribute of a variable in a group with the names that the variables have in DAP2.
func (d *Dataset) flatNames(v *variable, a netcdf.Attribute) netcdf.Attribute {
	if a.Type != netcdf.Char || path.Dir(v.path) == "/" || !slices.Contains(cf.ReferenceAttributes, a.Name) {
		return a
	}
	words := strings.Fields(string(a.Data))
	for i, word := range words {
		if named, ok := d.arrays().Nearest(v.array, word); ok {
			words[i] = d.byPath[path.Join("/", named.Path())].name2
		}
	}
	return netcdf.Text(a.Name, strings.Join(words, " "))
}

// codecTypes are the types of elements of netCDF's types.
var codecTypes = map[netcdf.Type]codec.Type{
	netcdf.Byte: {Kind: codec.Int, Size: 1}, netcdf.Short: {Kind: codec.Int, Size: 2}, netcdf.Int: {Kind: codec.Int, Size: 4}, netcdf.Int64: {Kind: codec.Int, Size: 8},
	netcdf.UByte: {Kind: codec.Uint, Size: 1}, netcdf.UShort: {Kind: codec.Uint, Size: 2}, netcdf.UInt: {Kind: codec.Uint, Size: 4}, netcdf.UInt64: {Kind: codec.Uint, Size: 8},
	netcdf.Float: {Kind: codec.Float, Size: 4}, netcdf.Double: {Kind: codec.Float, Size: 8},
}

// writeAttribute2 writes an attribute of a DAS.
func writeAttribute2(out *strings.Builder, a netcdf.Attribute) {
	indent, name := "        ", strings.ReplaceAll(escape2(beginPlainly(a.Name)), "%2E", ".")
	if a.Type == netcdf.Char {
		fmt.Fprintf(out, "%sString %s \"%s\";\n", indent, name, quotes2.Replace(string(a.Data)))
		return
	}
	values := numbersOf(a)
	if len(values) == 0 {
		return
	}
	t := attributeType2(a)
	if t == typeFloat64 && a.Type == netcdf.UInt64 { // netCDF-C reads an integer as a signed one first
		for i := range values {
			values[i] = strconv.FormatFloat(float64(cf.Word(a.Data[8*i:8*i+8])), 'e', -1, 64)
		}
	}
	fmt.Fprintf(out, "%s%s %s %s;\n", indent, t, name, strings.Join(values, ", "))
}

var quotes2 = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// attributeType2 returns the DAP2 type of an attribute: the smallest that holds its values.
func attributeType2(a netcdf.Attribute) type2 {
	t := smallest2(codecTypes[a.Type])
	if t != typeInt64 {
		return t
	}
	for at := 0; at < len(a.Data); at += 8 {
		if !fitsInt32(codecTypes[a.Type], cf.Word(a.Data[at:at+8])) {
			return typeFloat64
		}
	}
	return typeInt32
}

// numbersOf returns the numbers of an attribute as text.
func numbersOf(a netcdf.Attribute) (out []string) {
	t := codecTypes[a.Type]
	for at := 0; at < len(a.Data); at += t.Size {
		out = append(out, numberText(t, a.Data[at:at+t.Size]))
	}
	return out
}

// numberText returns a number as text, with all its digits. pydap knows "inf" and no other word for infinity.
func numberText(t codec.Type, e []byte) string {
	if t.Kind != codec.Float {
		return string(present.AppendPlain(nil, t, e))
	}
	f := cf.Float(t, e)
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return strconv.FormatFloat(f, 'g', -1, max(8*t.Size, 32))
}
