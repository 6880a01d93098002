package scan

import (
	"errors"
	"fmt"
	"slices"

	"varve/manifest"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// A variable whose values are in other files has parts: boxes, each of which is a box of the
// only variable of a hidden file. That variable stands in for the real one in the other file:
// it has the path, the dimensions and the attributes of the variable that it is a part of, and
// the type, the fill value and the storage of the one that it is.
//
//	variable    ├──── part 0 ────┼──── part 1 ────┼─ fill ─┤
//	                  │                 │
//	hidden file    variable          variable

// Limits of what a variable may be made of.
const (
	maxParts   = 1 << 18
	maxNesting = 8
	maxOpen    = 32
)

// box is a part whose file is not numbered yet.
type box struct {
	hidden               int // among the parts' hidden files
	origin, start, shape []int64
}

// noBoxes says why the values of a variable are no boxes of others. They can be read all the same.
type noBoxes struct{ err error }

func (e *noBoxes) Error() string   { return e.err.Error() }
func (e *noBoxes) Unwrap() []error { return []error{e.err, errors.ErrUnsupported} }

func noBoxesf(format string, args ...any) error { return &noBoxes{fmt.Errorf(format, args...)} }

// parted collects the parts of a variable.
type parted struct {
	r     *reading
	out   *manifest.Variable
	files map[string]int // hidden files by what they are
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

// finish gives the parts to the file. What no part covers is a part that was never written, so
// that it reads as the fill value that this variable has.
func (p *parted) finish() error {
	free, err := uncovered(p.out.Shape, p.boxes)
	if err != nil {
		return err
	}
	if p.boxes, err = visible(p.out.Shape, p.boxes, free); err != nil {
		return err
	}
	if len(free) > 0 {
		hole := *p.out
		hole.Storage = manifest.Storage{Layout: manifest.Nothing}
		p.found = append(p.found, p.r.hide(identity(p.r.out.url, p.r.src, p.r.data.Format), hole, newRefs()))
		for _, b := range free {
			b.hidden = len(p.found) - 1
			p.boxes = append(p.boxes, b)
		}
	}
	p.out.Storage = manifest.Storage{Layout: manifest.Parted}
	base := len(p.r.out.hidden)
	parts := make([]manifest.Part, len(p.boxes))
	for i, b := range p.boxes {
		parts[i] = manifest.Part{File: base + b.hidden, Origin: b.origin, Start: b.start, Shape: b.shape}
	}
	p.r.out.hidden = append(p.r.out.hidden, p.found...)
	if p.r.out.file.Parts == nil {
		p.r.out.file.Parts = map[int][]manifest.Part{}
	}
	p.r.out.file.Parts[len(p.r.header.Variables)] = parts
	return nil
}

// maxFree bounds in how many boxes a variable's uncovered cells may lie.
const maxFree = 1 << 12

// uncovered returns boxes of a shape that cover what others leave.
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
			return nil, noBoxesf("leaves more than %d boxes to no other file", maxFree)
		}
	}
	return free, nil
}

// maxHidden bounds how often boxes are compared that lie over one another.
const maxHidden = 1 << 24

// visible returns what can be seen of boxes: later ones hide earlier ones, as libhdf5 writes the
// values of one over those of another. What no box covers is free.
func visible(shape []int64, boxes, free []box) ([]box, error) {
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
				return nil, noBoxesf("is made of too many boxes of other files that lie over one another")
			}
		}
		seen = append(seen, parts...)
	}
	slices.Reverse(seen)
	return seen, nil
}

// without appends what is left of a box when another is taken out of it: along each axis
// what lies before it and behind it, and along the next axes only what is level with it.
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

// piece appends the part of a box between two indices of an axis, if there is any.
func (b box) piece(left []box, axis int, from, to int64) []box {
	if from >= to {
		return left
	}
	out := b.clone()
	out.start[axis] += from - b.origin[axis]
	out.origin[axis], out.shape[axis] = from, to-from
	return append(left, out)
}

// hide makes a hidden file of one variable.
func (r *reading) hide(id manifest.Source, v manifest.Variable, rows *refs) *found {
	f := &manifest.File{
		Source: id,
		Header: r.shared.header(&manifest.Header{Variables: []manifest.Variable{v}}),
		Groups: r.shared.groups(&manifest.GroupAttributes{}),
		Values: make([]*manifest.Values, 1),
		Bytes:  rows.stored,
		Hidden: true,
	}
	return &found{url: id.URL, file: f, refs: rows}
}

// neighbours are files that were opened because a virtual dataset or a link names them.
type neighbours struct {
	open      map[string]*reading
	depth     int      // how many virtual datasets and links led here
	folders   []string // those of the files that led here, which may name what is in them
	count     *int     // variables that mappings named, here and wherever they lead
	described map[string]*described
}

// described is a variable that a mapping named, of which there may be more.
type described struct {
	v     *manifest.Variable
	f     *found
	shape []uint64 // that mappings are of
}

// below are the neighbours of what is named here.
func (n *neighbours) below(folders ...string) neighbours {
	if n.count == nil {
		n.count = new(int)
	}
	return neighbours{depth: n.depth + 1, folders: append(slices.Clip(n.folders), folders...), count: n.count}
}

// neighbour opens a file that the source names. There need not be one.
func (r *reading) neighbour(name string) (*reading, error) {
	if n, ok := r.near.open[name]; ok {
		return n, nil
	}
	if len(r.near.open) >= maxOpen {
		if err := r.closeNeighbours(); err != nil {
			return nil, err
		}
	}
	src, err := r.openBeside(name)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &reading{scanner: r.scanner, ctx: r.ctx, src: src, out: &found{url: absolute(src.Name())}, indexes: true, near: r.near.below(besides(r.src.Name()))}
	if n.data, err = formats.Open(r.ctx, src, r.Allow...); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	n.others = newOthers(n)
	if r.near.open == nil {
		r.near.open = map[string]*reading{}
	}
	r.near.open[name] = n
	return n, nil
}

// closeNeighbours closes what the source led to.
func (r *reading) closeNeighbours() error {
	var failed error
	for _, n := range r.near.open {
		failed = errors.Join(failed, n.closeNeighbours(), n.src.Close())
	}
	clear(r.near.open)
	if r.here != nil {
		failed = errors.Join(failed, r.here.closeNeighbours())
	}
	return failed
}

// openBeside opens a file that the source names, by a path from its own folder.
func (r *reading) openBeside(name string) (*source.Source, error) {
	return source.OpenBeside(r.src.Name(), name, func(place string) (*source.Source, error) { return r.openNamed(r.ctx, place) })
}

// mapped is describe of what a mapping names, with its refs and its own parts; nil if there is
// nothing of the name. All who name it get the same.
func (r *reading) mapped(name string) (*described, error) {
	if d := r.near.described[name]; d != nil {
		return d, nil
	}
	if *r.near.count++; *r.near.count > maxParts {
		return nil, fmt.Errorf("is made of more than %d others, or these of others: %w", maxParts, errors.ErrUnsupported)
	}
	v, through, err := r.named(name)
	if v == nil || err != nil {
		return nil, err
	}
	out, err := r.describe(v, through)
	if err != nil {
		return nil, err
	}
	if r.near.described == nil {
		r.near.described = map[string]*described{}
	}
	d := &described{v: out, f: r.out, shape: v.Shape}
	if v.Storage.Declared != nil {
		d.shape = v.Storage.Declared
	}
	r.near.described[name] = d
	return d, nil
}

// describe makes a variable of one that was located, with its refs and its own parts in r.out.
func (r *reading) describe(v *readers.Variable, through *reading) (*manifest.Variable, error) {
	if r.near.depth > maxNesting {
		return nil, fmt.Errorf("virtual datasets lead to others more than %d times: %w", maxNesting, errors.ErrUnsupported)
	}
	r.out = &found{url: r.out.url, file: &manifest.File{}, refs: newRefs()}
	r.others = newOthers(r)
	r.header, r.known = &manifest.Header{}, map[*readers.Dimension]bool{}
	out := r.variable(v)
	r.through = through
	defer func() { r.through = nil }()
	if err := r.store(&out, v); err != nil {
		return nil, err
	}
	return &out, nil
}

// base is the file by whose place other files are named: the one that the variable at hand is in.
func (r *reading) base() *reading {
	if r.through != nil {
		return r.through
	}
	return r
}

// find returns what is at a path of the source, a variable or a group.
func (r *reading) find(at string) (*readers.Variable, *readers.Group) {
	if r.groups == nil {
		r.groups, r.variables = map[string]*readers.Group{}, map[string]*readers.Variable{}
		r.data.Root.Walk(func(g *readers.Group) bool {
			r.groups[g.Path] = g
			for _, v := range g.Variables {
				r.variables[v.Path] = v
			}
			return true
		})
	}
	return r.variables[at], r.groups[at]
}
