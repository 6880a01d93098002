package zfp

// invert inverts the mode's transform of every line of four numbers in the block, along the slowest dimension
// first.
func (d *decoder[T]) invert() {
	size, isReversible := len(d.used()), d.array.limits.isReversible()
	for step := size / 4; step > 0; step /= 4 {
		for first := 0; first < size; first += 4 * step {
			if isReversible {
				liftReversibly(&d.block, uint8(first), uint8(step))
			} else {
				lift(&d.block, uint8(first), uint8(step))
			}
		}
	}
}

// lift inverts ZFP's nearly orthogonal transform for step adjacent lines, whose numbers are step apart. Sums may
// overflow and wrap, as in ZFP. The inverse transform is:
//
//	1/4 ·  4  6 -4 -1
//	       4  2  4  5
//	       4 -2  4 -5
//	       4 -6 -4  1
func lift[T coefficient](b *[256]T, first, step uint8) {
	for i := first; i < first+step; i++ {
		x, y, z, w := b[i], b[i+step], b[i+2*step], b[i+3*step]
		y += w >> 1
		w -= y >> 1
		y, w = y+w, w-y
		z, x = z+x, x-z
		y, z = y+z, z-y
		w, x = w+x, x-w
		b[i], b[i+step], b[i+2*step], b[i+3*step] = x, y, z, w
	}
}

// liftReversibly is lift for the transform of the reversible mode, which takes differences of differences. The
// inverse transform is:
//
//	1  0  0  0
//	1  1  0  0
//	1  2  1  0
//	1  3  3  1
func liftReversibly[T coefficient](b *[256]T, first, step uint8) {
	for i := first; i < first+step; i++ {
		x, y, z, w := b[i], b[i+step], b[i+2*step], b[i+3*step]
		w += z
		z += y
		w += z
		y += x
		z += y
		w += z
		b[i+step], b[i+2*step], b[i+3*step] = y, z, w
	}
}
