package serve

import (
	"context"
	"encoding/binary"
	"math"
	"path"

	"varve/codec"
	"varve/grid"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// readNumbers reads a region as numbers: packed ones are unpacked, and what is missing is NaN.
func readNumbers(ctx context.Context, a array, r grid.Region) ([]float64, error) {
	v := cf.VariableOf(a.Path(), a.Face())
	packing, err := cf.PackingOf(v)
	if err != nil {
		return nil, err
	}
	elems := codec.NewElems(a.Face().Form(r.Shape))
	if err := a.ReadRegion(ctx, r, elems); err != nil {
		return nil, err
	}
	out := make([]float64, len(elems.Fixed)/v.Type.Size)
	for i := range out {
		out[i] = packing.Unpack(v.Type, elems.Fixed[i*v.Type.Size:][:v.Type.Size])
	}
	return out, nil
}

// coordinate is the array of a dimension's name, if there is one: in the array's own group, or
// in one above.
func (s *site) coordinate(a array, axis int) array {
	name, ok := dimensionName(a.Face(), axis)
	if !ok {
		return nil
	}
	for group := relative(path.Dir(a.Path())); ; group = parentOf(group) {
		c := s.v3.arrays[path.Join(group, name)]
		if c != nil && c.Grid().Rank() == 1 && c.Grid().Shape()[0] == a.Grid().Shape()[axis] && cf.IsDrawable(c.Face().DataType.Type()) {
			return c.array
		}
		if group == "" {
			return nil
		}
	}
}

func dimensionName(face *zarrjson.Array, axis int) (string, bool) {
	if axis < len(face.DimensionNames) && face.DimensionNames[axis].Named {
		return face.DimensionNames[axis].Name, true
	}
	return "", false
}

// momentNames returns what writes the coordinates of an array of times, or nil for others.
func momentNames(c array) func(float64) string {
	units, ok, err := cf.UnitsOf(cf.VariableOf(c.Path(), c.Face()))
	if !ok || err != nil {
		return nil
	}
	return func(f float64) string {
		times := cf.Times{Units: units, Type: codec.Type{Kind: codec.Float, Size: 8}, Elements: binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
		times.Packing.Type = times.Type
		at, good, err := times.Instants()
		if err != nil || len(at) == 0 || !good[0] {
			return "?"
		}
		return at[0].Format(units.Calendar)
	}
}
