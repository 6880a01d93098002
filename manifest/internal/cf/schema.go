package cf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"varve/codec"
	"varve/manifest"
	"varve/zarrjson"
)

// VariableOf returns the schema of an array as a variable with typed attributes.
func VariableOf(path string, schema *zarrjson.Array) *manifest.Variable {
	v := &manifest.Variable{Path: path, Shape: schema.Shape, Type: schema.DataType.Type()}
	for name, value := range schema.Attributes.All() {
		if attribute, ok := AttributeOf(schema, name, value); ok {
			v.Attributes = append(v.Attributes, attribute)
		}
	}
	return v
}

// VariableOfArray is VariableOf for an array of a manifest, which knows the types of attributes that JSON does not show.
func VariableOfArray(a *manifest.Array) *manifest.Variable {
	v := VariableOf(a.Path, a.Schema)
	for i := range v.Attributes {
		if at := &v.Attributes[i]; a.AttributeTypes[at.Name] == "float32" && at.Type.Kind == codec.Float {
			single := codec.Type{Kind: codec.Float, Size: 4}
			var data []byte
			for element := range slices.Chunk(at.Data, at.Type.Size) {
				cast, _ := Cast(single, at.Type, element)
				data = append(data, cast...)
			}
			at.Type, at.Data = single, data
		}
	}
	return v
}

// AttributeOf parses an attribute of a schema that is a text or numbers.
func AttributeOf(schema *zarrjson.Array, name string, value []byte) (manifest.Attribute, bool) {
	if name == FillValue {
		mask, err := schema.DataType.DecodeMask(value)
		return manifest.Attribute{Name: name, Type: schema.DataType.Type(), Data: mask, Scalar: true}, err == nil
	}
	if text, ok := TextOf(value); ok {
		return manifest.Attribute{Name: name, Type: codec.Type{Kind: codec.String}, Texts: []string{text}, Scalar: true}, true
	}
	literals, scalar, ok := numbersOf(value)
	if !ok {
		return manifest.Attribute{}, false
	}
	a := manifest.Attribute{Name: name, Scalar: scalar}
	// Stored integers are compared with a mask, so no digit of it may be lost.
	if name == MissingValue && setIntegers(&a, literals) {
		return a, true
	}
	a.Type, a.Data = codec.Type{Kind: codec.Float, Size: 8}, nil
	for _, literal := range literals {
		f, _ := literal.Float64() // numbersOf has checked it
		a.Data = AppendWord(a.Data, math.Float64bits(f), 8)
	}
	return a, true
}

// setIntegers sets the attribute to integers: as int64 if all fit, else as uint64. It reports false if
// they fit neither.
func setIntegers(a *manifest.Attribute, literals []json.Number) bool {
	for _, kind := range []codec.Kind{codec.Int, codec.Uint} {
		a.Type, a.Data = codec.Type{Kind: kind, Size: 8}, nil
		for _, literal := range literals {
			word, err := uint64(0), error(nil)
			if kind == codec.Uint {
				word, err = strconv.ParseUint(literal.String(), 10, 64)
			} else {
				var n int64
				n, err = literal.Int64()
				word = uint64(n)
			}
			if err != nil {
				break
			}
			a.Data = AppendWord(a.Data, word, 8)
		}
		if len(a.Data) == 8*len(literals) {
			return true
		}
	}
	return false
}

// TextOf parses the JSON of an attribute that is a text.
func TextOf(value []byte) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// TextIn returns an attribute that is a text, or "".
func TextIn(attributes zarrjson.Attributes, name string) string {
	value, _ := attributes.Get(name)
	text, _ := TextOf(value)
	return text
}

// Label returns the long name of an array, or else its name, followed by its units. For times that are
// shown as dates, it leaves out the units.
func Label(attributes zarrjson.Attributes, name string, asDates bool) string {
	label := cmp.Or(TextIn(attributes, "long_name"), name)
	if units := TextIn(attributes, UnitsName); units != "" && !asDates {
		label += " [" + units + "]"
	}
	return label
}

// numbersOf parses a number, or a list of numbers.
func numbersOf(value []byte) (numbers []json.Number, scalar, ok bool) {
	var items []json.RawMessage
	if scalar = !bytes.HasPrefix(value, []byte("[")); scalar {
		items = append(items, value)
	} else if json.Unmarshal(value, &items) != nil {
		return nil, false, false
	}
	for _, item := range items {
		number := json.Number(item)
		if _, err := number.Float64(); err != nil {
			return nil, false, false
		}
		numbers = append(numbers, number)
	}
	return numbers, scalar, true
}
