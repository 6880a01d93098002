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

// Telling are the attributes that say what elements stand for.
var Telling = []string{UnitsName, CalendarName, ScaleFactor, AddOffset, Unsigned, FillValue, MissingValue}

// Naming are the attributes whose words name other variables: sections 3.4, 4.3.3, 5, 5.6, 7.1, 7.2
// and 7.4 of CF 1.11.
var Naming = []string{"coordinates", "bounds", "climatology", "grid_mapping", "formula_terms", Ancillary, "cell_measures"}

// Ancillary is the attribute that names variables without which this one says no less.
const Ancillary = "ancillary_variables"

// Packing is how the numbers of a variable stand for others: stored × Scale + Offset, where
// stored is one of Type and none of Masks.
type Packing struct {
	// Type is that of the stored numbers, with the sign that _Unsigned gives them.
	Type codec.Type
	// Scale and Offset are nil where the variable has none.
	Scale, Offset *Number
	// Masks are the stored elements that stand for missing data, each once: those of
	// _FillValue, then those of missing_value.
	Masks [][]byte
}

// Number is a number of an attribute, with the type that it has there.
type Number struct {
	Type  codec.Type
	Value float64
}

// PackingOf reads _Unsigned, scale_factor, add_offset, _FillValue and missing_value. What is
// no number is never packed; a value that no element can have masks nothing.
func PackingOf(v *manifest.Variable) (Packing, error) {
	p := Packing{Type: v.Type}
	if !IsNumber(v.Type) {
		return p, nil
	}
	for _, name := range []string{Unsigned, ScaleFactor, AddOffset, FillValue, MissingValue} {
		if a := manifest.Lookup(v.Attributes, name); a != nil && a.Unreadable != "" {
			return Packing{}, fmt.Errorf("%s: %s has no value: %s", v.Path, name, a.Unreadable)
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
	p.Masks = appendMasks(p.Masks, v, FillValue)
	p.Masks = appendMasks(p.Masks, v, MissingValue)
	return p, nil
}

// signed is the type of the stored integers once _Unsigned has had its say.
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

// Text returns an attribute that is one text.
func Text(attributes []manifest.Attribute, name string) (string, bool) {
	a := manifest.Lookup(attributes, name)
	if a == nil || len(a.Texts) != 1 {
		return "", false
	}
	return a.Texts[0], true
}

// number reads an attribute that is one number. Some writers spell it out as text.
func number(v *manifest.Variable, name string) (*Number, error) {
	a := manifest.Lookup(v.Attributes, name)
	if a == nil {
		return nil, nil
	}
	if text, ok := Text(v.Attributes, name); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %s is %q, want a number", v.Path, name, text)
		}
		return &Number{codec.Type{Kind: codec.Float, Size: 8}, f}, nil
	}
	if a.JSON != "" {
		return nil, fmt.Errorf("%s: %s is %.40s, want one number", v.Path, name, a.JSON)
	}
	if !IsNumber(a.Type) || len(a.Data) != a.Type.Size {
		return nil, fmt.Errorf("%s: %s is %d bytes of %s, want one number", v.Path, name, len(a.Data), a.Type)
	}
	return &Number{a.Type, Float(a.Type, a.Data)}, nil
}

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
			mask, ok = Cast(signed(v), a.Type, element) // the same bytes under _Unsigned
		}
		if ok && !slices.ContainsFunc(masks, func(m []byte) bool { return bytes.Equal(m, mask) }) {
			masks = append(masks, mask)
		}
	}
	return masks
}

// Scaled reports whether numbers are multiplied or moved.
func (p Packing) Scaled() bool { return p.factor() != 1 || p.term() != 0 }

// SameScale reports whether two packings multiply and move alike.
func (p Packing) SameScale(q Packing) bool { return p.factor() == q.factor() && p.term() == q.term() }

// Affine returns what stored numbers are multiplied with, and what is added then.
func (p Packing) Affine() (scale, offset float64) { return p.factor(), p.term() }

// Unpacked is a stored number times a scale, plus an offset. Each is rounded, as everywhere
// else that files are unpacked: without the conversion, processors that have an instruction
// for both (arm64's, for one) would round once, and give other numbers.
func Unpacked(stored, scale, offset float64) float64 { return float64(stored*scale) + offset }

func (p Packing) factor() float64 { return p.Scale.Or(1) }
func (p Packing) term() float64   { return p.Offset.Or(0) }

// Or returns the number, or what stands for none.
func (n *Number) Or(f float64) float64 {
	if n == nil {
		return f
	}
	return n.Value
}

// FloatType is the smallest float that unpacked numbers lose nothing in that xarray would keep:
// float32 for what is at most two bytes, or a float32, if scale and offset are float32s too.
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

// isDefault reports whether a number of p changes nothing.
func isDefault(n *Number, p Packing) bool {
	return n == p.Scale && n.Value == 1 || n == p.Offset && n.Value == 0
}

// IsMask reports whether a stored element is one of the masks: as a number, so that 0 is -0,
// and every NaN is NaN.
func (p Packing) IsMask(stored codec.Type, element []byte) bool {
	return slices.ContainsFunc(p.Masks, func(m []byte) bool { return SameNumber(stored, m, element) })
}

// SameNumber reports whether two elements are the same number, or both none.
func SameNumber(t codec.Type, a, b []byte) bool {
	if t.Kind != codec.Float {
		return bytes.Equal(a, b)
	}
	x, y := Float(t, a), Float(t, b)
	return x == y || math.IsNaN(x) && math.IsNaN(y)
}
