package cf

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest"
)

// Names of attributes that this package reads.
const (
	FillValue    = "_FillValue"
	MissingValue = "missing_value"
	Unsigned     = "_Unsigned"
	ScaleFactor  = "scale_factor"
	AddOffset    = "add_offset"
	UnitsName    = "units"
	CalendarName = "calendar"
	FlagValues   = "flag_values"
	FlagMeanings = "flag_meanings"
	FlagMasks    = "flag_masks"
)

// MeaningAttributes are the names of attributes that determine the meaning of elements.
var MeaningAttributes = []string{UnitsName, CalendarName, ScaleFactor, AddOffset, Unsigned, FillValue, MissingValue}

// GridMappingName is the attribute that makes a variable a grid mapping.
const GridMappingName = "grid_mapping_name"

// ProjectionAttributes are the attributes of a grid mapping that say where a coordinate is on the earth.
var ProjectionAttributes = []string{GridMappingName, "standard_parallel", "longitude_of_central_meridian", "latitude_of_projection_origin",
	"longitude_of_projection_origin", "straight_vertical_longitude_from_pole", "scale_factor_at_central_meridian", "scale_factor_at_projection_origin",
	"false_easting", "false_northing", "perspective_point_height", "sweep_angle_axis", "fixed_angle_axis", "azimuth_of_central_line",
	"grid_north_pole_latitude", "grid_north_pole_longitude", "north_pole_grid_longitude"}

// ReferenceAttributes are the names of attributes whose words name other variables: sections 3.4, 4.3.3, 5, 5.6, 7.1, 7.2
// and 7.4 of CF 1.11.
var ReferenceAttributes = []string{"coordinates", "bounds", "climatology", "grid_mapping", "formula_terms", Ancillary, "cell_measures"}

// Ancillary is the attribute that names variables such as quality flags. They describe a variable, and its
// meaning does not depend on them.
const Ancillary = "ancillary_variables"

// Mesh is the attribute by which UGRID's variables name their mesh, and External the attribute of a
// group that names variables in other files.
const (
	Mesh     = "mesh"
	External = "external_variables"
)

// Packing describes how stored numbers represent values: value = stored × Scale + Offset, where stored
// has the type Type. Stored elements in Masks are missing data.
type Packing struct {
	// Type is the type of the stored numbers, after _Unsigned was applied.
	Type codec.Type
	// Scale and Offset are nil if the variable does not have the attribute.
	Scale, Offset *Number
	// Masks are the stored elements that mean missing data, without duplicates: first the element in
	// _FillValue, then the elements in missing_value.
	Masks [][]byte
}

// Number is the value of a numeric attribute, with its type in the attribute.
type Number struct {
	Type  codec.Type
	Value float64
}

// PackingOf returns the packing that _Unsigned, scale_factor, add_offset, _FillValue and missing_value
// declare. A variable that is not numeric is never packed. A mask that no element can equal is
// ignored.
func PackingOf(v *manifest.Variable) (Packing, error) {
	p := Packing{Type: v.Type}
	if !IsNumber(v.Type) {
		return p, nil
	}
	for _, name := range []string{Unsigned, ScaleFactor, AddOffset, FillValue, MissingValue} {
		if a := manifest.Lookup(v.Attributes, name); a != nil && a.Unreadable != "" {
			return Packing{}, fmt.Errorf("%s: %s cannot be read: %s", v.Path, name, a.Unreadable)
		}
	}
	p.Type = signed(v)
	var err error
	if p.Scale, err = number(v, ScaleFactor); err != nil {
		return Packing{}, err
	}
	if p.Offset, err = number(v, AddOffset); err != nil {
		return Packing{}, err
	}
	// In this order, because converted data use the first mask for all missing elements.
	p.Masks = appendMasks(p.Masks, v, FillValue)
	p.Masks = appendMasks(p.Masks, v, MissingValue)
	return p, nil
}

// signed returns the type of the stored integers after _Unsigned was applied.
func signed(v *manifest.Variable) codec.Type {
	t := v.Type
	switch says, ok := Text(v.Attributes, Unsigned); {
	case !ok:
	case t.Kind == codec.Int && strings.EqualFold(says, "true"):
		t.Kind = codec.Uint
	case t.Kind == codec.Uint && strings.EqualFold(says, "false"):
		t.Kind = codec.Int
	}
	return t
}

// Text returns the value of an attribute that is a single text.
func Text(attributes []manifest.Attribute, name string) (string, bool) {
	a := manifest.Lookup(attributes, name)
	if a == nil || len(a.Texts) != 1 {
		return "", false
	}
	return a.Texts[0], true
}

// number returns an attribute that is a single number. Some writers store the number as text.
func number(v *manifest.Variable, name string) (*Number, error) {
	a := manifest.Lookup(v.Attributes, name)
	if a == nil {
		return nil, nil
	}
	if text, ok := Text(v.Attributes, name); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %s is %q instead of a number", v.Path, name, text)
		}
		return &Number{codec.Type{Kind: codec.Float, Size: 8}, f}, nil
	}
	if a.JSON != "" {
		return nil, fmt.Errorf("%s: %s is %.40s instead of one number", v.Path, name, a.JSON)
	}
	if !IsNumber(a.Type) || len(a.Data) != a.Type.Size {
		return nil, fmt.Errorf("%s: %s has %d bytes of %s instead of one number", v.Path, name, len(a.Data), a.Type)
	}
	return &Number{a.Type, Float(a.Type, a.Data)}, nil
}

// appendMasks appends the elements of an attribute that stored elements can equal, without duplicates.
func appendMasks(masks [][]byte, v *manifest.Variable, name string) [][]byte {
	a := manifest.Lookup(v.Attributes, name)
	if a == nil || !IsNumber(a.Type) {
		return masks
	}
	for element := range slices.Chunk(a.Data, a.Type.Size) {
		if len(element) != a.Type.Size {
			break
		}
		mask, ok := Cast(v.Type, a.Type, element)
		if !ok {
			mask, ok = Cast(signed(v), a.Type, element) // a number of the type after _Unsigned was applied
		}
		if ok && !slices.ContainsFunc(masks, func(m []byte) bool { return bytes.Equal(m, mask) }) {
			masks = append(masks, mask)
		}
	}
	return masks
}

// Scaled reports whether unpacking changes numbers.
func (p Packing) Scaled() bool { return p.factor() != 1 || p.term() != 0 }

// SameScale reports whether two packings have the same scale and offset.
func (p Packing) SameScale(q Packing) bool { return p.factor() == q.factor() && p.term() == q.term() }

// Affine returns the scale and offset, with their defaults 1 and -0: unlike 0, it also keeps the sign of -0.
func (p Packing) Affine() (scale, offset float64) { return p.factor(), p.term() }

// Unpacked returns stored × scale + offset. It rounds after each operation, like all other programs.
// Without the conversion to float64, Go may use a fused multiply-add, for example on arm64, which rounds
// once and gives other values.
func Unpacked(stored, scale, offset float64) float64 { return float64(stored*scale) + offset }

func (p Packing) factor() float64 { return p.Scale.Or(1) }
func (p Packing) term() float64   { return p.Offset.Or(math.Copysign(0, -1)) }

// Or returns the number's value, or f if n is nil.
func (n *Number) Or(f float64) float64 {
	if n == nil {
		return f
	}
	return n.Value
}

// FloatType returns the type that xarray unpacks to: float32 for stored numbers of at most two bytes
// or float32, if scale and offset are float32 too; else float64.
func (p Packing) FloatType() codec.Type {
	narrow := p.Type.Size <= 2 || p.Type.Kind == codec.Float && p.Type.Size == 4
	for _, n := range []*Number{p.Scale, p.Offset} {
		if n != nil && !(n.Type.Kind == codec.Float && n.Type.Size <= 4) {
			narrow = narrow && isDefault(n, p)
		}
	}
	if !narrow {
		return codec.Type{Kind: codec.Float, Size: 8}
	}
	return codec.Type{Kind: codec.Float, Size: 4}
}

// isDefault reports whether a scale or offset changes nothing.
func isDefault(n *Number, p Packing) bool {
	return n == p.Scale && n.Value == 1 || n == p.Offset && n.Value == 0
}

// IsMask reports whether a stored element equals one of the masks as a number: 0 equals -0, and all
// NaNs are equal.
func (p Packing) IsMask(stored codec.Type, element []byte) bool {
	return slices.ContainsFunc(p.Masks, func(m []byte) bool { return SameNumber(stored, m, element) })
}

// SameNumber reports whether two elements are the same number, or both NaN.
func SameNumber(t codec.Type, a, b []byte) bool {
	if t.Kind != codec.Float {
		return bytes.Equal(a, b)
	}
	x, y := Float(t, a), Float(t, b)
	return x == y || math.IsNaN(x) && math.IsNaN(y)
}
