// Package convert turns elements of a tile's variable into elements of an array's face.
package convert

import (
	"errors"

	"varve/codec"
	"varve/manifest"
	"varve/zarrjson"
)

// Conversion turns elements of one variable into those of a face. Any number of goroutines
// may use it.
type Conversion struct {
	fill []byte
}

// New returns the conversion of a variable's elements. The face's data type and attributes
// count, its grid and codecs do not.
func New(v *manifest.Variable, face *zarrjson.Array, reading manifest.Reading) (*Conversion, error) {
	return nil, errors.ErrUnsupported
}

// Identity reports whether elements stay as they are, bit for bit.
func (c *Conversion) Identity() bool { return false }

// Apply fills dst with the elements of src, which are as many. They must not overlap, unless
// they are the same.
func (c *Conversion) Apply(dst, src codec.Elems) error { return errors.ErrUnsupported }

// Fill is one element of the face: what a cell of the variable that was never written reads as.
func (c *Conversion) Fill() []byte { return c.fill }
