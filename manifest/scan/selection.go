package scan

import (
	"errors"
	"fmt"
	"math"

	"varve/readers"
)

// alignment says which places of one array are which of another: the product of runs along
// each axis. Axes of one place need not have a counterpart.
type alignment struct {
	axes []int // for each axis of the target, that of the source, or -1
	runs [][]run
}

// run is a stretch of an axis of the target, and the one of the source that it is.
type run struct{ to, from, length int64 }

// block is a stretch of one axis.
type block struct{ start, length int64 }

// align matches the elements of two selections, each in C order.
func align(from, to *readers.Selection, source, target []int64) (*alignment, error) {
	f, err := axesOf(from, source)
	if err != nil {
		return nil, err
	}
	t, err := axesOf(to, target)
	if err != nil {
		return nil, err
	}
	a := &alignment{}
	if f == nil || t == nil {
		return a, nil
	}
	j := 0
	for i := range t {
		switch {
		case j < len(f) && (sum(f[j]) == sum(t[i]) || endless(from, j) || endless(to, i)):
			a.axes, a.runs = append(a.axes, j), append(a.runs, match(t[i], f[j]))
			j++
		case sum(t[i]) == 1:
			a.axes, a.runs = append(a.axes, -1), append(a.runs, []run{{to: t[i][0].start, length: 1}})
		case j < len(f) && source[j] == 1 && j+1 < len(f) && sum(f[j+1]) == sum(t[i]):
			a.axes, a.runs = append(a.axes, j+1), append(a.runs, match(t[i], f[j+1]))
			j += 2
		default:
			return nil, fmt.Errorf("axes do not match one another: %w", errors.ErrUnsupported)
		}
	}
	for ; j < len(f); j++ {
		if source[j] != 1 {
			return nil, fmt.Errorf("takes one place of axis %d of %d: %w", j, source[j], errors.ErrUnsupported)
		}
	}
	return a, nil
}

// arrange puts the numbers of a source's axes in the order of the target's; other is for axes
// that the source has not.
func (a *alignment) arrange(list []int64, other int64) []int64 {
	out := make([]int64, len(a.axes))
	for i, j := range a.axes {
		out[i] = other
		if j >= 0 {
			out[i] = list[j]
		}
	}
	return out
}

// boxes calls add with every box. Slices are the caller's.
func (a *alignment) boxes(add func(origin, start, shape []int64) error) error {
	n := 1
	for _, runs := range a.runs {
		if n *= len(runs); n > maxParts {
			return fmt.Errorf("is made of more than %d boxes of other files: %w", maxParts, errors.ErrUnsupported)
		}
	}
	if len(a.runs) == 0 {
		n = 0
	}
	for i := range n {
		rank := len(a.runs)
		origin, start, shape := make([]int64, rank), make([]int64, rank), make([]int64, rank)
		for k := rank - 1; k >= 0; k-- {
			r := a.runs[k][i%len(a.runs[k])]
			i /= len(a.runs[k])
			origin[k], start[k], shape[k] = r.to, r.from, r.length
		}
		if err := add(origin, start, shape); err != nil {
			return err
		}
	}
	return nil
}

// match cuts two lists of blocks into runs.
func match(to, from []block) []run {
	var out []run
	for len(to) > 0 && len(from) > 0 {
		n := min(to[0].length, from[0].length)
		out = append(out, run{to[0].start, from[0].start, n})
		to, from = drop(to, n), drop(from, n)
	}
	return out
}

// drop leaves out n places from the beginning of blocks, no more than the first has.
func drop(list []block, n int64) []block {
	if list[0].length == n {
		return list[1:]
	}
	rest := append([]block{}, list...)
	rest[0] = block{rest[0].start + n, rest[0].length - n}
	return rest
}

func sum(list []block) (n int64) {
	for _, b := range list {
		n += b.length
	}
	return n
}

func endless(s *readers.Selection, axis int) bool {
	return s.Kind == readers.SelectRegular && (s.Count[axis] == readers.Unlimited || s.Block[axis] == readers.Unlimited)
}

// axesOf lists what a selection picks of each axis, as far as the array reaches; nil is
// nothing at all.
func axesOf(s *readers.Selection, shape []int64) ([][]block, error) {
	switch s.Kind {
	case readers.SelectNone:
		return nil, nil
	case readers.SelectAll:
		out := make([][]block, len(shape))
		for k, n := range shape {
			out[k] = appendBlock(nil, 0, n)
		}
		return out, nil
	case readers.SelectRegular:
	default:
		return nil, fmt.Errorf("a list of blocks or of elements: %w", errors.ErrUnsupported)
	}
	if s.Rank != len(shape) {
		return nil, readers.Corruptf("a selection of %d axes in an array of %d", s.Rank, len(shape))
	}
	out := make([][]block, len(shape))
	for k, n := range shape {
		var err error
		if out[k], err = axisOf(s, k, n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// axisOf lists what a regular selection picks of an axis of length n.
func axisOf(s *readers.Selection, k int, n int64) ([]block, error) {
	start, stride, length := s.Start[k], s.Stride[k], min(s.Block[k], uint64(n))
	if start >= uint64(n) || s.Count[k] == 0 || length == 0 {
		return nil, nil
	}
	var out []block
	for i := uint64(0); i < s.Count[k] && start < uint64(n); i++ {
		if len(out) > maxParts {
			return nil, fmt.Errorf("picks more than %d places apart of one another: %w", maxParts, errors.ErrUnsupported)
		}
		out = appendBlock(out, int64(start), int64(min(length, uint64(n)-start)))
		if stride == 0 || start > math.MaxInt64-stride {
			break
		}
		if stride == length && s.Count[k] > i+1 { // all the rest is one
			last := min(uint64(n), start+min(s.Count[k]-i, uint64(n))*length)
			return appendBlock(out, int64(start+length), int64(last)-int64(start+length)), nil
		}
		start += stride
	}
	return out, nil
}

// appendBlock appends a block, to the one before if it goes on with it.
func appendBlock(list []block, start, length int64) []block {
	if length <= 0 {
		return list
	}
	if k := len(list) - 1; k >= 0 && list[k].start+list[k].length == start {
		list[k].length += length
		return list
	}
	return append(list, block{start, length})
}
