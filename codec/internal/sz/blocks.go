package sz

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// blocks decodes the body of blocks. Each is predicted either from neighbours, also those of
// other blocks, or by a plane: a coefficient for each axis and one for the block's corner.
//
//	u32 length of a block's edge   bound   u32 intervals
//	u32 bytes of a tree   u32 nodes   tree
//	u8 a mean is in use   le mean   a bit a block, the most significant first: neighbours predict
//	where there are planes, for each coefficient:
//	    bound   u32 half of the intervals   u32 bytes of a tree   u32 nodes   tree
//	    u64 bytes of codes   codes of the types   u32 coefficients that are stored   le coefficients
//	u64 le values that are stored   le values   codes of the elements' types
//
// All are block after block, and four axes are three, the first two as one. The type 0 is a
// value that is stored; with a mean in use, neighbours' type intervals/2 is the mean, and
// those below it count one less.
type blocks[T float] struct {
	*floats[T]
	axes    [3]span
	strides [2]int // elements of a layer and of a row
	bound   T
	radius  int32
	useMean bool
	mean    T
	planes  [4]coefficients[T] // the first is not there with two axes
	values  []byte             // that are stored, as yet unread
	left    []int32            // types that are yet to decode
	zeros   []T
	short   bool
}

// span is how an axis is cut to blocks: the first few are longer by one.
type span struct{ count, long, length int }

func cut(length, block int) span {
	n := max(length/block, 1)
	return span{count: n, long: length % n, length: length / n}
}

// block returns where block i starts and how long it is.
func (s span) block(i int) (at, n int) {
	at = i*s.length + min(i, s.long)
	if i < s.long {
		return at, s.length + 1
	}
	return at, s.length
}

// coefficients are those of one axis for all planes: types, and what is not predicted from
// the plane before.
type coefficients[T float] struct {
	bound  T
	radius int32
	types  []int32
	stored []byte
	now    T
}

func (f *floats[T]) blocks() error {
	b := blocks[T]{floats: f}
	r := cursor{buf: f.body}
	if f.sizeBytes != 8 {
		return corrupt.Errorf("sz: blocks with sizes of %d bytes, want 8", f.sizeBytes)
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
	if b.short {
		return corrupt.Errorf("sz: fewer values are stored than are asked for")
	}
	return nil
}

// fields reads what stands before the elements' types, and returns a bit for each block.
func (b *blocks[T]) fields(r *cursor) ([]byte, error) {
	dims := b.three()
	b.strides = [2]int{dims[1] * dims[2], dims[2]}
	edge := int(r.u32())
	if r.err == nil && edge < 1 {
		return nil, corrupt.Errorf("sz: blocks of length %d", edge)
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
	b.useMean = r.u8() != 0
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

// readTree reads a tree with its size in front.
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

// decode decodes the blocks one after another.
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

// next returns the next value that is stored.
func (b *blocks[T]) next() T {
	if len(b.values) < b.size {
		b.short = true
		return 0
	}
	v := littleFloat[T](b.values)
	b.values = b.values[b.size:]
	return v
}

// plane decodes a block that a plane predicts.
func (b *blocks[T]) plane(block [3]int) {
	var c [4]T
	for i := range b.planes {
		c[i] = b.planes[i].next(&b.short)
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

// next returns the next plane's coefficient.
func (p *coefficients[T]) next(short *bool) T {
	if len(p.types) == 0 { // two axes have one less
		return 0
	}
	t := p.types[0]
	p.types = p.types[1:]
	if t != 0 {
		p.now += T(T(2*(t-p.radius)) * p.bound)
		return p.now
	}
	size := 4
	if isWide[T]() {
		size = 8
	}
	if len(p.stored) < size {
		*short = true
		return 0
	}
	p.now = littleFloat[T](p.stored)
	p.stored = p.stored[size:]
	return p.now
}

// lorenzo decodes a block that neighbours predict.
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

// lorenzoRow decodes a row of a block from the rows up, back, and back and up.
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

// value returns the element of type t. It adds the neighbours in the library's order, which
// is not the one of classic streams.
func (b *blocks[T]) value(t int32, n *neighbours[T]) T {
	switch {
	case b.useMean && t == b.radius:
		return b.mean
	case t == 0:
		return b.next()
	case b.useMean && t < b.radius:
		t++
	}
	predicted := n.l + n.u + n.b - n.ul - n.bl - n.bu + n.bul
	return predicted + T(T(2*(t-b.radius))*b.bound)
}

// ones counts the ones among the first n bits.
func ones(bits []byte, n int) int {
	count := 0
	for i := range n {
		count += int(bits[i>>3] >> (7 - i&7) & 1)
	}
	return count
}

// littleFloatAt reads the next little-endian number of a cursor.
func littleFloatAt[T float](c *cursor) T {
	var room [8]byte
	size := 4
	if isWide[T]() {
		size = 8
	}
	copy(room[:], c.bytes(size, "number"))
	return littleFloat[T](room[:])
}

// littleCount reads a little-endian count; one that no chunk can have becomes too large.
func littleCount(c *cursor) int {
	b := c.bytes(8, "count")
	if b == nil {
		return 0
	}
	return int(min(binary.LittleEndian.Uint64(b), MaxElements))
}
