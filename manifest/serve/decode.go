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

// text returns an attribute that is a text, or nothing.
func text(face *zarrjson.Array, name string) string {
	raw, _ := face.Attributes.Get(name)
	s, _ := cf.TextOf(raw)
	return s
}

// numbers decodes elements: packed numbers are unpacked, and what is missing is NaN.
func numbers(a array, elems []byte) ([]float64, error) {
	v := cf.VariableOf(a.Path(), a.Face())
	packing, err := cf.PackingOf(v)
	if err != nil {
		return nil, err
	}
	scale, offset := packing.Affine()
	out := make([]float64, len(elems)/v.Type.Size)
	for i := range out {
		e := elems[i*v.Type.Size:][:v.Type.Size]
		if packing.IsMask(v.Type, e) {
			out[i] = math.NaN()
			continue
		}
		out[i] = cf.Float(packing.Type, e)*scale + offset
	}
	return out, nil
}

// plain makes numbers of types that are not packed: truth, times of NumPy.
func plain(t codec.Type, elems []byte) []float64 {
	out := make([]float64, len(elems)/t.Size)
	for i := range out {
		e := elems[i*t.Size:][:t.Size]
		if t.Kind == codec.Bool {
			out[i] = float64(e[0])
			continue
		}
		ticks := int64(binary.LittleEndian.Uint64(e))
		out[i] = float64(ticks)
		if ticks == math.MinInt64 { // NaT
			out[i] = math.NaN()
		}
	}
	return out
}

// readNumbers reads a region as numbers.
func readNumbers(ctx context.Context, a array, r grid.Region) ([]float64, error) {
	form := a.Face().Form(r.Shape)
	elems := codec.NewElems(form)
	if err := a.ReadRegion(ctx, r, elems); err != nil {
		return nil, err
	}
	if cf.IsNumber(form.Type) {
		return numbers(a, elems.Fixed)
	}
	return plain(form.Type, elems.Fixed), nil
}

// drawable reports whether elements can be drawn as numbers.
func drawable(t codec.Type) bool {
	switch t.Kind {
	case codec.Bool, codec.DateTime, codec.TimeDelta:
		return true
	}
	return cf.IsNumber(t)
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
		if c != nil && c.Grid().Rank() == 1 && c.Grid().Shape()[0] == a.Grid().Shape()[axis] && drawable(c.Face().DataType.Type()) {
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
