package hdf4

import (
	"encoding/binary"
	"math"

	"varve/codec"
	"varve/readers"
)

// number is a number type with the library's fill value for it.
type number struct {
	readers.Type
	fill uint64 // bits of the fill value
}

// numbers holds the number types of the SD interface by code (hntdefs.h), with their fill values
// (NC_FILL_… of mfhdf).
var numbers = map[uint16]number{
	3:  {*character, 0},
	4:  {*character, 0},
	5:  {*readers.IEEEFloat(4, readers.BigEndian), 0x7cf00000},
	6:  {*readers.IEEEFloat(8, readers.BigEndian), 0x479e000000000000},
	20: {*readers.Int(1, readers.BigEndian, true), -127 & math.MaxUint8},
	21: {*readers.Int(1, readers.BigEndian, false), -127 & math.MaxUint8},
	22: {*readers.Int(2, readers.BigEndian, true), -32767 & math.MaxUint16},
	23: {*readers.Int(2, readers.BigEndian, false), -32767 & math.MaxUint16},
	24: {*readers.Int(4, readers.BigEndian, true), -2147483647 & math.MaxUint32},
	25: {*readers.Int(4, readers.BigEndian, false), -2147483647 & math.MaxUint32},
}

var character = &readers.Type{Class: readers.String, Size: 1, Padding: readers.NullPadded, UTF8: true}

const littleEndian = 0x4000 // bit of a number type's code

// typeOf returns the type of a code, and its default fill value in memory form.
func typeOf(code uint16) (*readers.Type, []byte, error) {
	n, ok := numbers[code&^littleEndian]
	if !ok {
		return nil, nil, unsupported("elements of HDF4's number type %d, which the SD interface does not support", code)
	}
	t := n.Type
	if code&littleEndian != 0 {
		t.Order = readers.LittleEndian
	}
	return &t, binary.LittleEndian.AppendUint64(nil, n.fill)[:t.Size], nil
}

// numberType decodes an element of tag 106 (NT): version(1) type(1) bits(1) class(1). The class is
// the number format of a machine: 1 is IEEE big-endian, 4 is little-endian.
func numberType(b []byte) (uint16, error) {
	const (
		none = 0
		ieee = 1
		pc   = 4
	)
	switch {
	case len(b) < 4:
		return 0, readers.Corruptf("number type has %d bytes (want 4)", len(b))
	// Little-endian numbers have the same codes, but another machine class.
	case b[3] == pc:
		return uint16(b[1]) | littleEndian, nil
	case b[0] != 1 || b[3] != none && b[3] != ieee:
		return 0, unsupported("numbers of machine class %d, version %d (such as VAX, Cray or Convex)", b[3], b[0])
	}
	return uint16(b[1]), nil
}

// layout returns the codec from numbers to bytes.
func layout(t *readers.Type) codec.Spec {
	_, order, _ := t.Plain()
	return codec.InOrder(order)
}

// textAttribute returns an attribute that is a string, without NULs at its end.
func textAttribute(name string, text []byte) readers.Attribute {
	for len(text) > 0 && text[len(text)-1] == 0 {
		text = text[:len(text)-1]
	}
	t := &readers.Type{Class: readers.String, Size: max(len(text), 1), Padding: readers.NullPadded, UTF8: true}
	return readers.Attribute{Name: name, Value: readers.Value{Type: t, Data: append([]byte(nil), text...), Texts: [][]byte{append([]byte(nil), text...)}}}
}

// numberAttribute returns an attribute of numbers from their stored bytes.
func numberAttribute(name string, code uint16, stored []byte) readers.Attribute {
	t, _, err := typeOf(code)
	if err != nil {
		return readers.Attribute{Name: name, Value: readers.Value{Type: character}, Err: err}
	}
	if t.Class == readers.String {
		return textAttribute(name, stored)
	}
	n := len(stored) / t.Size
	data, err := t.AppendMemory(nil, stored[:n*t.Size])
	return readers.Attribute{Name: name, Value: readers.Value{Type: t, Shape: []uint64{uint64(n)}, Data: data}, Err: err}
}
