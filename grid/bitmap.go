package grid

import (
	"fmt"
	"math/bits"
)

// bitmap is a mask over a whole array, in C order: a bit for each element, and for each
// word the number of bits set before it. An element's place in the output is a
// count, so no list of places is needed.
type bitmap struct {
	words []uint64
	ranks []int64 // one more than words
	shape []int64
}

// Mask selects the elements of an array at which mask, which has its shape and is in
// C order, is true. The output is a line of them in C order.
func Mask(g *Grid, mask []bool) (*Indexer, error) {
	n, err := Elements(g.shape)
	if err != nil {
		return nil, err
	}
	if int64(len(mask)) != n {
		return nil, fmt.Errorf("a mask of %d: the array of shape %v has %d elements", len(mask), g.shape, n)
	}
	m := makeBitmap(mask, g.shape)
	return &Indexer{grid: g, shape: []int64{m.ranks[len(m.words)]}, mask: m}, nil
}

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

// rank is how many bits are set before position i.
func (m *bitmap) rank(i int64) int64 {
	word := i / 64
	r := m.ranks[word]
	if in := i % 64; in != 0 {
		r += int64(bits.OnesCount64(m.words[word] << (64 - in)))
	}
	return r
}

// next is the first position in from … to−1 whose bit is what flip makes zero: flip 0
// looks for a set bit, flip all ones for a clear one. It is to if there is none.
func (m *bitmap) next(from, to int64, flip uint64) int64 {
	for from < to {
		if w := (m.words[from/64] ^ flip) >> (from % 64); w != 0 {
			return min(to, from+int64(bits.TrailingZeros64(w)))
		}
		from += 64 - from%64
	}
	return to
}

const (
	findSet   = 0
	findClear = ^uint64(0)
)

// walk visits the chunks between the first and the last selected element along the
// first axis.
func (m *bitmap) walk(g *Grid) *Walker {
	r := Whole(g.shape).Clone()
	if total := m.ranks[len(m.words)]; total == 0 || g.chunks == 0 {
		return &Walker{state: walkDone}
	}
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
		return &Walker{state: walkDone} // not reached: the region is the array's
	}
	return w
}

// nextMasked is Next for Mask: it passes over chunks of which nothing is selected.
func (c *Cursor) nextMasked() bool {
	for c.walker.Next() {
		if c.count = c.index.mask.count(c.Region); c.count > 0 {
			return true
		}
	}
	return false
}

// count is how many elements of a region are selected.
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

func (m *bitmap) bit(i int64) int64 { return int64(m.words[i/64] >> (i % 64) & 1) }

// lines calls do with each line of a region: where it begins in the array, and in a
// buffer of some shape that begins where the region does.
func (m *bitmap) lines(r Region, buffer []int64, do func(l loop, flat, in int64)) {
	var room loopsOn
	loops := boxLoops(room[:0], r.Shape, m.shape, buffer)
	line := loop{n: 1, dst: 1, src: 1}
	if len(loops) > 0 {
		line, loops = loops[0], loops[1:]
	}
	visit(loops, flatten(m.shape, r.Origin), 0, func(flat, in int64) { do(line, flat, in) })
}

// rows calls do with what is selected of a chunk, each stretch of set bits being one
// row.
func (m *bitmap) rows(p *Projection, window Region, do func(Row)) {
	base := window.first()
	m.lines(p.Region, window.Shape, func(l loop, flat, in int64) {
		in += base
		if l.dst == 1 {
			m.stretches(l, flat, in, do)
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

// stretches calls do with each stretch of set bits in a line of neighbours.
func (m *bitmap) stretches(l loop, flat, in int64, do func(Row)) {
	to, end := m.rank(flat), flat+l.n
	for at := m.next(flat, end, findSet); at < end; {
		stop := m.next(at, end, findClear)
		do(Row{Dst: to, Src: in + (at-flat)*l.src, N: stop - at, DstStep: 1, SrcStep: l.src})
		to += stop - at
		at = m.next(stop, end, findSet)
	}
}
