package virtual

import (
	"errors"
	"fmt"
)

// Match says which elements of a source are which of a virtual dataset: of both the same number,
// in C order.
type Match struct {
	piece    Piece
	from, to *picked
}

// Match matches what a piece picks of a source and of a virtual dataset with the shapes that they
// have now. Where it has no end, as much counts as both have.
func (p *Piece) Match(source, target []uint64) (*Match, error) {
	m := &Match{piece: *p}
	var err error
	if m.from, err = pick(&p.From, source); err != nil {
		return nil, p.wrap(err)
	}
	if m.to, err = pick(&p.To, target); err != nil {
		return nil, p.wrap(err)
	}
	if f, t := Endless(&p.From), Endless(&p.To); f >= 0 && t >= 0 {
		n := min(sum(m.from.axes[f]), sum(m.to.axes[t]))
		m.from.axes[f], m.to.axes[t] = first(m.from.axes[f], n), first(m.to.axes[t], n)
		if err := errors.Join(m.from.recount(), m.to.recount()); err != nil {
			return nil, p.wrap(err)
		}
	}
	if m.to.count == 0 { // behind where the virtual dataset ends, to others that it is a source of
		return m, nil
	}
	if m.from.count != m.to.count {
		return nil, p.wrap(fmt.Errorf("its shape is now %v, of which %d elements are picked for %d of %v: %w",
			source, m.from.count, m.to.count, target, errors.ErrUnsupported))
	}
	return m, nil
}

func (p *Piece) wrap(err error) error {
	if p.File == "." {
		return fmt.Errorf("the mapping of %s: %w", p.Dataset, err)
	}
	return fmt.Errorf("the mapping of %s in %s: %w", p.Dataset, p.File, err)
}

// Elements is how many there are.
func (m *Match) Elements() int64 { return m.to.count }

// Rows are the indices along the source's first axis from the first to behind the last of which
// elements are.
func (m *Match) Rows() (first, end int64) {
	p := m.from
	switch {
	case len(p.shape) == 0:
		return 0, 1
	case p.count == 0:
		return 0, 0
	case p.isProduct():
		last := p.axes[0][len(p.axes[0])-1]
		return p.axes[0][0].start, last.start + last.length
	}
	row := int64(1)
	for _, n := range p.shape[1:] {
		row *= n
	}
	first = p.shape[0]
	for _, b := range p.runs {
		first, end = min(first, b.start/row), max(end, (b.start+b.length-1)/row+1)
	}
	return first, end
}

// Runs has visit look at runs of n elements that lie one after another in both arrays, by their
// numbers in C order.
func (m *Match) Runs(visit func(to, from, n int64) error) error {
	t, f := m.to.reader(), m.from.reader()
	var to, from block
	for left := m.to.count; left > 0; {
		if to.length == 0 {
			to, _ = t.next()
		}
		if from.length == 0 {
			from, _ = f.next()
		}
		n := min(to.length, from.length)
		if err := visit(to.start, from.start, n); err != nil {
			return err
		}
		to, from = block{to.start + n, to.length - n}, block{from.start + n, from.length - n}
		left -= n
	}
	return nil
}

// Boxes are a match of axes with axes: places of one array are those of another by the product
// of runs along each axis.
type Boxes struct {
	// Axes says for each axis of the virtual dataset which it is of the source, or -1 for one of
	// which one place is picked.
	Axes []int
	runs [][]run
	none bool
}

// run is a stretch of an axis, and the one of the source that it is.
type run struct{ to, from, length int64 }

// Boxes matches axes with axes, in their order. Axes of one place need not have a counterpart.
func (m *Match) Boxes() (*Boxes, error) {
	b, err := m.boxes()
	if err != nil {
		return nil, m.piece.wrap(err)
	}
	return b, nil
}

func (m *Match) boxes() (*Boxes, error) {
	b := &Boxes{none: m.to.count == 0}
	if b.none {
		return b, nil
	}
	if !m.from.isProduct() || !m.to.isProduct() {
		return nil, fmt.Errorf("picks elements that are no boxes: %w", errors.ErrUnsupported)
	}
	f, source, j := m.from.axes, m.from.shape, 0
	for _, t := range m.to.axes {
		n := sum(t)
		for n != 1 && j < len(f) && source[j] == 1 {
			j++
		}
		switch {
		case j < len(f) && sum(f[j]) == n:
			b.Axes, b.runs = append(b.Axes, j), append(b.runs, pair(t, f[j]))
			j++
		case n == 1:
			b.Axes, b.runs = append(b.Axes, -1), append(b.runs, []run{{to: t[0].start, length: 1}})
		default:
			return nil, fmt.Errorf("axes do not match one another: %w", errors.ErrUnsupported)
		}
	}
	for ; j < len(f); j++ {
		if source[j] != 1 {
			return nil, fmt.Errorf("takes one place of axis %d of %d: %w", j, source[j], errors.ErrUnsupported)
		}
	}
	return b, nil
}

// pair cuts two lists of blocks into runs.
func pair(to, from []block) []run {
	var out []run
	var t, f block
	for {
		if t.length == 0 {
			if len(to) == 0 {
				return out
			}
			t, to = to[0], to[1:]
		}
		if f.length == 0 {
			f, from = from[0], from[1:]
		}
		n := min(t.length, f.length)
		out = append(out, run{t.start, f.start, n})
		t, f = block{t.start + n, t.length - n}, block{f.start + n, f.length - n}
	}
}

// Arrange puts the numbers of a source's axes in the order of the virtual dataset's; other is for
// axes that the source has not.
func (b *Boxes) Arrange(list []int64, other int64) []int64 {
	out := make([]int64, len(b.Axes))
	for i, j := range b.Axes {
		out[i] = other
		if j >= 0 {
			out[i] = list[j]
		}
	}
	return out
}

// Len is how many boxes there are, and limit+1 if there are more than limit.
func (b *Boxes) Len(limit int) int {
	if b.none {
		return 0
	}
	n := 1
	for _, runs := range b.runs {
		if n *= len(runs); n > limit {
			return limit + 1
		}
	}
	return n
}

// Each has visit look at every box: its origin in the virtual dataset, its start in the source, as
// Arrange has it, and its shape. Slices are the caller's.
func (b *Boxes) Each(visit func(origin, start, shape []int64) error) error {
	rank := len(b.runs)
	for n := range b.Len(1 << 40) {
		origin, start, shape := make([]int64, rank), make([]int64, rank), make([]int64, rank)
		for k := rank - 1; k >= 0; k-- {
			r := b.runs[k][n%len(b.runs[k])]
			n /= len(b.runs[k])
			origin[k], start[k], shape[k] = r.to, r.from, r.length
		}
		if err := visit(origin, start, shape); err != nil {
			return err
		}
	}
	return nil
}
