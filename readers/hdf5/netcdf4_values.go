package hdf5

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"varve/readers"
)

// ElementSize is the size of an element that Values gives, or 0 if it gives none: values
// of strings and of user-defined types are not given.
func (v *NetCDFVar) ElementSize() int {
	if v.typ == nil || v.typ.text || v.typ.class != readers.Integer && v.typ.class != readers.Float && !v.typ.char {
		return 0
	}
	return v.typ.size
}

// SameValues reports whether Values gives just the dataset's elements, little-endian.
func (v *NetCDFVar) SameValues() bool {
	t := v.Object.Dataset.Type
	whole := t.Class == readers.Integer && t.Precision == 8*t.Size || t.Class == readers.Float && t.IsIEEE()
	return whole && v.ElementSize() == t.Size && slices.Equal(v.Shape(), v.Object.Dataset.Shape)
}

// Values returns the values of a variable of numbers or characters, little-endian, in the
// shape that its dimensions give: what lies beyond the dataset is fill.
func (v *NetCDFVar) Values(ctx context.Context, limit uint64) ([]byte, error) {
	d := v.Object.Dataset
	stored, err := d.ReadAll(ctx, limit)
	if err != nil {
		return nil, err
	}
	native := stored
	if !v.typ.char {
		native = appendNative(make([]byte, 0, len(stored)/d.Type.Size*v.typ.size), d.Type, v.typ, stored)
	}
	shape := v.Shape()
	n, ok := product(shape)
	if !ok || n > limit/uint64(v.typ.size) {
		return nil, unsupported("variable of shape %v", shape)
	}
	if slices.Equal(shape, d.Shape) {
		return native, nil
	}
	out := v.fillBytes(int(n))
	b := box{origin: make([]uint64, len(shape)), shape: make([]uint64, len(shape))}
	for i := range shape {
		if b.shape[i] = min(shape[i], d.Shape[i]); b.shape[i] == 0 {
			return out, nil
		}
	}
	b.copy(out, native, shape, d.Shape, v.typ.size)
	return out, nil
}

// fillBytes returns n elements of the fill value: the dataset's, else netCDF's own.
func (v *NetCDFVar) fillBytes(n int) []byte {
	d := v.Object.Dataset
	one := defaultFill[v.typ.key]
	if v.typ.char {
		one = []byte{0}
	}
	if d.FillState == readers.FillUser {
		one = d.fill
		if !v.typ.char {
			one = appendNative(nil, d.Type, v.typ, d.fill)
		}
	}
	out := make([]byte, 0, n*len(one))
	for range n {
		out = append(out, one...)
	}
	return out
}

// defaultFill holds netCDF's fill values by type (NC_FILL_BYTE and so on).
var defaultFill = map[string][]byte{
	"i1": {0x81},
	"u1": {0xff},
	"i2": {0x01, 0x80},
	"u2": {0xff, 0xff},
	"i4": {0x01, 0x00, 0x00, 0x80},
	"u4": {0xff, 0xff, 0xff, 0xff},
	"i8": {0x02, 0, 0, 0, 0, 0, 0, 0x80},
	"u8": {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	"f4": binary.LittleEndian.AppendUint32(nil, math.Float32bits(9.9692099683868690e+36)),
	"f8": binary.LittleEndian.AppendUint64(nil, math.Float64bits(9.9692099683868690e+36)),
}
