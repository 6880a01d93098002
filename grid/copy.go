package grid

import "fmt"

// Window is a region with its elements: items of T in C order, a fixed number of items
// per element. Packed elements are bytes, as many as the type has; elements of varying
// length are one item each, for example a []byte or a string.
type Window[T any] struct {
	Data   []T
	Region Region
}

// Copy copies the elements of region r from one window to another. The windows' regions
// and r are in the same coordinates, and both windows contain r. An element is unit
// items.
//
// Inner axes that r spans in both windows are copied as one run.
func Copy[T any](dst, src Window[T], r Region, unit int64) error {
	if err := dst.check("destination", r, unit); err != nil {
		return err
	}
	if err := src.check("source", r, unit); err != nil {
		return err
	}
	if r.IsEmpty() {
		return nil
	}
	var room loopsOn
	loops := boxLoops(room[:0], r.Shape, dst.Region.Shape, src.Region.Shape)
	copyLoops(dst.Data, src.Data, loops, [2]int64{dst.Region.flat(r.Origin), src.Region.flat(r.Origin)}, unit)
	return nil
}

// CopyShared copies the elements that two windows share and reports whether there are
// any.
func CopyShared[T any](dst, src Window[T], unit int64) (hasShared bool, err error) {
	if dst.Region.Rank() != src.Region.Rank() {
		return false, fmt.Errorf("windows of %d and %d axes: must have the same number", dst.Region.Rank(), src.Region.Rank())
	}
	for _, r := range []Region{dst.Region, src.Region} {
		if !r.isBox() {
			return false, fmt.Errorf("window %v: %d lengths for %d axes", r, len(r.Shape), r.Rank())
		}
	}
	shared := MakeRegion(dst.Region.Rank())
	if !shared.Intersect(dst.Region, src.Region) {
		return false, nil
	}
	return true, Copy(dst, src, shared, unit)
}

// check returns an error if the window does not contain r, or has too little data.
func (w Window[T]) check(role string, r Region, unit int64) error {
	if !w.Region.Contains(r) {
		return fmt.Errorf("%s: region %v is not inside %v", role, r, w.Region)
	}
	return checkItems(role, int64(len(w.Data)), w.Region.Shape, unit)
}

// checkItems returns an error if a buffer is too short for a shape.
func checkItems(role string, have int64, shape []int64, unit int64) error {
	n, err := Elements(shape)
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	if unit < 1 {
		return fmt.Errorf("%s: elements of %d items: must be at least 1", role, unit)
	}
	if need, fits := mul(n, unit); !fits || have < need {
		return fmt.Errorf("%s: %d items for %d elements of %d items: too few", role, have, n, unit)
	}
	return nil
}
