package convert

import (
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// packingNames are the attributes of a packing.
var packingNames = []string{cf.Unsigned, cf.ScaleFactor, cf.AddOffset, cf.FillValue, cf.MissingValue}

// packingOf returns the packing that a schema's attributes declare.
func packingOf(schema *zarrjson.Array) (cf.Packing, error) {
	v := manifest.Variable{Path: "the schema", Type: schema.DataType.Type()}
	for name, value := range schema.Attributes.Select(packingNames...) {
		if attribute, ok := cf.AttributeOf(schema, name, value); ok {
			v.Attributes = append(v.Attributes, attribute)
		} else if _, err := schema.DataType.DecodeMask(value); name == cf.FillValue && cf.IsNumber(v.Type) {
			return cf.Packing{}, err
		}
	}
	return cf.PackingOf(&v)
}

// text returns an attribute of a schema that is a text, or "".
func text(schema *zarrjson.Array, name string) string {
	raw, _ := schema.Attributes.Get(name)
	text, _ := cf.TextOf(raw)
	return text
}
