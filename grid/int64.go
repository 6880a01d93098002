package grid

import "math/bits"

// mul multiplies two numbers that are not negative and reports whether an int64
// holds the product.
func mul(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && int64(lo) >= 0
}

// add adds two numbers that are not negative and reports whether an int64 holds the
// sum.
func add(a, b int64) (int64, bool) {
	sum := a + b
	return sum, sum >= 0
}

// ceilDiv divides numbers that are not negative, rounding up.
func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 {
		q++
	}
	return q
}
