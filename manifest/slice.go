package manifest

import (
	"fmt"
	"math/bits"
)

// Slice is one of several equal slices of a command's work, which machines do in parallel. The zero value is the whole.
type Slice struct {
	Number int64 // from 0
	Of     int64 // number of slices; 0 and 1 mean the whole
}

// IsWhole reports whether there are no other slices.
func (s Slice) IsWhole() bool { return s.Of <= 1 }

// Check returns an error if there is no such slice.
func (s Slice) Check() error {
	if s.Number < 0 || s.Of < 0 || s.Number >= max(s.Of, 1) {
		return fmt.Errorf("there is no slice %d of %d: the first is 0", s.Number, s.Of)
	}
	return nil
}

// Range returns the items of the slice, from ≤ i < to, if there are n items of work.
func (s Slice) Range(n int64) (from, to int64) {
	if s.IsWhole() {
		return 0, n
	}
	return share(n, s.Number, s.Of), share(n, s.Number+1, s.Of)
}

// share returns n · part / of, without overflow. part ≤ of.
func share(n, part, of int64) int64 {
	high, low := bits.Mul64(uint64(n), uint64(part))
	quotient, _ := bits.Div64(high, low, uint64(of))
	return int64(quotient)
}
