package sz

import (
	"errors"
	"fmt"
	"math"
)

// classic is the body that has no blocks:
//
//	u32 most intervals
//	of relative bounds: [u8][size][u32 bytes of signs]
//	u32 intervals   median   u8 bits of a value that is stored
//	of factors: [u8 finer by so many bits][u8 bits of the longest code]
//	f64 bound   size bytes of types   size values that are stored   size middle bytes
//	of relative bounds: the least value that is not zero
//	types   signs   leads   middles   residuals
//
// An element of type t is what is predicted plus (t - intervals/2) times twice the bound.
// The neighbours predict as if the field were linear (Lorenzo): left + up - left of up.
type classic[T float] struct {
	intervals, radius int32
	bound             float64
	step              T // the bound, rounded
	median            T
	finer             int
	signs             []byte
	least             T
	exacts            exacts[T]
}

// predicted decodes the body that has no blocks.
func (f *floats[T]) predicted() error {
	if len(f.dims) == 4 && f.flags&relative == 0 && !isWide[T]() {
		return fmt.Errorf("sz: float32 of four axes without blocks, which the library misreads: %w", errors.ErrUnsupported)
	}
	c, err := f.classic()
	if err != nil {
		return err
	}
	if f.flags&relative != 0 && f.flags&factors != 0 {
		err = f.factors(c)
	} else if err = f.decodeTypes(f.count); err == nil {
		f.sums(c)
	}
	if err == nil {
		err = c.exacts.check()
	}
	if err == nil && f.flags&relative != 0 {
		err = f.finish(c)
	}
	return err
}

// classic reads the fields and the types.
func (f *floats[T]) classic() (*classic[T], error) {
	var c classic[T]
	r := cursor{buf: f.body}
	r.u32()
	signs := 0
	if f.flags&relative != 0 {
		r.u8()
		r.size(f.sizeBytes)
		signs = int(r.u32())
	}
	c.intervals = int32(r.u32())
	c.radius = c.intervals / 2
	c.median = bigFloatAt[T](&r)
	valueBits := int(r.u8())
	if f.flags&relative != 0 && f.flags&factors != 0 {
		c.finer = int(r.u8())
		r.u8()
	}
	c.bound = math.Float64frombits(r.u64())
	c.step = T(c.bound)
	types, count, middles := r.size(f.sizeBytes), r.size(f.sizeBytes), r.size(f.sizeBytes)
	if f.flags&relative != 0 {
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

// readTypes reads the tree and the codes of the elements' types:
//
//	u32 nodes   u32   tree   codes
//
// The codes stay codes: decodeTypes decodes them.
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

// sums decodes the elements of absolute bounds.
func (f *floats[T]) sums(c *classic[T]) {
	switch d := f.dims; {
	case len(d) == 1:
		walkLine(c, f.out, f.types)
	case len(d) == 4 && f.flags&relative == 0:
		for n, at := d[1]*d[2]*d[3], 0; at < len(f.out); at += n {
			walk(c, f.out[at:at+n], f.types[at:], [3]int(d[1:]))
		}
	default:
		walk(c, f.out, f.types, f.three())
	}
}

// three returns the chunk's lengths as those of three axes.
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

func (c *classic[T]) first() T { return c.exacts.next() + c.median }

func (c *classic[T]) value(t int32, predicted T) T {
	if t == 0 {
		return c.first()
	}
	return predicted + T(T(2*(t-c.radius))*c.step)
}

func (c *classic[T]) beyond() T { return 0 }

func (c *classic[T]) line(l, ll T) T { return T(2*l) - ll }

// corner adds in the library's order, which rounding makes matter.
func (c *classic[T]) corner(n *neighbours[T]) T {
	return n.l + n.u + n.b - n.ul - n.bu - n.bl + n.bul
}
