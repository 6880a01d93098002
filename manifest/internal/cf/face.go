package cf

import (
	"encoding/json"
	"math"

	"varve/codec"
	"varve/manifest"
	"varve/zarrjson"
)

// VariableOf returns the face of an array as CF sees it: a variable with typed attributes.
func VariableOf(path string, face *zarrjson.Array) *manifest.Variable {
	v := &manifest.Variable{Path: path, Shape: face.Shape, Type: face.DataType.Type()}
	for name, value := range face.Attributes.All() {
		if attribute, ok := attributeOf(face, name, value); ok {
			v.Attributes = append(v.Attributes, attribute)
		}
	}
	return v
}

// attributeOf types an attribute of a face: text, or numbers.
func attributeOf(face *zarrjson.Array, name string, value []byte) (manifest.Attribute, bool) {
	if name == FillValue {
		mask, err := face.DataType.DecodeMask(value)
		return manifest.Attribute{Name: name, Type: face.DataType.Type(), Data: mask, Scalar: true}, err == nil
	}
	if text, ok := TextOf(value); ok {
		return manifest.Attribute{Name: name, Type: codec.Type{Kind: codec.String}, Texts: []string{text}, Scalar: true}, true
	}
	numbers, scalar, ok := numbersOf(value)
	if !ok {
		return manifest.Attribute{}, false
	}
	double := codec.Type{Kind: codec.Float, Size: 8}
	a := manifest.Attribute{Name: name, Type: double, Scalar: scalar}
	for _, n := range numbers {
		a.Data = AppendWord(a.Data, math.Float64bits(n), 8)
	}
	return a, true
}

// TextOf reads the JSON of an attribute that is a text.
func TextOf(value []byte) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// numbersOf reads a number, or a list of them.
func numbersOf(value []byte) (numbers []float64, scalar, ok bool) {
	numbers = make([]float64, 1)
	if string(value) != "null" && json.Unmarshal(value, &numbers[0]) == nil {
		return numbers, true, true
	}
	numbers = nil
	return numbers, false, json.Unmarshal(value, &numbers) == nil && numbers != nil
}
