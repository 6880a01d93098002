package virtual

import (
	"errors"
	"fmt"
)

// Match relates elements of a source to elements of a virtual dataset: the same number on both
// sides, in C order.
type Match struct {
	piece    Piece
	from, to *selectedElements
}

// Match matches the selections of a piece, for the current shapes of the source and of the virtual
// dataset. If both selections are unlimited, the smaller extent counts.
func (p *Piece) Match(source, target []uint64) (*Match, error) {
	m := &Match{piece: *p}
	var err error
	if m.from, err = selectElements(&p.From, source); err != nil {
		return nil, p.wrap(err)
	}
	if m.to, err = selectElements(&p.To, target); err != nil {
		return nil, p.wrap(err)
	}
	if f, t := Endless(&p.From), Endless(&p.To); f >= 0 && t >= 0 {
		n := min(sum(m.from.axes[f]), sum(m.to.axes[t]))
		m.from.axes[f], m.to.axes[t] = first(m.from.axes[f], n), first(m.to.axes[t], n)
		if err := errors.Join(m.from.recount(), m.to.recount()); err != nil {
			return nil, p.wrap(err)
		}
	}
	if m.to.count == 0 { // after the end of the virtual dataset, which may be shorter as a source of others
		return m, nil
	}
	if m.from.count != m.to.count {
		return nil, p.wrap(fmt.Errorf("the source's shape is now %v; %d selected elements do not match %d of %v: %w",
			source, m.from.count, m.to.count, target, errors.ErrUnsupported))
	}
	return m, nil
}

func (p *Piece) wrap(err error) error {
	if p.File == "." {
		return fmt.Errorf("virtual dataset: mapping of %s: %w", p.Dataset, err)
	}
	return fmt.Errorf("virtual dataset: mapping of %s in %s: %w", p.Dataset, p.File, err)
}

// Elements returns the number of matched elements.
func (m *Match) Elements() int64 { return m.to.count }

// Rows returns the range of the source's first axis that contains all matched elements.
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

// Runs calls visit for each run of n elements that are consecutive in both arrays, with their
// positions in C order.
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

// Boxes is a match in which each axis of one array corresponds to an axis of the other. It is the
// product of runs along the axes.
type Boxes struct {
	// Axes holds for each axis of the virtual dataset the corresponding axis of the source, or -1
	// for an axis along which one index is selected.
	Axes    []int
	runs    [][]run
	isEmpty bool
}

// run is a range of an axis and the corresponding range of the source's axis.
type run struct{ to, from, length int64 }

// Boxes matches axes in order. Axes along which one index is selected need not correspond to
// another. It returns ErrUnsupported if the match is not a product of axes.
func (m *Match) Boxes() (*Boxes, error) {
	b, err := m.boxes()
	if err != nil {
		return nil, m.piece.wrap(err)
	}
	return b, nil
}

func (m *Match) boxes() (*Boxes, error) {
	b := &Boxes{isEmpty: m.to.count == 0}
	if b.isEmpty {
		return b, nil
	}
	if !m.from.isProduct() || !m.to.isProduct() {
		return nil, fmt.Errorf("the selection is not a product of axes: %w", errors.ErrUnsupported)
	}
	f, source, j := m.from.axes, m.from.shape, 0
	for _, t := range m.to.axes {
		n := sum(t)
		// Axes of length 1 in the source need no counterpart.
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
			return nil, fmt.Errorf("axes of the source do not match the virtual dataset's: %w", errors.ErrUnsupported)
		}
	}
	for ; j < len(f); j++ {
		if source[j] != 1 {
			return nil, fmt.Errorf("one index is selected along axis %d of length %d: %w", j, source[j], errors.ErrUnsupported)
		}
	}
	return b, nil
}

// pair splits two lists of blocks into runs.
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

// Arrange returns numbers of the source's axes in the order of the virtual dataset's axes, with
// other for axes that the source does not have.
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

// Len returns the number of boxes, or limit+1 if there are more than limit.
func (b *Boxes) Len(limit int) int {
	if b.isEmpty {
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

// Each calls visit for every box with its origin in the virtual dataset, its start in the source
// (ordered as by Arrange) and its shape. visit may keep the slices.
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
