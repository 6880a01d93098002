// Package convert turns elements of a tile's variable into elements of an array's schema: what
// stands between what one file stores and what all files together declare.
//
//	stored ─ manifest.AsStored ─ cast ─ masks become the schema's ────────────── schema
//	       ─ manifest.Unpacked ─ sign ─ masks become NaN ─ ×scale+offset ─ cast ─ schema
//	       ─ manifest.Retimed ── moment ─ in the schema's units and calendar ──── schema
//
// A mask is an element that the attributes _FillValue and missing_value call missing. Casts
// are those that NumPy calls safe: no integer changes, no float gets shorter. Arithmetic is
// done in float64 and rounded once.
//
// A conversion that changes no bit says so, and a chunk of such a tile can be served as it is
// stored.
package convert

import (
	"errors"
	"fmt"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// Conversion turns elements of one variable into those of a schema. Any number of goroutines
// may use it.
type Conversion struct {
	from, to codec.Type
	steps    converter // nil: elements stay as they are
	fill     []byte
}

// converter converts as many elements as there are. Elements of a fixed size lie in buffers
// that hold as many of them.
type converter interface {
	convert(dst, src codec.Elems) error
}

// New returns the conversion of a variable's elements. Of the schema its data type and its
// attributes count, which have to be in keeping with the reading: a schema that unpacks what the
// variable does not pack, or that has no element for what the variable calls missing, is an
// error, and so is a cast that loses anything.
func New(v *manifest.Variable, schema *zarrjson.Array, reading manifest.Reading) (*Conversion, error) {
	c := &Conversion{from: v.Type, to: schema.DataType.Type()}
	if err := errors.Join(check(c.from), check(c.to)); err != nil {
		return nil, fmt.Errorf("%s: %w", v.Path, err)
	}
	var err error
	switch reading {
	case manifest.AsStored:
		c.steps, err = asStored(v, schema)
	case manifest.Unpacked:
		c.steps, err = unpacked(v, schema)
	case manifest.Retimed:
		c.steps, err = retimed(v, schema)
	default:
		err = fmt.Errorf("reading %q: %w", reading, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.Path, err)
	}
	return c, c.convertFill(v)
}

// Known are conversions that were made before, for those who make the same again.
type Known map[knownBy]*Conversion

type knownBy struct {
	v      *manifest.Variable
	schema *zarrjson.Array
}

// Add keeps a conversion of a variable's elements into those of a schema. Neither may change
// from now on.
func (k Known) Add(v *manifest.Variable, schema *zarrjson.Array, c *Conversion) {
	k[knownBy{v, schema}] = c
}

// Conversion returns the conversion that is known, or a new one.
func (k Known) Conversion(v *manifest.Variable, schema *zarrjson.Array, reading manifest.Reading) (*Conversion, error) {
	if c := k[knownBy{v, schema}]; c != nil {
		return c, nil
	}
	return New(v, schema, reading)
}

// Identity reports whether elements stay as they are, bit for bit.
func (c *Conversion) Identity() bool { return c.steps == nil }

// Apply fills dst with the elements of src, which are as many. They must not overlap, unless
// they are the same and of one size.
func (c *Conversion) Apply(dst, src codec.Elems) error {
	if n, m := count(c.to, dst), count(c.from, src); n != m || n < 0 {
		return fmt.Errorf("%d elements of %s for %d of %s", n, c.to, m, c.from)
	}
	if c.steps == nil {
		copy(dst.Fixed, src.Fixed)
		copy(dst.Var, src.Var)
		return nil
	}
	return c.steps.convert(dst, src)
}

// count is the number of elements, or -1 if it is not whole.
func count(t codec.Type, e codec.Elems) int {
	switch {
	case t.Varies():
		return len(e.Var)
	case t.Size == 0 || len(e.Fixed)%t.Size != 0:
		return -1
	}
	return len(e.Fixed) / t.Size
}

// Fill is one element of the schema: what a cell of the variable that was never written reads as.
// It must not be changed.
func (c *Conversion) Fill() []byte { return c.fill }

// convertFill takes what unwritten cells hold the way of stored elements.
func (c *Conversion) convertFill(v *manifest.Variable) error {
	stored := v.Fill.Value
	if stored == nil {
		stored = make([]byte, v.Type.Size)
	}
	src, dst := one(c.from, stored), one(c.to, make([]byte, c.to.Size))
	err := c.Apply(dst, src)
	if r, ok := c.steps.(retime); ok && err != nil {
		copy(dst.Fixed, r.to.Fill) // no moment at all, as netCDF's default for float64
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%s: fill value: %w", v.Path, err)
	}
	c.fill = dst.Fixed
	if c.to.Varies() {
		c.fill = dst.Var[0]
	}
	return nil
}

func one(t codec.Type, element []byte) codec.Elems {
	if t.Varies() {
		return codec.Elems{Var: [][]byte{element}}
	}
	return codec.Elems{Fixed: element}
}

// packings are those of a variable's numbers and of a schema's.
func packings(v *manifest.Variable, schema *zarrjson.Array) (tile, declared cf.Packing, err error) {
	if tile, err = cf.PackingOf(v); err == nil {
		declared, err = packingOf(schema)
	}
	return tile, declared, err
}

// asStored casts, and gives the schema's mask to what the variable calls missing.
func asStored(v *manifest.Variable, schema *zarrjson.Array) (converter, error) {
	if !cf.IsNumber(v.Type) {
		return cast(v.Type, schema.DataType.Type())
	}
	tile, declared, err := packings(v, schema)
	if err != nil {
		return nil, err
	}
	if !tile.SameScale(declared) {
		return nil, fmt.Errorf("packed as × %v + %v, the schema as × %v + %v: it has to be unpacked",
			tile.Scale.Or(1), tile.Offset.Or(0), declared.Scale.Or(1), declared.Offset.Or(0))
	}
	turned := !tile.Type.Equal(v.Type)
	if turned != !declared.Type.Equal(schema.DataType.Type()) || turned && !v.Type.Equal(schema.DataType.Type()) {
		return nil, fmt.Errorf("%s as %s, the schema %s as %s: it has to be unpacked", v.Type, tile.Type, schema.DataType.Type(), declared.Type)
	}
	tile.Type, tile.Scale, tile.Offset = v.Type, nil, nil
	return numbers(tile, schema.DataType.Type(), declared.Masks)
}

// unpacked undoes the variable's own packing.
func unpacked(v *manifest.Variable, schema *zarrjson.Array) (converter, error) {
	if !cf.IsNumber(v.Type) {
		return cast(v.Type, schema.DataType.Type())
	}
	tile, declared, err := packings(v, schema)
	if err != nil {
		return nil, err
	}
	if declared.Scaled() || !declared.Type.Equal(schema.DataType.Type()) {
		return nil, fmt.Errorf("unpacked into a schema that is packed itself")
	}
	if tile.Scaled() && (declared.Type.Kind != codec.Float || len(declared.Masks) > 0 && !cf.IsNaN(declared.Type, declared.Masks[0])) {
		return nil, fmt.Errorf("unpacked into %s: want a float, and NaN for what is missing", declared.Type)
	}
	return numbers(tile, declared.Type, declared.Masks)
}
