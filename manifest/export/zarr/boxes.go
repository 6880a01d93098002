package zarr

import (
	"iter"

	"varve/grid"
)

// boxing divides some chunks of a grid into boxes of whole chunks. The boxes are numbered by their coordinates, as chunks are.
type boxing struct {
	grid *grid.Grid
	area grid.Region // the chunks, in chunk coordinates
	step []int64     // the number of chunks of a box along each axis
}

// newBoxing returns boxes of one chunk.
func newBoxing(g *grid.Grid, area grid.Region) *boxing {
	b := &boxing{grid: g, area: area, step: make([]int64, g.Rank())}
	for k := range b.step {
		b.step[k] = 1
	}
	return b
}

// counts returns the number of boxes along each axis.
func (b *boxing) counts() []int64 {
	counts := make([]int64, len(b.step))
	for k, n := range b.step {
		counts[k] = (b.area.Shape[k] + n - 1) / n
	}
	return counts
}

// all yields the coordinates of all boxes. They are valid until the next ones.
func (b *boxing) all() iter.Seq[[]int64] { return indices(grid.Whole(b.counts())) }

// indices yields all indices of a region in C order. An index is valid until the next one.
func indices(r grid.Region) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		if r.IsEmpty() {
			return
		}
		at := append([]int64(nil), r.Origin...)
		for yield(at) && r.Next(at) {
		}
	}
}

// chunks returns the chunks of a box.
func (b *boxing) chunks(at []int64) grid.Region {
	r := grid.MakeRegion(len(at))
	for k, n := range b.step {
		r.Origin[k] = b.area.Origin[k] + at[k]*n
		r.Shape[k] = min(n, b.area.End(k)-r.Origin[k])
	}
	return r
}

// meets returns the coordinates of the boxes that share elements with a region inside the area.
func (b *boxing) meets(region grid.Region) (grid.Region, error) {
	chunks, err := b.grid.ChunksOf(region)
	if err != nil {
		return chunks, err
	}
	for k, n := range b.step {
		first := (chunks.Origin[k] - b.area.Origin[k]) / n
		last := (chunks.End(k) - 1 - b.area.Origin[k]) / n
		chunks.Origin[k], chunks.Shape[k] = first, last-first+1
	}
	return chunks, nil
}

// length returns the length of a box along an axis, in elements.
func (b *boxing) length(axis int) int64 { return b.step[axis] * largest(b.grid.Dim(axis)) }

// lengths is length for all axes.
func (b *boxing) lengths() []int64 {
	all := make([]int64, len(b.step))
	for k := range all {
		all[k] = b.length(k)
	}
	return all
}

// bytes returns the size of the largest box, at most limit+1, for elements of unit bytes.
func (b *boxing) bytes(unit, limit int64) int64 {
	for k := range b.step {
		n := max(b.length(k), 1)
		if unit > limit/n {
			return limit + 1
		}
		unit *= n
	}
	return unit
}

// largest returns the longest edge of an axis.
func largest(d grid.Dimension) (n int64) {
	for e := range d.Unique() {
		n = max(n, e.Codec)
	}
	return n
}

// grow enlarges the boxes up to a number of bytes. next returns the axis along which the boxes should become longer, or -1 if they
// are large enough. The boxes become twice as long, or as long as the number of bytes allows.
func (b *boxing) grow(unit, limit int64, next func() int) {
	for {
		axis := next()
		if axis < 0 {
			return
		}
		was := b.step[axis]
		b.step[axis] = 1
		most := max(limit/b.bytes(unit, limit), was)
		b.step[axis] = min(2*was, most, b.area.Shape[axis])
		if b.step[axis] < most {
			continue
		}
		// No room for more. Boxes of about equal length take less memory than full ones and a small rest.
		n := (b.area.Shape[axis] + b.step[axis] - 1) / b.step[axis]
		b.step[axis] = (b.area.Shape[axis] + n - 1) / n
		return
	}
}

// shortest returns the axis along which the boxes are shorter than the given lengths, by the largest factor; -1 if there is none.
func (b *boxing) shortest(than []int64) int {
	axis := -1
	for k, n := range than {
		if b.step[k] < b.area.Shape[k] && n > b.length(k) && (axis < 0 || float64(n)*float64(b.length(axis)) > float64(than[axis])*float64(b.length(k))) {
			axis = k
		}
	}
	return axis
}

// decodes returns how often each chunk of another grid is decoded along an axis if the boxes are read one after another: the
// number of pairs of a box and a chunk that share elements, for each chunk.
func (b *boxing) decodes(of *grid.Grid, axis int) float64 {
	d, from := b.grid.Dim(axis), of.Dim(axis)
	first, last := b.area.Origin[axis], b.area.End(axis)-1
	begin, _ := d.Offset(first)
	size, _ := d.DataSize(last)
	end, _ := d.Offset(last)
	a, err := from.Find(begin)
	z, worse := from.Find(end + size - 1)
	if err != nil || worse != nil {
		return 1 // an axis of length 0
	}
	pairs := z - a + 1
	for at := first + b.step[axis]; at <= last; at += b.step[axis] {
		cut, _ := d.Offset(at)
		chunk, err := from.Find(cut)
		if err != nil {
			break
		}
		if begin, _ := from.Offset(chunk); begin != cut {
			pairs++
		}
	}
	return float64(pairs) / float64(z-a+1)
}

// split yields consecutive parts of a region, in C order of its elements, of at most this many elements.
func split(r grid.Region, most int64) iter.Seq[grid.Region] {
	axis, inner := r.Rank(), int64(1) // a part may contain these axes as a whole
	for axis > 0 && (r.Shape[axis-1] == 0 || inner <= most/r.Shape[axis-1]) {
		axis--
		inner *= r.Shape[axis]
	}
	return func(yield func(grid.Region) bool) {
		if axis == 0 {
			yield(r.Clone())
			return
		}
		long := axis - 1
		for at := range indices(grid.Region{Origin: r.Origin[:long], Shape: r.Shape[:long]}) {
			part := r.Clone()
			for k, i := range at {
				part.Origin[k], part.Shape[k] = i, 1
			}
			for part.Origin[long] < r.End(long) {
				part.Shape[long] = min(max(most/inner, 1), r.End(long)-part.Origin[long])
				if !yield(part.Clone()) {
					return
				}
				part.Origin[long] += part.Shape[long]
			}
		}
	}
}

// least returns the axis along which boxes have the fewest chunks; -1 if one box contains all.
func (b *boxing) least() int {
	axis := -1
	for k, n := range b.step {
		if n < b.area.Shape[k] && (axis < 0 || n < b.step[axis]) {
			axis = k
		}
	}
	return axis
}

// leastAligned returns the axis along which chunks of another grid are decoded most often; -1 if each is decoded once.
func (b *boxing) leastAligned(of *grid.Grid) int {
	axis, most := -1, 1.0
	for k, n := range b.step {
		if n == b.area.Shape[k] {
			continue
		}
		if times := b.decodes(of, k); times > most {
			axis, most = k, times
		}
	}
	return axis
}
