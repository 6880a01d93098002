package hdf5

import (
	"encoding/binary"
	"math"
	"slices"

	"varve/readers"
)

// A virtual dataset has a datatype of its own. Elements of its sources are converted to it as
// libhdf5 does. Between numbers every conversion is supported; between other types only changes of
// byte order and of gaps.

// converter returns a function that converts stored elements of a source to elements of a virtual
// dataset.
func converter(from, to *Dataset) (func(dst, src []byte) error, error) {
	// The pointers would be resolved in the wrong file.
	if from.f != to.f && pointsIntoFile(from.Type) {
		return nil, conversionError(from, to, ", whose elements point into another file")
	}
	if from.Type.String() == to.Type.String() {
		return func(dst, src []byte) error { copy(dst, src); return nil }, nil
	}
	if order, ok := permutation(from.Type, to.Type); ok {
		width := from.Type.Size
		return func(dst, src []byte) error { permute(dst, src, order, width); return nil }, nil
	}
	if !isNumber(from.Type) || !isNumber(to.Type) || to.Type.Class == readers.Float && to.Type.Size < 4 {
		return nil, conversionError(from, to, "")
	}
	return func(dst, src []byte) error {
		for size, width := to.Type.Size, from.Type.Size; len(dst) > 0; dst, src = dst[size:], src[width:] {
			if err := convertNumber(dst[:size], to.Type, src[:width], from.Type); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func conversionError(from, to *Dataset, why string) error {
	return unsupported("virtual dataset: its type %s and the type of its source %s, %s%s, cannot be converted", to.Type, from.path, from.Type, why)
}

// pointsIntoFile reports whether stored elements are pointers to data in the same file.
func pointsIntoFile(t *readers.Type) bool {
	switch t.Class {
	case readers.VarLen, readers.Reference:
		return true
	case readers.Compound:
		return slices.ContainsFunc(t.Members, func(m readers.Member) bool { return pointsIntoFile(m.Type) })
	case readers.Array:
		return pointsIntoFile(t.Base)
	}
	return false
}

// permutation returns for each byte of an element of type to its index in an element of type from,
// or -1 for a gap. It returns false if the types differ in more than byte order and gaps.
func permutation(from, to *readers.Type) ([]int, bool) {
	if from.Class != to.Class {
		return nil, false
	}
	switch to.Class {
	case readers.Integer, readers.Float, readers.Bitfield:
		return numberPermutation(from, to)
	case readers.Compound:
		return memberPermutation(from, to)
	case readers.Enum:
		if !sameChoices(from, to) {
			return nil, false
		}
		return permutation(from.Base, to.Base)
	case readers.Array:
		if !slices.Equal(from.Dims, to.Dims) {
			return nil, false
		}
		return repeatPermutation(from, to)
	case readers.Complex:
		return repeatPermutation(from, to)
	}
	out := make([]int, to.Size)
	for i := range out {
		out[i] = i
	}
	return out, from.String() == to.String()
}

func numberPermutation(from, to *readers.Type) ([]int, bool) {
	a, b := *from, *to
	a.Order, b.Order = readers.LittleEndian, readers.LittleEndian
	if from.Order != to.Order {
		a.Signed = b.Signed // libhdf5 only swaps the bytes then, so -1 becomes the largest number
	}
	out := make([]int, to.Size)
	for i := range out {
		if out[i] = i; from.Order != to.Order {
			out[i] = to.Size - 1 - i
		}
	}
	return out, a.String() == b.String() && (from.Order == to.Order || from.Order != readers.VAX && to.Order != readers.VAX)
}

func memberPermutation(from, to *readers.Type) ([]int, bool) {
	out := slices.Repeat([]int{-1}, to.Size)
	if len(from.Members) != len(to.Members) {
		return nil, false
	}
	for i, m := range to.Members {
		f := from.Members[i]
		inner, ok := permutation(f.Type, m.Type)
		if !ok || f.Name != m.Name {
			return nil, false
		}
		for k, at := range inner {
			if at >= 0 {
				out[m.Offset+k] = f.Offset + at
			}
		}
	}
	return out, true
}

func sameChoices(from, to *readers.Type) bool {
	return slices.EqualFunc(from.Choices, to.Choices, func(a, b readers.Choice) bool {
		return a.Name == b.Name && from.Base.Uint64(a.Value) == to.Base.Uint64(b.Value)
	})
}

// repeatPermutation is permutation for types whose elements consist of several elements of a base type.
func repeatPermutation(from, to *readers.Type) ([]int, bool) {
	inner, ok := permutation(from.Base, to.Base)
	if !ok || len(inner) == 0 {
		return nil, false
	}
	var out []int
	for at := 0; len(out) < to.Size; at += from.Base.Size {
		for _, k := range inner {
			if k >= 0 {
				k += at
			}
			out = append(out, k)
		}
	}
	return out, len(out) == to.Size
}

// permute reorders the bytes of elements of the given width.
func permute(dst, src []byte, order []int, width int) {
	for ; len(dst) > 0; dst, src = dst[len(order):], src[width:] {
		for i, k := range order {
			if k >= 0 {
				dst[i] = src[k]
			} else {
				dst[i] = 0
			}
		}
	}
}

// isNumber reports whether elements are integers or IEEE floats of up to 8 bytes.
func isNumber(t *readers.Type) bool {
	if t.Order == readers.VAX || t.Size > 8 {
		return false
	}
	return t.Class == readers.Float && t.IsIEEE() || t.Class == readers.Integer && t.Precision == 8*t.Size && t.BitOffset == 0
}

// convertNumber converts a number as libhdf5 does: it clips integers to the range of the target,
// and cuts off the fraction of floats.
func convertNumber(dst []byte, to *readers.Type, src []byte, from *readers.Type) error {
	var out uint64
	switch {
	case from.Class == readers.Float:
		v := float(from, src)
		if to.Class != readers.Float && math.IsNaN(v) {
			return unsupported("virtual dataset: a NaN of type %s cannot be converted to %s", from, to)
		}
		out = ofFloat(to, v)
	case from.Signed:
		out = ofInt(to, int64(from.Uint64(src)))
	default:
		out = ofUint(to, from.Uint64(src))
	}
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], out)
	copy(dst, number[:])
	if to.Order == readers.BigEndian {
		slices.Reverse(dst)
	}
	return nil
}

// float returns a stored float. It keeps the bits of NaNs.
func float(t *readers.Type, src []byte) float64 {
	var number [8]byte
	copy(number[:], src)
	if t.Order == readers.BigEndian {
		slices.Reverse(number[:t.Size])
	}
	switch t.Size {
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(number[:])))
	case 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(number[:]))
	}
	return t.Float64(number[:t.Size])
}

// largest returns the largest integer of a type.
func largest(t *readers.Type) uint64 {
	if t.Signed {
		return 1<<(8*t.Size-1) - 1
	}
	return math.MaxUint64 >> (64 - 8*t.Size)
}

// ofFloat returns the bits of a float converted to type t.
func ofFloat(t *readers.Type, v float64) uint64 {
	switch {
	case t.Class == readers.Float:
		return floatBits(t, float32(v), v)
	case v >= float64(largest(t)):
		return largest(t)
	case !t.Signed:
		return uint64(max(v, 0))
	case v <= -float64(largest(t))-1:
		return ^largest(t)
	}
	return uint64(int64(v))
}

// ofInt is ofFloat for signed integers.
func ofInt(t *readers.Type, v int64) uint64 {
	switch {
	case t.Class == readers.Float:
		return floatBits(t, float32(v), float64(v))
	case v >= 0:
		return ofUint(t, uint64(v))
	case !t.Signed:
		return 0
	}
	return uint64(max(v, -int64(largest(t))-1))
}

// ofUint is ofFloat for unsigned integers.
func ofUint(t *readers.Type, v uint64) uint64 {
	if t.Class == readers.Float {
		return floatBits(t, float32(v), float64(v))
	}
	return min(v, largest(t))
}

// floatBits returns the bits of a number as a float of four or eight bytes.
func floatBits(t *readers.Type, narrow float32, wide float64) uint64 {
	if t.Size == 4 {
		return uint64(math.Float32bits(narrow))
	}
	return math.Float64bits(wide)
}
