package zfp

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// coefficient is the type of coefficients: integers as wide as the elements. For floats they are fixed-point
// numbers relative to the block's exponent, and finally the bits of the floats.
type coefficient interface{ int32 | int64 }

// decoder decodes the blocks of one stream.
type decoder[T coefficient] struct {
	reader
	array *Array
	block [256]T      // the current block; the first 4^dims numbers are used
	rows  [256]uint64 // bit planes of the current block, see readRows
}

// decode decodes all blocks to dst, which is as large as the array.
func (d *decoder[T]) decode(dst []byte) error {
	n := &d.array.lengths
	for w := 0; w < n[3]; w += 4 {
		for z := 0; z < n[2]; z += 4 {
			for y := 0; y < n[1]; y += 4 {
				for x := 0; x < n[0]; x += 4 {
					d.next()
					if d.overrun() {
						return corrupt.Errorf("zfp: truncated at byte %d: the block at %d of an array of %d ends at bit %d",
							len(d.src), [4]int{x, y, z, w}, *n, d.at)
					}
					d.place(dst, [4]int{x, y, z, w})
				}
			}
		}
	}
	return nil
}

// place writes the block at the given origin to dst, without the part outside the array.
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

// put writes values to dst from element at on.
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

// next decodes the next block. Past the end of the stream it decodes zeros.
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

// used returns the used part of d.block.
func (d *decoder[T]) used() []T { return d.block[:1<<(2*d.array.dims)] }

// integers decodes the precision (in reversible mode) and the planes of a block that began at bit begin.
func (d *decoder[T]) integers(begin int64) {
	precision := d.array.limits.maxPrec
	if d.array.limits.isReversible() {
		precision = int(d.take(d.array.kind.precisionBits())) + 1
	}
	d.readPlanes(begin, precision)
	d.invert()
}
