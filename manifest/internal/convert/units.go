package convert

import (
	"fmt"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// inUnits returns a converter to the units of the schema. It does not convert a variable without units.
func inUnits(v *manifest.Variable, schema *zarrjson.Array) (converter, error) {
	from, _ := cf.Text(v.Attributes, cf.UnitsName)
	to := text(schema, cf.UnitsName)
	if from == "" || cf.UnitKey(from) == cf.UnitKey(to) {
		if same, err := asStored(v, schema); err == nil {
			return same, nil
		}
		return unpacked(v, schema)
	}
	units, ok := cf.LinearUnits(from, to)
	tile, declared, err := packings(v, schema)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%q cannot be converted to %q", from, to)
	case !cf.IsNumber(v.Type) || declared.Scaled() || declared.Type.Kind != codec.Float || !declared.Type.Equal(schema.DataType.Type()):
		return nil, fmt.Errorf("the schema has type %s instead of a float without packing: %w", schema.DataType.Type(), errPacked)
	}
	made := newFloats(tile, declared.Type, changing(tile, declared.Type, nil), cf.NaN(declared.Type))
	made.units, made.missing = &units, made.target
	for _, m := range declared.Masks {
		if !cf.IsNaN(declared.Type, m) {
			made.avoided = append(made.avoided, cf.Float(declared.Type, m))
		}
	}
	if len(declared.Masks) > 0 {
		made.missing = cf.Float(declared.Type, declared.Masks[0])
	}
	return made, nil
}
