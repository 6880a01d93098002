package grib

import (
	"encoding/binary"
	"math"

	"varve/readers"
)

// The types of variables and attributes.
var (
	floatType   = readers.IEEEFloat(4, readers.LittleEndian)
	doubleType  = readers.IEEEFloat(8, readers.LittleEndian)
	integerType = readers.Int(8, readers.LittleEndian, true)
	mappingType = readers.Int(4, readers.LittleEndian, true)
)

// textAttribute returns an attribute with one text.
func textAttribute(name, s string) readers.Attribute {
	t := &readers.Type{Class: readers.String, Size: max(len(s), 1), Padding: readers.SpacePadded, UTF8: true}
	return readers.Attribute{Name: name, Value: readers.Value{Type: t, Texts: [][]byte{[]byte(s)}}}
}

// integerAttribute returns an attribute with one integer.
func integerAttribute(name string, n int64) readers.Attribute {
	return readers.Attribute{Name: name, Value: readers.Value{Type: integerType, Data: binary.LittleEndian.AppendUint64(nil, uint64(n))}}
}

// numberAttribute returns an attribute with one number, or with a list of numbers.
func numberAttribute(name string, list ...float64) readers.Attribute {
	v := readers.Value{Type: doubleType, Data: doubles(list)}
	if len(list) > 1 {
		v.Shape = []uint64{uint64(len(list))}
	}
	return readers.Attribute{Name: name, Value: v}
}

// doubles encodes numbers as little-endian float64.
func doubles(list []float64) []byte {
	out := make([]byte, 0, 8*len(list))
	for _, v := range list {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// integers encodes numbers as little-endian int64.
func integers(list []int64) []byte {
	out := make([]byte, 0, 8*len(list))
	for _, v := range list {
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
	}
	return out
}
