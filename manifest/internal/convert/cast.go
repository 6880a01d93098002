package convert

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"

	"varve/codec"
	"varve/manifest/internal/cf"
)

// cast returns the converter of elements without packing to another type. It is nil if the types are
// equal.
func cast(from, to codec.Type) (converter, error) {
	switch {
	case from.Equal(to):
		return nil, nil
	case !Safe(from, to):
		return nil, fmt.Errorf("a cast from %s to %s could lose information: %w", from, to, errors.ErrUnsupported)
	case from.Kind == codec.Bool:
		return numbers(cf.Packing{Type: from}, to, nil)
	case from.Kind == codec.Complex:
		return numbers(cf.Packing{Type: codec.Type{Kind: codec.Float, Size: from.Size / 2}}, codec.Type{Kind: codec.Float, Size: to.Size / 2}, nil)
	case to.Kind == codec.String:
		return texts{from}, nil
	case to.Kind == codec.Bytes:
		return asBytes{}, nil
	case to.Kind == codec.DateTime, to.Kind == codec.TimeDelta:
		n, err := stepsOf(from, to)
		return ticks{n}, err
	}
	if from.Kind == codec.Struct {
		return castFields(from, to)
	}
	return lengthened{from.Size, to.Size}, nil
}

// fields converts structs field by field.
type fields struct {
	from, to int
	list     []field
}

// field is one field: its offset and size in both structs, and its converter; nil for none.
type field struct {
	fromAt, from, toAt, to int
	converter
}

func castFields(from, to codec.Type) (converter, error) {
	out := fields{from: from.Size, to: to.Size}
	var fromAt, toAt int
	for i, f := range from.Fields {
		g := to.Fields[i]
		var c converter
		var err error
		if isNumeric(f.Type) && !f.Type.Equal(g.Type) {
			c, err = numbers(cf.Packing{Type: f.Type}, g.Type, nil)
		} else {
			c, err = cast(f.Type, g.Type)
		}
		if err != nil {
			return nil, err
		}
		out.list = append(out.list, field{fromAt, f.Type.Size, toAt, g.Type.Size, c})
		fromAt, toAt = fromAt+f.Type.Size, toAt+g.Type.Size
	}
	return out, nil
}

func (c fields) convert(dst, src codec.Elems) error {
	n := len(src.Fixed) / c.from
	for _, f := range c.list {
		// Converters work on contiguous elements, so gather the field first.
		column := make([]byte, 0, n*f.from)
		for i := range n {
			column = append(column, src.Fixed[i*c.from+f.fromAt:][:f.from]...)
		}
		converted := column
		if f.converter != nil {
			converted = make([]byte, n*f.to)
			if err := f.convert(codec.Elems{Fixed: converted}, codec.Elems{Fixed: column}); err != nil {
				return err
			}
		}
		for i := range n {
			copy(dst.Fixed[i*c.to+f.toAt:][:f.to], converted[i*f.to:])
		}
	}
	return nil
}

// lengthened extends elements of a fixed size with NULs.
type lengthened struct{ from, to int }

func (p lengthened) convert(dst, src codec.Elems) error {
	for i := range len(src.Fixed) / p.from {
		n := copy(dst.Fixed[i*p.to:], src.Fixed[i*p.from:][:p.from])
		clear(dst.Fixed[i*p.to+n : (i+1)*p.to])
	}
	return nil
}

// texts converts padded texts to texts of varying length.
type texts struct{ from codec.Type }

func (t texts) convert(dst, src codec.Elems) error {
	for i := range dst.Var {
		element := src.Fixed[i*t.from.Size:][:t.from.Size]
		if t.from.Kind == codec.FixedUTF32 {
			dst.Var[i] = fromUTF32(element)
			continue
		}
		dst.Var[i] = bytes.TrimRight(element, "\x00")
		if !utf8.Valid(dst.Var[i]) {
			return fmt.Errorf("%q is not valid UTF-8: %w", dst.Var[i], codec.ErrCorrupt)
		}
	}
	return nil
}

// asBytes converts texts to their bytes.
type asBytes struct{}

func (asBytes) convert(dst, src codec.Elems) error {
	copy(dst.Var, src.Var)
	return nil
}

func fromUTF32(element []byte) []byte {
	text := make([]byte, 0, len(element)/4)
	for ; len(element) >= 4; element = element[4:] {
		text = utf8.AppendRune(text, rune(binary.LittleEndian.Uint32(element)))
	}
	return bytes.TrimRight(text, "\x00")
}

// ticks converts NumPy's times to shorter steps.
type ticks struct{ times int64 }

func (t ticks) convert(dst, src codec.Elems) error {
	for i := 0; i < len(src.Fixed); i += 8 {
		n := int64(binary.LittleEndian.Uint64(src.Fixed[i:]))
		if n != math.MinInt64 { // NaT
			hi, lo := bits.Mul64(uint64(max(n, -n)), uint64(t.times))
			if hi != 0 || lo > math.MaxInt64 {
				return fmt.Errorf("time %d × %d is out of the range of int64", n, t.times)
			}
			n *= t.times
		}
		binary.LittleEndian.PutUint64(dst.Fixed[i:], uint64(n))
	}
	return nil
}

// stepsOf returns the number of steps of type to in one step of type from.
func stepsOf(from, to codec.Type) (int64, error) {
	a, b := picoseconds(from), picoseconds(to)
	if a == 0 || b == 0 || a%b != 0 {
		return 0, fmt.Errorf("steps of %s are not a multiple of steps of %s: %w", from, to, errors.ErrUnsupported)
	}
	return a / b, nil
}

// picoseconds returns the length of a step of NumPy's times. It is 0 for months and years, whose
// lengths differ.
func picoseconds(t codec.Type) int64 {
	lengths := map[string]int64{
		"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12,
		"m": 60e12, "h": 3600e12, "D": 86400e12, "W": 7 * 86400e12,
	}
	length, n := lengths[t.Unit], int64(max(t.Ticks, 1))
	if length == 0 || n > math.MaxInt64/length {
		return 0
	}
	return length * n
}
