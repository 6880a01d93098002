package sz

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// blocks decodes a body of blocks. Each block is predicted in one of two ways: from neighbouring
// elements, which may be in other blocks, or by a plane (a coefficient for each axis and one for the
// block's corner). Numbers are big-endian, or little-endian if marked "le":
//
//	u32 length of a block's edge   bound   u32 intervals
//	u32 bytes of a tree   u32 nodes   tree
//	u8 1: uses a mean   le mean   one bit per block, most significant first; 1: predicted from neighbours
//	if there are planes, for each coefficient:
//	    bound   u32 half of the intervals   u32 bytes of a tree   u32 nodes   tree
//	    u64 bytes of codes   codes of the types   u32 stored coefficients   le coefficients
//	u64 le number of stored values   le values   codes of the elements' types
//
// Elements are in the order of blocks. If there are four axes, the first two are treated as one. Type 0
// means a stored value. If a mean is used, the type intervals/2 of an element predicted from neighbours
// means the mean, and types below it are one lower than otherwise.
type blocks[T float] struct {
	*floats[T]
	axes    [3]span
	strides [2]int // elements of a layer and of a row
	bound   T
	radius  int32
	hasMean bool
	mean    T
	planes  [4]coefficients[T] // the first is unused with two axes
	values  []byte             // stored values that are not yet read
	left    []int32            // types of the elements that are not yet decoded
	zeros   []T                // stands in for a row outside the array
	isShort bool               // more values were needed than are stored
}

// span describes how an axis is divided into blocks: the first `long` blocks have length+1 elements, the
// others length.
type span struct{ count, long, length int }

// cut divides an axis into blocks of at least the given length.
func cut(length, block int) span {
	n := max(length/block, 1)
	return span{count: n, long: length % n, length: length / n}
}

// block returns the start and the length of block i.
func (s span) block(i int) (at, n int) {
	at = i*s.length + min(i, s.long)
	if i < s.long {
		return at, s.length + 1
	}
	return at, s.length
}

// coefficients are the coefficients of one axis for all planes. Each is predicted from that of the
// previous plane, or stored.
type coefficients[T float] struct {
	bound  T
	radius int32
	types  []int32 // types that are not yet decoded
	stored []byte  // stored coefficients that are not yet read
	last   T       // coefficient of the previous plane
}

// blocks decodes a body of blocks to f.out.
func (f *floats[T]) blocks() error {
	b := blocks[T]{floats: f}
	r := cursor{buf: f.body}
	if f.sizeBytes != 8 {
		return corrupt.Errorf("sz: blocks with sizes of %d bytes, must be 8", f.sizeBytes)
	}
	neighbours, err := b.fields(&r)
	if err != nil {
		return err
	}
	if err := f.decodeTypes(f.count); err != nil {
		return err
	}
	b.left = f.types
	b.zeros = make([]T, b.axes[2].length+1)
	b.decode(neighbours)
	if b.isShort {
		return corrupt.Errorf("sz: fewer values are stored than the types need")
	}
	return nil
}

// fields reads the fields before the elements' types. It returns the bits that say which blocks are
// predicted from neighbours.
func (b *blocks[T]) fields(r *cursor) ([]byte, error) {
	dims := b.three()
	b.strides = [2]int{dims[1] * dims[2], dims[2]}
	edge := int(r.u32())
	if r.err == nil && edge < 1 {
		return nil, corrupt.Errorf("sz: blocks of length %d, must be positive", edge)
	}
	count := 1
	for i, n := range dims {
		b.axes[i] = cut(n, max(edge, 1))
		count *= b.axes[i].count
	}
	b.bound = bigFloatAt[T](r)
	b.radius = int32(r.u32()) / 2
	if err := b.readTree(r, &b.tree, b.count); err != nil {
		return nil, err
	}
	b.hasMean = r.u8() != 0
	b.mean = littleFloatAt[T](r)
	neighbours := r.bytes((count+7)/8, "blocks' kinds")
	if r.err != nil {
		return nil, r.err
	}
	if err := b.readPlanes(r, count-ones(neighbours, count)); err != nil {
		return nil, err
	}
	b.values = r.bytes(littleCount(r)*b.size, "values")
	b.codes = r.buf[r.at:]
	return neighbours, r.err
}

// readTree reads a tree that is preceded by its size.
func (b *blocks[T]) readTree(r *cursor, t *tree, symbols int) error {
	size, nodes := int(r.u32()), int(r.u32())
	src := r.bytes(size, "Huffman tree")
	if r.err != nil {
		return r.err
	}
	return t.read(src, nodes, symbols)
}

// readPlanes reads the coefficients of count planes.
func (b *blocks[T]) readPlanes(r *cursor, count int) error {
	planes := b.planes[:]
	if len(b.dims) == 2 {
		planes = planes[1:]
	}
	if count == 0 {
		return nil
	}
	var t tree
	for i := range planes {
		p := &planes[i]
		p.bound = bigFloatAt[T](r)
		p.radius = int32(r.u32())
		if err := b.readTree(r, &t, count); err != nil {
			return err
		}
		codes := r.bytes(r.size(8), "coefficients' types")
		p.stored = r.bytes(int(r.u32())*b.size, "coefficients")
		if r.err != nil {
			return r.err
		}
		p.types = make([]int32, count)
		if err := t.decode(p.types, codes); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes all blocks. neighbours has one bit per block.
func (b *blocks[T]) decode(neighbours []byte) {
	i := 0
	for x := range b.axes[0].count {
		for y := range b.axes[1].count {
			for z := range b.axes[2].count {
				if neighbours[i>>3]<<(i&7)&0x80 != 0 {
					b.lorenzo([3]int{x, y, z})
				} else {
					b.plane([3]int{x, y, z})
				}
				i++
			}
		}
	}
}

// next returns the next stored value. If there is none, it returns 0 and sets isShort.
func (b *blocks[T]) next() T {
	if len(b.values) < b.size {
		b.isShort = true
		return 0
	}
	v := littleFloat[T](b.values)
	b.values = b.values[b.size:]
	return v
}

// plane decodes a block that is predicted by a plane. The conversions to T round each step, as libSZ
// does.
func (b *blocks[T]) plane(block [3]int) {
	var c [4]T
	for i := range b.planes {
		c[i] = b.planes[i].next(&b.isShort)
	}
	x0, nx := b.axes[0].block(block[0])
	y0, ny := b.axes[1].block(block[1])
	z0, nz := b.axes[2].block(block[2])
	for x := range nx {
		for y := range ny {
			row := T(c[0]*T(x)) + T(c[1]*T(y))
			at := (x0+x)*b.strides[0] + (y0+y)*b.strides[1] + z0
			for z, t := range b.left[:nz] {
				if t == 0 {
					b.out[at+z] = b.next()
					continue
				}
				predicted := row + T(c[2]*T(z)) + c[3]
				b.out[at+z] = predicted + T(T(2*(t-b.radius))*b.bound)
			}
			b.left = b.left[nz:]
		}
	}
}

// next returns the coefficient of the next plane. If it is missing, next returns 0 and sets *isShort.
func (p *coefficients[T]) next(isShort *bool) T {
	if len(p.types) == 0 { // with two axes, the first coefficient does not exist
		return 0
	}
	t := p.types[0]
	p.types = p.types[1:]
	if t != 0 {
		p.last += T(T(2*(t-p.radius)) * p.bound)
		return p.last
	}
	size := 4
	if isWide[T]() {
		size = 8
	}
	if len(p.stored) < size {
		*isShort = true
		return 0
	}
	p.last = littleFloat[T](p.stored)
	p.stored = p.stored[size:]
	return p.last
}

// lorenzo decodes a block that is predicted from neighbouring elements (the Lorenzo predictor).
func (b *blocks[T]) lorenzo(block [3]int) {
	x0, nx := b.axes[0].block(block[0])
	y0, ny := b.axes[1].block(block[1])
	z0, nz := b.axes[2].block(block[2])
	for x := x0; x < x0+nx; x++ {
		for y := y0; y < y0+ny; y++ {
			b.lorenzoRow(x, y, z0, nz)
		}
	}
}

// lorenzoRow decodes a row of a block. Its predictions use the neighbouring rows above, behind, and
// both. Outside the array these are zeros.
func (b *blocks[T]) lorenzoRow(x, y, z, length int) {
	at := x*b.strides[0] + y*b.strides[1] + z
	up, back, backUp := b.zeros[:length], b.zeros[:length], b.zeros[:length]
	var n neighbours[T]
	before := func(at int) (row []T, corner T) {
		if z > 0 {
			corner = b.out[at-1]
		}
		return b.out[at:][:length], corner
	}
	if z > 0 {
		n.l = b.out[at-1]
	}
	if y > 0 {
		up, n.ul = before(at - b.strides[1])
	}
	if x > 0 {
		back, n.bl = before(at - b.strides[0])
	}
	if x > 0 && y > 0 {
		backUp, n.bul = before(at - b.strides[0] - b.strides[1])
	}
	out := b.out[at:][:length]
	for i, t := range b.left[:length] {
		n.u, n.b, n.bu = up[i], back[i], backUp[i]
		n.l = b.value(t, &n)
		out[i] = n.l
		n.ul, n.bl, n.bul = n.u, n.b, n.bu
	}
	b.left = b.left[length:]
}

// value returns the element of type t. It adds the neighbours in the order of libSZ, because rounding
// depends on the order. The order for classic streams is another.
func (b *blocks[T]) value(t int32, n *neighbours[T]) T {
	switch {
	case b.hasMean && t == b.radius:
		return b.mean
	case t == 0:
		return b.next()
	case b.hasMean && t < b.radius:
		t++
	}
	predicted := n.l + n.u + n.b - n.ul - n.bl - n.bu + n.bul
	return predicted + T(T(2*(t-b.radius))*b.bound)
}

// ones returns the number of ones among the first n bits.
func ones(bits []byte, n int) int {
	count := 0
	for i := range n {
		count += int(bits[i>>3] >> (7 - i&7) & 1)
	}
	return count
}

// littleFloatAt reads a little-endian float from a cursor.
func littleFloatAt[T float](c *cursor) T {
	var room [8]byte
	size := 4
	if isWide[T]() {
		size = 8
	}
	copy(room[:], c.bytes(size, "number"))
	return littleFloat[T](room[:])
}

// littleCount reads a little-endian count from a cursor, limited to MaxElements, so that products with it
// cannot overflow.
func littleCount(c *cursor) int {
	b := c.bytes(8, "count")
	if b == nil {
		return 0
	}
	return int(min(binary.LittleEndian.Uint64(b), MaxElements))
}
