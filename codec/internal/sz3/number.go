package sz3

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

// number is the type of an element.
type number interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// wide is the type in which C computes with elements, after its integer promotions.
type wide interface {
	int32 | uint32 | int64 | uint64 | float32 | float64
}

// convert converts a float64 to an element, with the results of the library compiled for amd64. The
// conditions, here and in truncate, are constants for each type.
func convert[T number, W wide](x float64) T {
	if isFloat := W(1)/2 != 0; isFloat {
		return T(x)
	}
	return truncate[T, W](x)
}

// truncate converts a float64 to an integer, towards zero.
func truncate[T number, W wide](x float64) T {
	isSigned := W(0)-1 < 0
	is64Bit := W(1<<30)*4 != 0
	switch {
	case isSigned && !is64Bit:
		return T(toInt32(x))
	case !isSigned && is64Bit && x >= 1<<63:
		return T(uint64(toInt64(x-1<<63)) ^ 1<<63)
	}
	return T(toInt64(x))
}

// toInt32 converts to int32. Numbers out of range give the least int32, like the instruction cvttsd2si.
func toInt32(x float64) int32 {
	if x > math.MinInt32-1 && x < 1<<31 {
		return int32(x)
	}
	return math.MinInt32
}

// toInt64 converts to int64. Numbers out of range give the least int64.
func toInt64(x float64) int64 {
	if x >= math.MinInt64 && x < 1<<63 {
		return int64(x)
	}
	return math.MinInt64
}

// quantizer computes elements from codes and predictions.
type quantizer[T number, W wide] struct {
	bound   float64
	radius  int32
	stored  []T  // elements that were too far from their prediction, not yet used
	isShort bool // more stored elements were needed than there are
}

// read reads a quantizer from the body.
func (q *quantizer[T, W]) read(r *cursor) error {
	r.u8() // kind of quantizer; only one kind exists
	q.bound = r.f64()
	q.radius = int32(r.u32())
	n := r.size()
	size := binary.Size(T(0))
	if n > len(r.rest())/size {
		return corrupt.Errorf("offset %d: %d stored elements, only %d bytes are left", r.at, n, len(r.rest()))
	}
	q.stored = make([]T, n)
	if _, err := binary.Decode(r.bytes(n*size, "elements"), binary.LittleEndian, q.stored); err != nil && n > 0 {
		return fmt.Errorf("stored elements: %w", err)
	}
	return r.err
}

// recover returns an element, given its prediction and its code.
func (q *quantizer[T, W]) recover(predicted T, code int32) T {
	if code == 0 {
		return q.next()
	}
	return convert[T, W](float64(predicted) + float64(float64(2*(code-q.radius))*q.bound))
}

// next returns the next stored element. If there is none, it returns 0 and sets isShort.
func (q *quantizer[T, W]) next() T {
	if len(q.stored) == 0 {
		q.isShort = true
		return 0
	}
	v := q.stored[0]
	q.stored = q.stored[1:]
	return v
}

// err returns an error if too few elements are stored.
func (q *quantizer[T, W]) err() error {
	if q.isShort {
		return corrupt.Errorf("fewer elements are stored than the codes need")
	}
	return nil
}
