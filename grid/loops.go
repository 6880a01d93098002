package grid

import "slices"

// loop is one level of a copy: n blocks, dst and src apart in the two buffers. Where
// an index list is given, block i lies dst (or src) times the list's i-th entry from
// the start instead.
type loop struct {
	n, dst, src      int64
	dstList, srcList []int64
}

func (l *loop) strided() bool { return l.dstList == nil && l.srcList == nil }

// dstAt is where block i begins, relative to the loop's start.
func (l *loop) dstAt(i int64) int64 {
	if l.dstList != nil {
		return l.dstList[i] * l.dst
	}
	return i * l.dst
}

func (l *loop) srcAt(i int64) int64 {
	if l.srcList != nil {
		return l.srcList[i] * l.src
	}
	return i * l.src
}

// nest adds the next loop outward. Loops are kept innermost first. One that runs once
// from its start vanishes, and one that continues where the loop inside it ends
// becomes part of that: so a box that spans its buffers' inner axes is one run.
func nest(loops []loop, outer loop) []loop {
	if outer.n == 1 && outer.strided() {
		return loops
	}
	if last := len(loops) - 1; last >= 0 && outer.strided() && loops[last].strided() {
		inner := &loops[last]
		if inner.n*inner.dst == outer.dst && inner.n*inner.src == outer.src {
			inner.n *= outer.n
			return loops
		}
	}
	return append(loops, outer)
}

// visit calls do with the start of every block of the loops, outermost first. Loops
// that run once are few, and the others' counts multiply to the elements copied, so
// the recursion is at most 63 deep but for lists of one index.
func visit(loops []loop, dst, src int64, do func(dst, src int64)) {
	if len(loops) == 0 {
		do(dst, src)
		return
	}
	outer, inner := &loops[len(loops)-1], loops[:len(loops)-1]
	for i := range outer.n {
		visit(inner, dst+outer.dstAt(i), src+outer.srcAt(i), do)
	}
}

// carry copies what loops describe: blocks of unit items, dst and src being where the
// first begins, counted like the loops' strides in blocks.
func carry[T any](dst, src []T, loops []loop, at [2]int64, unit int64) {
	if len(loops) == 0 {
		copy(dst[at[0]*unit:(at[0]+1)*unit], src[at[1]*unit:])
		return
	}
	inner := loops[0]
	visit(loops[1:], at[0], at[1], func(d, s int64) {
		copyRow(dst, src, inner, [2]int64{d, s}, unit)
	})
}

// copyRow copies one innermost loop.
func copyRow[T any](dst, src []T, l loop, at [2]int64, unit int64) {
	switch {
	case !l.strided():
		copyListed(dst, src, l, at, unit)
	case l.dst == 1 && l.src == 1:
		copy(dst[at[0]*unit:(at[0]+l.n)*unit], src[at[1]*unit:])
	default:
		l.dst, l.src = l.dst*unit, l.src*unit
		copyStrided(dst, src, l, [2]int64{at[0] * unit, at[1] * unit}, unit)
	}
}

// copyListed copies a loop over index lists, taking together what lies side by side
// in both buffers.
func copyListed[T any](dst, src []T, l loop, at [2]int64, unit int64) {
	for i := int64(0); i < l.n; {
		d, s := at[0]+l.dstAt(i), at[1]+l.srcAt(i)
		run := int64(1)
		for i+run < l.n && at[0]+l.dstAt(i+run) == d+run && at[1]+l.srcAt(i+run) == s+run {
			run++
		}
		copy(dst[d*unit:(d+run)*unit], src[s*unit:])
		i += run
	}
}

// loopsOn reserves room for the usual number of loops without an allocation.
type loopsOn [6]loop

// boxLoops are the loops that copy a box of shape between C-order buffers of two
// shapes.
func boxLoops(room []loop, shape, dstShape, srcShape []int64) []loop {
	loops := room[:0]
	dst, src := int64(1), int64(1)
	for k := len(shape) - 1; k >= 0; k-- {
		loops = nest(loops, loop{n: shape[k], dst: dst, src: src})
		dst *= dstShape[k]
		src *= srcShape[k]
	}
	return slices.Clip(loops)
}
