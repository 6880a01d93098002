package zfp

import (
	"encoding/binary"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// coefficient is what the planes make: integers as wide as the elements, in which
// floats stand as fractions of their block's exponent, and at the end as their bits.
type coefficient interface{ int32 | int64 }

// decoder decodes the blocks of one stream.
type decoder[T coefficient] struct {
	reader
	array *Array
	block [256]T // of which the first 4 to the power of dims are used
}

// decode decodes block after block into dst, which is as large as the array.
func (d *decoder[T]) decode(dst []byte) error {
	n := &d.array.lengths
	for w := 0; w < n[3]; w += 4 {
		for z := 0; z < n[2]; z += 4 {
			for y := 0; y < n[1]; y += 4 {
				for x := 0; x < n[0]; x += 4 {
					d.next()
					if d.overrun() {
						return corrupt.Errorf("zfp: truncated at byte %d: the block at %d of %d ends at bit %d",
							len(d.src), [4]int{x, y, z, w}, *n, d.at)
					}
					d.place(dst, [4]int{x, y, z, w})
				}
			}
		}
	}
	return nil
}

// place stores the part of the block at an origin that is in the array.
func (d *decoder[T]) place(dst []byte, origin [4]int) {
	n := &d.array.lengths
	width := min(4, n[0]-origin[0])
	for w := range min(4, n[3]-origin[3]) {
		for z := range min(4, n[2]-origin[2]) {
			at := ((origin[3]+w)*n[2]+origin[2]+z)*n[1] + origin[1]
			for y := range min(4, n[1]-origin[1]) {
				d.put(dst, (at+y)*n[0]+origin[0], d.block[64*w+16*z+4*y:][:width])
			}
		}
	}
}

// put stores values at an index of dst.
func (d *decoder[T]) put(dst []byte, at int, values []T) {
	if d.array.kind.width() == 8 {
		dst = dst[8*at:][:8*len(values)]
		for i, v := range values {
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(v))
		}
		return
	}
	dst = dst[4*at:][:4*len(values)]
	for i, v := range values {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
	}
}

// next decodes the next block, which may lie past the end of the stream.
func (d *decoder[T]) next() {
	begin := d.at
	if d.array.kind < float32s {
		d.integers(begin)
	} else if d.take(1) == 0 {
		clear(d.used())
	} else {
		d.floats(begin)
	}
	d.at = max(d.at, begin+int64(d.array.limits.minBits))
}

// used returns the numbers that make up a block of the array's dimensions.
func (d *decoder[T]) used() []T { return d.block[:1<<(2*d.array.dims)] }

// integers decodes a block that began at a bit, of which what stands before the
// planes (or the precision) is read.
func (d *decoder[T]) integers(begin int64) {
	precision := d.array.limits.maxPrec
	if d.array.limits.reversible() {
		precision = int(d.take(d.array.kind.precisionBits())) + 1
	}
	d.readPlanes(begin, precision)
	d.invert()
}

// readPlanes reads the coefficients of a block that began at a bit.
func (d *decoder[T]) readPlanes(begin int64, precision int) {
	block := d.used()
	clear(block)
	order := &coefficientOrder[d.array.dims-1]
	// That a block's head takes more than there is leaves no limit, as in ZFP.
	left := int64(d.array.limits.maxBits - uint32(d.at-begin))
	known := 0 // coefficients up to the last that was not zero
	plane := 8 * d.array.kind.width()
	for lowest := max(0, plane-precision); plane > lowest && left > 0; {
		plane--
		from := d.at
		d.readKnown(order, int(min(int64(known), left)), T(1)<<plane)
		left -= d.at - from
		for known < len(block) && left > 0 {
			left--
			if d.take(1) == 0 {
				break
			}
			from = d.at
			known += d.zeros(int(min(int64(len(block)-1-known), left)))
			left -= d.at - from
			block[order[known]] |= T(1) << plane
			known++
		}
	}
	base := int64(negabinary)
	for i, v := range block {
		block[i] = v ^ T(base) - T(base)
	}
}

// negabinary has the bits whose weight is negative.
const negabinary = -0x5555555555555556

// readKnown reads one bit of a plane for each of the first n coefficients.
func (d *decoder[T]) readKnown(order *[256]uint8, n int, bit T) {
	for first := 0; first < n; first += 64 {
		for ones := d.take(min(64, n-first)); ones != 0; ones &= ones - 1 {
			d.block[order[uint8(first+bits.TrailingZeros64(ones))]] |= bit
		}
	}
}
