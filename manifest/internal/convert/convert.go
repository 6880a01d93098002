// Package convert converts elements of a tile's variable to elements of an array's schema.
//
//	stored ─ manifest.AsStored ─ cast ─ masks become the schema's ────────────── schema
//	       ─ manifest.Unpacked ─ sign ─ masks become NaN ─ ×scale+offset ─ cast ─ schema
//	       ─ manifest.Repacked ─ sign ─ ×scale+offset ─ the schema's packing, nearest ─ schema
//	       ─ manifest.InUnits ── sign ─ ×scale+offset ─ in the schema's units ─ cast ─ masks become the schema's ── schema
//	       ─ manifest.Retimed ── moment ─ in the schema's units and calendar ──── schema
//
// A mask is an element that _FillValue or missing_value marks as missing. Casts are those that NumPy
// calls safe: no integer changes and no float gets shorter. Arithmetic is done in float64 and rounded
// once.
//
// A conversion that changes no bit reports that, so that chunks of such a tile can be verbatim.
package convert

import (
	"errors"
	"fmt"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// errPacked is returned if a reading does not suit the packing of the variable or the schema.
var errPacked = errors.New("the values have to be unpacked into a float type without packing")

// errNoMask is returned if a schema cannot represent missing values of the variable.
var errNoMask = errors.New("the schema has no element for missing values")

// Conversion converts elements of one variable to elements of a schema. It may be used by any number
// of goroutines.
type Conversion struct {
	from, to codec.Type
	steps    converter // nil if elements do not change
	fill     []byte
}

// converter converts all elements of src. dst has the same number of elements.
type converter interface {
	convert(dst, src codec.Elems) error
}

// New returns the conversion of a variable's elements. It uses the schema's data type and attributes,
// which must suit the reading. It returns an error if the schema would unpack values that the variable
// does not pack, if it has no element for missing values of the variable, or if a cast could lose
// information.
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
	case manifest.Repacked:
		c.steps, err = repacked(v, schema)
	case manifest.InUnits:
		c.steps, err = inUnits(v, schema)
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

// Needed returns a copy of the variable without the attributes on which no conversion depends.
func Needed(v *manifest.Variable) *manifest.Variable {
	needed := *v
	needed.Attributes = slices.DeleteFunc(slices.Clone(v.Attributes), func(a manifest.Attribute) bool {
		return !slices.Contains(cf.MeaningAttributes, a.Name)
	})
	return &needed
}

// Known caches conversions by variable and schema.
type Known map[knownBy]*Conversion

type knownBy struct {
	v      *manifest.Variable
	schema *zarrjson.Array
}

// Add adds a conversion. The variable and schema must not change afterwards.
func (k Known) Add(v *manifest.Variable, schema *zarrjson.Array, c *Conversion) {
	k[knownBy{v, schema}] = c
}

// Conversion returns the cached conversion, or a new one.
func (k Known) Conversion(v *manifest.Variable, schema *zarrjson.Array, reading manifest.Reading) (*Conversion, error) {
	if c := k[knownBy{v, schema}]; c != nil {
		return c, nil
	}
	return New(v, schema, reading)
}

// Identity reports whether elements do not change, bit for bit.
func (c *Conversion) Identity() bool { return c.steps == nil }

// Apply sets dst to the converted elements of src. Both have the same number of elements. They must
// not overlap, unless they are the same memory and the elements have the same size.
func (c *Conversion) Apply(dst, src codec.Elems) error {
	if n, m := count(c.to, dst), count(c.from, src); n != m || n < 0 {
		return fmt.Errorf("the destination has %d elements of %s, the source %d of %s", n, c.to, m, c.from)
	}
	if c.steps == nil {
		copy(dst.Fixed, src.Fixed)
		copy(dst.Var, src.Var)
		return nil
	}
	return c.steps.convert(dst, src)
}

// count returns the number of elements, or -1 if the bytes are not a whole number of them.
func count(t codec.Type, e codec.Elems) int {
	switch {
	case t.Varies():
		return len(e.Var)
	case t.Size == 0 || len(e.Fixed)%t.Size != 0:
		return -1
	}
	return len(e.Fixed) / t.Size
}

// Fill returns the schema's element for elements of the variable that were never written. It must not
// be changed.
func (c *Conversion) Fill() []byte { return c.fill }

// convertFill converts the variable's fill value like a stored element.
func (c *Conversion) convertFill(v *manifest.Variable) error {
	stored := v.Fill.Value
	// No fill value means zeros.
	if stored == nil {
		stored = make([]byte, v.Type.Size)
	}
	src, dst := elemsOf(c.from, stored), elemsOf(c.to, make([]byte, c.to.Size))
	err := c.Apply(dst, src)
	if r, ok := c.steps.(retime); ok && err != nil {
		copy(dst.Fixed, r.to.Fill) // not a time at all, like netCDF's default fill value for float64
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

func elemsOf(t codec.Type, element []byte) codec.Elems {
	if t.Varies() {
		return codec.Elems{Var: [][]byte{element}}
	}
	return codec.Elems{Fixed: element}
}

// packings returns the packing of a variable and of a schema.
func packings(v *manifest.Variable, schema *zarrjson.Array) (tile, declared cf.Packing, err error) {
	if tile, err = cf.PackingOf(v); err == nil {
		declared, err = packingOf(schema)
	}
	return tile, declared, err
}

// asStored returns a converter that casts elements and replaces the variable's masks by the schema's.
func asStored(v *manifest.Variable, schema *zarrjson.Array) (converter, error) {
	if !cf.IsNumber(v.Type) {
		return cast(v.Type, schema.DataType.Type())
	}
	tile, declared, err := packings(v, schema)
	if err != nil {
		return nil, err
	}
	if !tile.SameScale(declared) {
		return nil, fmt.Errorf("the variable is packed as × %v + %v, but the schema as × %v + %v: %w",
			tile.Scale.Or(1), tile.Offset.Or(0), declared.Scale.Or(1), declared.Offset.Or(0), errPacked)
	}
	hasOtherSign := !tile.Type.Equal(v.Type)
	if hasOtherSign != !declared.Type.Equal(schema.DataType.Type()) || hasOtherSign && !v.Type.Equal(schema.DataType.Type()) {
		return nil, fmt.Errorf("the variable reads %s as %s, but the schema reads %s as %s: %w", v.Type, tile.Type, schema.DataType.Type(), declared.Type, errPacked)
	}
	// The stored numbers are kept, so only their masks matter here.
	tile.Type, tile.Scale, tile.Offset = v.Type, nil, nil
	return numbers(tile, schema.DataType.Type(), declared.Masks)
}

// unpacked returns a converter that undoes the variable's own packing.
func unpacked(v *manifest.Variable, schema *zarrjson.Array) (converter, error) {
	if !cf.IsNumber(v.Type) {
		return cast(v.Type, schema.DataType.Type())
	}
	tile, declared, err := packings(v, schema)
	if err != nil {
		return nil, err
	}
	if declared.Scaled() || !declared.Type.Equal(schema.DataType.Type()) {
		return nil, fmt.Errorf("the schema is packed itself: %w", errPacked)
	}
	if tile.Scaled() && (declared.Type.Kind != codec.Float || len(declared.Masks) > 0 && !cf.IsNaN(declared.Type, declared.Masks[0])) {
		return nil, fmt.Errorf("the schema has type %s instead of a float with NaN for missing values: %w", declared.Type, errPacked)
	}
	return numbers(tile, declared.Type, declared.Masks)
}
