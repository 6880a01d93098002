package grib

import (
	"slices"

	"varve/codec/internal/corrupt"
)

// rowCount returns the number of rows. It returns an error unless the lengths of all rows add up to
// the number of points.
func (f *Field) rowCount() (int, error) {
	if f.Rows == nil {
		if f.Columns <= 0 || f.Points%f.Columns != 0 {
			return 0, corrupt.Errorf("%d points cannot be divided into rows of %d", f.Points, f.Columns)
		}
		return f.Points / f.Columns, nil
	}
	sum := 0
	for i, n := range f.Rows {
		if n < 0 || n > f.Points-sum {
			return 0, corrupt.Errorf("row %d has %d points, and the grid has %d", i, n, f.Points)
		}
		sum += n
	}
	if sum != f.Points {
		return 0, corrupt.Errorf("the rows have %d points, and the grid has %d", sum, f.Points)
	}
	return len(f.Rows), nil
}

func (f *Field) rowLength(row int) int {
	if f.Rows == nil {
		return f.Columns
	}
	return f.Rows[row]
}

// boustrophedonic is the order of a packing that stores every second row backwards. Its field is nil
// if all rows are stored forwards.
type boustrophedonic struct{ f *Field }

// straighten reverses every second row.
func (b boustrophedonic) straighten(points []float64) error {
	if b.f == nil || len(points) == 0 {
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
