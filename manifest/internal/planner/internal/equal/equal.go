// Package equal groups files by the meaning of their values: equal numbers of different types are equal.
package equal

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/inline"
)

// Comparer groups files by equal values. It keeps a digest of each group instead of its values.
type Comparer struct {
	alike  bool // equal bytes mean equal values in all members
	units  bool // members state different units
	seen   map[valued]int
	bySum  map[[sha256.Size]byte]int
	Groups [][]int32
	hash   hash.Hash
	w      *bufio.Writer // buffers writes to hash
}

// NewComparer returns a Comparer without groups. alike says that equal bytes mean equal values, and units that
// members state different units.
func NewComparer(alike, units bool) *Comparer {
	h := sha256.New()
	return &Comparer{alike: alike, units: units, seen: map[valued]int{}, bySum: map[[sha256.Size]byte]int{}, hash: h, w: bufio.NewWriter(h)}
}

// valued identifies values that were compared before: files share values in memory.
type valued struct {
	class  int32
	values *manifest.Values
}

// Content holds the values that one file has for an array, and the parts of its header that give them their meaning.
type Content struct {
	Class    int32 // files of one class share values in memory, which mean the same; negative numbers are classes of one file
	Variable *manifest.Variable
	Axes     []int              // the axis of the variable for each dimension of the array
	Means    *manifest.Variable // states the units of the values
	Values   *manifest.Values
}

// Add adds a file to the group with equal values.
func (c *Comparer) Add(file int32, x Content) error {
	// Files of a class share values in memory, so most files are compared by pointer.
	key := valued{x.Class, x.Values}
	at, ok := c.seen[key]
	if !ok {
		var err error
		if at, err = c.Find(x); err != nil {
			return err
		}
		c.seen[key] = at
	}
	c.Groups[at] = append(c.Groups[at], file)
	return nil
}

// Find returns the index of the group with equal values, and makes a group if there is none.
func (c *Comparer) Find(x Content) (int, error) {
	sum, err := c.sum(x)
	if err != nil {
		return 0, err
	}
	at, ok := c.bySum[sum]
	if !ok {
		at = len(c.Groups)
		c.Groups = append(c.Groups, nil)
		c.bySum[sum] = at
	}
	return at, nil
}

// AddCropped adds the digest of values, cropped to a shape, to a group.
func (c *Comparer) AddCropped(x Content, shape []int64, group int) error {
	x, err := x.Part(make([]int64, len(shape)), shape)
	if err != nil {
		return err
	}
	sum, err := c.sum(x)
	if err == nil {
		c.bySum[sum] = group
	}
	return err
}

// Part returns the part of a shape that begins at start.
func (x Content) Part(start, shape []int64) (Content, error) {
	v, of := *x.Variable, x.Variable.Shape
	v.Shape = shape
	x.Variable = &v
	var err error
	if x.Values != coord.None {
		x.Values, err = cropped(x.Values, of, start, shape, v.Type)
	}
	return x, err
}

// Crop returns values of shape `of` cropped to shape.
func Crop(values *manifest.Values, of, shape []int64, t codec.Type) (*manifest.Values, error) {
	return cropped(values, of, make([]int64, len(shape)), shape, t)
}

// cropped returns the part of values of shape `of` that begins at start. It is read backwards where start is negative.
func cropped(values *manifest.Values, of, start, shape []int64, t codec.Type) (*manifest.Values, error) {
	for axis, at := range start {
		if at < 0 { // read backwards: see manifest.Tile
			values, start = coord.Reversed(values, of, axis, t), slices.Clone(start)
			start[axis] += of[axis]
		}
	}
	from, to, unit := grid.Whole(of), grid.Region{Origin: start, Shape: shape}, int64(t.Size)
	n := coord.Product(shape)
	if t.Varies() {
		out := &manifest.Values{Texts: make([][]byte, n)}
		return out, grid.Copy(grid.Window[[]byte]{Data: out.Texts, Region: to}, grid.Window[[]byte]{Data: values.Texts, Region: from}, to, 1)
	}
	out := &manifest.Values{Data: make([]byte, n*unit)}
	return out, grid.Copy(grid.Window[byte]{Data: out.Data, Region: to}, grid.Window[byte]{Data: values.Data, Region: from}, to, unit)
}

// sum returns a digest that is equal for values with the same meaning.
func (c *Comparer) sum(x Content) (sum [sha256.Size]byte, err error) {
	c.hash.Reset()
	c.w.Reset(c.hash)
	if err := c.write(x); err != nil {
		return sum, err
	}
	_ = c.w.Flush() // a hash never fails
	c.hash.Sum(sum[:0])
	return sum, nil
}

// write writes a form of the values that is equal for values with the same meaning.
func (c *Comparer) write(x Content) error {
	var shape []int64
	var err error
	if x.Values, shape, err = x.InOrder(); err != nil {
		return err
	}
	// Equal bytes in another shape are other values.
	fmt.Fprint(c.w, shape)
	if coord.ElementsOf(x.Variable) == 0 {
		return nil
	}
	// With equal types and units, the digest of the bytes decides, and no value is converted.
	if c.alike {
		c.w.WriteString(IDOf(x.Values))
		return nil
	}
	what, err := coord.NewMeaning(x.Means)
	if err != nil {
		// Values whose meaning is unknown are equal only if their types and bytes are equal.
		fmt.Fprintf(c.w, "%v", x.Variable.Type)
		c.w.WriteString(IDOf(x.Values))
		return nil
	}
	if what.Nature == coord.Text {
		fmt.Fprintf(c.w, "%q", coord.TextsOf(what.Variable, x.Values))
		return nil
	}
	o := x.Values.Summary
	if o == nil {
		o, err = coord.SummaryOf(what, what.Nature, x.Values)
	}
	if err != nil && what.Nature == coord.Instant { // the times are out of range
		o, err = coord.SummaryOf(what, coord.Real, x.Values)
	}
	if err != nil {
		return err
	}
	if o.Nature != coord.NatureWords[coord.Instant] && c.units {
		c.w.WriteString(what.Unit)
	}
	c.w.WriteString(o.Meant)
	return nil
}

// InOrder returns the values in the axis order of the array, and their shape. For a variable that was
// never written, it returns one element. Summaries cannot be transposed, so they get a shape that
// equals no other.
func (x Content) InOrder() (*manifest.Values, []int64, error) {
	shape := make([]int64, len(x.Axes))
	for k, axis := range x.Axes {
		shape[k] = x.Variable.Shape[axis]
	}
	switch {
	case x.Values == coord.None:
		return unwritten(x.Variable), shape, nil
	case slices.IsSorted(x.Axes):
		return x.Values, shape, nil
	case x.Values.Summed:
		return x.Values, append(shape, -1), nil
	}
	elems, shape, err := inline.Transposed(codec.Elems{Fixed: x.Values.Data, Var: x.Values.Texts}, inline.Target{Source: x.Variable.Shape, Order: x.Axes}, int64(x.Variable.Type.Size))
	return &manifest.Values{Data: elems.Fixed, Texts: elems.Var}, shape, err
}

// unwritten returns one element of a variable that was never written: its fill value.
func unwritten(v *manifest.Variable) *manifest.Values {
	fill := v.Fill.Value
	switch {
	case v.Type.Varies():
		return &manifest.Values{Texts: [][]byte{fill}}
	case fill == nil:
		fill = make([]byte, v.Type.Size)
	}
	return &manifest.Values{Data: fill}
}

// IDOf returns the ID of values, and computes it if it is not set.
func IDOf(v *manifest.Values) string {
	if v.ID == "" {
		x := *v
		x.SetID()
		return x.ID
	}
	return v.ID
}
