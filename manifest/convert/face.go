package convert

import (
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// packingNames are the attributes that a packing is made of.
var packingNames = []string{cf.Unsigned, cf.ScaleFactor, cf.AddOffset, cf.FillValue, cf.MissingValue}

// packingOf reads what the attributes of a face say of its numbers.
func packingOf(face *zarrjson.Array) (cf.Packing, error) {
	v := manifest.Variable{Path: "the face", Type: face.DataType.Type()}
	for name, value := range face.Attributes.Named(packingNames...) {
		if attribute, ok := cf.AttributeOf(face, name, value); ok {
			v.Attributes = append(v.Attributes, attribute)
		} else if _, err := face.DataType.DecodeMask(value); name == cf.FillValue && cf.IsNumber(v.Type) {
			return cf.Packing{}, err
		}
	}
	return cf.PackingOf(&v)
}

// text is an attribute of a face that is one text, or empty.
func text(face *zarrjson.Array, name string) string {
	raw, _ := face.Attributes.Get(name)
	text, _ := cf.TextOf(raw)
	return text
}
