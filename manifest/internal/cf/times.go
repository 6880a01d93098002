package cf

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/manifest"
)

// Times are the times of one file, in stored form.
type Times struct {
	Units    Units
	Packing  Packing    // elements in Masks are not times
	Type     codec.Type // of the stored numbers
	Elements []byte     // in memory form
}

// TimesOf returns the times of a variable, which must have units of time, and its values.
func TimesOf(v *manifest.Variable, values *manifest.Values) (Times, error) {
	u, ok, err := UnitsOf(v)
	if err != nil {
		return Times{}, err
	}
	if !ok {
		return Times{}, fmt.Errorf("%s: the variable has no units of time", v.Path)
	}
	p, err := PackingOf(v)
	if err != nil {
		return Times{}, err
	}
	if len(values.Data)%v.Type.Size != 0 {
		return Times{}, fmt.Errorf("%s: the values have %d bytes, which is not a multiple of the %d bytes of one value", v.Path, len(values.Data), v.Type.Size)
	}
	return Times{u, p, v.Type, values.Data}, nil
}

// Len returns the number of elements.
func (t Times) Len() int { return len(t.Elements) / t.Type.Size }

// Instants returns the instants to which xarray decodes the elements. ok is false for an element that is
// not a time.
func (t Times) Instants() (at []Instant, ok []bool, err error) {
	at, ok = make([]Instant, t.Len()), make([]bool, t.Len())
	for i := range at {
		if at[i], ok[i], err = t.Instant(t.Elements[i*t.Type.Size:][:t.Type.Size]); err != nil {
			return nil, nil, fmt.Errorf("time %d: %w", i, err)
		}
	}
	return at, ok, nil
}

// Instant returns the instant of one stored element. ok is false if it is not a time.
func (t Times) Instant(element []byte) (at Instant, ok bool, err error) {
	if t.isMissing(element) {
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
		// A large unsigned number would wrap around to a time before the epoch.
		ok = ok && (t.Packing.Type.Kind != codec.Uint || w <= math.MaxInt64)
	}
	switch {
	case ok:
		return at, true, nil
	case t.isUnwritten(element):
		return at, false, nil
	}
	return at, false, fmt.Errorf("the time %v %s is out of range", Float(t.Packing.Type, element), t.Units)
}

// netcdfFill is netCDF's default fill value of floats (NC_FILL_FLOAT, NC_FILL_DOUBLE).
const netcdfFill = 9.9692099683868690e+36

// isUnwritten reports whether an element out of range means that there is no time: infinity, or
// netCDF's default fill value, which is common in files without _FillValue.
func (t Times) isUnwritten(element []byte) bool {
	f := Float(t.Type, element)
	return t.Type.Kind == codec.Float && (f == netcdfFill || math.IsInf(f, 0))
}

// isMissing reports whether an element is not a time: masked, NaN, or NumPy's NaT.
func (t Times) isMissing(element []byte) bool {
	if t.Type.Kind == codec.Float {
		return IsNaN(t.Type, element) || t.Packing.IsMask(t.Type, element)
	}
	signed := t.Packing.Type.Kind != codec.Uint
	return signed && t.Type.Size == 8 && Word(element) == 1<<63 || t.Packing.IsMask(t.Type, element)
}

// isEquivalent reports whether equal elements are equal times in t and u.
func (t Times) isEquivalent(u Times) bool {
	return t.Units.Same(u.Units) && t.Type.Equal(u.Type) &&
		t.Packing.Type.Equal(u.Packing.Type) && t.Packing.SameScale(u.Packing) &&
		slices.EqualFunc(t.Packing.Masks, u.Packing.Masks, bytes.Equal)
}
