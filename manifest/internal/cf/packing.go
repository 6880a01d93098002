package cf

import (
	"errors"

	"varve/codec"
	"varve/manifest"
)

// Packing is how the numbers of a variable stand for others.
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

// PackingOf reads _Unsigned, scale_factor, add_offset, _FillValue and missing_value.
func PackingOf(v *manifest.Variable) (Packing, error) {
	return Packing{}, errors.ErrUnsupported
}

// Scaled reports whether numbers are multiplied or moved.
func (p Packing) Scaled() bool { return p.Scale != nil || p.Offset != nil }
