package convert

import (
	"errors"
	"fmt"

	"varve/codec"
	"varve/manifest/internal/cf"
)

// check returns an error for a type that no reader makes.
func check(t codec.Type) error {
	ok := t.Size > 0
	switch t.Kind {
	case codec.String, codec.Bytes:
		ok = t.Size == 0
	case codec.Bool:
		ok = t.Size == 1
	case codec.Int, codec.Uint, codec.Float:
		ok = cf.IsNumber(t)
	case codec.Complex:
		ok = t.Size == 8 || t.Size == 16
	case codec.DateTime, codec.TimeDelta:
		ok = t.Size == 8
	case codec.FixedUTF32:
		ok = ok && t.Size%4 == 0
	}
	if !ok {
		return fmt.Errorf("type %s of %d bytes does not exist: %w", t, t.Size, codec.ErrCorrupt)
	}
	return nil
}

// Promote returns the common type of two types by NumPy's rules: the smallest to which both can be
// cast safely. A 64-bit integer and a float have float64 in common, and so have a signed and an
// unsigned 64-bit integer. NumPy calls that safe, although large integers are rounded.
func Promote(a, b codec.Type) (codec.Type, error) {
	switch {
	case a.Equal(b):
		return a, nil
	case isNumeric(a) && isNumeric(b):
		return promoteNumbers(a, b), nil
	case a.Kind == b.Kind && (a.Kind == codec.Complex || a.Kind == codec.FixedBytes || a.Kind == codec.FixedUTF32):
		return longer(a, b), nil
	case isText(a) && isText(b) && (a.Kind == codec.String || b.Kind == codec.String):
		return codec.Type{Kind: codec.String}, nil
	case a.Kind == codec.String && b.Kind == codec.Bytes:
		return b, nil
	case a.Kind == codec.Bytes && b.Kind == codec.String:
		return a, nil
	case a.Kind == b.Kind && (a.Kind == codec.DateTime || a.Kind == codec.TimeDelta):
		return finer(a, b)
	case a.Kind == codec.Struct && b.Kind == codec.Struct && len(a.Fields) == len(b.Fields):
		return promoteFields(a, b)
	}
	return codec.Type{}, fmt.Errorf("%s and %s have no common type: %w", a, b, errors.ErrUnsupported)
}

// promoteFields promotes structs with the same field names, field by field.
func promoteFields(a, b codec.Type) (codec.Type, error) {
	out := codec.Type{Kind: codec.Struct}
	for i, f := range a.Fields {
		g := b.Fields[i]
		common, err := Promote(f.Type, g.Type)
		if err != nil || f.Name != g.Name || common.Varies() {
			return out, fmt.Errorf("fields %q of %s and %q of %s have no common type: %w", f.Name, f.Type, g.Name, g.Type, errors.ErrUnsupported)
		}
		out.Fields = append(out.Fields, codec.Field{Name: f.Name, Type: common})
		out.Size += common.Size
	}
	return out, nil
}

func longer(a, b codec.Type) codec.Type {
	if a.Size >= b.Size {
		return a
	}
	return b
}

func isNumeric(t codec.Type) bool {
	return t.Kind == codec.Bool || t.Kind == codec.Int || t.Kind == codec.Uint || t.Kind == codec.Float
}

func isText(t codec.Type) bool {
	return t.Kind == codec.String || t.Kind == codec.FixedBytes || t.Kind == codec.FixedUTF32
}

func promoteNumbers(a, b codec.Type) codec.Type {
	if a.Kind > b.Kind { // Bool, Int, Uint, Float
		a, b = b, a
	}
	switch {
	case a.Kind == codec.Bool:
		return b
	case a.Kind == b.Kind:
		return longer(a, b)
	case b.Kind == codec.Float:
		return longer(floatFor(a), b)
	case a.Size > b.Size: // Int and Uint
		return a
	case b.Size == 8:
		return codec.Type{Kind: codec.Float, Size: 8}
	}
	return codec.Type{Kind: codec.Int, Size: 2 * b.Size}
}

// floatFor returns the smallest float type to which NumPy casts an integer safely.
func floatFor(t codec.Type) codec.Type {
	return codec.Type{Kind: codec.Float, Size: min(2*t.Size, 8)}
}

// finer returns the type with the shorter steps, if a step of the other is a multiple.
func finer(a, b codec.Type) (codec.Type, error) {
	if _, err := stepsOf(a, b); err == nil {
		return b, nil
	}
	_, err := stepsOf(b, a)
	return a, err
}

// Safe reports whether a cast is without loss in the sense of NumPy's can_cast.
func Safe(from, to codec.Type) bool {
	common, err := Promote(from, to)
	return err == nil && common.Equal(to)
}
