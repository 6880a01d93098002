package coord

import "slices"

// Part is a contiguous part of a coordinate, and its place along the dimension.
type Part struct{ Origin, Start, Length int64 }

// PartsOf splits a coordinate into the longest parts whose values are adjacent in the result. place
// has the index of each value in the result; other values are left out.
func PartsOf(keys []Key, place map[Key]int64) (parts []Part) {
	for i, k := range keys {
		at, ok := place[k]
		if !ok {
			continue
		}
		if n := len(parts) - 1; n >= 0 && parts[n].Origin+parts[n].Length == at && parts[n].Start+parts[n].Length == int64(i) {
			parts[n].Length++
			continue
		}
		parts = append(parts, Part{at, int64(i), 1})
	}
	return parts
}

// CutsOf returns the sorted ends of all parts.
func CutsOf(coords []*Coord) (cuts []int64) {
	for _, c := range coords {
		for _, s := range c.Parts {
			cuts = append(cuts, s.Origin, s.Origin+s.Length)
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// CutAt splits a part at positions of a sorted list.
func (s Part) CutAt(cuts []int64) (parts []Part) {
	i, _ := slices.BinarySearch(cuts, s.Origin+1)
	for ; i < len(cuts) && cuts[i] < s.Origin+s.Length; i++ {
		n := cuts[i] - s.Origin
		parts = append(parts, Part{s.Origin, s.Start, n})
		s = Part{cuts[i], s.Start + n, s.Length - n}
	}
	return append(parts, s)
}
