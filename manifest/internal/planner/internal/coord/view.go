package coord

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
)

// A view lists the parts of a file's coordinate in the order in which the file is read. Together they are the whole
// coordinate. A negative start means that the part is read backwards, as in manifest.Tile. nil is the order of the file.

// Backwards returns the view that reads a view from its end.
func Backwards(view []Part, length int64) []Part {
	if view == nil {
		view = []Part{{Length: length}}
	}
	out := make([]Part, 0, len(view))
	for _, s := range slices.Backward(view) {
		out = append(out, Part{Origin: length - s.Origin - s.Length, Start: -s.Start - s.Length, Length: s.Length})
	}
	return out
}

// Through returns the part of a coordinate that is read with a view, as parts of the file.
func (s Part) Through(view []Part) []Part {
	if view == nil {
		return []Part{s}
	}
	var parts []Part
	for _, v := range view {
		from, to := max(s.Start, v.Origin), min(s.Start+s.Length, v.Origin+v.Length)
		if from < to {
			parts = append(parts, Part{Origin: s.Origin + from - s.Start, Start: v.Start + from - v.Origin, Length: to - from})
		}
	}
	return parts
}

// Reversed returns values of a shape that are reversed along an axis.
func Reversed(values *manifest.Values, shape []int64, axis int, t codec.Type) *manifest.Values {
	out := &manifest.Values{Data: slices.Clone(values.Data), Texts: slices.Clone(values.Texts)}
	grid.Reverse(out.Data, shape, axis, int64(t.Size))
	grid.Reverse(out.Texts, shape, axis, 1)
	return out
}

// rotated returns the values from element i on, and then the ones before it.
func rotated(values *manifest.Values, i int64, t codec.Type) *manifest.Values {
	at := i * int64(t.Size)
	return &manifest.Values{Data: slices.Concat(values.Data[at:], values.Data[:at])}
}

// A turn is 360 degrees.
const (
	turn = 360
	// sameMeridian is how far a longitude may be below the range, in degrees: about a metre.
	sameMeridian = 1e-5
)

// Turns returns how many turns have to be added to each longitude, to bring it to the range of 360 degrees that starts at
// least.
func (c *Coord) Turns(least float64) ([]int, error) {
	numbers, err := ReadNumbers(c.Variable, c.Values.Data)
	if err != nil {
		return nil, err
	}
	turns := make([]int, numbers.Len)
	for i := range turns {
		x := numbers.Real(i)
		if math.IsNaN(x) || math.Abs(x) > 100*turn {
			return nil, fmt.Errorf("%s is no longitude", numbers.Say(i))
		}
		turns[i] = -int(math.Floor((x + sameMeridian - least) / turn))
	}
	return turns, nil
}

// IsFullCircle reports whether the values run from one end of a range of 360 degrees to the other, both included.
func (c *Coord) IsFullCircle(least float64) bool {
	numbers, err := ReadNumbers(c.Variable, c.Values.Data)
	if err != nil || numbers.Len < 2 {
		return false
	}
	a, b := numbers.Real(0), numbers.Real(numbers.Len-1)
	return (c.Direction == 1 || c.Direction == -1) && math.Abs(min(a, b)-least) < sameMeridian && math.Abs(max(a, b)-least-turn) < sameMeridian
}

// Turned returns the coordinate with turns added to its values, and sorted as it was, and the view that reads a file in that order.
// The error says why that is not possible.
func (c *Coord) Turned(turns []int, nature Nature) (*Coord, []Part, error) {
	values, err := AddTurns(c.Variable, c.Values, turns)
	if err != nil {
		return nil, nil, err
	}
	out := &Coord{Meaning: c.Meaning, Values: values, File: c.File, Files: c.Files}
	keys, err := out.Keys(nature, nil)
	if err != nil {
		return nil, nil, err
	}
	split := int64(0)
	for i := 1; i < len(keys) && split == 0; i++ {
		if int(c.Direction)*keys[i].Compare(keys[i-1]) < 0 {
			split = int64(i)
		}
	}
	var view []Part
	if n := int64(len(keys)); split > 0 {
		out.Values = rotated(values, split, c.Variable.Type)
		view = []Part{{0, split, n - split}, {n - split, 0, split}}
	}
	if err := out.Measure(nature, nil); err != nil {
		return nil, nil, err
	}
	if out.Direction != c.Direction {
		return nil, nil, errors.New("some of them are on one meridian, or they do not run one way around the globe")
	}
	return out, view, nil
}

// AddTurns returns longitudes with turns added to them. Each turn is for as many elements, as bounds have several for a cell.
func AddTurns(v *manifest.Variable, values *manifest.Values, turns []int) (*manifest.Values, error) {
	numbers, err := ReadNumbers(v, values.Data)
	if err != nil {
		return nil, err
	}
	step := turn / numbers.scale // in stored units
	if whole := math.Round(step); math.Abs(whole-step) < sameMeridian {
		step = whole
	}
	out, size := &manifest.Values{Data: slices.Clone(values.Data)}, v.Type.Size
	for i := range numbers.Len {
		t := turns[i*len(turns)/numbers.Len]
		if t == 0 {
			continue
		}
		stored := math.Float64bits(cf.Float(v.Type, values.Data[i*size:(i+1)*size]) + float64(float64(t)*step))
		moved, ok := cf.Cast(v.Type, codec.Type{Kind: codec.Float, Size: 8}, binary.LittleEndian.AppendUint64(nil, stored))
		if !ok {
			return nil, fmt.Errorf("the type %s cannot represent them", v.Type)
		}
		copy(out.Data[i*size:], moved)
	}
	return out, nil
}
