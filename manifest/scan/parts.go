package scan

import (
	"errors"
	"fmt"
	"slices"

	"varve/manifest"
)

// A variable whose values are in other files has parts: boxes, each of which corresponds to a box of the only
// variable of a hidden file. The hidden variable has the path, dimensions and attributes of the combined
// variable, and the type, fill value and storage of the variable in the other file.
//
//	variable    ├──── part 0 ────┼──── part 1 ────┼─ fill ─┤
//	                  │                 │
//	hidden file    variable          variable

// Limits of the parts of a variable.
const (
	maxParts   = 1 << 18
	maxNesting = 8
	maxOpen    = 32
)

// box is a part whose file has no number yet.
type box struct {
	hidden               int // index of the hidden file
	origin, start, shape []int64
}

// noBoxes is the error for a variable whose values are not boxes of other variables. The reader can still read
// its values.
type noBoxes struct{ err error }

func (e *noBoxes) Error() string   { return e.err.Error() }
func (e *noBoxes) Unwrap() []error { return []error{e.err, errors.ErrUnsupported} }

func noBoxesf(format string, args ...any) error { return &noBoxes{fmt.Errorf(format, args...)} }

// parted collects the parts of a variable.
type parted struct {
	of    *entry
	files map[string]int // index of each hidden file, by key
	found []*found
	boxes []box
}

func (p *parted) add(b box) error {
	if len(p.boxes) == maxParts {
		return noBoxesf("is made of more than %d boxes of other files", maxParts)
	}
	p.boxes = append(p.boxes, b)
	return nil
}

// finish adds the parts to the file. Elements outside all parts become a part without stored chunks, so that
// they read as this variable's fill value.
func (p *parted) finish() error {
	e := p.of
	free, err := uncovered(e.out.Shape, p.boxes)
	if err != nil {
		return err
	}
	if p.boxes, err = visible(e.out.Shape, p.boxes, free); err != nil {
		return err
	}
	if len(free) > 0 {
		hole := e.out
		hole.Storage = manifest.Storage{Layout: manifest.Nothing}
		p.found = append(p.found, e.hide(identity(e.url, e.src, e.data.Format), hole, newRefs()))
		for _, b := range free {
			b.hidden = len(p.found) - 1
			p.boxes = append(p.boxes, b)
		}
	}
	e.out.Storage = manifest.Storage{Layout: manifest.Parted}
	base := len(e.found.hidden)
	parts := make([]manifest.Part, len(p.boxes))
	for i, b := range p.boxes {
		parts[i] = manifest.Part{File: base + b.hidden, Origin: b.origin, Start: b.start, Shape: b.shape}
	}
	e.found.hidden = append(e.found.hidden, p.found...)
	if e.found.file.Parts == nil {
		e.found.file.Parts = map[int][]manifest.Part{}
	}
	e.found.file.Parts[e.number] = parts
	return nil
}

// maxFree limits the number of boxes that uncovered returns.
const maxFree = 1 << 12

// uncovered returns disjoint boxes of the elements of a shape that are in none of the taken boxes.
func uncovered(shape []int64, taken []box) ([]box, error) {
	zero := make([]int64, len(shape))
	free := []box{{origin: zero, start: zero, shape: shape}}
	if slices.Contains(shape, 0) {
		return nil, nil
	}
	for _, t := range taken {
		var left []box
		for _, f := range free {
			left = f.without(left, t)
		}
		if free = left; len(free) > maxFree {
			return nil, noBoxesf("has more than %d boxes that no other file covers", maxFree)
		}
	}
	return free, nil
}

// maxHidden limits the number of comparisons of overlapping boxes.
const maxHidden = 1 << 24

// visible returns disjoint boxes. Where boxes overlap, the last box has the elements, because libhdf5 copies
// boxes in order. free are the boxes of the elements that no box covers.
func visible(shape []int64, boxes, free []box) ([]box, error) {
	// All boxes together cover each element, so if their sizes add up to the size of the shape, none overlap.
	left, err := elements(shape)
	if err != nil {
		return nil, err
	}
	apart := true
	for _, list := range [][]box{boxes, free} {
		for _, b := range list {
			n := int64(1)
			for _, k := range b.shape {
				n *= k
			}
			left -= n
			apart = apart && left >= 0
		}
	}
	if apart {
		return boxes, nil
	}
	var seen []box
	compared := 0
	for i := len(boxes) - 1; i >= 0; i-- {
		parts := boxes[i : i+1]
		for _, above := range seen {
			var rest []box
			for _, b := range parts {
				rest = b.without(rest, above)
			}
			parts = rest
			if compared += 1 + len(parts); compared > maxHidden || len(seen) > maxParts {
				return nil, noBoxesf("has too many overlapping boxes of other files")
			}
		}
		seen = append(seen, parts...)
	}
	slices.Reverse(seen)
	return seen, nil
}

// without appends the parts of b outside t: along each axis the parts before and after t, limited on earlier
// axes to the range of t.
func (b box) without(left []box, t box) []box {
	for k := range b.shape {
		if b.origin[k] >= t.origin[k]+t.shape[k] || t.origin[k] >= b.origin[k]+b.shape[k] {
			return append(left, b)
		}
	}
	rest := b.clone()
	for k := range b.shape {
		from, to := b.origin[k], b.origin[k]+b.shape[k]
		low, high := max(from, t.origin[k]), min(to, t.origin[k]+t.shape[k])
		left = rest.piece(left, k, from, low)
		left = rest.piece(left, k, high, to)
		rest.start[k] += low - from
		rest.origin[k], rest.shape[k] = low, high-low
	}
	return left
}

func (b box) clone() box {
	return box{hidden: b.hidden, origin: slices.Clone(b.origin), start: slices.Clone(b.start), shape: slices.Clone(b.shape)}
}

// piece appends the part of a box between two indices of an axis, unless it is empty.
func (b box) piece(left []box, axis int, from, to int64) []box {
	if from >= to {
		return left
	}
	out := b.clone()
	out.start[axis] += from - b.origin[axis]
	out.origin[axis], out.shape[axis] = from, to-from
	return append(left, out)
}

// hide returns a hidden file with one variable, which has the dimensions of the combined variable.
func (e *entry) hide(id manifest.Source, v manifest.Variable, rows *refs) *found {
	dims := slices.DeleteFunc(slices.Clone(e.header.Dimensions), func(d manifest.Dimension) bool { return !slices.Contains(v.Dims, d.Path) })
	f := &manifest.File{
		Source: id,
		Header: e.shared.header(&manifest.Header{Dimensions: dims, Variables: []*manifest.Variable{&v}}),
		Groups: e.shared.groups(nil),
		Values: make([]*manifest.Values, 1),
		Bytes:  rows.stored,
		Hidden: true,
	}
	return &found{url: id.URL, file: f, refs: rows}
}
