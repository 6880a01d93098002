package zfp

import "math/bits"

// negabinary is the mask of bits that have a negative weight in negabinary numbers.
const negabinary = 0xaaaaaaaaaaaaaaaa

// readPlanes reads the coefficients of a block that began at bit begin.
func (d *decoder[T]) readPlanes(begin int64, precision int) {
	block := d.used()
	// If the exponent already exceeds maxBits, the subtraction wraps and there is no limit, as in ZFP.
	left := int64(d.array.limits.maxBits - uint32(d.at-begin))
	known := d.readRows(len(block), precision, int(min(left, maxBlockBits)))
	for first := 0; first < known; first += maxLane {
		transpose(d.rows[first:][:min(len(block), maxLane)])
	}
	order := &coefficientOrder[d.array.dims-1]
	base := uint64(negabinary)
	for i, v := range d.rows[:len(block)] {
		block[order[uint8(i)]] = T(v^base) - T(base)
	}
}

// maxLane is the maximum width of a lane in d.rows.
const maxLane = 64

// maxBlockBits exceeds the bits of all planes of any block.
const maxBlockBits = 1 << 20

// readRows reads the planes of a block of size coefficients, at most left bits, to d.rows. transpose then turns
// the rows into coefficients. readRows returns the number of coefficients up to the last one that is not zero.
//
// A row is divided into lanes that are as wide as there are coefficients. Plane p is in row p%lane, lane p/lane,
// with one bit per coefficient. Blocks of four dimensions have more coefficients than a row has bits; they use 64
// rows for each 64 coefficients.
func (d *decoder[T]) readRows(size, precision, left int) int {
	rows, src, at := &d.rows, d.src, d.at
	clear(rows[:size])
	lane := min(size, maxLane)
	window, have := uint64(0), 0 // the next bits, and their number
	known := 0                   // number of coefficients up to the last one that is not zero so far
	plane := 8 * d.array.kind.width()
	for lowest := max(0, plane-precision); plane > lowest && left > 0; {
		plane--
		row, shift := plane&(lane-1), plane&^(lane-1)&63
		tests := min(known, left) // one bit for each known coefficient
		left -= tests
		if tests > have {
			window, have = peek(src, at), peekBits
		}
		if tests <= have {
			rows[row] |= window & (1<<tests - 1) << shift
			window, have, at = window>>tests, have-tests, at+int64(tests)
		} else {
			d.at = at
			for first := 0; first < tests; first += maxLane {
				rows[uint8(row+first)] = d.take(min(maxLane, tests-first))
			}
			at, have = d.at, 0
		}
		for known < size && left > 0 {
			group := bits.TrailingZeros64(window>>1) + 2 // the test, zeros, and a one
			if group > have {
				window, have = peek(src, at), peekBits
				group = bits.TrailingZeros64(window>>1) + 2
			}
			if window&1 == 0 {
				window, have, at, left = window>>1, have-1, at+1, left-1
				break
			}
			taken, limit := group, min(size-known, left)-1 // maximum number of zeros
			if group <= have && group-2 < limit {
				known += group - 2
			} else if limit < peekBits {
				taken = 1 + limit
				known += limit
			} else {
				d.at = at + 1
				known += d.zeros(limit)
				taken = int(d.at - at)
			}
			window, have, at, left = window>>uint(taken), have-taken, at+int64(taken), left-taken
			rows[uint8(row+known&^(maxLane-1))] |= 1 << (shift + known&(maxLane-1))
			known++
		}
	}
	d.at = at
	return known
}

// fixedBits holds, for each step of transpose, the mask of bits that stay in their row when squares of 1, 2, 4, …
// rows and columns are exchanged.
var fixedBits = [6]uint64{
	0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
	0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff,
}

// transpose transposes, in each lane, the square matrix of bits whose rows are rows.
func transpose(rows []uint64) {
	for i := 0; 1<<i < len(rows); i++ {
		step, keep := 1<<i, fixedBits[i]
		for first := 0; first < len(rows); first += 2 * step {
			upper, lower := rows[first:first+step], rows[first+step:first+2*step]
			for k, u := range upper {
				t := (u>>step ^ lower[k]) & keep
				upper[k], lower[k] = u^t<<step, lower[k]^t
			}
		}
	}
}
