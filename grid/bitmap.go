package grid

import (
	"fmt"
	"math/bits"
)

// bitmap is a mask over a whole array, in C order: one bit per element and, for each
// word, the number of bits set before it. The position of an element in the output is the
// number of set bits before it, so no list of positions is stored.
type bitmap struct {
	words []uint64
	ranks []int64 // one more than words
	shape []int64
}

// Mask selects the elements of an array at which mask is true. The mask has the array's
// shape, in C order. The output is one-dimensional and has the elements in C order.
func Mask(g *Grid, mask []bool) (*Indexer, error) {
	n, err := Elements(g.shape)
	if err != nil {
		return nil, err
	}
	if int64(len(mask)) != n {
		return nil, fmt.Errorf("mask of length %d: the array of shape %v has %d elements", len(mask), g.shape, n)
	}
	m := makeBitmap(mask, g.shape)
	return &Indexer{grid: g, shape: []int64{m.ranks[len(m.words)]}, mask: m}, nil
}

// makeBitmap packs a mask into bits and adds up the ranks.
func makeBitmap(mask []bool, shape []int64) *bitmap {
	n := (len(mask) + 63) / 64
	m := &bitmap{words: make([]uint64, n), ranks: make([]int64, n+1), shape: shape}
	for i, set := range mask {
		if set {
			m.words[i/64] |= 1 << (i % 64)
		}
	}
	for i, w := range m.words {
		m.ranks[i+1] = m.ranks[i] + int64(bits.OnesCount64(w))
	}
	return m
}

// rank returns the number of bits set before position i.
func (m *bitmap) rank(i int64) int64 {
	word := i / 64
	r := m.ranks[word]
	if in := i % 64; in != 0 {
		r += int64(bits.OnesCount64(m.words[word] << (64 - in)))
	}
	return r
}

// next returns the first position in from … to−1 whose bit XOR flip is 1, or to if there
// is none. Flip is findSet to look for a set bit, findClear for a clear one.
func (m *bitmap) next(from, to int64, flip uint64) int64 {
	for from < to {
		if w := (m.words[from/64] ^ flip) >> (from % 64); w != 0 {
			return min(to, from+int64(bits.TrailingZeros64(w)))
		}
		from += 64 - from%64
	}
	return to
}

// The values of flip in bitmap.next.
const (
	findSet   = 0
	findClear = ^uint64(0)
)

// walk visits the chunks from the first to the last selected element along the first
// axis.
func (m *bitmap) walk(g *Grid) *Walker {
	r := Whole(g.shape).Clone()
	if total := m.ranks[len(m.words)]; total == 0 || g.chunks == 0 {
		return &Walker{state: walkDone}
	}
	// Leading rows without a selected element are skipped here; nextMasked skips the
	// other chunks. The array is not empty, as it has a selected element, so n is not 0.
	if len(r.Shape) > 0 {
		n := int64(1)
		for _, length := range g.shape[1:] {
			n *= length
		}
		r.Origin[0] = m.next(0, n*g.shape[0], findSet) / n
		r.Shape[0] -= r.Origin[0]
	}
	w, err := g.WalkRegion(r)
	if err != nil {
		return &Walker{state: walkDone} // not reached: the region is inside the array
	}
	return w
}

// nextMasked is Next for Mask: it skips chunks without a selected element.
func (c *Cursor) nextMasked() bool {
	for c.walker.Next() {
		if c.count = c.index.mask.count(c.Region); c.count > 0 {
			return true
		}
	}
	return false
}

// count returns the number of selected elements in a region.
func (m *bitmap) count(r Region) int64 {
	n := int64(0)
	m.lines(r, r.Shape, func(l loop, flat, _ int64) {
		if l.dst == 1 {
			n += m.rank(flat+l.n) - m.rank(flat)
			return
		}
		for range l.n {
			n += m.bit(flat)
			flat += l.dst
		}
	})
	return n
}

// bit returns bit i as 0 or 1.
func (m *bitmap) bit(i int64) int64 { return int64(m.words[i/64] >> (i % 64) & 1) }

// lines calls do for each line of a region. Flat is where the line begins in the array;
// in is where it begins in a buffer of the given shape whose first element is the
// region's.
func (m *bitmap) lines(r Region, buffer []int64, do func(l loop, flat, in int64)) {
	var room loopsOn
	loops := boxLoops(room[:0], r.Shape, m.shape, buffer)
	line := loop{n: 1, dst: 1, src: 1}
	if len(loops) > 0 {
		line, loops = loops[0], loops[1:]
	}
	visit(loops, flatten(m.shape, r.Origin), 0, func(flat, in int64) { do(line, flat, in) })
}

// rows calls do for the selected elements of a chunk, one row for each interval of set
// bits.
func (m *bitmap) rows(p *Projection, window Region, do func(Row)) {
	base := window.first()
	m.lines(p.Region, window.Shape, func(l loop, flat, in int64) {
		in += base
		// The line is contiguous in the array, so whole words of the mask can be scanned.
		if l.dst == 1 {
			m.setIntervals(l, flat, in, do)
			return
		}
		for range l.n {
			if m.bit(flat) == 1 {
				do(Row{Dst: m.rank(flat), Src: in, N: 1, DstStep: 1, SrcStep: 1})
			}
			flat, in = flat+l.dst, in+l.src
		}
	})
}

// setIntervals calls do for each interval of set bits in a line that is contiguous in the
// array.
func (m *bitmap) setIntervals(l loop, flat, in int64, do func(Row)) {
	to, end := m.rank(flat), flat+l.n
	for at := m.next(flat, end, findSet); at < end; {
		stop := m.next(at, end, findClear)
		do(Row{Dst: to, Src: in + (at-flat)*l.src, N: stop - at, DstStep: 1, SrcStep: l.src})
		// Output positions are ranks: they grow by the bits just passed, so rank is
		// called once.
		to += stop - at
		at = m.next(stop, end, findSet)
	}
}
