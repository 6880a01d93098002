package present

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest/export/netcdf"
	"varve/manifest/internal/cf"
	"varve/manifest/store"
	"varve/zarrjson"
)

// attributes returns the attributes of a variable. Values without a netCDF type are written as CF recommends.
func (n *netcdfFile) attributes(m *member) (out []netcdf.Attribute) {
	for _, a := range NetCDFAttributes(m.Array) {
		if a.Name != "coordinates" {
			out = append(out, a)
		}
	}
	if names := n.coordinates(m); names != "" {
		out = append(out, netcdf.Text("coordinates", names))
	}
	return out
}

// NetCDFType returns netCDF's type for elements, Char for texts. It is false if netCDF's classic model has none.
func NetCDFType(t codec.Type) (netcdf.Type, bool) {
	numbers := map[codec.Kind]map[int]netcdf.Type{
		codec.Bool:      {1: netcdf.Byte},
		codec.Int:       {1: netcdf.Byte, 2: netcdf.Short, 4: netcdf.Int, 8: netcdf.Int64},
		codec.Uint:      {1: netcdf.UByte, 2: netcdf.UShort, 4: netcdf.UInt, 8: netcdf.UInt64},
		codec.Float:     {4: netcdf.Float, 8: netcdf.Double},
		codec.DateTime:  {8: netcdf.Int64},
		codec.TimeDelta: {8: netcdf.Int64},
	}
	isTime := t.Kind == codec.DateTime || t.Kind == codec.TimeDelta
	if typ, ok := numbers[t.Kind][t.Size]; ok && (!isTime || tickName(t) != "") {
		return typ, true
	}
	switch t.Kind {
	case codec.String, codec.FixedUTF32, codec.FixedBytes:
		return netcdf.Char, true
	}
	return 0, false
}

// IsStoredNumber reports whether CF gives an attribute the type of its variable, because the attribute has numbers as they
// are stored (CF 2.5.1, 3.5, 8.1).
func IsStoredNumber(name string) bool {
	switch name {
	case cf.FillValue, cf.MissingValue, "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks":
		return true
	}
	return false
}

// NetCDFAttributes returns the attributes of an array with the types that netCDF has for them. It adds those that describe
// the type of the array where netCDF's type does not.
func NetCDFAttributes(a *store.Array) (out []netcdf.Attribute) {
	for name, value := range a.Schema().Attributes.All() {
		if attribute, ok := attributeOf(a, name, value); ok {
			out = append(out, attribute)
		}
	}
	return append(out, added(a.Schema())...)
}

// attributeOf returns a netCDF attribute, and false if it must be left out.
func attributeOf(a *store.Array, name string, value []byte) (netcdf.Attribute, bool) {
	t := a.Schema().DataType.Type()
	stored := t
	if t.Kind == codec.Float && t.Size == 2 {
		stored.Size = 4 // the smallest type of netCDF that has all values
	}
	typ, isKnown := NetCDFType(stored)
	switch {
	case name == cf.FillValue:
		mask, err := a.Schema().DataType.DecodeMask(value)
		if typ == netcdf.Char || err != nil || !isKnown {
			return netcdf.Attribute{}, false // netCDF's char type has no fill value for strings
		}
		if stored.Size != t.Size {
			mask, _ = cf.Cast(stored, t, mask) // a larger float has every value
		}
		return netcdf.Attribute{Name: name, Type: typ, Data: mask}, true
	case IsStoredNumber(name) && isKnown:
		if data, ok := cast(stored, value); ok {
			return netcdf.Attribute{Name: name, Type: typ, Data: data}, true
		}
	}
	return NetCDFAttribute(name, value, a.Spec().AttributeTypes[name]), true
}

// cast parses JSON numbers as elements of a type. For floats they may be the texts that JSON has for NaN and infinities.
func cast(t codec.Type, value []byte) (data []byte, ok bool) {
	numbers, _, ok := literals(value)
	if !ok || !cf.IsNumber(t) {
		return nil, false
	}
	for _, n := range numbers {
		from := codec.Type{Kind: codec.Int, Size: 8}
		word := uint64(0)
		if i, err := strconv.ParseInt(n, 10, 64); err == nil {
			word = uint64(i)
		} else if u, err := strconv.ParseUint(n, 10, 64); err == nil {
			from.Kind, word = codec.Uint, u
		} else if f, err := strconv.ParseFloat(n, 64); err == nil {
			from.Kind, word = codec.Float, math.Float64bits(f)
		} else {
			return nil, false
		}
		e, ok := cf.Cast(t, from, binary.LittleEndian.AppendUint64(nil, word))
		if !ok {
			return nil, false
		}
		data = append(data, e...)
	}
	return data, true
}

// literals returns the JSON numbers of an attribute that is one number or a list of numbers, among which there may be the texts
// "NaN", "Infinity" and "-Infinity". areTexts means that it has no others.
func literals(value []byte) (numbers []string, areTexts, ok bool) {
	areTexts = true
	text := strings.TrimSpace(string(value))
	inner, isList := strings.CutPrefix(text, "[")
	if isList {
		inner = strings.TrimSuffix(inner, "]")
	}
	for part := range strings.SplitSeq(inner, ",") {
		switch part = strings.TrimSpace(part); part {
		case `"NaN"`, `"Infinity"`, `"-Infinity"`:
			part = strings.Trim(part, `"`)
		default:
			if _, err := strconv.ParseFloat(part, 64); err != nil {
				return nil, false, false
			}
			areTexts = false
		}
		numbers = append(numbers, part)
	}
	return numbers, areTexts, true
}

// NetCDFAttribute returns an attribute from its JSON. It chooses the type by the value: text, integers or other numbers. If kind is
// "float32" or "float64", as in manifest.Array.AttributeTypes, numbers have that type, and so have the texts of NaN and infinities. It writes other values as JSON text, because netCDF has
// no type for them.
func NetCDFAttribute(name string, value []byte, kind string) netcdf.Attribute {
	floats := map[string]netcdf.Type{"float32": netcdf.Float, "float64": netcdf.Double}
	if typ, ok := floats[kind]; ok {
		if data, ok := cast(codec.Type{Kind: codec.Float, Size: int(typ.Size())}, value); ok {
			return netcdf.Attribute{Name: name, Type: typ, Data: data}
		}
	}
	if text, ok := cf.TextOf(value); ok {
		return netcdf.Text(name, text)
	}
	_, areTexts, _ := literals(value) // then they are no numbers for sure
	for _, t := range []struct {
		codec.Type
		as netcdf.Type
	}{
		{codec.Type{Kind: codec.Int, Size: 4}, netcdf.Int},
		{codec.Type{Kind: codec.Int, Size: 8}, netcdf.Int64},
		{codec.Type{Kind: codec.Uint, Size: 8}, netcdf.UInt64},
		{codec.Type{Kind: codec.Float, Size: 8}, netcdf.Double},
	} {
		isFloat := t.Kind == codec.Float
		if data, ok := cast(t.Type, value); ok && !areTexts && (isFloat || !bytes.ContainsAny(value, ".eENI")) {
			return netcdf.Attribute{Name: name, Type: t.as, Data: data}
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return netcdf.Text(name, string(value))
	}
	return netcdf.Text(name, compact.String())
}

// coordinates returns the names of the variable's coordinates in the file. Axes with one selected index become
// scalar coordinates (CF 5, 5.7).
func (n *netcdfFile) coordinates(m *member) string {
	var names []string
	add := func(name string) {
		if n.has(name) && !slices.Contains(names, name) && name != baseName(m.Array) {
			names = append(names, name)
		}
	}
	for _, name := range strings.Fields(cf.TextIn(m.Array.Schema().Attributes, "coordinates")) {
		add(name)
	}
	for _, x := range m.Axes {
		if x.Single && n.isMain(m.Array) {
			add(x.Dim)
		}
	}
	return strings.Join(names, " ")
}

// added returns attributes that describe the schema's type.
func added(schema *zarrjson.Array) (out []netcdf.Attribute) {
	add := func(a netcdf.Attribute) {
		if _, ok := schema.Attributes.Get(a.Name); !ok {
			out = append(out, a)
		}
	}
	t := schema.DataType.Type()
	switch t.Kind {
	case codec.String, codec.FixedUTF32:
		add(netcdf.Text("_Encoding", "utf-8"))
	case codec.Bool:
		add(netcdf.Text("dtype", "bool")) // as xarray expects
	case codec.DateTime:
		add(netcdf.Text(cf.UnitsName, tickName(t)+" since 1970-01-01"))
		add(netcdf.Text(cf.CalendarName, cf.Proleptic.String()))
	case codec.TimeDelta:
		add(netcdf.Text(cf.UnitsName, tickName(t)))
	}
	return out
}

// tickName returns the CF unit of a NumPy time unit, if there is one.
func tickName(t codec.Type) string {
	if t.Ticks > 1 {
		return ""
	}
	return map[string]string{"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "D": "days"}[t.Unit]
}
