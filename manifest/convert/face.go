package convert

import (
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// packingNames are the attributes that a packing is made of.
var packingNames = []string{cf.Unsigned, cf.ScaleFactor, cf.AddOffset, cf.FillValue, cf.MissingValue}

// packingOf reads what the attributes of a face say of its numbers.
func packingOf(face *zarrjson.Array) (cf.Packing, error) {
	if raw, ok := face.Attributes.Get(cf.FillValue); ok && cf.IsNumber(face.DataType.Type()) {
		if _, err := face.DataType.DecodeMask(raw); err != nil {
			return cf.Packing{}, err
		}
	}
	return cf.PackingOf(cf.VariableOf("the face", face, packingNames...))
}

// text is an attribute of a face that is one text, or empty.
func text(face *zarrjson.Array, name string) string {
	raw, _ := face.Attributes.Get(name)
	text, _ := cf.TextOf(raw)
	return text
}
