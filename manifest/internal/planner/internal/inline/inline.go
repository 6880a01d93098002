// Package inline converts values of files to an array that is stored in the manifest.
package inline

import (
	"bytes"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/planner/internal/coord"
	"varve/zarrjson"
)

// Target says which part of a variable is copied to which part of an array.
type Target struct {
	Source []int64 // the shape of the variable
	Order  []int   // the variable's axes in the array's order; nil if these are equal
	Origin []int64 // first position in the array
	Start  []int64 // first position in the variable, in the array's axis order; negative as in manifest.Tile
	Shape  []int64
}

// Elements holds all elements of an array while the values of files are copied to it. Before
// that, all elements have the fill value.
type Elements struct {
	schema *zarrjson.Array
	elems  codec.Elems
	unit   int64
}

// New returns the elements of an array, which all have the fill value.
func New(schema *zarrjson.Array) *Elements {
	form := schema.Form(schema.Shape)
	c := &Elements{schema: schema, elems: codec.NewElems(form), unit: int64(schema.DataType.Type().Size)}
	c.elems.SetFill(form)
	return c
}

// CopyTo converts the values of a variable to the type of the array, and copies a part of them to a part of the array.
func (c *Elements) CopyTo(conversion *convert.Conversion, v *manifest.Variable, values *manifest.Values, s Target) error {
	src := codec.Elems{Fixed: values.Data, Var: values.Texts}
	n := int(coord.Product(s.Source))
	if v.Type.Varies() && len(src.Var) != n || !v.Type.Varies() && len(src.Fixed) != n*v.Type.Size {
		return fmt.Errorf("%s: %d bytes and %d texts do not fit the shape %v", v.Path, len(src.Fixed), len(src.Var), s.Source)
	}
	form := c.schema.Form([]int64{int64(n)})
	dst := codec.NewElems(form)
	if err := conversion.Apply(dst, src); err != nil {
		return err
	}
	shape := s.Source
	if s.Order != nil && !slices.IsSorted(s.Order) {
		var err error
		if dst, shape, err = Transposed(dst, s, c.unit); err != nil {
			return err
		}
	}
	lacks := s.Shape[:len(s.Shape)-len(shape)] // dimensions that the variable lacks: repeat it along these
	times := int(coord.Product(lacks))
	dst = codec.Elems{Fixed: bytes.Repeat(dst.Fixed, times), Var: slices.Repeat(dst.Var, times)}
	return c.put(dst, slices.Concat(lacks, shape), s)
}

// Transposed transposes elements to the axis order of the array.
func Transposed(src codec.Elems, s Target, unit int64) (codec.Elems, []int64, error) {
	shape := make([]int64, len(s.Order))
	for k, axis := range s.Order {
		shape[k] = s.Source[axis]
	}
	dst := codec.Elems{Fixed: make([]byte, len(src.Fixed)), Var: make([][]byte, len(src.Var))}
	if src.Var != nil {
		return dst, shape, grid.Transpose(dst.Var, src.Var, s.Source, s.Order, 1)
	}
	return dst, shape, grid.Transpose(dst.Fixed, src.Fixed, s.Source, s.Order, unit)
}

// put copies a region of src, which has a shape, to its position. It may change src.
func (c *Elements) put(src codec.Elems, shape []int64, s Target) error {
	moved := make([]int64, len(shape)) // the position of the variable's first element in the array
	for k := range moved {
		start := s.Start[k]
		if start < 0 { // read backwards: see manifest.Tile
			grid.Reverse(src.Fixed, shape, k, c.unit)
			grid.Reverse(src.Var, shape, k, 1)
			start += shape[k]
		}
		moved[k] = s.Origin[k] - start
	}
	to := grid.Whole(c.schema.Shape)
	from, part := grid.Region{Origin: moved, Shape: shape}, grid.Region{Origin: s.Origin, Shape: s.Shape}
	if c.schema.DataType.Type().Varies() {
		return grid.Copy(grid.Window[[]byte]{Data: c.elems.Var, Region: to}, grid.Window[[]byte]{Data: src.Var, Region: from}, part, 1)
	}
	return grid.Copy(grid.Window[byte]{Data: c.elems.Fixed, Region: to}, grid.Window[byte]{Data: src.Fixed, Region: from}, part, c.unit)
}

// PieceElements is the largest number of elements of one piece: 8 MiB of float64, which a client reads at once.
const PieceElements = 1 << 20

// Piece is a part of an array's elements.
type Piece struct {
	grid.Region
	Values *manifest.Values
}

// Pieces splits the elements along the first axis into parts of at most PieceElements elements, or
// of one row if rows are longer.
func (c *Elements) Pieces() (out []Piece) {
	shape := c.schema.Shape
	if len(shape) == 0 {
		return []Piece{{grid.Whole(shape), &manifest.Values{Data: c.elems.Fixed, Texts: c.elems.Var}}}
	}
	inner := coord.Product(shape[1:])
	rows := max(PieceElements/max(inner, 1), 1)
	for at := int64(0); at < shape[0] && inner > 0; at += rows {
		n := min(rows, shape[0]-at)
		p := Piece{grid.Whole(shape).Clone(), &manifest.Values{}}
		p.Origin[0], p.Shape[0] = at, n
		if c.elems.Var != nil {
			p.Values.Texts = c.elems.Var[at*inner : (at+n)*inner]
		} else {
			p.Values.Data = c.elems.Fixed[at*inner*c.unit : (at+n)*inner*c.unit]
		}
		out = append(out, p)
	}
	return out
}
