package grib

import (
	"slices"

	"varve/codec/internal/corrupt"
)

// rowCount returns how many rows the grid has, of which all points are in one.
func (f *Field) rowCount() (int, error) {
	if f.Rows == nil {
		if f.Columns <= 0 || f.Points%f.Columns != 0 {
			return 0, corrupt.Errorf("%d points are no rows of %d", f.Points, f.Columns)
		}
		return f.Points / f.Columns, nil
	}
	sum := 0
	for i, n := range f.Rows {
		if n < 0 || n > f.Points-sum {
			return 0, corrupt.Errorf("row %d of a grid of %d points has %d", i, f.Points, n)
		}
		sum += n
	}
	if sum != f.Points {
		return 0, corrupt.Errorf("%d points are in rows of %d", f.Points, sum)
	}
	return len(f.Rows), nil
}

func (f *Field) rowLength(row int) int {
	if f.Rows == nil {
		return f.Columns
	}
	return f.Rows[row]
}

// boustrophedonic is the order of a packing that goes through every second row backwards, as an
// ox ploughs. It is zero for packings that go forwards.
type boustrophedonic struct {
	f  *Field
	is bool
}

// straighten reverses every second row of all points.
func (b boustrophedonic) straighten(points []float64) error {
	if !b.is || len(points) == 0 {
		return nil
	}
	if len(points) != b.f.Points {
		return corrupt.Errorf("%d values in boustrophedonic order of %d points", len(points), b.f.Points)
	}
	n, err := b.f.rowCount()
	if err != nil {
		return err
	}
	for row := range n {
		length := b.f.rowLength(row)
		if row%2 == 1 {
			slices.Reverse(points[:length])
		}
		points = points[length:]
	}
	return nil
}
