package grid

import (
	"cmp"
	"fmt"
	"slices"
)

// axisIndex is the selection of an indexer along one axis: either count indices from
// start with a step, or the indices of list.
type axisIndex struct {
	dim                Dimension
	start, step, count int64
	list               *indexList // nil for a strided selection
	drop               bool       // a single index, whose axis the output does not have
}

// indexList is a list of indices, ordered by chunk.
type indexList struct {
	index    []int64
	outIndex []int64 // the position of each entry in the output; nil if the entries are in output order
	parts    []part
}

// part is a range of list entries, from … to−1, whose indices are in one chunk.
type part struct {
	chunk, from, to int64
}

// pickIndex returns the axis index of an [At] selector.
func pickIndex(d Dimension, s Selector) (axisIndex, error) {
	at, err := s.index(d.Extent())
	return axisIndex{dim: d, start: at, step: 1, count: 1, drop: true}, err
}

// pickSlice returns the axis index of a slice selector.
func pickSlice(d Dimension, s Selector) (axisIndex, error) {
	start, count, err := s.slice(d.Extent())
	return axisIndex{dim: d, start: start, step: s.step, count: count}, err
}

// pickMask returns the axis index of a [Where] selector.
func pickMask(d Dimension, s Selector) (axisIndex, error) {
	if int64(len(s.mask)) != d.Extent() {
		return axisIndex{}, fmt.Errorf("mask of length %d: must be %d, the length of the axis", len(s.mask), d.Extent())
	}
	var indices []int64
	for i, set := range s.mask {
		if set {
			indices = append(indices, int64(i))
		}
	}
	return pickList(d, indices)
}

// pickIndices returns the axis index of an [Indices] selector.
func pickIndices(d Dimension, s Selector) (axisIndex, error) {
	indices := make([]int64, len(s.indices))
	for i, index := range s.indices {
		at, err := wrap(index, d.Extent())
		if err != nil {
			return axisIndex{}, fmt.Errorf("entry %d: %w", i, err)
		}
		indices[i] = at
	}
	return pickList(d, indices)
}

// pickList returns the axis index of a list of indices, all of which are in bounds.
func pickList(d Dimension, indices []int64) (axisIndex, error) {
	chunks := make([]int64, len(indices))
	if err := findAll(d, indices, chunks); err != nil {
		return axisIndex{}, err
	}
	order, parts := groupByChunk(chunks)
	l := &indexList{index: reorder(indices, order), outIndex: order, parts: parts}
	return axisIndex{dim: d, count: int64(len(indices)), list: l}, nil
}

// findAll writes the chunk number of each index into chunks. It tries the chunk of the
// previous index before it searches, since neighbours in a list are often in one chunk.
func findAll(d Dimension, indices, chunks []int64) error {
	var from, to, chunk int64
	for i, index := range indices {
		if index < from || index >= to {
			var err error
			if chunk, err = d.Find(index); err != nil {
				return fmt.Errorf("entry %d: %w", i, err)
			}
			from, to, _ = Bounds(d, chunk)
		}
		chunks[i] = chunk
	}
	return nil
}

// groupByChunk sorts list entries by chunk and returns the order and the parts. Entries
// of one chunk keep their order, so that the later of two writes to one element wins. The
// order is nil if the entries are sorted already.
func groupByChunk(chunks []int64) (order []int64, parts []part) {
	if !slices.IsSorted(chunks) {
		order = make([]int64, len(chunks))
		for i := range order {
			order[i] = int64(i)
		}
		// Comparing positions last makes the sort stable without the cost of
		// slices.SortStableFunc.
		slices.SortFunc(order, func(a, b int64) int {
			return cmp.Or(cmp.Compare(chunks[a], chunks[b]), cmp.Compare(a, b))
		})
	}
	for i := range chunks {
		chunk := chunks[i]
		if order != nil {
			chunk = chunks[order[i]]
		}
		if last := len(parts) - 1; last < 0 || parts[last].chunk != chunk {
			parts = append(parts, part{chunk: chunk, from: int64(i)})
		}
		parts[len(parts)-1].to = int64(i) + 1
	}
	return order, parts
}

// reorder returns values in the given order; a nil order returns values itself.
func reorder(values, order []int64) []int64 {
	if order == nil {
		return values
	}
	out := make([]int64, len(order))
	for i, at := range order {
		out[i] = values[at]
	}
	return out
}

// AxisProjection is the selection of one chunk along one axis, and its position along
// that axis of the output. Indices in the chunk count from its first element.
type AxisProjection struct {
	Count int64

	// The i-th index in the chunk is Start + i·Step, or Start + Index[i] if Index is not
	// nil; Start is then the negative of the chunk's offset.
	Start, Step int64
	Index       []int64

	// The i-th position in the output is Out + i, or Place[i] if Place is not nil.
	Out   int64
	Place []int64

	// Dropped reports that the output does not have the axis.
	Dropped bool
}

// In returns the i-th index in the chunk.
func (a *AxisProjection) In(i int64) int64 {
	if a.Index != nil {
		return a.Start + a.Index[i]
	}
	return a.Start + i*a.Step
}

// To returns the i-th position in the output.
func (a *AxisProjection) To(i int64) int64 {
	if a.Place != nil {
		return a.Place[i]
	}
	return a.Out + i
}

// bounds returns the smallest range in the chunk that contains every index.
func (a *AxisProjection) bounds() (from, length int64) {
	if a.Index == nil {
		return a.Start, (a.Count-1)*a.Step + 1
	}
	lo, hi := slices.Min(a.Index), slices.Max(a.Index)
	return a.Start + lo, hi - lo + 1
}

// covers reports whether the indices are the first n of the chunk, in order.
func (a *AxisProjection) covers(n int64) bool {
	if a.Count != n {
		return false
	}
	if a.Index == nil {
		return a.Start == 0 && (a.Step == 1 || n == 1)
	}
	for i, index := range a.Index {
		if a.Start+index != int64(i) {
			return false
		}
	}
	return true
}

// axisCursor steps through the chunks of an axisIndex.
type axisCursor struct {
	axis      *axisIndex
	spans     advancer
	span      Span
	firstSpan Span  // the span of the first chunk, to rewind to
	consumed  int64 // selected indices, or parts, that next has passed
}

// next moves axis k of p to the next chunk and reports whether there is one.
func (c *axisCursor) next(p *Projection, k int) bool {
	if c.axis.list != nil {
		return c.nextPart(p, k)
	}
	a, out := c.axis, &p.Axes[k]
	if c.consumed >= a.count {
		return false
	}
	index := a.start + c.consumed*a.step
	chunk := c.seek(index)
	offset := p.enter(k, c.span, chunk)
	out.Start = index - offset
	out.Step = a.step
	// Count first covers the rest of the chunk, then every step-th element of it.
	// (n−1)/step+1 is ceil(n/step) without the overflow of n+step−1.
	out.Count = p.Shape[k] - out.Start
	if a.step > 1 {
		out.Count = (out.Count-1)/a.step + 1
	}
	out.Count = min(a.count-c.consumed, out.Count)
	out.Out = c.consumed
	c.consumed += out.Count
	return true
}

// nextPart is next for an index list.
func (c *axisCursor) nextPart(p *Projection, k int) bool {
	l, out := c.axis.list, &p.Axes[k]
	if c.consumed >= int64(len(l.parts)) {
		return false
	}
	at := l.parts[c.consumed]
	c.consumed++
	if !c.span.has(at.chunk) {
		c.span = c.axis.dim.Span(at.chunk)
	}
	out.Start = -p.enter(k, c.span, at.chunk)
	out.Count = at.to - at.from
	out.Index = l.index[at.from:at.to]
	out.Out = at.from
	if l.outIndex != nil {
		out.Place = l.outIndex[at.from:at.to]
	}
	return true
}

// seek returns the chunk of an index that is not before the cursor's span, and moves the
// cursor to the span of that chunk.
func (c *axisCursor) seek(index int64) int64 {
	if chunk, ok := c.span.chunkAt(index); ok {
		return chunk
	}
	// A slice with a small step enters the next span most often, which advance finds
	// without a search.
	c.spans.advance(&c.span)
	chunk, ok := c.span.chunkAt(index)
	if !ok {
		chunk, _ = c.axis.dim.Find(index) // the constructor has checked the ends
		c.span = c.axis.dim.Span(chunk)
	}
	return chunk
}

// rewind moves the cursor before its first chunk.
func (c *axisCursor) rewind() { c.span, c.consumed = c.firstSpan, 0 }

// cursor returns a cursor before the first chunk of the selection.
func (a *axisIndex) cursor() axisCursor {
	c := axisCursor{axis: a, spans: advancerOf(a.dim)}
	if a.list == nil && a.count > 0 {
		first, _ := a.dim.Find(a.start) // the constructor has checked it
		c.firstSpan = a.dim.Span(first)
	}
	c.rewind()
	return c
}
