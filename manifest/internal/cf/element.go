package cf

import (
	"errors"
	"fmt"
	"math"

	"varve/codec"
)

// errInexact is wrapped by the error for a time that no element of the reference represents exactly.
var errInexact = errors.New("not exact")

// Same reports whether equal elements are equal times in t and in the reference.
func (r Reference) Same(t Times) bool {
	return r.times.isEquivalent(t)
}

// Append appends one element of t, converted to the reference. It allocates only if dst has to grow.
func (r Reference) Append(dst []byte, t Times, element []byte) ([]byte, error) {
	if r.Same(t) {
		return append(dst, element...), nil
	}
	return r.append(dst, t, element)
}

// append is Append for times that have to be converted.
func (r Reference) append(dst []byte, t Times, element []byte) ([]byte, error) {
	if r.times.Packing.Scaled() {
		return dst, fmt.Errorf("%s with packed numbers is %w", r.Text, errors.ErrUnsupported)
	}
	at, ok, err := t.Instant(element)
	switch {
	case err != nil:
		return dst, err
	case ok:
		return r.at(dst, at)
	case r.Fill != nil:
		return append(dst, r.Fill...), nil
	case r.Type.Kind == codec.Float:
		return append(dst, NaN(r.Type)...), nil
	}
	return dst, fmt.Errorf("a missing time cannot be stored in %s without a fill value", r.Text)
}

// at appends the element that a client decodes to this instant.
func (r Reference) at(dst []byte, t Instant) ([]byte, error) {
	u := &r.times.Units
	n, rest, ok := t.add(u.Epoch.negative()).dividedBy(u.Nanoseconds)
	switch {
	case !ok:
		return dst, r.inexact(t)
	case r.Type.Kind == codec.Float:
		// Clients do not round: float looks for the element that they decode to t.
		return r.float(dst, t, float64(n)+float64(rest)/float64(u.Nanoseconds))
	case rest != 0 || !fitsInteger(r.Type, n):
		return dst, r.inexact(t)
	}
	return AppendWord(dst, uint64(n), r.Type.Size), nil
}

// fitsInteger reports whether an integer type can represent n.
func fitsInteger(t codec.Type, n int64) bool {
	bits := 8 * t.Size
	if t.Kind == codec.Uint {
		return n >= 0 && (bits == 64 || n>>bits == 0)
	}
	return n<<(64-bits)>>(64-bits) == n
}

// float appends f or a float next to it, whichever clients decode to t. xarray truncates to nanoseconds,
// so f itself can be decoded to a time that is too early.
func (r Reference) float(dst []byte, t Instant, f float64) ([]byte, error) {
	for _, near := range [...]float64{f, math.Nextafter(f, math.Inf(1)), math.Nextafter(f, math.Inf(-1))} {
		end := appendFloat(dst, r.Type.Size, near)
		if at, ok := r.times.Units.atFloat(Float(r.Type, end[len(dst):])); ok && at == t {
			return end, nil
		}
	}
	return dst, r.inexact(t)
}

func (r Reference) inexact(t Instant) error {
	return fmt.Errorf("%s as %s in %s is %w", t.Format(r.times.Units.Calendar), r.Type, r.Text, errInexact)
}
