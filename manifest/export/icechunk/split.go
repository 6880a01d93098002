package icechunk

import "varve/grid"

// split cuts a non-empty box of chunks into boxes of at most most chunks. Each is contiguous in the C order
// of the box; they do not overlap and are sorted. Their shapes:
//
//	axes before k   one index
//	axis k          a range
//	axes after k    all
func split(box grid.Region, most int64) []grid.Region {
	if box.IsEmpty() {
		return nil
	}
	axis, inner := box.Rank()-1, int64(1)
	for ; axis > 0 && fits(inner, box.Shape[axis], most); axis-- {
		inner *= box.Shape[axis]
	}
	if box.Rank() == 0 {
		return []grid.Region{box.Clone()}
	}
	var out []grid.Region
	step := max(most/inner, 1)
	part := box.Clone()
	for k := range axis {
		part.Shape[k] = 1
	}
	for {
		for from := int64(0); from < box.Shape[axis]; from += step {
			part.Origin[axis], part.Shape[axis] = box.Origin[axis]+from, min(step, box.Shape[axis]-from)
			out = append(out, part.Clone())
		}
		if !advance(part, box, axis) {
			return out
		}
	}
}

// cut divides a box where the index along an axis is a multiple of the axis' window. A window of 0 is the whole axis.
func cut(box grid.Region, windows []int64) []grid.Region {
	out := []grid.Region{box.Clone()}
	for k, window := range windows {
		if window == 0 {
			continue
		}
		var parts []grid.Region
		for _, b := range out {
			for from := b.Origin[k]; from < b.End(k); {
				to := min(from/window*window+window, b.End(k))
				part := b.Clone()
				part.Origin[k], part.Shape[k] = from, to-from
				parts, from = append(parts, part), to
			}
		}
		out = parts
	}
	return out
}

func fits(a, b, most int64) bool { return a <= most/b }

// advance steps to the next index of the axes before one.
func advance(part, box grid.Region, axis int) bool {
	for k := axis - 1; k >= 0; k-- {
		if part.Origin[k]++; part.Origin[k] < box.End(k) {
			return true
		}
		part.Origin[k] = box.Origin[k]
	}
	return false
}

// chunks returns the number of chunks in a box. It cannot overflow, because a grid has at most an int64 of
// chunks.
func chunks(box grid.Region) int64 {
	n := int64(1)
	for _, s := range box.Shape {
		n *= s
	}
	return n
}

// extents returns a box in the form of a snapshot.
func extents(box grid.Region) []extent {
	out := []extent{}
	for k, from := range box.Origin {
		out = append(out, extent{uint32(from), uint32(box.End(k))})
	}
	return out
}
