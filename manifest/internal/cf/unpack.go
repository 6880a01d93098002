package cf

import (
	"math"

	"varve/codec"
)

// IsDrawable reports whether elements can be drawn as numbers: numbers, booleans as 0 and 1, and NumPy's
// times as their integers.
func IsDrawable(t codec.Type) bool {
	switch t.Kind {
	case codec.Bool, codec.DateTime, codec.TimeDelta:
		return true
	}
	return IsNumber(t)
}

// Unpack returns the numeric value of an element of a drawable type, or NaN if it is missing.
func (p Packing) Unpack(t codec.Type, element []byte) float64 {
	switch {
	case t.Kind == codec.Bool:
		return float64(element[0])
	case t.Kind == codec.DateTime || t.Kind == codec.TimeDelta:
		if ticks := int64(Word(element)); ticks != math.MinInt64 { // NaT
			return float64(ticks)
		}
		return math.NaN()
	case p.IsMask(t, element):
		return math.NaN()
	}
	return Unpacked(Float(p.Type, element), p.factor(), p.term())
}
