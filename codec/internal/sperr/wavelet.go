package sperr

// The lifting coefficients of the CDF 9/7 wavelet. They have exactly the bits that SPERR computes in
// double precision from the taps of the filter (CDF97.h).
const (
	alpha      = -0x1.960ce676352c0p+0
	beta       = -0x1.b2035c938c1f9p-5
	gamma      = 0x1.c40ceba5579b7p-1
	delta      = 0x1.c626a9045727dp-2
	epsilon    = 0x1.264c795071559p+0
	invEpsilon = 0x1.bd5edf975cca4p-1
)

// The transform halves a dimension as long as it has at least minLength elements, at most maxTransforms
// times.
const (
	minLength     = 9
	maxTransforms = 6
)

// transforms returns the number of times that a dimension of length n is halved.
func transforms(n int) (times int) {
	for ; n >= minLength && times < maxTransforms; times++ {
		n -= n / 2
	}
	return times
}

// coarse returns the length of a dimension after it was halved a number of times.
func coarse(n, times int) int {
	for range times {
		n -= n / 2
	}
	return n
}

// dyadic reports whether all dimensions of a volume are halved together, and how many times. If not,
// the planes are transformed first, and then the last dimension.
func dyadic(dims [3]int) (times int, ok bool) {
	if dims[1] < 2 || dims[2] < 2 {
		return 0, false
	}
	timesXY, timesZ := transforms(min(dims[0], dims[1])), transforms(dims[2])
	times = min(timesXY, timesZ)
	return times, timesXY == timesZ || times >= maxTransforms-1
}

// lanes are the samples at one index of up to 8 neighbouring lines. Processing lines together uses all
// samples of a cache line when lines cross rows.
type lanes [8]float64

// inverse computes the inverse transform of an array in place.
type inverse struct {
	values []float64
	dims   [3]int
	buffer []lanes // as long as the longest dimension
}

// run inverts all transforms of an array.
func (v *inverse) run(values []float64, dims [3]int) {
	v.values, v.dims = values, dims
	if times, ok := dyadic(v.dims); ok {
		for ; times > 0; times-- {
			size := v.size(times - 1)
			v.along(2, size)
			v.planes(size)
		}
		return
	}
	size := v.dims
	for times := transforms(min(v.dims[0], v.dims[1])); times > 0; times-- {
		size[0], size[1] = coarse(v.dims[0], times-1), coarse(v.dims[1], times-1)
		v.planes(size)
	}
	for times := transforms(v.dims[2]); times > 0; times-- {
		size[2] = coarse(v.dims[2], times-1)
		v.along(2, size)
	}
}

// size returns the dimensions after they were halved a number of times.
func (v *inverse) size(times int) (size [3]int) {
	for i, n := range v.dims {
		size[i] = coarse(n, times)
	}
	return size
}

// planes undoes one transform of each plane within the corner of the given size.
func (v *inverse) planes(size [3]int) {
	v.along(1, size)
	v.along(0, size)
}

// along undoes one transform of all lines along an axis within the corner of the given size. It
// processes lines that are adjacent along a row together; if the lines are rows, lines that are adjacent
// in the plane.
func (v *inverse) along(axis int, size [3]int) {
	if len(v.buffer) < size[axis] {
		v.buffer = make([]lanes, max(v.dims[0], v.dims[1], v.dims[2]))
	}
	strides := [3]int{1, v.dims[0], v.dims[0] * v.dims[1]}
	side, outer := 0, 3-axis
	if axis == 0 {
		side, outer = 1, 2
	}
	for o := range size[outer] {
		for s := 0; s < size[side]; s += len(lanes{}) {
			from := o*strides[outer] + s*strides[side]
			count := min(size[side]-s, len(lanes{}))
			l := lines{v.values[from:], count, strides[side], strides[axis]}
			v.undo(l, size[axis])
		}
	}
}

// lines are up to 8 neighbouring lines of samples.
type lines struct {
	values []float64
	count  int
	stride int // distance from one line to the next
	step   int // distance from one sample of a line to the next
}

// undo undoes one transform of the first n samples of the lines.
func (v *inverse) undo(l lines, n int) {
	buffer := v.buffer[:n]
	for i := range buffer {
		at := i * l.step
		buffer[i] = lanes{}
		for k := range l.count {
			buffer[i][k] = l.values[at]
			at += l.stride
		}
	}
	evens := n - n/2
	synthesize(buffer[:evens], buffer[evens:])
	for i := range buffer {
		at := 2 * i * l.step
		if i >= evens {
			at = (2*(i-evens) + 1) * l.step
		}
		for k := range l.count {
			l.values[at] = buffer[i][k]
			at += l.stride
		}
	}
}

// synthesize replaces the coarse and the detail half of lines by their even and odd samples. Lines are
// extended at their ends by reflection. There are at least 4 details, and as many coarse samples or one
// more. The conversions to float64 round each product, as SPERR does: a fused multiply-add would give
// other bits.
func synthesize(even, odd []lanes) {
	for i := range odd {
		for k := range odd[i] {
			odd[i][k] *= -epsilon
		}
	}
	for i := range even {
		if i > 0 {
			scale(&even[i], &odd[i-1], &odd[min(i, len(odd)-1)])
			continue
		}
		for k := range even[0] {
			even[0][k] = float64(even[0][k]*invEpsilon) - float64(2*delta*odd[0][k])
		}
	}
	for i := range odd {
		lift(&odd[i], &even[i], &even[min(i+1, len(even)-1)], gamma)
	}
	for k := range even[0] {
		even[0][k] -= float64(2 * beta * odd[0][k])
	}
	for i := 1; i < len(even); i++ {
		lift(&even[i], &odd[i-1], &odd[min(i, len(odd)-1)], beta)
	}
	for i := range odd {
		lift(&odd[i], &even[i], &even[min(i+1, len(even)-1)], alpha)
	}
}

// scale combines the scaling of an even sample with its first lifting step.
func scale(to, a, b *lanes) {
	for k := range to {
		to[k] = float64(to[k]*invEpsilon) - float64(delta*(a[k]+b[k]))
	}
}

// lift undoes a lifting step of a sample, whose neighbours are a and b.
func lift(to, a, b *lanes, by float64) {
	for k := range to {
		to[k] -= float64(by * (a[k] + b[k]))
	}
}
