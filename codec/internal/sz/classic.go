package sz

import (
	"errors"
	"fmt"
	"math"
)

// classic holds the fields of a body without blocks. Numbers are big-endian; "size" is a number of 4 or
// 8 bytes:
//
//	u32 maximum of intervals
//	only with relative bounds: [u8][size][u32 bytes of signs]
//	u32 intervals   median   u8 bits of a stored value
//	only with factors: [u8 additional bits of precision][u8 bits of the longest code]
//	f64 bound   size bytes of types   size number of stored values   size middle bytes
//	only with relative bounds: the smallest value that is not zero
//	types   signs   leads   middles   residuals
//
// An element of type t is its prediction plus (t - intervals/2) times twice the bound. The prediction is
// linear (the Lorenzo predictor): in two dimensions, left + up - (left of up).
type classic[T float] struct {
	intervals, radius int32
	bound             float64
	step              T // the bound, rounded to T
	median            T
	finer             int // additional bits of precision
	signs             []byte
	least             T
	exacts            exacts[T]
}

// predicted decodes a body without blocks.
func (f *floats[T]) predicted() error {
	if len(f.dims) == 4 && f.flags&flagRelative == 0 && !isWide[T]() {
		return fmt.Errorf("sz: float32 chunk of four axes without blocks, which libSZ itself does not decode correctly: %w", errors.ErrUnsupported)
	}
	c, err := f.classic()
	if err != nil {
		return err
	}
	if f.flags&flagRelative != 0 && f.flags&flagFactors != 0 {
		err = f.factors(c)
	} else if err = f.decodeTypes(f.count); err == nil {
		f.sums(c)
	}
	if err == nil {
		err = c.exacts.check()
	}
	if err == nil && f.flags&flagRelative != 0 {
		err = f.finish(c)
	}
	return err
}

// classic reads the fields and the tree of the types.
func (f *floats[T]) classic() (*classic[T], error) {
	var c classic[T]
	r := cursor{buf: f.body}
	r.u32()
	signs := 0
	if f.flags&flagRelative != 0 {
		r.u8()
		r.size(f.sizeBytes)
		signs = int(r.u32())
	}
	c.intervals = int32(r.u32())
	c.radius = c.intervals / 2
	c.median = bigFloatAt[T](&r)
	valueBits := int(r.u8())
	if f.flags&flagRelative != 0 && f.flags&flagFactors != 0 {
		c.finer = int(r.u8())
		r.u8()
	}
	c.bound = math.Float64frombits(r.u64())
	c.step = T(c.bound)
	types, count, middles := r.size(f.sizeBytes), r.size(f.sizeBytes), r.size(f.sizeBytes)
	if f.flags&flagRelative != 0 {
		c.least = bigFloatAt[T](&r)
	}
	codes := r.bytes(types, "types")
	c.signs = r.bytes(signs, "signs")
	var err error
	if c.exacts, err = readExacts[T](&r, count, middles, valueBits); err != nil {
		return nil, err
	}
	return &c, f.readTypes(codes, f.count)
}

// readTypes reads the Huffman tree of the elements' types. decodeTypes decodes the codes after it:
//
//	u32 nodes   u32 unused   tree   codes
func (w *workspace) readTypes(src []byte, count int) error {
	r := cursor{buf: src}
	nodes := int(r.u32())
	r.u32()
	if r.err != nil {
		return r.err
	}
	if err := w.tree.read(src[r.at:], nodes, count); err != nil {
		return err
	}
	w.codes = src[r.at+treeSize(nodes):]
	return nil
}

// decodeTypes decodes the types of count elements.
func (w *workspace) decodeTypes(count int) error {
	w.types = grow(w.types, count)
	return w.tree.decode(w.types, w.codes)
}

// sums decodes elements with absolute bounds, which are sums of predictions and steps.
func (f *floats[T]) sums(c *classic[T]) {
	switch d := f.dims; {
	case len(d) == 1:
		walkLine(c, f.out, f.types)
	case len(d) == 4 && f.flags&flagRelative == 0:
		// libSZ predicts nothing across the first axis.
		for n, at := d[1]*d[2]*d[3], 0; at < len(f.out); at += n {
			walk(c, f.out[at:at+n], f.types[at:], [3]int(d[1:]))
		}
	default:
		walk(c, f.out, f.types, f.three())
	}
}

// three returns the chunk's lengths as three axes. Of four axes, the first two become one.
func (c *Chunk) three() [3]int {
	d := c.dims
	switch len(d) {
	case 2:
		return [3]int{1, d[0], d[1]}
	case 3:
		return [3]int(d)
	}
	return [3]int{d[0] * d[1], d[2], d[3]}
}

// The following methods make classic a field for walk, see walk.go.

// first returns the next stored value.
func (c *classic[T]) first() T { return c.exacts.next() + c.median }

func (c *classic[T]) value(t int32, predicted T) T {
	if t == 0 {
		return c.first()
	}
	return predicted + T(T(2*(t-c.radius))*c.step)
}

func (c *classic[T]) beyond() T { return 0 }

func (c *classic[T]) line(l, ll T) T { return T(2*l) - ll }

// corner adds the neighbours in the order of libSZ, because rounding depends on the order.
func (c *classic[T]) corner(n *neighbours[T]) T {
	return n.l + n.u + n.b - n.ul - n.bu - n.bl + n.bul
}
