package codec

import (
	"math"
	"strings"
)

// number is an element type that the element-wise codecs calculate with. They are
// NumPy's, since those codecs are defined by what NumPy does.
type number uint8

const (
	numBool number = iota + 1
	numInt8
	numInt16
	numInt32
	numInt64
	numUint8
	numUint16
	numUint32
	numUint64
	numFloat16
	numFloat32
	numFloat64
)

// numberTypes are the types of the numbers, and how NumPy's type strings spell them.
var numberTypes = [...]struct {
	typ  Type
	code string
}{
	numBool:    {Type{Kind: Bool, Size: 1}, "b1"},
	numInt8:    {Type{Kind: Int, Size: 1}, "i1"},
	numInt16:   {Type{Kind: Int, Size: 2}, "i2"},
	numInt32:   {Type{Kind: Int, Size: 4}, "i4"},
	numInt64:   {Type{Kind: Int, Size: 8}, "i8"},
	numUint8:   {Type{Kind: Uint, Size: 1}, "u1"},
	numUint16:  {Type{Kind: Uint, Size: 2}, "u2"},
	numUint32:  {Type{Kind: Uint, Size: 4}, "u4"},
	numUint64:  {Type{Kind: Uint, Size: 8}, "u8"},
	numFloat16: {Type{Kind: Float, Size: 2}, "f2"},
	numFloat32: {Type{Kind: Float, Size: 4}, "f4"},
	numFloat64: {Type{Kind: Float, Size: 8}, "f8"},
}

func (n number) typ() Type      { return numberTypes[n].typ }
func (n number) code() string   { return numberTypes[n].code }
func (n number) size() int      { return numberTypes[n].typ.Size }
func (n number) String() string { return n.typ().String() }
func (n number) isFloat() bool  { return n >= numFloat16 }
func (n number) isSigned() bool { return n >= numInt8 && n <= numInt64 }

// integerRange returns the least and the greatest value of an integer type, of which
// the greatest is never negative.
func (n number) integerRange() (lo int64, hi uint64) {
	bits := 8 * n.size()
	switch {
	case n == numBool:
		return 0, 1
	case n.isSigned():
		return math.MinInt64 >> (64 - bits), math.MaxInt64 >> (64 - bits)
	}
	return 0, math.MaxUint64 >> (64 - bits)
}

// numberOf returns the number that elements of a type are; times are int64.
func numberOf(t Type) (number, bool) {
	if t.Kind == DateTime || t.Kind == TimeDelta {
		return numInt64, true
	}
	for n := numBool; n <= numFloat64; n++ {
		if numberTypes[n].typ.Kind == t.Kind && n.size() == t.Size {
			return n, true
		}
	}
	return 0, false
}

// parseNumber reads the name of a type, or a type string of NumPy. The byte order that
// such a string may begin with is checked and then left alone: elements in memory are
// little-endian, and how they are stored is for the codec that makes bytes to say. In
// zarr.json that is what zarr-python does with the encoded type. In a v2 document the
// encoded type's byte order is that of the stored bytes.
func parseNumber(name string) (number, bool) {
	code := name
	if len(code) == 3 && strings.ContainsRune("<>=|", rune(code[0])) {
		code = code[1:]
	}
	for n := numBool; n <= numFloat64; n++ {
		if n.code() == code || n.String() == name {
			return n, true
		}
	}
	return 0, false
}
