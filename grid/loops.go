package grid

// loop is one level of a copy: n blocks, dst and src elements apart in the two buffers.
// With an index list, block i begins dst (or src) times the list's i-th entry after the
// start.
type loop struct {
	n, dst, src      int64
	dstList, srcList []int64
}

// strided reports whether the loop has no index list.
func (l *loop) strided() bool { return l.dstList == nil && l.srcList == nil }

// isRun reports whether the blocks are contiguous in both buffers.
func (l *loop) isRun() bool { return l.strided() && l.dst == 1 && l.src == 1 }

// swap reverses the direction of the copy.
func (l *loop) swap() { l.dst, l.src, l.dstList, l.srcList = l.src, l.dst, l.srcList, l.dstList }

// dstAt returns where block i begins in the destination, relative to the loop's start.
func (l *loop) dstAt(i int64) int64 {
	if l.dstList != nil {
		return l.dstList[i] * l.dst
	}
	return i * l.dst
}

// srcAt returns where block i begins in the source, relative to the loop's start.
func (l *loop) srcAt(i int64) int64 {
	if l.srcList != nil {
		return l.srcList[i] * l.src
	}
	return i * l.src
}

// nest adds the next outer loop. Loops are ordered innermost first. A loop that runs once
// from its start is dropped, and one that continues where the loop inside it ends is
// merged into that: so a box that spans its buffers' inner axes is one run.
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

// visit calls do with the start of every block, the outermost loop first. No loop runs
// once (see nest), and the product of the counts is the number of elements: so the
// recursion is at most 63 deep, whatever the rank.
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

// Row is the unit of copying: N elements, DstStep and SrcStep apart; the first ones are
// at Dst and Src. All fields count elements.
type Row struct {
	Dst, Src, N      int64
	DstStep, SrcStep int64
}

// swap returns the row of a copy in the other direction.
func (r Row) swap() Row {
	return Row{Dst: r.Src, Src: r.Dst, N: r.N, DstStep: r.SrcStep, SrcStep: r.DstStep}
}

// rows calls do for every innermost row of loops that begin at dst and src. A row with an
// index list is split into rows that are contiguous in both buffers.
func rows(loops []loop, dst, src int64, do func(Row)) {
	if len(loops) == 0 {
		do(Row{Dst: dst, Src: src, N: 1, DstStep: 1, SrcStep: 1})
		return
	}
	inner := loops[0]
	if inner.strided() {
		visit(loops[1:], dst, src, func(d, s int64) {
			do(Row{Dst: d, Src: s, N: inner.n, DstStep: inner.dst, SrcStep: inner.src})
		})
		return
	}
	visit(loops[1:], dst, src, func(d, s int64) { inner.listedRows(d, s, do) })
}

// listedRows calls do for each part of an index list that is contiguous in both buffers.
func (l *loop) listedRows(dst, src int64, do func(Row)) {
	for i := int64(0); i < l.n; {
		d, s, n := dst+l.dstAt(i), src+l.srcAt(i), int64(1)
		for i+n < l.n && dst+l.dstAt(i+n) == d+n && src+l.srcAt(i+n) == s+n {
			n++
		}
		do(Row{Dst: d, Src: s, N: n, DstStep: 1, SrcStep: 1})
		i += n
	}
}

// loopsOn reserves memory for the loops of most copies without an allocation.
type loopsOn [6]loop

// boxLoops returns the loops that copy a box of shape between C-order buffers of the two
// other shapes.
func boxLoops(room []loop, shape, dstShape, srcShape []int64) []loop {
	loops := room[:0]
	dst, src := int64(1), int64(1)
	for k := len(shape) - 1; k >= 0; k-- {
		loops = nest(loops, loop{n: shape[k], dst: dst, src: src})
		dst *= dstShape[k]
		src *= srcShape[k]
	}
	return loops
}
