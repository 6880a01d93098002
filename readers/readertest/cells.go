package readertest

// Cells returns the positions in C order of the elements of a box.
func Cells(shape, origin, size []int64) []int64 {
	out := []int64{0}
	for k := range shape {
		var more []int64
		for _, e := range out {
			for i := range size[k] {
				more = append(more, e*shape[k]+origin[k]+i)
			}
		}
		out = more
	}
	return out
}
