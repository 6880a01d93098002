package serve

import (
	"context"
	"encoding/binary"
	"math"

	"varve/codec"
	"varve/grid"
	"varve/manifest/internal/cf"
)

// readNumbers reads a region as float64. Packed numbers are unpacked; missing values become NaN.
func (s *site) readNumbers(ctx context.Context, a array, r grid.Region) ([]float64, error) {
	if err := s.spec(a).CheckDecoding(); err != nil {
		return nil, err
	}
	v := cf.VariableOf(a.Path(), a.Schema())
	packing, err := cf.PackingOf(v)
	if err != nil {
		return nil, err
	}
	elems := codec.NewElems(a.Schema().Form(r.Shape))
	if err := a.ReadRegion(ctx, r, elems); err != nil {
		return nil, err
	}
	out := make([]float64, len(elems.Fixed)/v.Type.Size)
	for i := range out {
		out[i] = packing.Unpack(v.Type, elems.Fixed[i*v.Type.Size:][:v.Type.Size])
	}
	return out, nil
}

// coordinate returns the drawable coordinate of a dimension, or nil.
func (s *site) coordinate(a array, dim string) array {
	arrays := cf.Hierarchy[array](func(path string) (array, bool) {
		c := s.v3.arrays[relative(path)]
		if c == nil {
			return nil, false
		}
		return c.array, true
	})
	if c, ok := arrays.Coordinate(a, dim); ok && cf.IsDrawable(c.Schema().DataType.Type()) {
		return c
	}
	return nil
}

// momentNames returns a function that formats elements of a time coordinate, or nil for other arrays.
func momentNames(c array) func(float64) string {
	units, ok, err := cf.UnitsOf(cf.VariableOf(c.Path(), c.Schema()))
	if !ok || err != nil {
		return nil
	}
	return func(f float64) string {
		// cf.Times decodes stored bytes, so the number is passed as the bytes of a float64.
		times := cf.Times{Units: units, Type: codec.Type{Kind: codec.Float, Size: 8}, Elements: binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
		times.Packing.Type = times.Type
		at, good, err := times.Instants()
		if err != nil || len(at) == 0 || !good[0] {
			return "?"
		}
		return at[0].Format(units.Calendar)
	}
}
