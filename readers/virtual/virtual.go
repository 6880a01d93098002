// Package virtual resolves the virtual datasets of HDF5: the sources of their mappings, their
// current shape, and the elements of a source that correspond to elements of the virtual dataset.
// It does no I/O; package hdf5 and the scan of archives use it.
//
//	mapping   file "part-%b.h5", dataset "x", From, To
//	   │      one for each number, as long as sources exist
//	   ▼
//	piece     file "part-3.h5", dataset "x", From, To
//	   │      within the current shapes of both
//	   ▼
//	match ──┬─ runs of elements, in C order
//	        └─ boxes, if axes correspond to axes
//
// Elements without a source have the fill value. A source that exists but does not match is an
// error.
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

// MaxNumbers limits the number of sources of one mapping.
const MaxNumbers = 1 << 16

// Source identifies the source of a mapping.
type Source struct {
	File    string // "." for the same file
	Dataset string
}

// Piece maps selection From of one source to selection To of the virtual dataset.
type Piece struct {
	Source
	From, To readers.Selection
}

// Pieces calls visit for each piece of a virtual dataset, in order: later pieces hide earlier ones.
// A name with %b stands for numbered sources; visit reports whether a source exists, and the first
// missing number ends the mapping. The piece is reused for the next call.
func Pieces(mappings []readers.Mapping, visit func(*Piece) (there bool, err error)) error {
	for i := range mappings {
		if _, err := numbers(&mappings[i], visit); err != nil {
			return err
		}
	}
	return nil
}

// numbers is Pieces for one mapping. It returns the number of existing sources.
func numbers(m *readers.Mapping, visit func(*Piece) (bool, error)) (uint64, error) {
	p := &Piece{From: m.From, To: m.To}
	var err error
	if !isNumbered(m) {
		if p.Source, err = expandSource(m, ""); err != nil {
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
		return 0, readers.Corruptf("virtual dataset: the mapping of %q in %q has numbered sources, but its selection is not an unlimited row of blocks", m.Dataset, m.File)
	case Endless(&m.From) >= 0:
		return 0, readers.Corruptf("virtual dataset: the mapping of %q in %q has numbered sources, but selects an unlimited part of each", m.Dataset, m.File)
	}
	p.To.Start, p.To.Count = slices.Clone(m.To.Start), slices.Clone(m.To.Count)
	// Each numbered source fills one block.
	p.To.Count[axis] = 1
	for i := range uint64(MaxNumbers) {
		if p.Source, err = expandSource(m, strconv.FormatUint(i, 10)); err != nil {
			return 0, err
		}
		if p.To.Start[axis], err = end(m.To.Start[axis], m.To.Stride[axis], i, 0); err != nil {
			return 0, err
		}
		if there, err := visit(p); err != nil || !there {
			return i, err
		}
	}
	return 0, fmt.Errorf("virtual dataset: more than %d sources named %q, %q: %w", MaxNumbers, m.File, m.Dataset, errors.ErrUnsupported)
}

// isNumbered reports whether a mapping's names contain the number of a block.
func isNumbered(m *readers.Mapping) bool {
	// %% is a literal percent sign, so "%%b" contains no number.
	holds := func(name string) bool { return strings.Contains(strings.ReplaceAll(name, "%%", ""), "%b") }
	return holds(m.File) || holds(m.Dataset)
}

// expandSource returns the source with a number in its names.
func expandSource(m *readers.Mapping, number string) (s Source, err error) {
	if s.File, err = expand(m.File, number); err == nil {
		s.Dataset, err = expand(m.Dataset, number)
	}
	return s, err
}

// expand replaces %b by a number, and %% by %.
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
			return "", readers.Corruptf("virtual dataset: source name %q has a %% that is neither %%b nor %%%%", pattern)
		}
		rest = after[1:]
	}
}

// Endless returns the axis along which a selection is unlimited, or -1.
func Endless(s *readers.Selection) int {
	for k := range s.Count {
		if s.Count[k] == readers.Unlimited || s.Block[k] == readers.Unlimited {
			return k
		}
	}
	return -1
}

// Shape returns the current shape of a virtual dataset from its declared and its maximum shape.
// Along an axis with unlimited mappings, it extends to the end of the longest source, and of the
// limited mappings. shapeOf returns the shape of a source.
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
			return nil, readers.Corruptf("virtual dataset: a selection has %d axes (the dataset has %d)", m.To.Rank, len(shape))
		}
		n, err := lengthOf(m, to, shapeOf)
		if err != nil {
			return nil, err
		}
		// The declared length is out of date; the sources alone set it now.
		if !grows[to] {
			grows[to], shape[to] = true, 0
		}
		shape[to] = max(shape[to], n)
	}
	if !slices.Contains(grows, true) {
		return shape, nil
	}
	for i := range mappings {
		if err := extendToFixed(shape, grows, &mappings[i].To); err != nil {
			return nil, err
		}
	}
	for k, n := range shape {
		if grows[k] && n > most[k] {
			return nil, fmt.Errorf("virtual dataset: its sources extend to %d along axis %d, but its maximum length is %d: %w", n, k, most[k], errors.ErrUnsupported)
		}
	}
	return shape, nil
}

// lengthOf returns the length of the axis along which a mapping is unlimited.
func lengthOf(m *readers.Mapping, to int, shapeOf func(Source) ([]uint64, bool, error)) (uint64, error) {
	s, from, places := &m.To, Endless(&m.From), uint64(0)
	n, err := numbers(m, func(p *Piece) (bool, error) {
		shape, there, err := shapeOf(p.Source)
		if from >= 0 && from < len(shape) {
			places = countSelected(&m.From, from, shape[from])
		}
		return there, err
	})
	switch {
	case err != nil:
		return 0, err
	case isNumbered(m):
		places = n * s.Block[to]
		if n > 0 && places/n != s.Block[to] {
			return 0, readers.Corruptf("virtual dataset: %d blocks of %d are too large", n, s.Block[to])
		}
	case from < 0:
		return 0, readers.Corruptf("virtual dataset: an unlimited selection maps a limited one of source %q in %q", m.Dataset, m.File)
	}
	return lengthFor(s, to, places)
}

// lengthFor returns the length of an axis at which an unlimited selection has n indexes.
func lengthFor(s *readers.Selection, k int, n uint64) (uint64, error) {
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

// countSelected returns the number of indexes that an unlimited selection has on an axis of length n.
func countSelected(s *readers.Selection, k int, n uint64) uint64 {
	if n <= s.Start[k] {
		return 0
	}
	n -= s.Start[k]
	if s.Block[k] == readers.Unlimited || s.Stride[k] == 0 {
		return n
	}
	return n/s.Stride[k]*s.Block[k] + min(n%s.Stride[k], s.Block[k])
}

// extendToFixed extends a shape along growing axes to the end of a selection, except along the axis in
// which the selection itself is unlimited.
func extendToFixed(shape []uint64, grows []bool, s *readers.Selection) error {
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

// end returns start + n*stride + more.
func end(start, stride, n, more uint64) (uint64, error) {
	if n > 0 && stride > math.MaxInt64/n || max(start, stride*n, more) > math.MaxInt64/4 {
		return 0, readers.Corruptf("selection extends to %d + %d·%d + %d, which is out of range", start, n, stride, more)
	}
	return start + stride*n + more, nil
}
