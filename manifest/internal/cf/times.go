package cf

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/manifest"
)

// Times are the times of one file, as they are stored.
type Times struct {
	Units    Units
	Packing  Packing    // masks are no time
	Type     codec.Type // of the stored numbers
	Elements []byte     // in memory form
}

// TimesOf joins a variable and its values. The variable must have units of times.
func TimesOf(v *manifest.Variable, values *manifest.Values) (Times, error) {
	u, ok, err := UnitsOf(v)
	if err != nil {
		return Times{}, err
	}
	if !ok {
		return Times{}, fmt.Errorf("%s: no units of time", v.Path)
	}
	p, err := PackingOf(v)
	if err != nil {
		return Times{}, err
	}
	if len(values.Data)%v.Type.Size != 0 {
		return Times{}, fmt.Errorf("%s: %d bytes of values of %d each", v.Path, len(values.Data), v.Type.Size)
	}
	return Times{u, p, v.Type, values.Data}, nil
}

// Len is the number of times.
func (t Times) Len() int { return len(t.Elements) / t.Type.Size }

// Instants returns the moments, as xarray decodes them. Where there is none, ok is false.
func (t Times) Instants() (at []Instant, ok []bool, err error) {
	at, ok = make([]Instant, t.Len()), make([]bool, t.Len())
	for i := range at {
		if at[i], ok[i], err = t.Instant(t.Elements[i*t.Type.Size:][:t.Type.Size]); err != nil {
			return nil, nil, fmt.Errorf("time %d: %w", i, err)
		}
	}
	return at, ok, nil
}

// Instant returns the moment of one stored element, and false if it is none.
func (t Times) Instant(element []byte) (at Instant, ok bool, err error) {
	if t.none(element) {
		return at, false, nil
	}
	switch {
	case t.Packing.Scaled():
		scale, offset := t.Packing.Affine()
		at, ok = t.Units.atFloat(Unpacked(Float(t.Packing.Type, element), scale, offset))
	case t.Type.Kind == codec.Float:
		at, ok = t.Units.atFloat(Float(t.Type, element))
	default:
		w := Extend(t.Packing.Type, element)
		at, ok = t.Units.at(int64(w))
		ok = ok && (t.Packing.Type.Kind != codec.Uint || w <= math.MaxInt64)
	}
	switch {
	case ok:
		return at, true, nil
	case t.unwritten(element):
		return at, false, nil
	}
	return at, false, fmt.Errorf("%v %s is out of range", Float(t.Packing.Type, element), t.Units)
}

// netcdfFill is what netCDF puts where nobody wrote a float (NC_FILL_FLOAT, NC_FILL_DOUBLE).
const netcdfFill = 9.9692099683868690e+36

// unwritten reports whether an element that is out of range stands for no time at all: it is
// infinite, or what netCDF puts where nobody wrote, of which files without a _FillValue are full.
func (t Times) unwritten(element []byte) bool {
	f := Float(t.Type, element)
	return t.Type.Kind == codec.Float && (f == netcdfFill || math.IsInf(f, 0))
}

// none reports whether an element is no time: masked, NaN, or NumPy's NaT.
func (t Times) none(element []byte) bool {
	if t.Type.Kind == codec.Float {
		return IsNaN(t.Type, element) || t.Packing.IsMask(t.Type, element)
	}
	signed := t.Packing.Type.Kind != codec.Uint
	return signed && t.Type.Size == 8 && Word(element) == 1<<63 || t.Packing.IsMask(t.Type, element)
}

// alike reports whether equal elements are equal times.
func (t Times) alike(u Times) bool {
	return t.Units.Same(u.Units) && t.Type.Equal(u.Type) &&
		t.Packing.Type.Equal(u.Packing.Type) && t.Packing.SameScale(u.Packing) &&
		slices.EqualFunc(t.Packing.Masks, u.Packing.Masks, bytes.Equal)
}
