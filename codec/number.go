package codec

import (
	"math"
	"strings"
)

// number is an element type of the element-wise codecs. The types are NumPy's, since
// NumPy's behaviour defines those codecs.
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

// numberTypes are the types of the numbers and their NumPy type strings.
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

// integerRange returns the least and the greatest value of an integer type. The greatest
// is never negative.
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

// numberOf returns the number of an element type; times are int64.
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

// parseNumber parses a type name or a NumPy type string. It accepts a byte order and
// ignores it: elements in memory are little-endian, and the array-to-bytes codec sets the
// stored order. zarr-python does the same with types in zarr.json. In a format 2 document
// the byte order of the encoded type is that of the stored bytes.
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
