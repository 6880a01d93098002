package cf

import (
	"errors"
	"fmt"
	"math"

	"varve/codec"
)

// errInexact marks times that an element of the reference cannot say.
var errInexact = errors.New("not exact")

// Same reports whether elements of the times mean the same in the reference.
func (r Reference) Same(t Times) bool {
	return r.times.alike(t)
}

// Element returns one time told in the reference.
func (r Reference) Element(t Times, element []byte) ([]byte, error) {
	if r.Same(t) {
		return element, nil
	}
	if r.times.Packing.Scaled() {
		return nil, fmt.Errorf("%s, packed: %w", r.Text, errors.ErrUnsupported)
	}
	at, ok, err := t.Instant(element)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return r.at(at)
	case r.Fill != nil:
		return r.Fill, nil
	case r.Type.Kind == codec.Float:
		nan, _ := floatOf(r.Type, math.NaN())
		return nan, nil
	}
	return nil, fmt.Errorf("missing: %s without a fill value has no room for it", r.Text)
}

// at returns the element of the reference that a client decodes to a moment.
func (r Reference) at(t Instant) ([]byte, error) {
	u := r.times.Units
	n, rest, ok := t.add(u.Epoch.negative()).over(u.Nanoseconds)
	if !ok {
		return nil, r.inexact(t)
	}
	if r.Type.Kind == codec.Float {
		return r.float(t, float64(n)+float64(rest)/float64(u.Nanoseconds))
	}
	from := int64Type
	if r.Type.Kind == codec.Uint && n >= 0 {
		from = r.Type
		from.Size = 8
	}
	element, ok := Cast(r.Type, from, AppendWord(nil, uint64(n), 8))
	if rest != 0 || !ok {
		return nil, r.inexact(t)
	}
	return element, nil
}

// float looks for the float next to f that is decoded to t: xarray cuts off, so that it may be
// one that is too great by itself.
func (r Reference) float(t Instant, f float64) ([]byte, error) {
	for _, near := range []float64{f, math.Nextafter(f, math.Inf(1)), math.Nextafter(f, math.Inf(-1))} {
		element, _ := floatOf(r.Type, near)
		if at, ok := r.times.Units.atFloat(Float(r.Type, element)); ok && at == t {
			return element, nil
		}
	}
	return nil, r.inexact(t)
}

func (r Reference) inexact(t Instant) error {
	return fmt.Errorf("%s as %s of %s: %w", t.Format(r.times.Units.Calendar), r.Type, r.Text, errInexact)
}
