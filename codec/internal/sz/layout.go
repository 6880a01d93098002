package sz

import "varve/codec/internal/corrupt"

// Layout is the shape and type of a chunk, from the parameters ("values") of the HDF5 filters SZ 2 and
// SZ 3.1, which have the same form:
//
//	axes  type  lengths, the slowest axis last; for a single axis the high and the low half of its length
type Layout struct {
	Type    uint32 // 0 to 9: float32, float64, uint8, int8, uint16, int16, uint32, int32, uint64, int64
	Size    int    // bytes per element
	Count   int    // number of elements
	Lengths []int  // in the order of the values
}

// sizes holds the bytes per element of each type.
var sizes = [kinds]int{4, 8, 1, 1, 2, 2, 4, 4, 8, 8}

// MaxElements limits the elements of a chunk, so that products of lengths and sizes cannot overflow.
// HDF5 limits chunks to 2^32 bytes.
const MaxElements = 1 << 32

// ReadLayout returns the Layout for a filter's values. filter is its name, for errors.
func ReadLayout(filter string, values []uint32) (*Layout, error) {
	if len(values) < 4 {
		return nil, corrupt.Errorf("%s: %d filter values, must be at least 4", filter, len(values))
	}
	axes := int(min(values[0], 6))
	if axes < 1 || axes > 5 || len(values) < 2+axes {
		return nil, corrupt.Errorf("%s: %d axes in %d filter values, must be 1 to 5 and their lengths", filter, values[0], len(values))
	}
	if values[1] >= uint32(kinds) {
		return nil, corrupt.Errorf("%s: type %d, must be 0 to %d", filter, values[1], kinds-1)
	}
	l := &Layout{Type: values[1], Size: sizes[values[1]], Count: 1}
	lengths := values[2 : 2+axes]
	if axes == 1 {
		if values[2] != 0 {
			return nil, corrupt.Errorf("%s: the chunk has 2^32 elements or more", filter)
		}
		lengths = values[3:4]
	}
	for i, n := range lengths {
		if n == 0 || uint64(n) > uint64(MaxElements/l.Count) {
			return nil, corrupt.Errorf("%s: axis %d has length %d, must be positive and the chunk at most 2^32 elements", filter, i, n)
		}
		l.Count *= int(n)
		l.Lengths = append(l.Lengths, int(n))
	}
	return l, nil
}
