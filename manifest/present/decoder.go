package present

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/store"
)

// Decoder converts stored elements to the values that they represent.
type Decoder struct {
	array   *store.Array
	typ     codec.Type
	packing cf.Packing
	decode  bool

	// With CF decoding:
	scale, offset float64
	isSingle      bool      // xarray unpacks in float32
	times         *cf.Times // if elements are times; NumPy's time types are always decoded
}

// DecoderOptions are the options of NewDecoder.
type DecoderOptions struct {
	// Packed leaves elements as they are: the decoder does not apply scale_factor, add_offset, _Unsigned and the
	// units of times.
	Packed bool
}

// NewDecoder returns the decoder of an array. It returns an error if attributes that the decoder applies do not
// follow CF. Missing values are recognised with any options.
func NewDecoder(a *store.Array, opts *DecoderOptions) (*Decoder, error) {
	decode := opts == nil || !opts.Packed
	v := variableOf(a)
	d := &Decoder{array: a, typ: v.Type, decode: decode}
	packing, err := cf.PackingOf(v)
	if err != nil {
		return nil, err
	}
	d.packing = packing
	if decode {
		if err := a.Spec().CheckDecoding(); err != nil {
			return nil, err
		}
	} else {
		d.packing.Type, d.packing.Scale, d.packing.Offset = v.Type, nil, nil
	}
	d.scale, d.offset = d.packing.Affine()
	d.isSingle = d.packing.Scaled() && d.packing.FloatType().Size == 4
	if !decode && v.Type.Kind != codec.DateTime {
		return d, nil
	}
	if units, isTime, err := cf.UnitsOf(v); err != nil {
		return nil, err
	} else if isTime {
		d.times = &cf.Times{Units: units, Packing: d.packing, Type: v.Type}
	}
	return d, nil
}

// variableOf returns an array as a variable. Bounds of times without units have the units of the times.
func variableOf(a *store.Array) *manifest.Variable {
	v := cf.VariableOfArray(a.Spec())
	if b := boundedBy(a); b != nil {
		h := &manifest.Header{Variables: []*manifest.Variable{cf.VariableOf(b.Path(), b.Schema())}}
		v = cf.ParentsOf(h).Bounds(v)
	}
	return v
}

// boundedBy returns the array of the same group that names a as its bounds, or nil.
func boundedBy(a *store.Array) *store.Array {
	dir, name := path.Split(a.Path())
	for _, b := range a.Store().Arrays() {
		if path.Dir(b.Path()) != path.Clean(dir) {
			continue
		}
		for _, role := range cf.BoundsRoles {
			if cf.TextIn(b.Schema().Attributes, role) == name {
				return b
			}
		}
	}
	return nil
}

// IsNumeric returns an error if elements are not numbers.
func (d *Decoder) IsNumeric() error {
	if cf.IsNumber(d.typ) || d.typ.Kind == codec.Bool || d.typ.Kind == codec.DateTime {
		return nil
	}
	return fmt.Errorf("%s holds %s, not numbers: %w", d.array.Path(), d.array.Schema().DataType.Name(), errors.ErrUnsupported)
}

func (d *Decoder) isFloat() bool { return d.packing.Type.Kind == codec.Float }

// isScaled reports whether numbers have a scale or offset.
func (d *Decoder) isScaled() bool { return d.scale != 1 || d.offset != 0 }

// decodedType returns the type of decoded elements, in which missing values are NaN, as in xarray. Times have
// a type of their own.
func (d *Decoder) decodedType() codec.Type {
	switch {
	case !d.decode || !cf.IsNumber(d.typ):
		return d.typ
	case d.packing.Scaled() || len(d.packing.Masks) > 0:
		return d.packing.FloatType()
	}
	return d.packing.Type
}

// Float64s decodes numbers; missing values become NaN.
func (d *Decoder) Float64s(dst []float64, elems []byte) {
	size := d.typ.Size
	if len(d.packing.Masks) > 0 || !cf.IsNumber(d.typ) {
		for i := range dst {
			e := elems[i*size : (i+1)*size]
			if d.isSingle && !d.isMissing(e) {
				dst[i] = d.unpack(cf.Float(d.packing.Type, e))
				continue
			}
			dst[i] = d.packing.Unpack(d.typ, e)
		}
		return
	}
	loadFloats(dst, elems, d.packing.Type)
	if d.isScaled() {
		for i := range dst {
			dst[i] = d.unpack(dst[i])
		}
	}
}

// unpack applies scale and offset. It rounds to float32 after each step where xarray computes in float32.
func (d *Decoder) unpack(stored float64) float64 {
	if d.isSingle {
		return float64(float32(float64(float32(float64(float32(stored))*d.scale))) + float32(d.offset))
	}
	return cf.Unpacked(stored, d.scale, d.offset)
}

// isMissing reports whether an element is a missing value. A NaN that is not declared as missing is an
// invalid number.
func (d *Decoder) isMissing(e []byte) bool {
	return cf.IsNumber(d.typ) && d.packing.IsMask(d.typ, e)
}

// timeOf formats a stored number, or a statistic of stored numbers, as a time.
func (d *Decoder) timeOf(n Number) (string, error) {
	t := *d.times
	var e []byte
	if n.Integer != nil && n.Integer.IsInt64() {
		t.Type = codec.Type{Kind: codec.Int, Size: 8}
		e = binary.LittleEndian.AppendUint64(nil, uint64(n.Integer.Int64()))
	} else {
		t.Type = codec.Type{Kind: codec.Float, Size: 8}
		e = binary.LittleEndian.AppendUint64(nil, math.Float64bits(n.Float))
	}
	t.Packing = cf.Packing{Type: t.Type}
	at, ok, err := t.Instant(e)
	if err != nil || !ok {
		return "", err
	}
	return at.Format(t.Units.Calendar), nil
}

// element returns the i-th element.
func (d *Decoder) element(elems codec.Elems, i int64) []byte {
	if d.typ.Varies() {
		return elems.Var[i]
	}
	size := int64(d.typ.Size)
	return elems.Fixed[i*size : (i+1)*size]
}

func trimmed(e []byte) []byte { return bytes.TrimRight(e, "\x00") }
