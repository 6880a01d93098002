package zarrtree

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"varve/readers"
	"varve/zarrjson"
)

// jsonText is the type of attributes that readers.Value cannot represent: their JSON text.
var jsonText = &readers.Type{Class: readers.VarLen, IsText: true, UTF8: true, Tag: "json"}

// The types of numbers in attributes. All attributes share them.
var (
	signedType   = readers.Int(8, readers.LittleEndian, true)
	unsignedType = readers.Int(8, readers.LittleEndian, false)
	floatType    = readers.IEEEFloat(8, readers.LittleEndian)
	narrowType   = readers.IEEEFloat(4, readers.LittleEndian)
)

// attributes returns a node's attributes with types: strings, booleans and numbers (integers if all
// are written as integers), and lists of one of these. Null, objects, empty lists and lists of
// lists are kept as JSON.
func attributes(list zarrjson.Attributes) []readers.Attribute {
	out := make([]readers.Attribute, 0, list.Len())
	for name, raw := range list.All() {
		a := readers.Attribute{Name: name}
		if isTooLong(raw) {
			a.Err = fmt.Errorf("has more than %d elements: %w", maxListed, errors.ErrUnsupported)
		} else {
			a.Value = valueOf(raw)
		}
		out = append(out, a)
	}
	return out
}

// typedAttributes returns the node's attributes with types.
func (d *document) typedAttributes() []readers.Attribute {
	return narrow(attributes(d.attributes), d.extra)
}

// narrow gives numbers the type float32 that the field "attribute_types" of a zarr.json names. JSON has only
// numbers of double precision, but clients decode packed values in the type of scale_factor.
func narrow(list []readers.Attribute, extra []zarrjson.ExtraField) []readers.Attribute {
	types := map[string]any{}
	for _, field := range extra {
		if field.Name == "attribute_types" {
			_ = json.Unmarshal(field.JSON, &types) // a field of another program may have another form
		}
	}
	for i := range list {
		v := &list[i].Value
		if types[list[i].Name] != "float32" || v.Type != floatType {
			continue
		}
		data := make([]byte, 0, len(v.Data)/2)
		for at := 0; at < len(v.Data); at += 8 {
			n := math.Float64frombits(binary.LittleEndian.Uint64(v.Data[at:]))
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(n)))
		}
		v.Type, v.Data = narrowType, data
	}
	return list
}

func valueOf(raw []byte) readers.Value {
	if raw[0] != '[' {
		if v := scalars([][]byte{raw}); v.Type != nil {
			return v
		}
	} else if items, ok := splitList(raw); ok && len(items) > 0 {
		if v := scalars(items); v.Type != nil {
			v.Shape = []uint64{uint64(len(items))}
			return v
		}
	}
	return readers.Value{Type: jsonText, Texts: [][]byte{raw}}
}

// splitList splits a list of scalars into its items.
func splitList(raw []byte) (items [][]byte, ok bool) {
	raw = raw[1 : len(raw)-1]
	items = make([][]byte, 0, bytes.Count(raw, []byte{','})+1)
	start, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		// An escaped quote does not end the string.
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			return nil, false
		case c == ',':
			items = append(items, bytes.TrimSpace(raw[start:i]))
			start = i + 1
		}
	}
	if last := bytes.TrimSpace(raw[start:]); len(last) > 0 {
		items = append(items, last)
	}
	return items, true
}

// scalars returns values that are all strings, all booleans, or all numbers. Otherwise Type is nil.
func scalars(items [][]byte) readers.Value {
	for _, of := range []func([][]byte) (readers.Value, bool){textValues, booleanValues, signedValues, unsignedValues, floatValues} {
		if v, ok := of(items); ok {
			return v
		}
	}
	return readers.Value{}
}

func textValues(items [][]byte) (readers.Value, bool) {
	v := readers.Value{Type: text}
	for _, item := range items {
		var s string
		if item[0] != '"' || json.Unmarshal(item, &s) != nil {
			return v, false
		}
		v.Texts = append(v.Texts, []byte(s))
	}
	return v, true
}

func booleanValues(items [][]byte) (readers.Value, bool) {
	v := readers.Value{Type: boolean}
	for _, item := range items {
		switch string(item) {
		case "true":
			v.Data = append(v.Data, 1)
		case "false":
			v.Data = append(v.Data, 0)
		default:
			return v, false
		}
	}
	return v, true
}

func signedValues(items [][]byte) (readers.Value, bool) {
	v := readers.Value{Type: signedType}
	for _, item := range items {
		n, err := strconv.ParseInt(string(item), 10, 64)
		if err != nil {
			return v, false
		}
		v.Data = binary.LittleEndian.AppendUint64(v.Data, uint64(n))
	}
	return v, true
}

func unsignedValues(items [][]byte) (readers.Value, bool) {
	v := readers.Value{Type: unsignedType}
	for _, item := range items {
		n, err := strconv.ParseUint(string(item), 10, 64)
		if err != nil {
			return v, false
		}
		v.Data = binary.LittleEndian.AppendUint64(v.Data, n)
	}
	return v, true
}

// floatValues returns the values of numbers. It also accepts NaN and Infinity, as Python writes them. It rejects integers that do not
// fit in 64 bits, which keep their JSON text.
func floatValues(items [][]byte) (readers.Value, bool) {
	v := readers.Value{Type: floatType}
	for _, item := range items {
		f, err := strconv.ParseFloat(string(item), 64)
		if err != nil || len(item) > 19 && !bytes.ContainsAny(item, ".eEnN") {
			return v, false
		}
		bits := math.Float64bits(f)
		if math.IsNaN(f) {
			bits = 0x7ff8000000000000 // as other programs write NaN; Go's has another bit
		}
		v.Data = binary.LittleEndian.AppendUint64(v.Data, bits)
	}
	return v, true
}
