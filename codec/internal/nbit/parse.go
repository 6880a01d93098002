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
	maxDepth  = 32   // nesting of arrays and compounds
)

// Parse returns the Packing for the filter's parameters in a file.
func Parse(values []uint32) (*Packing, error) {
	if len(values) < 3 || len(values) > maxParams || int(values[0]) != len(values) {
		return nil, corrupt.Errorf("nbit: %d parameters, must be 3 to %d and equal to the first one", len(values), maxParams)
	}
	if values[1] != 0 {
		return &Packing{isStored: true}, nil
	}
	q := &params{values: values, next: 3}
	f, err := q.readType(0)
	if err != nil {
		return nil, err
	}
	if q.next != len(values) {
		return nil, corrupt.Errorf("nbit: parameter %d: %d parameters after the type, must be 0", q.next, len(values)-q.next)
	}
	// A single compound needs no outer field: its members are the fields of the element.
	p := &Packing{count: int(values[2]), size: f.size * f.repeats, bits: f.bits, fields: []field{f}}
	if f.kind == group && f.repeats == 1 && len(f.group) > 0 {
		p.fields = f.group
	}
	return p, nil
}

// params reads the filter's parameters one after another.
type params struct {
	values []uint32
	next   int

	// isAmbiguous is set after an array of arrays or of compounds. For the next member, libhdf5
	// (encoder and decoder) continues with that array's parameters, so it stores other bits
	// than those of the member.
	isAmbiguous bool
}

// take returns the next parameter.
func (q *params) take() (int, error) {
	if q.next >= len(q.values) {
		return 0, corrupt.Errorf("nbit: truncated after %d parameters, in a type", len(q.values))
	}
	v := int(q.values[q.next])
	q.next++
	return v, nil
}

// readType reads a type: its class, its size and the parameters of the class.
func (q *params) readType(depth int) (field, error) {
	if depth > maxDepth {
		return field{}, corrupt.Errorf("nbit: parameter %d: types are nested deeper than the limit of %d", q.next, maxDepth)
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
		return field{}, corrupt.Errorf("nbit: parameter %d: type of size 0, must be positive", q.next-1)
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
	return field{}, corrupt.Errorf("nbit: parameter %d: class %d, must be 1 to 4", q.next-2, class)
}

// readNumber reads the parameters of a number of size bytes.
func (q *params) readNumber(size int) (field, error) {
	if q.next+3 > len(q.values) {
		return field{}, corrupt.Errorf("nbit: truncated after %d parameters, in a number", len(q.values))
	}
	order, precision, offset := q.values[q.next], int(q.values[q.next+1]), int(q.values[q.next+2])
	if order > 1 {
		return field{}, corrupt.Errorf("nbit: parameter %d: byte order %d, must be 0 or 1", q.next, order)
	}
	if precision == 0 || precision+offset > 8*size {
		return field{}, corrupt.Errorf("nbit: parameter %d: %d bits at bit %d do not fit in a number of %d bytes",
			q.next+1, precision, offset, size)
	}
	q.next += 3
	return field{size: size, bits: precision, shift: offset, kind: kind(order), repeats: 1}, nil
}

// readArray reads the element type of an array of size bytes.
func (q *params) readArray(size, depth int) (field, error) {
	base, err := q.readType(depth + 1)
	if err != nil {
		return field{}, err
	}
	each := base.size * base.repeats
	if size%each != 0 {
		return field{}, corrupt.Errorf("nbit: parameter %d: array of %d bytes, must be a multiple of its elements' %d bytes", q.next-1, size, each)
	}
	if base.kind == opaque {
		// libhdf5 stores an array of bytes as one run.
		return field{size: size, bits: 8 * size, kind: opaque, repeats: 1}, nil
	}
	q.isAmbiguous = q.isAmbiguous || base.kind == group
	n := size / each
	return field{size: each, bits: n * base.bits, kind: group, repeats: n, group: []field{base}}, nil
}

// readCompound reads the members of a compound of size bytes.
func (q *params) readCompound(size, depth int) (field, error) {
	members, err := q.take()
	if err != nil {
		return field{}, err
	}
	// A member has at least an offset, a class and a size. This bounds the allocation below.
	if left := len(q.values) - q.next; members > left/3 {
		return field{}, corrupt.Errorf("nbit: parameter %d: %d members, but only %d parameters are left", q.next-1, members, left)
	}
	f := field{size: size, kind: group, repeats: 1, group: make([]field, members)}
	used := 0
	for i := range f.group {
		if q.isAmbiguous {
			return field{}, fmt.Errorf("nbit: parameter %d: a member after an array of arrays or compounds, which libhdf5 does not store correctly: %w",
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
			return field{}, corrupt.Errorf("nbit: before parameter %d: member of %d bytes at offset %d does not fit in its compound of %d bytes",
				q.next, all, at, size)
		}
		f.group[i] = m
		f.bits += m.bits
	}
	return f, nil
}
