package grid

import (
	"fmt"
	"slices"
)

// Transpose copies all elements of src, which has a shape in C order, to dst, so that
// axis k of dst is axis order[k] of src. An element is unit items.
func Transpose[T any](dst, src []T, shape []int64, order []int, unit int64) error {
	if err := checkOrder(order, len(shape)); err != nil {
		return err
	}
	if err := checkItems("destination", int64(len(dst)), shape, unit); err != nil {
		return err
	}
	if err := checkItems("source", int64(len(src)), shape, unit); err != nil {
		return err
	}
	if (Region{Shape: shape}).IsEmpty() {
		return nil
	}
	var room loopsOn
	loops, at := room[:0], int64(1)
	// The destination is written in order, so that only reads are scattered.
	for k := len(order) - 1; k >= 0; k-- {
		loops = nest(loops, loop{n: shape[order[k]], dst: at, src: strideOf(shape, order[k])})
		at *= shape[order[k]]
	}
	rows(loops, 0, 0, func(row Row) { copyRow(dst, src, row, unit) })
	return nil
}

// checkOrder returns an error unless order is a permutation of the axes.
func checkOrder(order []int, rank int) error {
	if len(order) != rank {
		return fmt.Errorf("order %v: %d axes, the shape has %d", order, len(order), rank)
	}
	for k := range rank {
		if !slices.Contains(order, k) {
			return fmt.Errorf("order %v: axis %d is missing", order, k)
		}
	}
	return nil
}

// strideOf returns the distance, in elements, between neighbours along an axis in C
// order.
func strideOf(shape []int64, axis int) int64 {
	n := int64(1)
	for _, length := range shape[axis+1:] {
		n *= length
	}
	return n
}
