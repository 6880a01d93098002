package grid_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/grid"
)

// selection is an indexer and its expected result: for each position of the output the
// element of the array, both numbered in C order.
type selection struct {
	name    string
	indexer *grid.Indexer
	shape   []int64
	picks   []int64
}

// pickedAxis is the model of one selector: the indices it selects, and whether the output
// has the axis.
type pickedAxis struct {
	indices []int64
	dropped bool
}

// byAxes returns the selection of a list of picked axes.
func byAxes(name string, x *grid.Indexer, shape []int64, axes []pickedAxis) selection {
	s := selection{name: name, indexer: x, shape: []int64{}}
	counts := make([]int64, len(axes))
	for k, axis := range axes {
		counts[k] = int64(len(axis.indices))
		if !axis.dropped {
			s.shape = append(s.shape, counts[k])
		}
	}
	each(counts, func(at []int64) {
		index := make([]int64, len(at))
		for k, i := range at {
			index[k] = axes[k].indices[i]
		}
		s.picks = append(s.picks, flatten(shape, index))
	})
	return s
}

// randomSlice returns a slice of an axis of length n and the indices it selects.
func randomSlice(r *rand.Rand, n int64) (grid.Selector, []int64) {
	start, stop, step := r.Int64N(2*n+3)-n-1, r.Int64N(2*n+3)-n-1, int64(1)
	s := grid.Range(start, stop)
	from, to := pythonEnd(start, n), pythonEnd(stop, n)
	switch r.IntN(5) {
	case 0:
		s, from, to = grid.All(), 0, n
	case 1:
		s, to = grid.From(start), n
	case 2:
		s, from = grid.To(stop), 0
	}
	if r.IntN(2) == 0 {
		step = 1 + r.Int64N(5)
		s = s.By(step)
	}
	indices := []int64{}
	for i := from; i < to; i += step {
		indices = append(indices, i)
	}
	return s, indices
}

// pythonEnd clamps a slice's start or stop as Python does.
func pythonEnd(i, n int64) int64 {
	if i < 0 {
		i += n
	}
	return max(0, min(i, n))
}

func randomIndex(r *rand.Rand, n int64) (given, index int64) {
	index = r.Int64N(n)
	if r.IntN(3) == 0 {
		return index - n, index
	}
	return index, index
}

func randomList(r *rand.Rand, n int64) (given, indices []int64) {
	if n == 0 {
		return nil, nil
	}
	for range r.IntN(8) {
		g, i := randomIndex(r, n)
		given, indices = append(given, g), append(indices, i)
	}
	if r.IntN(2) == 0 {
		slices.Sort(indices)
		given = slices.Clone(indices)
	}
	return given, indices
}

func randomSelector(r *rand.Rand, n int64, kinds int) (grid.Selector, pickedAxis) {
	switch kind := r.IntN(kinds); {
	case kind == 0 && n > 0:
		given, index := randomIndex(r, n)
		return grid.At(given), pickedAxis{[]int64{index}, true}
	case kind == 2:
		given, indices := randomList(r, n)
		return grid.Indices(given...), pickedAxis{indices, false}
	case kind == 3:
		mask, indices := make([]bool, n), []int64{}
		for i := range mask {
			if mask[i] = r.IntN(2) == 0; mask[i] {
				indices = append(indices, int64(i))
			}
		}
		return grid.Where(mask), pickedAxis{indices, false}
	}
	s, indices := randomSlice(r, n)
	return s, pickedAxis{indices, false}
}

func randomByAxes(t *testing.T, r *rand.Rand, a *arrayModel, name string) selection {
	t.Helper()
	make_, kinds := grid.Basic, 2
	if name == "orthogonal" {
		make_, kinds = grid.Orthogonal, 4
	}
	selectors, axes := make([]grid.Selector, len(a.shape)), make([]pickedAxis, len(a.shape))
	for k, n := range a.shape {
		selectors[k], axes[k] = randomSelector(r, n, kinds)
	}
	if n := len(selectors); n > 0 && r.IntN(4) == 0 {
		k := r.IntN(n)
		selectors[k] = grid.Ellipsis()
		axes[k] = pickedAxis{upTo(a.shape[k]), false}
	}
	x, err := make_(a.grid, selectors...)
	check(t, err)
	return byAxes(name, x, a.shape, axes)
}

func upTo(n int64) []int64 {
	indices := []int64{}
	for i := range n {
		indices = append(indices, i)
	}
	return indices
}

func randomBlock(t *testing.T, r *rand.Rand, a *arrayModel) selection {
	t.Helper()
	selectors, axes := make([]grid.Selector, len(a.shape)), make([]pickedAxis, len(a.shape))
	for k, m := range a.axes {
		n := m.chunks()
		from, to := int64(0), n
		selectors[k] = grid.All()
		if n > 0 && r.IntN(2) == 0 {
			var given int64
			given, from = randomIndex(r, n)
			to = from + 1
			selectors[k] = grid.At(given)
		} else if n > 0 {
			from = r.Int64N(n)
			stop := r.Int64N(2*n + 2)
			to = min(stop, n)
			selectors[k] = grid.Range(from, stop)
		}
		for i := range m.extent {
			if c, _ := m.chunkOf(i); c >= from && c < to {
				axes[k].indices = append(axes[k].indices, i)
			}
		}
	}
	x, err := grid.Block(a.grid, selectors...)
	check(t, err)
	return byAxes("block", x, a.shape, axes)
}

func randomCoordinate(t *testing.T, r *rand.Rand, a *arrayModel) selection {
	t.Helper()
	shape := make([]int64, r.IntN(3))
	for i := range shape {
		shape[i] = r.Int64N(5)
	}
	if product(a.shape) == 0 {
		shape = []int64{0}
	}
	arrays, indices := make([]grid.Array, len(a.shape)), make([]grid.Array, len(a.shape))
	stretched := make([]int64, len(shape))
	for i := range stretched {
		stretched[i] = 1
	}
	for k, n := range a.shape {
		own := slices.Clone(shape[r.IntN(len(shape)+1):])
		for i := range own {
			if r.IntN(3) == 0 && n > 0 {
				own[i] = 1
			}
		}
		for i, length := range own {
			if at := len(shape) - len(own) + i; length != 1 {
				stretched[at] = length
			}
		}
		if n == 0 {
			own = shape
			copy(stretched, shape)
		}
		arrays[k], indices[k] = grid.Array{Shape: own}, grid.Array{Shape: own}
		for range product(own) {
			given, index := randomIndex(r, n)
			arrays[k].Values = append(arrays[k].Values, given)
			indices[k].Values = append(indices[k].Values, index)
		}
	}
	s := selection{name: "coordinate", shape: []int64{}}
	for _, own := range indices {
		if len(own.Shape) > len(s.shape) {
			s.shape = stretched[len(stretched)-len(own.Shape):]
		}
	}
	each(s.shape, func(at []int64) {
		index := make([]int64, len(indices))
		for k, own := range indices {
			in := make([]int64, len(own.Shape))
			for i := range in {
				in[i] = min(at[len(at)-len(in)+i], own.Shape[i]-1)
			}
			index[k] = own.Values[flatten(own.Shape, in)]
		}
		s.picks = append(s.picks, flatten(a.shape, index))
	})
	var err error
	s.indexer, err = grid.Coordinate(a.grid, arrays...)
	check(t, err)
	return s
}

func randomMask(t *testing.T, r *rand.Rand, a *arrayModel) selection {
	t.Helper()
	s := selection{name: "mask"}
	mask, density := make([]bool, product(a.shape)), 1+r.IntN(8)
	for i := range mask {
		mask[i] = r.IntN(density) == 0
		if i > 0 && r.IntN(2) == 0 {
			mask[i] = mask[i-1]
		}
		if mask[i] {
			s.picks = append(s.picks, int64(i))
		}
	}
	s.shape = []int64{int64(len(s.picks))}
	var err error
	s.indexer, err = grid.Mask(a.grid, mask)
	check(t, err)
	return s
}

func TestIndexersAgainstBruteForce(t *testing.T) {
	rounds(t, 600, func(t *testing.T, r *rand.Rand) {
		a := randomArray(t, r)
		a.fill()
		for _, s := range []selection{
			randomByAxes(t, r, a, "basic"),
			randomByAxes(t, r, a, "orthogonal"),
			randomBlock(t, r, a),
			randomCoordinate(t, r, a),
			randomMask(t, r, a),
		} {
			if !slices.Equal(s.indexer.Shape(), s.shape) {
				t.Fatalf("%s: output shape %v, want %v", s.name, s.indexer.Shape(), s.shape)
			}
			checkGather(t, r, a, s)
			checkScatter(t, a, s)
		}
	})
}

// checkGather reads the selection through its projections, from whole chunks or from
// windows of the bounds.
func checkGather(t *testing.T, r *rand.Rand, a *arrayModel, s selection) {
	t.Helper()
	out := make([]int32, len(s.picks))
	var before []int64
	touched, total := 0, int64(0)
	for c := s.indexer.Project(); c.Next(); touched++ {
		if before != nil && slices.Compare(before, c.Coords) >= 0 {
			t.Fatalf("%s: chunk %v after %v", s.name, c.Coords, before)
		}
		before = slices.Clone(c.Coords)
		total += c.Count()
		w := a.window(t, &c.Projection)
		if r.IntN(2) == 0 {
			w = cut(t, &c.Projection, w)
		}
		p := &c.Projection
		if r.IntN(2) == 0 {
			p = c.Clone()
		}
		if err := grid.Gather(p, out, w, 1); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	for i, pick := range s.picks {
		if out[i] != int32(pick)+1 {
			t.Fatalf("%s of %v: place %d is element %d, want %d", s.name, a.shape, i, out[i]-1, pick)
		}
	}
	if want := len(a.chunksOf(s.picks)); touched != want {
		t.Fatalf("%s: %d chunks touched, want %d", s.name, touched, want)
	}
	if total != int64(len(s.picks)) {
		t.Fatalf("%s: the projections count %d elements, want %d", s.name, total, len(s.picks))
	}
}

// window returns the model's chunk at a projection's chunk coordinates.
func (a *arrayModel) window(t *testing.T, p *grid.Projection) grid.Window[int32] {
	t.Helper()
	c := a.chunks[fmt.Sprint(p.Coords)]
	if c == nil || !slices.Equal(c.shape, p.Codec) {
		t.Fatalf("chunk %v: codec shape %v, the model has %v", p.Coords, p.Codec, c)
	}
	return grid.Window[int32]{Data: c.data, Region: grid.Whole(c.shape)}
}

// cut returns the part of a chunk that a partial read would decode.
func cut(t *testing.T, p *grid.Projection, w grid.Window[int32]) grid.Window[int32] {
	t.Helper()
	b := grid.MakeRegion(len(p.Coords))
	p.Bounds(b)
	part := grid.Window[int32]{Data: make([]int32, product(b.Shape)), Region: b}
	check(t, grid.Copy(part, w, b, 1))
	return part
}

func (a *arrayModel) chunksOf(picks []int64) map[*chunkModel]int {
	counts := map[*chunkModel]int{}
	for _, pick := range picks {
		c, _ := a.chunkOf(a.index(pick))
		counts[c]++
	}
	return counts
}

// index returns the index of the element at a C-order position.
func (a *arrayModel) index(number int64) []int64 {
	index := make([]int64, len(a.shape))
	for k := len(index) - 1; k >= 0; k-- {
		index[k] = number % a.shape[k]
		number /= a.shape[k]
	}
	return index
}

// checkScatter writes through the projections and compares every chunk.
func checkScatter(t *testing.T, a *arrayModel, s selection) {
	t.Helper()
	values := make([]int32, len(s.picks))
	want := &arrayModel{axes: a.axes, shape: a.shape, chunks: map[string]*chunkModel{}}
	for i, pick := range s.picks {
		values[i] = int32(1000 + i)
		c, place := want.chunkOf(a.index(pick))
		c.data[place] = values[i]
	}
	for c := s.indexer.Project(); c.Next(); {
		w := a.window(t, &c.Projection)
		got := slices.Repeat([]int32{-1}, len(w.Data))
		if err := grid.Scatter(&c.Projection, grid.Window[int32]{Data: got, Region: w.Region}, values, 1); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if m := want.chunks[fmt.Sprint(c.Coords)]; m == nil || !slices.Equal(got, m.data) {
			t.Fatalf("%s: chunk %v became %v, want %v", s.name, c.Coords, got, m)
		}
		left := 0
		for i, v := range got {
			if v == -1 && w.Data[i] != -1 {
				left++
			}
		}
		if c.IsWhole() && left > 0 {
			t.Fatalf("%s: chunk %v is said to be whole, but %d elements are not selected", s.name, c.Coords, left)
		}
		if sliced := s.name == "block" || s.name == "mask"; sliced && left == 0 && !c.IsWhole() {
			t.Fatalf("%s: chunk %v is not said to be whole", s.name, c.Coords)
		}
	}
}
