package planner

import (
	"bytes"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/zarrjson"
)

// target says which part of a variable is copied to which part of an array.
type target struct {
	source []int64 // the shape of the variable
	order  []int   // the variable's axes in the array's order; nil if these are equal
	origin []int64 // first position in the array
	start  []int64 // first position in the variable, in the array's axis order
	shape  []int64
}

// arrayElements holds all elements of an array while the values of files are copied to it. Before
// that, all elements have the fill value.
type arrayElements struct {
	schema *zarrjson.Array
	elems  codec.Elems
	unit   int64
}

func newArrayElements(schema *zarrjson.Array) *arrayElements {
	form := schema.Form(schema.Shape)
	c := &arrayElements{schema: schema, elems: codec.NewElems(form), unit: int64(schema.DataType.Type().Size)}
	c.elems.SetFill(form)
	return c
}

func (c *arrayElements) copyTo(conversion *convert.Conversion, v *manifest.Variable, values *manifest.Values, s target) error {
	src := codec.Elems{Fixed: values.Data, Var: values.Texts}
	n := 1
	for _, l := range s.source {
		n *= int(l)
	}
	if v.Type.Varies() && len(src.Var) != n || !v.Type.Varies() && len(src.Fixed) != n*v.Type.Size {
		return fmt.Errorf("%s: %d bytes and %d texts do not fit the shape %v", v.Path, len(src.Fixed), len(src.Var), s.source)
	}
	form := c.schema.Form([]int64{int64(n)})
	dst := codec.NewElems(form)
	if err := conversion.Apply(dst, src); err != nil {
		return err
	}
	shape := s.source
	if s.order != nil && !slices.IsSorted(s.order) {
		var err error
		if dst, shape, err = transposed(dst, s, c.unit); err != nil {
			return err
		}
	}
	lacks := s.shape[:len(s.shape)-len(shape)] // dimensions that the variable lacks: repeat it along these
	times := int(product(lacks))
	dst = codec.Elems{Fixed: bytes.Repeat(dst.Fixed, times), Var: slices.Repeat(dst.Var, times)}
	return c.put(dst, slices.Concat(lacks, shape), s)
}

// transposed transposes elements to the axis order of the array.
func transposed(src codec.Elems, s target, unit int64) (codec.Elems, []int64, error) {
	shape := make([]int64, len(s.order))
	for k, axis := range s.order {
		shape[k] = s.source[axis]
	}
	dst := codec.Elems{Fixed: make([]byte, len(src.Fixed)), Var: make([][]byte, len(src.Var))}
	if src.Var != nil {
		return dst, shape, grid.Transpose(dst.Var, src.Var, s.source, s.order, 1)
	}
	return dst, shape, grid.Transpose(dst.Fixed, src.Fixed, s.source, s.order, unit)
}

// put copies a region of src, which has a shape, to its position.
func (c *arrayElements) put(src codec.Elems, shape []int64, s target) error {
	moved := make([]int64, len(shape)) // the position of the variable's first element in the array
	for k := range moved {
		moved[k] = s.origin[k] - s.start[k]
	}
	to := grid.Whole(c.schema.Shape)
	from, part := grid.Region{Origin: moved, Shape: shape}, grid.Region{Origin: s.origin, Shape: s.shape}
	if c.schema.DataType.Type().Varies() {
		return grid.Copy(grid.Window[[]byte]{Data: c.elems.Var, Region: to}, grid.Window[[]byte]{Data: src.Var, Region: from}, part, 1)
	}
	return grid.Copy(grid.Window[byte]{Data: c.elems.Fixed, Region: to}, grid.Window[byte]{Data: src.Fixed, Region: from}, part, c.unit)
}

// piece is a part of an array's elements.
type piece struct {
	grid.Region
	values *manifest.Values
}

// pieces splits the elements along the first axis into parts of at most pieceElements elements.
func (c *arrayElements) pieces() (out []piece) {
	shape := c.schema.Shape
	if len(shape) == 0 {
		return []piece{{grid.Whole(shape), &manifest.Values{Data: c.elems.Fixed, Texts: c.elems.Var}}}
	}
	inner := int64(1)
	for _, n := range shape[1:] {
		inner *= n
	}
	rows := max(pieceElements/max(inner, 1), 1)
	for at := int64(0); at < shape[0] && inner > 0; at += rows {
		n := min(rows, shape[0]-at)
		p := piece{grid.Whole(shape).Clone(), &manifest.Values{}}
		p.Origin[0], p.Shape[0] = at, n
		if c.elems.Var != nil {
			p.values.Texts = c.elems.Var[at*inner : (at+n)*inner]
		} else {
			p.values.Data = c.elems.Fixed[at*inner*c.unit : (at+n)*inner*c.unit]
		}
		out = append(out, p)
	}
	return out
}
