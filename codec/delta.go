package codec

import (
	"errors"
	"fmt"
)

// delta stores the first element and then how much each differs from the one before,
// in C order.
//
// Specification: numcodecs.delta, https://numcodecs.readthedocs.io/en/stable/filter/delta.html.
//
//	{"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}}
//
// The elements are taken as "dtype", which may be another type of the same size: times
// and even floats are then subtracted as integers. Differences are stored as "astype",
// by default the same. Integers wrap around, and the sum wraps them back; numcodecs
// also stores differences that "astype" does not hold, whereas here they are an error.
// Booleans are refused: their sums are not what was encoded.
type delta struct {
	dtype, astype number
	sum           number // what NumPy adds up in
}

func newDelta(c *config, in Form) (Codec, error) {
	if !c.has("astype") {
		c.notBig("dtype")
	}
	d := &delta{dtype: c.dtype("dtype", 0)}
	d.astype = c.dtype("astype", d.dtype)
	c.notBool("dtype", d.dtype)
	c.notBool("astype", d.astype)
	if c.err == nil && d.dtype.size() != in.Type.Size {
		c.fail("dtype", "%v has %d bytes, an element of %v has %d", d.dtype, d.dtype.size(), in.Type, in.Type.Size)
	}
	if c.err != nil {
		return nil, c.err
	}
	d.sum = sumType(d.dtype, d.astype)
	return d, nil
}

// sumType returns the type that NumPy's cumsum adds up in, given the types of its result
// and of its elements, which is the one it promotes both to. Among integers it makes no
// difference which it is, except that NumPy has none for uint64 and a signed integer.
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

// loses implements lossy: floats that are subtracted and added up again are others.
func (d *delta) loses() bool { return d.dtype.isFloat() || d.astype != d.dtype }

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

// decodeInPlace converts block by block, and sums up each while it is in the cache.
func (d *delta) decodeInPlace(dst, src []byte) {
	to, from := d.dtype.size(), d.astype.size()
	for at, n := 0, len(src)/from; at < n; at += blockLen {
		end := min(at+blockLen, n)
		convert(dst[at*to:end*to], d.dtype, src[at*from:end*from], d.astype)
		sumUp(dst[max(0, at-1)*to:end*to], d.dtype)
	}
}

// decodeBlocks sums up in a type of its own; the last sum stays before the next block.
func (d *delta) decodeBlocks(dst, src []byte) {
	var buf [8 + 8*blockLen]byte
	to, from, size := d.dtype.size(), d.astype.size(), d.sum.size()
	sums := buf[8:]
	for at, n := 0, len(src)/from; at < n; at += blockLen {
		count := min(blockLen, n-at)
		convert(sums[:count*size], d.sum, src[at*from:(at+count)*from], d.astype)
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

// encodeDiffs stores differences, the first of which is number at. Integers may be cut off or change their sign as long
// as the sum gets them back.
func (d *delta) encodeDiffs(dst, diffs []byte, at int) error {
	var back [8 * blockLen]byte
	if d.dtype.isFloat() || d.astype.isFloat() {
		return converter{to: d.astype, from: d.dtype, check: true, first: at}.run(dst, diffs)
	}
	convert(dst, d.astype, diffs, d.dtype)
	if d.astype.size() >= d.dtype.size() {
		return nil
	}
	convert(back[:len(diffs)], d.dtype, dst, d.astype)
	if i := firstDifference(diffs, back[:len(diffs)]); i >= 0 {
		i /= d.dtype.size()
		return fmt.Errorf("element %d differs from the one before by more than %v holds; store the differences as %v", at+i, d.astype, d.dtype)
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
