package fits

// transform inverts the H transform of a plane of coefficients, in place.
type transform struct {
	a             []int64
	rows, columns int
	half          []int64 // half of a row or column, while it is interleaved
}

// rounding is the rounding of the coefficients in one pass. Without a scale, differences of both axes
// are multiples of 2^low, of one axis multiples of 2^(low+1), and sums of 2^(low+2). A scale loses the
// lower bits, and rounding restores multiples.
type rounding struct {
	low   int
	shift uint // results are divided by 2^shift
}

// nearest rounds v to a multiple of 2^n, halves away from zero.
func nearest(v int64, n int) int64 {
	if n <= 0 {
		return v
	}
	half := int64(1) << (n - 1)
	if v < 0 {
		half--
	}
	return (v + half) &^ (int64(1)<<n - 1)
}

// invert replaces the coefficients by pixels. Each pass turns sums and their differences into blocks
// of 2 × 2 sums, until the plane is filled.
func (t *transform) invert() {
	most := max(t.rows, t.columns)
	levels := logarithm(most)
	t.half = make([]int64, (most+1)/2)
	t.a[0] = nearest(t.a[0], levels+1)
	for level := levels - 1; level >= 0; level-- {
		step := 1 << level
		rows, columns := (t.rows+step-1)/step, (t.columns+step-1)/step
		for i := range rows {
			t.interleave(i*t.columns, 1, columns)
		}
		for j := range columns {
			t.interleave(j, t.columns, rows)
		}
		r := rounding{low: level, shift: 1}
		if level == 0 {
			r.shift = 2 // the last pass divides by 4: the transform is not normalized
		}
		t.pass(rows, columns, r)
	}
}

// interleave reorders n coefficients, at a[at] and every apart elements after it. The second half
// moves between the elements of the first half.
func (t *transform) interleave(at, apart, n int) {
	first := (n + 1) / 2
	for i := first; i < n; i++ {
		t.half[i-first] = t.a[at+i*apart]
	}
	for i := first - 1; i > 0; i-- {
		t.a[at+2*i*apart] = t.a[at+i*apart]
	}
	for i := 1; i < n; i += 2 {
		t.a[at+i*apart] = t.half[i/2]
	}
}

// pass undoes one level of the transform, for the first rows and columns. With an odd number, the last
// row or column has only one difference, and their corner has none.
func (t *transform) pass(rows, columns int, r rounding) {
	for i := 0; i < rows; i += 2 {
		above := t.a[i*t.columns:]
		if i+1 == rows {
			for j := 0; j+1 < columns; j += 2 {
				above[j], above[j+1] = r.two(above[j], above[j+1])
			}
			if columns%2 == 1 {
				above[columns-1] >>= r.shift
			}
			continue
		}
		below := above[t.columns:]
		for j := 0; j+1 < columns; j += 2 {
			r.four(above[j:j+2], below[j:j+2])
		}
		if j := columns - 1; columns%2 == 1 {
			above[j], below[j] = r.two(above[j], below[j])
		}
	}
}

// four replaces a sum, its differences of columns and rows, and the difference of both by four sums.
func (r rounding) four(above, below []int64) {
	// The forward transform drops the low bits that its results have in common; the differences
	// still hold them, and low and high add them back. See hinv in CFITSIO's fits_hdecompress.c.
	sum, down, right, both := above[0], nearest(below[0], r.low+1), nearest(above[1], r.low+1), nearest(below[1], r.low)
	low := both & (1 << r.low)
	down, right = towardsZero(down, low), towardsZero(right, low)
	high := (both ^ down ^ right) & (1 << (r.low + 1))
	switch {
	case sum >= 0:
		sum += low - high
	case low == 0:
		sum += high
	default:
		sum += low - high
	}
	below[1] = (sum + down + right + both) >> r.shift
	below[0] = (sum + down - right - both) >> r.shift
	above[1] = (sum - down + right - both) >> r.shift
	above[0] = (sum - down - right + both) >> r.shift
}

// two replaces a sum and a difference by two sums.
func (r rounding) two(sum, difference int64) (first, second int64) {
	difference = nearest(difference, r.low+1)
	if high := difference & (1 << (r.low + 1)); sum >= 0 {
		sum -= high
	} else {
		sum += high
	}
	return (sum - difference) >> r.shift, (sum + difference) >> r.shift
}

// towardsZero moves v by less towards zero.
func towardsZero(v, less int64) int64 {
	if v >= 0 {
		return v - less
	}
	return v + less
}
