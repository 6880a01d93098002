package equal

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
)

// matrix returns the content of a file: numbers of 2 × 3 positions, or of 3 × 2 if the axes are in another order.
func matrix(t codec.Type, transposed bool, numbers ...float64) Content {
	v := &manifest.Variable{Path: "/x", Type: t, Shape: []int64{2, 3}, Dims: []string{"/y", "/x"}}
	x := Content{Variable: v, Means: v, Axes: []int{0, 1}, Values: &manifest.Values{}}
	if transposed {
		v.Shape, x.Axes = []int64{3, 2}, []int{1, 0}
	}
	for _, n := range numbers {
		if t.Kind == codec.Float {
			x.Values.Data = binary.LittleEndian.AppendUint64(x.Values.Data, math.Float64bits(n))
		} else {
			x.Values.Data = binary.LittleEndian.AppendUint16(x.Values.Data, uint16(n))
		}
	}
	return x
}

// TestGroups: files are equal if their numbers are, whatever their types and the order of their axes.
func TestGroups(t *testing.T) {
	double, short := codec.Type{Kind: codec.Float, Size: 8}, codec.Type{Kind: codec.Int, Size: 2}
	c := NewComparer(false, false)
	for i, x := range []Content{
		matrix(double, false, 1, 2, 3, 4, 5, 6), matrix(short, false, 1, 2, 3, 4, 5, 6), matrix(double, true, 1, 4, 2, 5, 3, 6),
		matrix(double, false, 1, 2, 3, 4, 5, 7), matrix(double, true, 1, 2, 3, 4, 5, 6),
	} {
		x.Class = int32(i)
		if err := c.Add(int32(i), x); err != nil {
			t.Fatal(err)
		}
	}
	if want := [][]int32{{0, 1, 2}, {3}, {4}}; !slices.EqualFunc(c.Groups, want, slices.Equal) {
		t.Errorf("the groups are %v, want %v", c.Groups, want)
	}
}

// TestParts: a narrower file is equal to a wide one if the values that it has are.
func TestParts(t *testing.T) {
	double := codec.Type{Kind: codec.Float, Size: 8}
	whole := matrix(double, false, 1, 2, 3, 4, 5, 6)
	c := NewComparer(true, false)
	group, err := c.Find(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddCropped(whole, []int64{2, 2}, group); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		numbers []float64
		want    int
	}{{[]float64{1, 2, 4, 5}, group}, {[]float64{1, 2, 3, 4}, group + 1}} {
		narrow := matrix(double, false, x.numbers...)
		narrow.Variable.Shape = []int64{2, 2}
		if got, err := c.Find(narrow); err != nil || got != x.want {
			t.Errorf("%v: group %d, %v, want %d", x.numbers, got, err, x.want)
		}
	}
}

// TestNeverWritten: a variable that was never written has its fill value, and equals no written one.
func TestNeverWritten(t *testing.T) {
	double := codec.Type{Kind: codec.Float, Size: 8}
	c := NewComparer(true, false)
	for i, values := range []*manifest.Values{coord.None, coord.None, nil} {
		x := matrix(double, false, 0, 0, 0, 0, 0, 0)
		if values != nil {
			x.Values = values
		}
		x.Class = int32(i)
		if err := c.Add(int32(i), x); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.Groups) != 2 || !slices.Equal(c.Groups[0], []int32{0, 1}) {
		t.Errorf("the groups are %v", c.Groups)
	}
}
