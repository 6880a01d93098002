package codec

import (
	"errors"
	"fmt"
)

// delta stores the first element and then the difference of each element to the one
// before, in C order.
//
// Specification: numcodecs.delta,
// https://numcodecs.readthedocs.io/en/stable/filter/delta.html.
//
//	{"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}}
//
// The elements are read as "dtype", which may be another type of the same size: times and
// even floats are then subtracted as integers. Differences are stored as "astype", by
// default the same type. Integers wrap around, and the sum wraps them back. numcodecs
// also stores differences that "astype" cannot hold; here they are an error. Booleans are
// refused: their sums differ from the encoded values.
type delta struct {
	dtype, astype number
	sum           number // the type that NumPy adds in
}

func newDelta(c *config, in Form) (Codec, error) {
	if !c.has("astype") {
		c.refuseBigEndian("dtype")
	}
	d := &delta{dtype: c.dtype("dtype", 0)}
	d.astype = c.dtype("astype", d.dtype)
	c.refuseBool("dtype", d.dtype)
	c.refuseBool("astype", d.astype)
	if c.err == nil && d.dtype.size() != in.Type.Size {
		c.fail("dtype", "%v has %d bytes, an element of %v has %d", d.dtype, d.dtype.size(), in.Type, in.Type.Size)
	}
	if c.err != nil {
		return nil, c.err
	}
	d.sum = sumType(d.dtype, d.astype)
	return d, nil
}

// sumType returns the type in which NumPy's cumsum adds, given the types of its result
// and of its elements: the type that NumPy promotes both to. For integers any type gives
// the same sum, but NumPy promotes uint64 and a signed integer to float64.
func sumType(result, elements number) number {
	a, b := min(result, elements), max(result, elements) // floats are last
	switch {
	case !b.isFloat() && a != b && b == numUint64 && a.isSigned():
		return numFloat64
	case !b.isFloat():
		return result
	case !a.isFloat() && a.size() < b.size(), a.isFloat():
		return b
	case a.size() == 2: // and float16
		return numFloat32
	}
	return numFloat64
}

func (d *delta) DecodeKey() string { return fmt.Sprintf("delta:%v:%v", d.dtype, d.astype) }

func (d *delta) cannotEncode() error {
	if d.sum.isFloat() && !d.dtype.isFloat() && !d.astype.isFloat() {
		return fmt.Errorf("numcodecs adds %v and %v as float64, which loses digits; give them one sign: %w", d.dtype, d.astype, errors.ErrUnsupported)
	}
	return nil
}

// isLossy implements lossReporter: sums of rounded float differences differ from the
// elements.
func (d *delta) isLossy() bool { return d.dtype.isFloat() || d.astype != d.dtype }

func (d *delta) Encoded(in Form) (Form, error) {
	if d.astype != d.dtype {
		in.Fill = convertFill(in, d.astype)
		in.Type = d.astype.typ()
	}
	return in, nil
}

func (d *delta) Decode(dst, src Elems, _ Form) error {
	if d.sum == d.dtype {
		d.decodeInPlace(dst.Fixed, src.Fixed)
		return nil
	}
	d.decodeBlocks(dst.Fixed, src.Fixed)
	return nil
}

// decodeInPlace converts and sums block by block, so that a block is summed while it is
// in the CPU cache.
func (d *delta) decodeInPlace(dst, src []byte) {
	to, from := d.dtype.size(), d.astype.size()
	for at, n := 0, len(src)/from; at < n; at += blockLen {
		end := min(at+blockLen, n)
		convert(dst[at*to:end*to], d.dtype, src[at*from:end*from], d.astype)
		// Include the last element of the previous block, the sum so far.
		sumUp(dst[max(0, at-1)*to:end*to], d.dtype)
	}
}

// decodeBlocks sums in a type of its own. The last sum is stored before the next block.
func (d *delta) decodeBlocks(dst, src []byte) {
	var buf [8 + 8*blockLen]byte
	to, from, size := d.dtype.size(), d.astype.size(), d.sum.size()
	sums := buf[8:]
	for at, n := 0, len(src)/from; at < n; at += blockLen {
		count := min(blockLen, n-at)
		convert(sums[:count*size], d.sum, src[at*from:(at+count)*from], d.astype)
		// The first block has no sum before it: even adding 0 would turn −0 into 0.
		if at == 0 {
			sumUp(sums[:count*size], d.sum)
		} else {
			sumUp(buf[8-size:8+count*size], d.sum)
		}
		convert(dst[at*to:(at+count)*to], d.dtype, sums[:count*size], d.sum)
		copy(buf[8-size:8], sums[(count-1)*size:count*size])
	}
}

func (d *delta) Encode(dst, src Elems, _ Form) error {
	var diffs [8 * blockLen]byte
	to, from := d.astype.size(), d.dtype.size()
	for at, n := 0, len(src.Fixed)/from; at < n; at += blockLen {
		end := min(at+blockLen, n)
		b := diffs[:(end-at)*from]
		if at == 0 {
			copy(b, src.Fixed[:from])
			subtract(b[from:], src.Fixed[:end*from], d.dtype)
		} else {
			subtract(b, src.Fixed[(at-1)*from:end*from], d.dtype)
		}
		if err := d.encodeDiffs(dst.Fixed[at*to:end*to], b, at); err != nil {
			return err
		}
	}
	return nil
}

// encodeDiffs stores differences; at is the index of the first element. Integers may be
// truncated or change their sign if the sum restores them.
func (d *delta) encodeDiffs(dst, diffs []byte, at int) error {
	var back [8 * blockLen]byte
	if d.dtype.isFloat() || d.astype.isFloat() {
		return converter{to: d.astype, from: d.dtype, isChecked: true, first: at}.run(dst, diffs)
	}
	convert(dst, d.astype, diffs, d.dtype)
	// A type of at least the same size keeps all bits, though perhaps with another sign.
	if d.astype.size() >= d.dtype.size() {
		return nil
	}
	convert(back[:len(diffs)], d.dtype, dst, d.astype)
	if i := firstDifference(diffs, back[:len(diffs)]); i >= 0 {
		i /= d.dtype.size()
		return fmt.Errorf("element %d: its difference to the element before does not fit %v; set astype to %v", at+i, d.astype, d.dtype)
	}
	return nil
}

func firstDifference(a, b []byte) int {
	if string(a) == string(b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
