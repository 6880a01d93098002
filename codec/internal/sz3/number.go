package sz3

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

// number is what an element may be.
type number interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// wide is what C calculates with numbers in.
type wide interface {
	int32 | uint32 | int64 | uint64 | float32 | float64
}

// convert turns a double into an element as the processors' instructions do that the library
// is compiled to. The conditions, here and in truncate, are constants of the types.
func convert[T number, W wide](x float64) T {
	if fraction := W(1)/2 != 0; fraction {
		return T(x)
	}
	return truncate[T, W](x)
}

// truncate turns a double into an integer.
func truncate[T number, W wide](x float64) T {
	signed := W(0)-1 < 0
	long := W(1<<30)*4 != 0
	switch {
	case signed && !long:
		return T(toInt32(x))
	case !signed && long && x >= 1<<63:
		return T(uint64(toInt64(x-1<<63)) ^ 1<<63)
	}
	return T(toInt64(x))
}

// toInt32 gives what is out of range the least value, as cvttsd2si does.
func toInt32(x float64) int32 {
	if x > math.MinInt32-1 && x < 1<<31 {
		return int32(x)
	}
	return math.MinInt32
}

func toInt64(x float64) int64 {
	if x >= math.MinInt64 && x < 1<<63 {
		return int64(x)
	}
	return math.MinInt64
}

// quantizer makes elements of codes and what is predicted.
type quantizer[T number, W wide] struct {
	bound  float64
	radius int32
	stored []T // elements that were too far from what was predicted
	short  bool
}

func (q *quantizer[T, W]) read(r *cursor) error {
	r.u8() // which quantizer
	q.bound = r.f64()
	q.radius = int32(r.u32())
	n := r.size()
	size := binary.Size(T(0))
	if n > len(r.rest())/size {
		return corrupt.Errorf("%d elements stored at offset %d, %d bytes are left", n, r.at, len(r.rest()))
	}
	q.stored = make([]T, n)
	if _, err := binary.Decode(r.bytes(n*size, "elements"), binary.LittleEndian, q.stored); err != nil && n > 0 {
		return fmt.Errorf("stored elements: %w", err)
	}
	return r.err
}

// recover returns the element of a code.
func (q *quantizer[T, W]) recover(predicted T, code int32) T {
	if code == 0 {
		return q.next()
	}
	return convert[T, W](float64(predicted) + float64(float64(2*(code-q.radius))*q.bound))
}

func (q *quantizer[T, W]) next() T {
	if len(q.stored) == 0 {
		q.short = true
		return 0
	}
	v := q.stored[0]
	q.stored = q.stored[1:]
	return v
}

func (q *quantizer[T, W]) err() error {
	if q.short {
		return corrupt.Errorf("fewer elements are stored than codes say")
	}
	return nil
}
