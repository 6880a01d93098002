package jpegls

import (
	"errors"
	"fmt"
	"math/bits"
)

const (
	defaultReset = 64
	contexts     = 1 + 4*81 + 4*9 + 4 // 365: the triples of -4…4 whose first nonzero number is positive, and 0 0 0
	maxError     = 65535
)

// coding holds the variables that T.87 derives from a stream's parameters (A.2.1, C.2.4.1.1).
type coding struct {
	near   int32
	step   int32 // 2 NEAR + 1
	maxval int32
	span   int32 // RANGE × step
	qbpp   int   // bits of an uncompressed error
	limit  int   // bits of the longest code
	reset  int32
}

// newCoding returns the variables that CharLS 2.1 uses. It derives them from the bits of a sample.
// MAXVAL only limits samples, and only if RESET is not the default.
func newCoding(f frame, p preset, near int) (coding, error) {
	full := 1<<f.bits - 1
	c := coding{near: int32(near), step: int32(2*near + 1), maxval: int32(full), reset: defaultReset}
	if p.reset != 0 && p.reset != defaultReset {
		c.reset, c.maxval = int32(p.reset), int32(p.maxval)
	}
	if p.reset > 1<<15-1 {
		return c, fmt.Errorf("jpegls: RESET %d, at most %d is supported (the limit of CharLS): %w", p.reset, 1<<15-1, errors.ErrUnsupported)
	}
	steps := (full+2*near)/(2*near+1) + 1
	c.span = int32(steps) * c.step
	c.qbpp = bits.Len(uint(steps - 1))
	c.limit = 2 * (f.bits + max(8, f.bits))
	return c, nil
}

// thresholds returns T1 to T3, with defaults in place of 0.
func (c coding) thresholds(p preset) [3]int32 {
	t := defaultThresholds(c.maxval, c.near)
	for i, v := range p.t {
		if v != 0 {
			t[i] = int32(v)
		}
	}
	return t
}

// defaultThresholds returns the default T1 to T3 (T.87, C.2.4.1.1.1).
func defaultThresholds(maxval, near int32) [3]int32 {
	basic := [3]int32{3, 7, 21}
	least := near + 1
	var t [3]int32
	for i := range t {
		n := int32(i)
		v := max(2+n, basic[i]/max(1, 256/(maxval+1))+(3+2*n)*near)
		if maxval >= 128 {
			factor := (min(maxval, 4095) + 128) / 256
			v = factor*(basic[i]-2-n) + 2 + n + (3+2*n)*near
		}
		if v > maxval || v < least {
			v = least
		}
		t[i], least = v, v
	}
	return t
}

// quantizer maps the difference of two samples to one of nine regions. A table holds the regions of
// all differences from -reach to reach; beyond, the region does not change.
type quantizer struct {
	reach   int32
	regions []int8
}

// set computes the table for thresholds t.
func (q *quantizer) set(t [3]int32, near int32) {
	q.reach = max(t[0], t[1], t[2], near) + 1
	if n := int(2*q.reach + 1); cap(q.regions) < n {
		q.regions = make([]int8, n)
	} else {
		q.regions = q.regions[:n]
	}
	for i := range q.regions {
		q.regions[i] = region(int32(i)-q.reach, t, near)
	}
}

// region returns the region of a difference (T.87, code segment A.4). The order of the comparisons
// matters, because the thresholds of a stream need not be ascending.
func region(d int32, t [3]int32, near int32) int8 {
	switch {
	case d <= -t[2]:
		return -4
	case d <= -t[1]:
		return -3
	case d <= -t[0]:
		return -2
	case d < -near:
		return -1
	case d <= near:
		return 0
	case d < t[0]:
		return 1
	case d < t[1]:
		return 2
	case d < t[2]:
		return 3
	}
	return 4
}

// of returns the region of a difference, from the table.
func (q *quantizer) of(d int32) int32 {
	return int32(q.regions[min(max(d, -q.reach), q.reach)+q.reach])
}

// context holds the statistics of samples with the same neighbourhood (T.87, A.2.1).
type context struct {
	a int32 // sum of the absolute errors
	b int32 // sum of the errors, kept in (-n, 0]
	c int32 // correction of the prediction
	n int32 // number of samples
}

// golomb returns the least k with n<<k >= a.
func (c *context) golomb() uint {
	k := max(0, bits.Len32(uint32(c.a))-bits.Len32(uint32(c.n)))
	if c.n<<k < c.a {
		k++
	}
	return uint(k)
}

// learn adds an error to the statistics (T.87, code segments A.12 and A.13).
func (c *context) learn(e int32, cd *coding) {
	a, b, n := c.a+max(e, -e), c.b+e*cd.step, c.n
	if n == cd.reset { // halving gives recent samples more weight
		a, b, n = a>>1, b>>1, n>>1
	}
	n++
	if b+n <= 0 {
		b = max(b+n, 1-n)
		c.c = max(c.c-1, -128)
	} else if b > 0 {
		b = min(b-n, 0)
		c.c = min(c.c+1, 127)
	}
	c.a, c.b, c.n = a, b, n
}

// runContext holds the statistics of samples that end a run. Its counters are bytes, as in CharLS:
// with a RESET above 255 they overflow in both.
type runContext struct {
	a        int
	kind     int // RItype: 1 if the samples before and above are equal, else 0
	reset    uint8
	n        uint8
	negative uint8 // number of negative errors
}

// golomb returns the least k with n<<k >= a, or a number above 32 if there is none.
func (c *runContext) golomb() int {
	k, want := 0, c.a+int(c.n>>1)*c.kind
	for n := int(c.n); n < want && k <= 32; n <<= 1 {
		k++
	}
	return k
}

// unmap returns the error of a code, which encodes the sign in its lowest bit.
func (c *runContext) unmap(code, k int) int {
	code += c.kind
	odd := code & 1
	size := (code + odd) / 2
	if (k != 0 || 2*int(c.negative) >= int(c.n)) == (odd == 1) {
		return -size
	}
	return size
}

// learn adds an error and its code to the statistics (T.87, code segment A.23).
func (c *runContext) learn(e, code int) {
	if e < 0 {
		c.negative++
	}
	c.a += (code + 1 - c.kind) >> 1
	if c.n == c.reset {
		c.a, c.n, c.negative = c.a>>1, c.n>>1, c.negative>>1
	}
	c.n++
}
