package dap

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"varve/codec"
	"varve/manifest/export/netcdf"
	"varve/manifest/internal/cf"
	"varve/manifest/present"
)

// type2 is a type of DAP2.
type type2 uint8

const (
	typeByte type2 = iota
	typeInt16
	typeInt32
	typeFloat32
	typeFloat64
	typeString
	typeInt64 // DAP2 has none: Dataset.decide replaces it by Int32 or Float64
)

var names2 = [...]string{"Byte", "Int16", "Int32", "Float32", "Float64", "String"}

// String returns the name in a DDS.
func (t type2) String() string { return names2[t] }

// size returns the bytes of an element of an array in XDR.
func (t type2) size() int64 { return [...]int64{1, 4, 4, 4, 8, 0}[t] }

// types4 has the DAP4 type for each type of netCDF.
var types4 = map[netcdf.Type]string{
	netcdf.Byte: "Int8", netcdf.UByte: "UInt8", netcdf.Short: "Int16", netcdf.UShort: "UInt16", netcdf.Int: "Int32", netcdf.UInt: "UInt32",
	netcdf.Int64: "Int64", netcdf.UInt64: "UInt64", netcdf.Float: "Float32", netcdf.Double: "Float64", netcdf.Char: "String",
}

// smallest2 returns the DAP2 type that holds all values of a type.
func smallest2(t codec.Type) type2 {
	switch {
	case t.Kind == codec.Bool:
		return typeByte
	case t.Size == 1 && cf.IsInteger(t), t.Kind == codec.Int && t.Size == 2: // netCDF-C reads a Byte as a signed number
		return typeInt16
	case t.Kind == codec.Int && t.Size == 4, t.Kind == codec.Uint && t.Size == 2:
		return typeInt32
	case t.Kind == codec.Uint && t.Size == 4, t.Kind == codec.Float && t.Size == 8:
		return typeFloat64
	case t.Kind == codec.Float:
		return typeFloat32
	case t.Size == 8 && t.Kind != codec.FixedUTF32 && t.Kind != codec.FixedBytes:
		return typeInt64
	}
	return typeString
}

// applyUnsigned makes the elements in DAP2 those that _Unsigned declares: the attribute means nothing to a client that gets
// them in a larger type.
func (v *variable) applyUnsigned() {
	if !cf.IsInteger(v.elements) || cf.TextIn(v.array.Schema().Attributes, cf.Unsigned) == "" {
		return
	}
	if packing, err := cf.PackingOf(cf.VariableOfArray(v.array.Spec())); err == nil {
		v.elements = packing.Type
	}
}

// hasOtherSign reports whether _Unsigned changes the type of elements.
func (v *variable) hasOtherSign() bool {
	return v.elements.Kind != v.array.Schema().DataType.Type().Kind
}

const (
	// maxDecideElements is the largest number of elements of an array that are read to choose its DAP2 type.
	maxDecideElements = 1 << 20
	// maxDecideTotal is the largest number of elements of all arrays of a dataset that are read for that.
	maxDecideTotal = 16 << 20
)

// decide chooses the DAP2 types of arrays of 64-bit integers. It reads the values of small arrays, and omits an array with a value
// that no type holds: clients fetch small arrays when they open a dataset, and would open nothing. For larger arrays, or if a
// source cannot be read, it chooses Float64. It omits arrays without elements, too.
func (d *Dataset) decide(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.typed {
		return nil
	}
	left := int64(maxDecideTotal)
	for _, v := range d.variables {
		if v.omitted2 == "" && isEmpty(whole(v)) { // with one, netCDF-C fails to read others
			v.omitted2 = "it has no elements"
			d.omit(&d.omitted2, strings.TrimPrefix(v.path, "/")+" is omitted in DAP2: "+v.omitted2)
		}
		if v.isText {
			left -= v.measureTexts(ctx, left)
			if ctx.Err() != nil {
				return ctx.Err() // the next request reads them again
			}
		}
		if v.type2 != typeInt64 {
			continue
		}
		n := present.Whole(v.array).Count()
		if n > maxDecideElements || n > left {
			v.type2 = typeFloat64
			continue
		}
		left -= n
		fits := v.storedNumbersFit()
		err := v.each(ctx, whole(v), func(e codec.Elems) error {
			for at := 0; at < len(e.Fixed); at += 8 {
				fits = fits && fitsInt32(v.elements, cf.Word(e.Fixed[at:at+8]))
			}
			return v.checkElements(e.Fixed)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var inexact *inexactError
		if errors.As(err, &inexact) {
			v.omitted2 = inexact.Error()
			d.omit(&d.omitted2, strings.TrimPrefix(v.path, "/")+" is omitted in DAP2: "+v.omitted2)
		}
		v.type2, v.isExact = typeFloat64, err == nil
		if err == nil && fits {
			v.type2 = typeInt32
		}
	}
	d.typed = true
	return nil
}

// measureTexts finds the length of the longest text. It reads texts of varying length, unless the array has more than
// maxDecideElements or most elements, and returns their number.
func (v *variable) measureTexts(ctx context.Context, most int64) (read int64) {
	t := v.array.Schema().DataType.Type()
	if !t.Varies() {
		v.longest = int64(t.Size) * max(v.chars, 1) // UTF-8 is not longer than UTF-32
		return 0
	}
	n := present.Whole(v.array).Count()
	if n > min(maxDecideElements, most) {
		return 0
	}
	longest := int64(0)
	err := v.each(ctx, whole(v), func(e codec.Elems) error {
		for _, text := range e.Var {
			longest = max(longest, int64(len(text)))
		}
		return nil
	})
	if err == nil {
		v.longest = longest
	}
	return n
}

// storedNumbersFit reports whether the attributes that have the type of the variable fit in an Int32.
func (v *variable) storedNumbersFit() bool {
	for _, a := range v.attributes {
		if !present.IsStoredNumber(a.Name) || a.Type != netcdf.Int64 && a.Type != netcdf.UInt64 {
			continue
		}
		for at := 0; at < len(a.Data); at += 8 {
			if !fitsInt32(v.elements, cf.Word(a.Data[at:at+8])) {
				return false
			}
		}
	}
	return true
}

// fitsInt32 reports whether a 64-bit integer fits in an Int32.
func fitsInt32(t codec.Type, word uint64) bool {
	if t.Kind == codec.Uint {
		return word <= math.MaxInt32
	}
	return int64(word) == int64(int32(word))
}

// isExactFloat reports whether a float64 has the value of a 64-bit integer.
func isExactFloat(t codec.Type, word uint64) bool {
	if t.Kind == codec.Uint {
		f := float64(word)
		return f < 1<<64 && uint64(f) == word
	}
	f := float64(int64(word))
	return f < 1<<63 && int64(f) == int64(word)
}

// inexactError is returned for a value that DAP2 would change.
type inexactError struct{ path, value string }

// Error says which value it is.
func (e *inexactError) Error() string {
	return fmt.Sprintf("%s has the value %s, which no type of DAP2 holds exactly; use DAP4", e.path, e.value)
}

// Unwrap says that DAP2 has no type for the value.
func (e *inexactError) Unwrap() error { return errors.ErrUnsupported }

// checkExact returns an error if DAP2 would change a value of a hyperslab.
func (v *variable) checkExact(ctx context.Context, slabs []slab) error {
	if v.isExact {
		return nil
	}
	return v.each(ctx, slabs, func(e codec.Elems) error { return v.checkElements(e.Fixed) })
}

// checkElements returns an error if DAP2 would change one of packed 64-bit integers.
func (v *variable) checkElements(elems []byte) error {
	for at := 0; at < len(elems); at += 8 {
		if word := cf.Word(elems[at : at+8]); !isExactFloat(v.elements, word) {
			value := string(present.AppendPlain(nil, codec.Type{Kind: v.elements.Kind, Size: 8}, elems[at:at+8]))
			if v.elements.Kind == codec.DateTime {
				value = fmt.Sprint(int64(word))
			}
			return &inexactError{v.path, value}
		}
	}
	return nil
}

// appendXDR appends elements of an array in the form of XDR.
func (v *variable) appendXDR(dst, elems []byte) []byte {
	t := v.elements
	switch {
	case v.type2 == typeByte:
		return append(dst, elems...)
	case t.Size == 4 && v.type2.size() == 4:
		for at := 0; at < len(elems); at += 4 {
			dst = binary.BigEndian.AppendUint32(dst, binary.LittleEndian.Uint32(elems[at:]))
		}
		return dst
	case t.Size == 8 && t.Kind == codec.Float:
		for at := 0; at < len(elems); at += 8 {
			dst = binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(elems[at:]))
		}
		return dst
	}
	for at := 0; at < len(elems); at += t.Size {
		e := elems[at : at+t.Size]
		switch v.type2 {
		case typeInt16, typeInt32:
			dst = binary.BigEndian.AppendUint32(dst, uint32(word(t, e)))
		case typeFloat32:
			dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(cf.Float(t, e))))
		default:
			dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(number(t, e)))
		}
	}
	return dst
}

// word returns an integer or a count of time as 64 bits.
func word(t codec.Type, e []byte) uint64 {
	if t.Kind == codec.Int {
		return cf.Extend(t, e)
	}
	return cf.Word(e)
}

// number returns an integer or a count of time as a float64.
func number(t codec.Type, e []byte) float64 {
	if t.Kind == codec.Uint {
		return float64(cf.Word(e))
	}
	return float64(int64(word(t, e)))
}

// append4 appends elements in the form of DAP4: little-endian, in the type of the array.
func (v *variable) append4(dst, elems []byte) []byte {
	t := v.array.Schema().DataType.Type()
	if t.Kind != codec.Float || t.Size != 2 {
		return append(dst, elems...)
	}
	for at := 0; at < len(elems); at += 2 {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(cf.Float(t, elems[at:at+2]))))
	}
	return dst
}

// size4 returns the bytes of an element in DAP4.
func (v *variable) size4() int64 {
	if v.type4 == "Float32" {
		return 4 // also for float16
	}
	return int64(v.array.Schema().DataType.Type().Size)
}
