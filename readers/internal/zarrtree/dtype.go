package zarrtree

import (
	"varve/codec"
	"varve/readers"
)

// boolean is the type of Zarr's booleans.
var boolean = &readers.Type{
	Class: readers.Enum, Size: 1,
	Base:     readers.Int(1, readers.LittleEndian, false),
	Choices:  []readers.Choice{{Name: "FALSE", Value: []byte{0}}, {Name: "TRUE", Value: []byte{1}}},
	InMemory: &codec.Type{Kind: codec.Bool, Size: 1},
}

// text is the type of strings of varying length.
var text = &readers.Type{Class: readers.VarLen, IsText: true, UTF8: true}

// TypeOf returns the type of elements that are t in memory and stored in the given byte order.
func TypeOf(t codec.Type, order readers.Order) *readers.Type {
	switch t.Kind {
	case codec.Bool:
		return boolean
	case codec.Int, codec.Uint:
		return readers.Int(t.Size, order, t.Kind == codec.Int)
	case codec.Float:
		return readers.IEEEFloat(t.Size, order)
	case codec.Complex:
		return &readers.Type{Class: readers.Complex, Size: t.Size, Base: readers.IEEEFloat(t.Size/2, order)}
	case codec.FixedBytes:
		return &readers.Type{Class: readers.String, Size: t.Size, Padding: readers.NullPadded}
	case codec.FixedUTF32:
		return &readers.Type{Class: readers.String, Size: t.Size, Order: order, Padding: readers.NullPadded, UTF8: true, InMemory: &t}
	case codec.DateTime, codec.TimeDelta:
		ticks := readers.Int(t.Size, order, true)
		ticks.InMemory = &t
		return ticks
	case codec.String:
		return text
	case codec.Bytes:
		return &readers.Type{Class: readers.VarLen, Base: readers.Int(1, readers.LittleEndian, false), InMemory: &t}
	case codec.Struct:
		return structOf(t, order)
	}
	return &readers.Type{Class: readers.Opaque, Size: t.Size}
}

func structOf(t codec.Type, order readers.Order) *readers.Type {
	out := &readers.Type{Class: readers.Compound, Size: t.Size}
	at := 0
	for _, f := range t.Fields {
		out.Members = append(out.Members, readers.Member{Name: f.Name, Offset: at, Type: TypeOf(f.Type, order)})
		at += f.Type.Size
	}
	return out
}

// Texts returns string elements of a fixed size without their padding.
func Texts(t codec.Type, elements []byte) [][]byte {
	if t.Kind != codec.FixedBytes && t.Kind != codec.FixedUTF32 {
		return nil
	}
	out := make([][]byte, 0, len(elements)/max(t.Size, 1))
	for ; len(elements) >= t.Size && t.Size > 0; elements = elements[t.Size:] {
		e := elements[:t.Size]
		if t.Kind == codec.FixedUTF32 {
			e = fromUTF32(e)
		}
		out = append(out, trimNULs(e))
	}
	return out
}

func fromUTF32(points []byte) []byte {
	out := make([]byte, 0, len(points)/4)
	for ; len(points) >= 4; points = points[4:] {
		r := uint32(points[0]) | uint32(points[1])<<8 | uint32(points[2])<<16 | uint32(points[3])<<24
		out = append(out, string(rune(min(r, 0x110000)))...)
	}
	return out
}

func trimNULs(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}
