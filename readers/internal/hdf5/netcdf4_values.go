package hdf5

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"varve/readers"
)

// ElementSize returns the size in bytes of an element that Values returns, or 0 for strings and
// user-defined types, which Values does not return.
func (v *NetCDFVar) ElementSize() int {
	if v.typ == nil || v.typ.isText || v.typ.class != readers.Integer && v.typ.class != readers.Float && !v.typ.isChar {
		return 0
	}
	return v.typ.size
}

// SameValues reports whether Values returns exactly the dataset's elements, little-endian.
func (v *NetCDFVar) SameValues() bool {
	t := v.Object.Dataset.Type
	whole := t.Class == readers.Integer && t.Precision == 8*t.Size || t.Class == readers.Float && t.IsIEEE()
	return whole && v.ElementSize() == t.Size && slices.Equal(v.Shape(), v.Object.Dataset.Shape)
}

// Values returns the values of a variable of numbers or characters, little-endian, as netcdf-c
// writes them into a buffer of the shape of the variable's dimensions.
func (v *NetCDFVar) Values(ctx context.Context, limit uint64) ([]byte, error) {
	d := v.Object.Dataset
	stored, err := d.ReadAll(ctx, limit)
	if err != nil {
		return nil, err
	}
	native := stored
	if !v.typ.isChar {
		native = appendNative(make([]byte, 0, len(stored)/d.Type.Size*v.typ.size), d.Type, v.typ, stored)
	}
	shape := v.Shape()
	n, ok := product(shape)
	if !ok || n > limit/uint64(v.typ.size) {
		return nil, unsupported("variable of shape %v is too large to read at once", shape)
	}
	if slices.Equal(shape, d.Shape) {
		return native, nil
	}
	out := make([]byte, n*uint64(v.typ.size))
	there, fills := v.extent(shape)
	rest := out
	if count, _ := product(there); count > 0 {
		b := box{origin: make([]uint64, len(shape)), shape: there}
		b.copy(out, native, there, d.Shape, v.typ.size)
		rest = out[count*uint64(v.typ.size):]
	}
	copy(rest, v.fillBytes(int(min(fills, n))))
	return out, nil
}

// extent returns the part of a shape that the dataset covers, and the number of fill values after
// it. If the dataset is shorter in its first dimension only, this is the number of missing
// elements. In other dimensions netcdf-c also writes fill values after the values, but fewer than
// elements are missing. It leaves the rest of its buffer unchanged; this package returns zeros there.
func (v *NetCDFVar) extent(shape []uint64) (there []uint64, fills uint64) {
	there, fills = make([]uint64, len(shape)), 1
	short := false
	for i, n := range shape {
		there[i] = min(n, v.Object.Dataset.Shape[i])
		dim := v.ownDims[i]
		switch {
		case dim == nil || !dim.Unlimited:
			fills *= max(n, 1)
		case there[i] < n:
			fills *= n - there[i]
			short = true
		}
	}
	if !short {
		return there, 0
	}
	return there, fills
}

// fillBytes returns n elements of the dataset's fill value, or of netCDF's default.
func (v *NetCDFVar) fillBytes(n int) []byte {
	d := v.Object.Dataset
	one := defaultFill[v.typ.key]
	if v.typ.isChar {
		one = []byte{0}
	}
	if d.FillState == readers.FillUser {
		one = d.fill
		if !v.typ.isChar {
			one = appendNative(nil, d.Type, v.typ, d.fill)
		}
	}
	out := make([]byte, 0, n*len(one))
	for range n {
		out = append(out, one...)
	}
	return out
}

// defaultFill holds netCDF's default fill values by type (NC_FILL_BYTE and so on).
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
