package convert

import (
	"fmt"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// retime converts times to the units and calendar of a schema.
type retime struct {
	from cf.Times // without elements
	to   cf.Reference
}

func retimed(v *manifest.Variable, schema *zarrjson.Array) (converter, error) {
	from, err := cf.TimesOf(v, &manifest.Values{})
	if err != nil {
		return nil, err
	}
	declared, err := packingOf(schema)
	if err != nil {
		return nil, err
	}
	if declared.Scaled() || !cf.IsNumber(declared.Type) {
		return nil, fmt.Errorf("times in %s: the schema needs numbers that are not packed", declared.Type)
	}
	var fill []byte
	if len(declared.Masks) > 0 {
		fill = declared.Masks[0]
	}
	to, err := cf.NewReference(text(schema, cf.UnitsName), text(schema, cf.CalendarName), schema.DataType.Type(), fill)
	if err != nil {
		return nil, err
	}
	if !cf.IsConvertible(from.Units.Calendar, to.Units().Calendar) {
		return nil, &cf.CalendarError{A: from.Units.Calendar, B: to.Units().Calendar}
	}
	if to.Same(from) {
		return nil, nil
	}
	return retime{from, to}, nil
}

func (r retime) convert(dst, src codec.Elems) error {
	n, m := r.from.Type.Size, r.to.Type.Size
	for i := range len(src.Fixed) / n {
		if _, err := r.to.Append(dst.Fixed[i*m:i*m:(i+1)*m], r.from, src.Fixed[i*n:][:n]); err != nil {
			return fmt.Errorf("time %d: %w", i, err)
		}
	}
	return nil
}
