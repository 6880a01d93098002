package sperr

// The three partitions: spans of a line, rects of a plane, boxes of a volume.
//
// A set that is not significant stays in a list until the next bit plane. There is one list for each
// level, the number of cuts that made the set; lists of higher levels are read first. If all other
// parts of a significant set are insignificant, the last part must be significant, and the stream has
// no bit for it ("certain" below).
//
// The order of parts and lists is part of the format. It is that of SPECK1D_INT.cpp, SPECK2D_INT.cpp
// and SPECK3D_INT.cpp.

// Numbers of lists. A chunk has fewer than 1<<32 elements, and SPERR cuts a dimension of a volume to at
// most 1<<16 elements.
const (
	spanLists = 34
	rectLists = 34
	boxLists  = 3*17 + 1
)

// span is a set of consecutive elements.
type span struct{ start, length uint32 }

func (s span) isEmpty() bool { return s.length == 0 }

// spans is the partition of corrections, which treats the elements as one line.
type spans struct {
	*speck
	lists [spanLists][]span
}

// begin sets the partition of n elements to two halves.
func (p *spans) begin(n int) {
	resetLists(p.lists[:])
	near, far := span{0, uint32(n)}.halves()
	p.lists[1] = append(p.lists[1], near, far)
}

// halves returns the two halves of a span. The first is longer if the length is odd.
func (s span) halves() (near, far span) {
	n := s.length - s.length/2
	return span{s.start, n}, span{s.start + n, s.length / 2}
}

func (p *spans) clean() { removeEmpty(p.lists[:]) }

func (p *spans) sort() {
	for level := len(p.lists) - 1; level >= 0; level-- {
		for i := range p.lists[level] {
			if p.in.bit() == 1 {
				p.cut(level, i)
			}
		}
	}
}

// cut replaces the significant set i of a level by its halves.
func (p *spans) cut(level, i int) {
	near, far := p.lists[level][i].halves()
	p.lists[level][i].length = 0 // clean removes it: a removal now would disturb the caller's loop
	found := p.sortSet(level+1, near, false)
	p.sortSet(level+1, far, !found)
}

// sortSet adds a new set to its level, and cuts it if it is significant. It reports whether it is.
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

// rect is a rectangular set of elements of a plane.
type rect struct{ x, y, width, height uint32 }

func (r rect) isEmpty() bool { return r.width == 0 }

// rects is the partition of a plane: the coarse part that the last wavelet transform left, and one set
// of all other coefficients, from which one level of the transform is cut off at a time.
type rects struct {
	*speck
	dims  [3]int
	rest  int // number of levels of the transform in the set of other coefficients
	lists [rectLists][]rect
}

// begin sets the partition of a plane.
func (p *rects) begin(dims [3]int) {
	resetLists(p.lists[:])
	p.dims = dims
	p.rest = transforms(min(dims[0], dims[1]))
	root := rect{0, 0, uint32(coarse(dims[0], p.rest)), uint32(coarse(dims[1], p.rest))}
	p.lists[p.rest] = append(p.lists[p.rest], root)
}

func (p *rects) clean() { removeEmpty(p.lists[:]) }

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

// sortRest cuts levels off the set of other coefficients, as long as the set is significant.
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
				certain = false // this rect explains the significance, so the rest needs a bit
			}
		}
	}
}

// cut replaces the significant set i of a level by its quarters.
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

// sortSet sorts a new set, which may be empty or a single element. It reports whether it is significant.
func (p *rects) sortSet(level int, r rect, certain bool) bool {
	switch {
	case r.width == 0 || r.height == 0:
		return false
	case r.width == 1 && r.height == 1:
		return p.sortOne(int(r.y)*p.dims[0]+int(r.x), certain)
	}
	return p.queue(level, r, certain)
}

// queue adds a set to its level, and cuts it if it is significant. It reports whether it is.
func (p *rects) queue(level int, r rect, certain bool) bool {
	p.lists[level] = append(p.lists[level], r)
	if !certain && p.in.bit() == 0 {
		return false
	}
	p.cut(level, len(p.lists[level])-1)
	return true
}

// box is a set of elements of a volume. SPERR stores it in 16-bit numbers, so it wrongly codes
// dimensions longer than 16 bits hold; 16-bit numbers here give the same result.
type box struct{ start, length [3]uint16 }

func (b box) isEmpty() bool { return b.length[0] == 0 || b.length[1] == 0 || b.length[2] == 0 }

func (b box) isElement() bool { return b.length == [3]uint16{1, 1, 1} }

// Sets of dimensions, one bit per dimension.
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

// piece returns a part of the box: the far half along the dimensions in far, the near half along the
// other dimensions in axes, and all of it along the others.
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

// begin sets the partition of a volume to the parts that the levels of the wavelet transform made.
func (p *boxes) begin(dims [3]int) {
	resetLists(p.lists[:])
	p.dims = dims
	rest := box{length: [3]uint16{uint16(dims[0]), uint16(dims[1]), uint16(dims[2])}}
	timesXY, timesZ := transforms(min(dims[0], dims[1])), transforms(dims[2])
	if n, ok := dyadic(dims); ok {
		timesXY, timesZ = n, n
	}
	level := 0
	for i := range max(timesXY, timesZ) {
		axes := alongXYZ
		if i >= timesZ {
			axes = alongXY
		} else if i >= timesXY {
			axes = alongZ
		}
		level += ones(rest.divisible() & axes)
		for far := 1; far <= axes; far++ {
			if far&^axes == 0 {
				p.lists[level] = append(p.lists[level], rest.piece(axes, far))
			}
		}
		rest = rest.piece(axes, 0)
	}
	// The coarse part comes first in its list.
	p.lists[level] = append(p.lists[level], box{})
	copy(p.lists[level][1:], p.lists[level])
	p.lists[level][0] = rest
}

// ones returns the number of dimensions in a set.
func ones(axes int) int { return axes&1 + axes>>1&1 + axes>>2 }

func (p *boxes) clean() { removeEmpty(p.lists[:]) }

func (p *boxes) sort() {
	for level := len(p.lists) - 1; level >= 0; level-- {
		for i := range p.lists[level] {
			if p.in.bit() == 1 {
				p.cut(level, i)
			}
		}
	}
}

// cut replaces the significant set i of a level by up to 8 parts.
func (p *boxes) cut(level, i int) {
	b := p.lists[level][i]
	p.lists[level][i].length[0] = 0
	if b.isEmpty() {
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

// sortSet sorts a new set, which may be a single element. It reports whether it is significant.
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
