package sz

import "varve/codec/internal/corrupt"

// Layout is what the values of a filter say of a chunk. Those of SZ 2 and SZ 3.1 have one form:
//
//	axes  type  lengths, the slowest axis last; of a single axis the high and the low half
type Layout struct {
	Type    uint32 // a number from 0 to 9: float32, float64, then integers, unsigned ones first
	Size    int    // bytes an element
	Count   int    // elements
	Lengths []int  // in the order of the values
}

// sizes holds the bytes of an element of each type.
var sizes = [kinds]int{4, 8, 1, 1, 2, 2, 4, 4, 8, 8}

// MaxElements keeps every product of a chunk's lengths and sizes far from overflow. HDF5's
// chunks are of less than 2^32 bytes.
const MaxElements = 1 << 32

// ReadLayout reads the values of the filter whose name is given, for errors.
func ReadLayout(filter string, values []uint32) (*Layout, error) {
	if len(values) < 4 {
		return nil, corrupt.Errorf("%s: %d values, at least 4 are needed", filter, len(values))
	}
	axes := int(min(values[0], 6))
	if axes < 1 || axes > 5 || len(values) < 2+axes {
		return nil, corrupt.Errorf("%s: %d axes in %d values, want 1 to 5 and their lengths", filter, values[0], len(values))
	}
	if values[1] >= uint32(kinds) {
		return nil, corrupt.Errorf("%s: type %d is not from 0 to %d", filter, values[1], kinds-1)
	}
	l := &Layout{Type: values[1], Size: sizes[values[1]], Count: 1}
	lengths := values[2 : 2+axes]
	if axes == 1 {
		if values[2] != 0 {
			return nil, corrupt.Errorf("%s: chunk of 2^32 elements or more", filter)
		}
		lengths = values[3:4]
	}
	for i, n := range lengths {
		if n == 0 || uint64(n) > uint64(MaxElements/l.Count) {
			return nil, corrupt.Errorf("%s: axis %d is of length %d, want 1 or more and at most 2^32 elements in all", filter, i, n)
		}
		l.Count *= int(n)
		l.Lengths = append(l.Lengths, int(n))
	}
	return l, nil
}
