package sperr

// A set that is not significant waits in a list until the next plane. There is a list
// a number of cuts, and those of most cuts come first. When only the last part of a set
// can be what made it significant, no bit says so.
//
// The order of the parts, of the lists and within them is that of SPECK1D_INT.cpp,
// SPECK2D_INT.cpp and SPECK3D_INT.cpp.

// Lists that a partition needs at most: a chunk has less than 1<<32 elements, and the
// library cuts no more than 1<<16 along a dimension of a volume.
const (
	spanLists = 34
	rectLists = 34
	boxLists  = 3*17 + 1
)

// span is a set of elements in a row.
type span struct{ start, length uint32 }

func (s span) empty() bool { return s.length == 0 }

// spans is the partition of corrections, whose elements are taken as one row.
type spans struct {
	*speck
	lists [spanLists][]span
}

func (p *spans) begin(n int) {
	emptied(p.lists[:])
	near, far := span{0, uint32(n)}.halves()
	p.lists[1] = append(p.lists[1], near, far)
}

func (s span) halves() (near, far span) {
	n := s.length - s.length/2
	return span{s.start, n}, span{s.start + n, s.length / 2}
}

func (p *spans) clean() { swept(p.lists[:]) }

func (p *spans) sort() {
	for level := len(p.lists) - 1; level >= 0; level-- {
		for i := range p.lists[level] {
			if p.in.bit() == 1 {
				p.cut(level, i)
			}
		}
	}
}

// cut halves a set that is significant.
func (p *spans) cut(level, i int) {
	near, far := p.lists[level][i].halves()
	p.lists[level][i].length = 0
	found := p.sortSet(level+1, near, false)
	p.sortSet(level+1, far, !found)
}

func (p *spans) sortSet(level int, s span, certain bool) bool {
	if s.length == 1 {
		return p.sortOne(int(s.start), certain)
	}
	p.lists[level] = append(p.lists[level], s)
	if !certain && p.in.bit() == 0 {
		return false
	}
	p.cut(level, len(p.lists[level])-1)
	return true
}

// rect is a set of elements of a plane.
type rect struct{ x, y, width, height uint32 }

func (r rect) empty() bool { return r.width == 0 }

// rects is the partition of a plane: what the last level of the wavelet transform
// left, and everything else as one set that is cut level by level.
type rects struct {
	*speck
	dims  [3]int
	rest  int // levels of the transform that are still one set
	lists [rectLists][]rect
}

func (p *rects) begin(dims [3]int) {
	emptied(p.lists[:])
	p.dims = dims
	p.rest = transforms(min(dims[0], dims[1]))
	root := rect{0, 0, uint32(coarse(dims[0], p.rest)), uint32(coarse(dims[1], p.rest))}
	p.lists[p.rest] = append(p.lists[p.rest], root)
}

func (p *rects) clean() { swept(p.lists[:]) }

func (p *rects) sort() {
	for level := len(p.lists) - 1; level >= 0; level-- {
		for i := range p.lists[level] {
			if p.in.bit() == 1 {
				p.cut(level, i)
			}
		}
	}
	p.sortRest(false)
}

// sortRest cuts a level off the set of the levels, if that is significant.
func (p *rects) sortRest(certain bool) {
	for p.rest > 0 && (certain || p.in.bit() == 1) {
		level := p.rest
		p.rest--
		x, y := uint32(coarse(p.dims[0], level)), uint32(coarse(p.dims[1], level))
		w := uint32(coarse(p.dims[0], level-1)) - x
		h := uint32(coarse(p.dims[1], level-1)) - y
		certain = true
		for _, r := range [...]rect{{x, y, w, h}, {x, 0, w, y}, {0, y, x, h}} {
			if p.queue(level, r, false) {
				certain = false
			}
		}
	}
}

// cut quarters a set that is significant, and is not an element.
func (p *rects) cut(level, i int) {
	r := p.lists[level][i]
	p.lists[level][i].width = 0
	w, h := r.width-r.width/2, r.height-r.height/2
	x, y := r.x+w, r.y+h
	a := p.sortSet(level+1, rect{x, y, r.width / 2, r.height / 2}, false)
	b := p.sortSet(level+1, rect{r.x, y, w, r.height / 2}, false)
	c := p.sortSet(level+1, rect{x, r.y, r.width / 2, h}, false)
	p.sortSet(level+1, rect{r.x, r.y, w, h}, !(a || b || c))
}

func (p *rects) sortSet(level int, r rect, certain bool) bool {
	switch {
	case r.width == 0 || r.height == 0:
		return false
	case r.width == 1 && r.height == 1:
		return p.sortOne(int(r.y)*p.dims[0]+int(r.x), certain)
	}
	return p.queue(level, r, certain)
}

func (p *rects) queue(level int, r rect, certain bool) bool {
	p.lists[level] = append(p.lists[level], r)
	if !certain && p.in.bit() == 0 {
		return false
	}
	p.cut(level, len(p.lists[level])-1)
	return true
}

// box is a set of elements of a volume. The library keeps it in 16 bits a number, so
// of a longer dimension only what 16 bits hold is coded.
type box struct{ start, length [3]uint16 }

func (b box) empty() bool { return b.length[0] == 0 || b.length[1] == 0 || b.length[2] == 0 }

func (b box) isElement() bool { return b.length == [3]uint16{1, 1, 1} }

// Sets of dimensions, a bit each.
const (
	alongXY  = 1<<0 | 1<<1
	alongZ   = 1 << 2
	alongXYZ = alongXY | alongZ
)

// divisible returns the dimensions along which the box can be halved.
func (b box) divisible() (axes int) {
	for i, n := range b.length {
		if n > 1 {
			axes |= 1 << i
		}
	}
	return axes
}

// piece returns the part of the box that is the far half along the axes of far, the
// near half along the other ones of axes, and all of it along the rest.
func (b box) piece(axes, far int) box {
	for i, n := range b.length {
		switch near := n - n/2; {
		case far>>i&1 == 1:
			b.start[i] += near
			b.length[i] = n / 2
		case axes>>i&1 == 1:
			b.length[i] = near
		}
	}
	return b
}

// boxes is the partition of a volume.
type boxes struct {
	*speck
	dims  [3]int
	lists [boxLists][]box
}

// begin cuts the volume as the wavelet transform did.
func (p *boxes) begin(dims [3]int) {
	emptied(p.lists[:])
	p.dims = dims
	whole := box{length: [3]uint16{uint16(dims[0]), uint16(dims[1]), uint16(dims[2])}}
	planar, deep := transforms(min(dims[0], dims[1])), transforms(dims[2])
	if n, ok := dyadic(dims); ok {
		planar, deep = n, n
	}
	level := 0
	for i := range max(planar, deep) {
		axes := alongXYZ
		if i >= deep {
			axes = alongXY
		} else if i >= planar {
			axes = alongZ
		}
		level += ones(whole.divisible() & axes)
		for far := 1; far <= axes; far++ {
			if far&^axes == 0 {
				p.lists[level] = append(p.lists[level], whole.piece(axes, far))
			}
		}
		whole = whole.piece(axes, 0)
	}
	p.lists[level] = append(p.lists[level], box{})
	copy(p.lists[level][1:], p.lists[level])
	p.lists[level][0] = whole
}

func ones(axes int) int { return axes&1 + axes>>1&1 + axes>>2 }

func (p *boxes) clean() { swept(p.lists[:]) }

func (p *boxes) sort() {
	for level := len(p.lists) - 1; level >= 0; level-- {
		for i := range p.lists[level] {
			if p.in.bit() == 1 {
				p.cut(level, i)
			}
		}
	}
}

// cut divides a set that is significant into up to 8.
func (p *boxes) cut(level, i int) {
	b := p.lists[level][i]
	p.lists[level][i].length[0] = 0
	if b.empty() {
		return
	}
	last := b.divisible()
	level += ones(last)
	found := false
	for far := range last + 1 {
		if far&^last == 0 && p.sortSet(level, b.piece(last, far), far == last && !found) {
			found = true
		}
	}
}

func (p *boxes) sortSet(level int, b box, certain bool) bool {
	if b.isElement() {
		at := b.start
		return p.sortOne((int(at[2])*p.dims[1]+int(at[1]))*p.dims[0]+int(at[0]), certain)
	}
	p.lists[level] = append(p.lists[level], b)
	if !certain && p.in.bit() == 0 {
		return false
	}
	p.cut(level, len(p.lists[level])-1)
	return true
}
