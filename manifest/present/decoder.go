package present

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"varve/codec"
	"varve/manifest/internal/cf"
	"varve/manifest/store"
)

// Decoder knows what the elements of an array stand for.
type Decoder struct {
	array *store.Array
	typ   codec.Type
	masks [][]byte // elements that stand for nothing

	// With CF decoding:
	decode        bool
	scale, offset float64
	unsigned      codec.Type
	units         *cf.Units
}

// NewDecoder returns the decoder of an array. With decode it applies what its attributes say:
// scale_factor and add_offset, _Unsigned, and units of time.
func NewDecoder(a *store.Array, decode bool) (*Decoder, error) {
	v := asVariable(a)
	d := &Decoder{array: a, typ: v.Type, decode: decode, scale: 1, unsigned: v.Type}
	if !cf.IsNumber(v.Type) {
		return d, nil
	}
	packing, err := cf.PackingOf(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path(), err)
	}
	d.masks = packing.Masks
	if !decode {
		return d, nil
	}
	d.unsigned = packing.Type
	d.scale, d.offset = packing.Affine()
	if units, isTime, err := cf.UnitsOf(v); err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path(), err)
	} else if isTime {
		d.units = &units
	}
	return d, nil
}

// IsNumeric reports whether elements are numbers, which have statistics.
func (d *Decoder) IsNumeric() error {
	if !cf.IsNumber(d.typ) && d.typ.Kind != codec.Bool {
		return fmt.Errorf("%s holds %s, not numbers: %w", d.array.Path(), d.typ, errors.ErrUnsupported)
	}
	return nil
}

// Float64s decodes elements; what is missing is NaN.
func (d *Decoder) Float64s(dst []float64, elems []byte) {
	size := d.typ.Size
	for i := range dst {
		e := elems[i*size : (i+1)*size]
		if d.masked(e) {
			dst[i] = math.NaN()
			continue
		}
		dst[i] = cf.Float(d.unsigned, e)*d.scale + d.offset
	}
}

func (d *Decoder) masked(e []byte) bool {
	for _, m := range d.masks {
		if string(m) == string(e) {
			return true
		}
	}
	return false
}

// Text is one element for people.
func (d *Decoder) Text(e []byte) string {
	switch {
	case d.typ.Varies(), d.typ.Kind == codec.FixedBytes:
		return string(trimmed(e))
	case !cf.IsNumber(d.typ):
		return fmt.Sprintf("%x", e)
	case d.masked(e):
		return ""
	case d.units != nil:
		return d.time(e)
	case d.scale != 1 || d.offset != 0:
		return fmt.Sprint(cf.Float(d.unsigned, e)*d.scale + d.offset)
	case cf.IsInteger(d.unsigned) && d.unsigned.Kind == codec.Uint:
		return fmt.Sprint(cf.Word(e))
	case cf.IsInteger(d.unsigned):
		return fmt.Sprint(int64(cf.Extend(d.unsigned, e)))
	case d.typ.Size == 4:
		return fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(e)))
	}
	return fmt.Sprint(cf.Float(d.typ, e))
}

func (d *Decoder) time(e []byte) string {
	at, ok, err := cf.Times{Units: *d.units, Type: d.typ, Elements: e}.Instants()
	if err != nil || !ok[0] {
		return ""
	}
	return at[0].Format(d.units.Calendar)
}

func trimmed(e []byte) []byte {
	for len(e) > 0 && e[len(e)-1] == 0 {
		e = e[:len(e)-1]
	}
	return e
}

// measure is the statistics of elements. The types that archives are made of have loops of
// their own.
func (d *Decoder) measure(elems []byte) Statistics {
	plain := len(d.masks) == 0 && d.scale == 1 && d.offset == 0
	switch {
	case plain && d.typ.Kind == codec.Float && d.typ.Size == 4:
		return measureFloat32(elems)
	case plain && d.typ.Kind == codec.Float && d.typ.Size == 8:
		return measureFloat64(elems)
	}
	var buffer [1024]float64
	t := newStatistics()
	for len(elems) > 0 {
		n := min(len(buffer), len(elems)/d.typ.Size)
		d.Float64s(buffer[:n], elems)
		t = t.plus(measureNumbers(buffer[:n]))
		elems = elems[n*d.typ.Size:]
	}
	return t
}

func measureNumbers(numbers []float64) Statistics {
	t := newStatistics()
	t.Count = int64(len(numbers))
	for _, f := range numbers {
		if f != f {
			continue
		}
		t.Valid++
		t.Sum += f
		t.Min, t.Max = min(t.Min, f), max(t.Max, f)
	}
	return t
}

// measureFloat32 takes four elements at a time, so that one addition need not wait for the
// one before.
func measureFloat32(elems []byte) Statistics {
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	var s0, s1, s2, s3 float64
	n, nan := len(elems)/4, int64(0)
	i := 0
	for ; i+16 <= len(elems); i += 16 {
		e := elems[i : i+16 : i+16]
		a := math.Float32frombits(binary.LittleEndian.Uint32(e))
		b := math.Float32frombits(binary.LittleEndian.Uint32(e[4:]))
		c := math.Float32frombits(binary.LittleEndian.Uint32(e[8:]))
		f := math.Float32frombits(binary.LittleEndian.Uint32(e[12:]))
		if a+b+c+f != a+b+c+f {
			nan += tally32(e, &s0, &low, &high)
			continue
		}
		s0, s1, s2, s3 = s0+float64(a), s1+float64(b), s2+float64(c), s3+float64(f)
		low, high = lower(lower(lower(lower(low, a), b), c), f), upper(upper(upper(upper(high, a), b), c), f)
	}
	nan += tally32(elems[i:], &s0, &low, &high)
	return Statistics{Count: int64(n), Valid: int64(n) - nan, Min: float64(low), Max: float64(high), Sum: s0 + s1 + (s2 + s3)}
}

// lower and upper compare without regard to NaN, which costs a third of min and max.
func lower(a, b float32) float32 {
	if b < a {
		return b
	}
	return a
}

func upper(a, b float32) float32 {
	if b > a {
		return b
	}
	return a
}

// tally32 takes elements one by one, and returns how many are NaN.
func tally32(elems []byte, sum *float64, low, high *float32) (nan int64) {
	for ; len(elems) >= 4; elems = elems[4:] {
		f := math.Float32frombits(binary.LittleEndian.Uint32(elems))
		if f != f {
			nan++
			continue
		}
		*sum += float64(f)
		*low, *high = lower(*low, f), upper(*high, f)
	}
	return nan
}

func measureFloat64(elems []byte) Statistics {
	t := newStatistics()
	t.Count = int64(len(elems) / 8)
	for ; len(elems) >= 8; elems = elems[8:] {
		f := math.Float64frombits(binary.LittleEndian.Uint64(elems))
		if f != f {
			continue
		}
		t.Valid++
		t.Sum += f
		if f < t.Min {
			t.Min = f
		}
		if f > t.Max {
			t.Max = f
		}
	}
	return t
}
