package nbit

import (
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// The classes of a type in the parameters.
const (
	classNumber   = 1
	classArray    = 2
	classCompound = 3
	classBytes    = 4
)

const (
	maxParams = 4096 // H5Z_NBIT_MAX_NPARMS
	maxDepth  = 32   // arrays and compounds inside one another
)

// Parse reads the filter's parameters as the file holds them.
func Parse(values []uint32) (*Packing, error) {
	if len(values) < 3 || len(values) > maxParams || int(values[0]) != len(values) {
		return nil, corrupt.Errorf("nbit: %d parameters, which should be 3 to %d and agree with the first one", len(values), maxParams)
	}
	if values[1] != 0 {
		return &Packing{verbatim: true}, nil
	}
	q := &params{values: values, next: 3}
	f, err := q.readType(0)
	if err != nil {
		return nil, err
	}
	if q.next != len(values) {
		return nil, corrupt.Errorf("nbit: parameter %d: nothing should follow the type, but %d do", q.next, len(values)-q.next)
	}
	p := &Packing{count: int(values[2]), size: f.size * f.repeats, bits: f.bits, fields: []field{f}}
	if f.kind == group && f.repeats == 1 && len(f.group) > 0 {
		p.fields = f.group
	}
	return p, nil
}

// params walks the filter's parameters.
type params struct {
	values []uint32
	next   int

	// After an array of arrays or of compounds the library goes on with that array's
	// own parameters, when it encodes too: what it stores for a member that follows
	// is not that member.
	lost bool
}

// take returns the next parameter.
func (q *params) take() (int, error) {
	if q.next >= len(q.values) {
		return 0, corrupt.Errorf("nbit: the %d parameters end inside a type", len(q.values))
	}
	v := int(q.values[q.next])
	q.next++
	return v, nil
}

// readType reads a class, a size that is not 0, and what belongs to that class.
func (q *params) readType(depth int) (field, error) {
	if depth > maxDepth {
		return field{}, corrupt.Errorf("nbit: parameter %d: types nested deeper than %d", q.next, maxDepth)
	}
	class, err := q.take()
	if err != nil {
		return field{}, err
	}
	size, err := q.take()
	if err != nil {
		return field{}, err
	}
	if size == 0 {
		return field{}, corrupt.Errorf("nbit: parameter %d: type of size 0", q.next-1)
	}
	switch class {
	case classNumber:
		return q.readNumber(size)
	case classArray:
		return q.readArray(size, depth)
	case classCompound:
		return q.readCompound(size, depth)
	case classBytes:
		return field{size: size, bits: 8 * size, kind: opaque, repeats: 1}, nil
	}
	return field{}, corrupt.Errorf("nbit: parameter %d: class %d, which should be 1 to 4", q.next-2, class)
}

func (q *params) readNumber(size int) (field, error) {
	if q.next+3 > len(q.values) {
		return field{}, corrupt.Errorf("nbit: the %d parameters end inside a number", len(q.values))
	}
	order, precision, offset := q.values[q.next], int(q.values[q.next+1]), int(q.values[q.next+2])
	if order > 1 {
		return field{}, corrupt.Errorf("nbit: parameter %d: byte order %d, which should be 0 or 1", q.next, order)
	}
	if precision == 0 || precision+offset > 8*size {
		return field{}, corrupt.Errorf("nbit: parameter %d: %d bits at bit %d in a number of %d bytes",
			q.next+1, precision, offset, size)
	}
	q.next += 3
	return field{size: size, bits: precision, shift: offset, kind: kind(order), repeats: 1}, nil
}

func (q *params) readArray(size, depth int) (field, error) {
	base, err := q.readType(depth + 1)
	if err != nil {
		return field{}, err
	}
	each := base.size * base.repeats
	if size%each != 0 {
		return field{}, corrupt.Errorf("nbit: parameter %d: an array of %d bytes with elements of %d", q.next-1, size, each)
	}
	if base.kind == opaque {
		// The library keeps an array of bytes as one run.
		return field{size: size, bits: 8 * size, kind: opaque, repeats: 1}, nil
	}
	q.lost = q.lost || base.kind == group
	n := size / each
	return field{size: each, bits: n * base.bits, kind: group, repeats: n, group: []field{base}}, nil
}

func (q *params) readCompound(size, depth int) (field, error) {
	members, err := q.take()
	if err != nil {
		return field{}, err
	}
	if left := len(q.values) - q.next; members > left/3 {
		return field{}, corrupt.Errorf("nbit: parameter %d: %d members in %d parameters", q.next-1, members, left)
	}
	f := field{size: size, kind: group, repeats: 1, group: make([]field, members)}
	used := 0
	for i := range f.group {
		if q.lost {
			return field{}, fmt.Errorf("nbit: parameter %d: a member after an array of arrays or compounds, which libhdf5 cannot store: %w",
				q.next, errors.ErrUnsupported)
		}
		at, err := q.take()
		if err != nil {
			return field{}, err
		}
		m, err := q.readType(depth + 1)
		if err != nil {
			return field{}, err
		}
		m.at = at
		all := m.size * m.repeats
		if used += all; at > size-all || used > size {
			return field{}, corrupt.Errorf("nbit: before parameter %d: member of %d bytes at %d leaves its compound of %d bytes",
				q.next, all, at, size)
		}
		f.group[i] = m
		f.bits += m.bits
	}
	return f, nil
}
