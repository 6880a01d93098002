package sperr

// The lifting steps of the CDF 9/7 wavelet, in the double precision in which the
// library derives them from the taps of the filter (CDF97.h).
const (
	alpha      = -0x1.960ce676352c0p+0
	beta       = -0x1.b2035c938c1f9p-5
	gamma      = 0x1.c40ceba5579b7p-1
	delta      = 0x1.c626a9045727dp-2
	epsilon    = 0x1.264c795071559p+0
	invEpsilon = 0x1.bd5edf975cca4p-1
)

// A dimension is halved until it is shorter than shortest, but no more often than
// maxTransforms.
const (
	shortest      = 9
	maxTransforms = 6
)

// transforms returns how often a dimension of length n is halved.
func transforms(n int) (times int) {
	for ; n >= shortest && times < maxTransforms; times++ {
		n -= n / 2
	}
	return times
}

// coarse returns the length of a dimension halved a number of times.
func coarse(n, times int) int {
	for range times {
		n -= n / 2
	}
	return n
}

// dyadic reports whether all dimensions of a volume are halved together, and how often.
// Otherwise planes are transformed by themselves, and then the last dimension.
func dyadic(dims [3]int) (times int, ok bool) {
	if dims[1] < 2 || dims[2] < 2 {
		return 0, false
	}
	planar, deep := transforms(min(dims[0], dims[1])), transforms(dims[2])
	times = min(planar, deep)
	return times, planar == deep || times >= maxTransforms-1
}

// lanes are samples of neighbouring lines at the same place, so that a line which
// crosses many rows is not fetched for one sample of each.
type lanes [8]float64

// inverse is the inverse transform of an array.
type inverse struct {
	values []float64
	dims   [3]int
	buffer []lanes // as long as the longest dimension
}

// run transforms all of an array.
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

// size returns the dimensions halved a number of times.
func (v *inverse) size(times int) (size [3]int) {
	for i, n := range v.dims {
		size[i] = coarse(n, times)
	}
	return size
}

// planes undoes one transform of the corner of each plane that has a size.
func (v *inverse) planes(size [3]int) {
	v.along(1, size)
	v.along(0, size)
}

// along undoes one transform of all lines along an axis within a corner of the array.
// Lines go side by side along the row, or when they are rows themselves, down the plane.
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

// lines are up to 8 lines of samples.
type lines struct {
	values []float64
	count  int
	apart  int // from one line to the next
	step   int // along a line
}

// undo undoes one transform of the first n samples of lines.
func (v *inverse) undo(l lines, n int) {
	buffer := v.buffer[:n]
	for i := range buffer {
		at := i * l.step
		buffer[i] = lanes{}
		for k := range l.count {
			buffer[i][k] = l.values[at]
			at += l.apart
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
			at += l.apart
		}
	}
}

// synthesize turns the coarse and the detailed half of lines into their even and odd
// samples. Lines go on beyond their ends as in a mirror. There are at least 4 details,
// and as many or one more of the coarse. Each product is rounded by itself.
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

func scale(to, a, b *lanes) {
	for k := range to {
		to[k] = float64(to[k]*invEpsilon) - float64(delta*(a[k]+b[k]))
	}
}

func lift(to, a, b *lanes, by float64) {
	for k := range to {
		to[k] -= float64(by * (a[k] + b[k]))
	}
}
