package present

import (
	"encoding/json"
	"math"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/store"
	"varve/zarrjson"
)

// asVariable is an array's face as CF sees it: a variable with attributes.
func asVariable(a *store.Array) *manifest.Variable {
	face := a.Face()
	v := &manifest.Variable{Path: a.Path(), Shape: face.Shape, Type: face.DataType.Type()}
	for name, value := range face.Attributes.All() {
		if attribute, ok := attributeOf(face, name, value); ok {
			v.Attributes = append(v.Attributes, attribute)
		}
	}
	return v
}

// attributeOf types an attribute of a face: text, or numbers.
func attributeOf(face *zarrjson.Array, name string, value []byte) (manifest.Attribute, bool) {
	if name == cf.FillValue {
		mask, err := face.DataType.DecodeMask(value)
		return manifest.Attribute{Name: name, Type: face.DataType.Type(), Data: mask, Scalar: true}, err == nil
	}
	if text, ok := textOf(value); ok {
		return manifest.Attribute{Name: name, Type: codec.Type{Kind: codec.String}, Texts: []string{text}, Scalar: true}, true
	}
	numbers, scalar, ok := numbersOf(value)
	if !ok {
		return manifest.Attribute{}, false
	}
	double := codec.Type{Kind: codec.Float, Size: 8}
	a := manifest.Attribute{Name: name, Type: double, Scalar: scalar}
	for _, n := range numbers {
		a.Data = cf.AppendWord(a.Data, math.Float64bits(n), 8)
	}
	return a, true
}

func textOf(value []byte) (text string, ok bool) {
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
