// Package virtual says what the virtual datasets of HDF5 are made of: which sources their mappings
// come down to, how long they are now, and which places of a source are which of theirs. Whoever
// reads their values and whoever places them in an array stand on it; it does no I/O.
//
//	mapping   file "part-%b.h5", dataset "x", From, To
//	   │      one of each number, as long as there are sources
//	   ▼
//	piece     file "part-3.h5", dataset "x", From, To
//	   │      as far as the shapes reach that both have now
//	   ▼
//	match ──┬─ runs of elements, in C order
//	        └─ boxes, where axes correspond to axes
//
// What there is no source for is fill; a source that is there and does not match is refused.
package virtual

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve/readers"
)

// MaxNumbers is of how many sources one mapping may be.
const MaxNumbers = 1 << 16

// Source is what a mapping names.
type Source struct {
	File    string // "." for the same file
	Dataset string
}

// Piece is what a mapping says of one source: selection From of it is selection To.
type Piece struct {
	Source
	From, To readers.Selection
}

// Pieces has visit look at each piece of a virtual dataset, in the order in which later ones hide
// earlier ones. Names with %b are of as many sources as there are in a row: visit reports whether
// one is there. The piece is overwritten by the next.
func Pieces(mappings []readers.Mapping, visit func(*Piece) (there bool, err error)) error {
	for i := range mappings {
		if _, err := numbers(&mappings[i], visit); err != nil {
			return err
		}
	}
	return nil
}

// numbers is Pieces for one mapping, and returns how many of its sources are there.
func numbers(m *readers.Mapping, visit func(*Piece) (bool, error)) (uint64, error) {
	p := &Piece{From: m.From, To: m.To}
	var err error
	if !isNumbered(m) {
		if p.Source, err = named(m, ""); err != nil {
			return 0, err
		}
		there, err := visit(p)
		if !there {
			return 0, err
		}
		return 1, err
	}
	axis := Endless(&m.To)
	switch {
	case axis < 0 || m.To.Count[axis] != readers.Unlimited:
		return 0, readers.Corruptf("a part is named by numbers, %q of %q, and is no row of blocks without an end", m.Dataset, m.File)
	case Endless(&m.From) >= 0:
		return 0, readers.Corruptf("a part is named by numbers, %q of %q, and is without an end in each of them", m.Dataset, m.File)
	}
	p.To.Start, p.To.Count = slices.Clone(m.To.Start), slices.Clone(m.To.Count)
	p.To.Count[axis] = 1
	for i := range uint64(MaxNumbers) {
		if p.Source, err = named(m, strconv.FormatUint(i, 10)); err != nil {
			return 0, err
		}
		if p.To.Start[axis], err = end(m.To.Start[axis], m.To.Stride[axis], i, 0); err != nil {
			return 0, err
		}
		if there, err := visit(p); err != nil || !there {
			return i, err
		}
	}
	return 0, fmt.Errorf("is made of more than %d sources named %q, %q: %w", MaxNumbers, m.File, m.Dataset, errors.ErrUnsupported)
}

// isNumbered reports whether the number of a block is part of what a mapping names.
func isNumbered(m *readers.Mapping) bool {
	holds := func(name string) bool { return strings.Contains(strings.ReplaceAll(name, "%%", ""), "%b") }
	return holds(m.File) || holds(m.Dataset)
}

// named puts a number into what a mapping names.
func named(m *readers.Mapping, number string) (s Source, err error) {
	if s.File, err = expand(m.File, number); err == nil {
		s.Dataset, err = expand(m.Dataset, number)
	}
	return s, err
}

// expand puts a number in place of %b, and % in place of %%.
func expand(pattern, number string) (string, error) {
	var out strings.Builder
	for rest := pattern; ; {
		before, after, found := strings.Cut(rest, "%")
		out.WriteString(before)
		switch {
		case !found:
			return out.String(), nil
		case strings.HasPrefix(after, "b"):
			out.WriteString(number)
		case strings.HasPrefix(after, "%"):
			out.WriteByte('%')
		default:
			return "", readers.Corruptf("a source is named by the pattern %q, in which only %%b and %%%% mean something", pattern)
		}
		rest = after[1:]
	}
}

// Endless returns the axis along which a selection has no end, or -1.
func Endless(s *readers.Selection) int {
	for k := range s.Count {
		if s.Count[k] == readers.Unlimited || s.Block[k] == readers.Unlimited {
			return k
		}
	}
	return -1
}

// Shape is the shape of a virtual dataset now, where its file has declared one and what it may
// be at most. Along an axis in which mappings have no end it reaches as far as the longest of
// their sources, and as the mappings that have an end. shapeOf returns that of a source.
func Shape(declared, most []uint64, mappings []readers.Mapping, shapeOf func(Source) (shape []uint64, there bool, err error)) ([]uint64, error) {
	shape := slices.Clone(declared)
	grows := make([]bool, len(shape))
	for i := range mappings {
		m := &mappings[i]
		to := Endless(&m.To)
		if to < 0 {
			continue
		}
		if to >= len(shape) || m.To.Rank != len(shape) {
			return nil, readers.Corruptf("a selection of %d axes in a virtual dataset of %d", m.To.Rank, len(shape))
		}
		n, err := reach(m, to, shapeOf)
		if err != nil {
			return nil, err
		}
		if !grows[to] {
			grows[to], shape[to] = true, 0
		}
		shape[to] = max(shape[to], n)
	}
	if !slices.Contains(grows, true) {
		return shape, nil
	}
	for i := range mappings {
		if err := reachFixed(shape, grows, &mappings[i].To); err != nil {
			return nil, err
		}
	}
	for k, n := range shape {
		if grows[k] && n > most[k] {
			return nil, fmt.Errorf("its sources reach to %d along axis %d, and it must not be longer than %d: %w", n, k, most[k], errors.ErrUnsupported)
		}
	}
	return shape, nil
}

// reach is how long the axis is along which a mapping has no end.
func reach(m *readers.Mapping, to int, shapeOf func(Source) ([]uint64, bool, error)) (uint64, error) {
	s, from, places := &m.To, Endless(&m.From), uint64(0)
	n, err := numbers(m, func(p *Piece) (bool, error) {
		shape, there, err := shapeOf(p.Source)
		if from >= 0 && from < len(shape) {
			places = selected(&m.From, from, shape[from])
		}
		return there, err
	})
	switch {
	case err != nil:
		return 0, err
	case isNumbered(m):
		places = n * s.Block[to]
		if n > 0 && places/n != s.Block[to] {
			return 0, readers.Corruptf("%d blocks of %d places", n, s.Block[to])
		}
	case from < 0:
		return 0, readers.Corruptf("a part of a virtual dataset has no end, and its source %q of %q has one", m.Dataset, m.File)
	}
	return holding(s, to, places)
}

// holding is how long an axis has to be for an endless selection to pick n places.
func holding(s *readers.Selection, k int, n uint64) (uint64, error) {
	switch {
	case n == 0:
		return 0, nil
	case s.Block[k] == readers.Unlimited || s.Block[k] == 0:
		return end(s.Start[k], 1, n, 0)
	}
	whole, rest := n/s.Block[k], n%s.Block[k]
	if rest == 0 {
		return end(s.Start[k], s.Stride[k], whole-1, s.Block[k])
	}
	return end(s.Start[k], s.Stride[k], whole, rest)
}

// selected is how many places of an axis of length n an endless selection picks.
func selected(s *readers.Selection, k int, n uint64) uint64 {
	if n <= s.Start[k] {
		return 0
	}
	n -= s.Start[k]
	if s.Block[k] == readers.Unlimited || s.Stride[k] == 0 {
		return n
	}
	return n/s.Stride[k]*s.Block[k] + min(n%s.Stride[k], s.Block[k])
}

// reachFixed has a shape reach as far as a selection does along the axes that grow, but not along
// the one in which the selection has no end itself.
func reachFixed(shape []uint64, grows []bool, s *readers.Selection) error {
	if s.Kind == readers.SelectAll || s.Kind == readers.SelectNone || s.Rank != len(shape) {
		return nil
	}
	for k := range shape {
		if !grows[k] || k == Endless(s) {
			continue
		}
		if s.Kind == readers.SelectRegular {
			if s.Count[k] == 0 {
				continue
			}
			n, err := end(s.Start[k], s.Stride[k], s.Count[k]-1, s.Block[k])
			if err != nil {
				return err
			}
			shape[k] = max(shape[k], n)
			continue
		}
		for i := k; i < len(s.Cells); i += s.Rank {
			shape[k] = max(shape[k], s.Cells[i]+1)
		}
	}
	return nil
}

// end is start + n*stride + more.
func end(start, stride, n, more uint64) (uint64, error) {
	if n > 0 && stride > math.MaxInt64/n || max(start, stride*n, more) > math.MaxInt64/4 {
		return 0, readers.Corruptf("a selection reaches to %d + %d times %d + %d", start, n, stride, more)
	}
	return start + stride*n + more, nil
}
