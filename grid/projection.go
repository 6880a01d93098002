package grid

import "fmt"

// Gather copies the selected elements from a projection's chunk to the output. An element
// is unit items. The chunk's window is in the chunk's own coordinates: the whole codec
// shape, or any region that contains the projection's Bounds. The output is in C order
// and has the indexer's shape.
func Gather[T any](p *Projection, out []T, chunk Window[T], unit int64) error {
	if err := p.check(int64(len(out)), int64(len(chunk.Data)), chunk.Region, unit); err != nil {
		return err
	}
	if p.Axes == nil {
		p.Rows(chunk.Region, func(r Row) { copyRow(out, chunk.Data, r, unit) })
		return nil
	}
	var room loopsOn
	loops, to, from := p.loops(room[:0], chunk.Region)
	copyLoops(out, chunk.Data, loops, [2]int64{to, from}, unit)
	return nil
}

// Scatter copies the selected elements from the output, which has the values to write, to
// the chunk. It is the reverse of Gather. If an element is selected twice, the later
// value wins.
func Scatter[T any](p *Projection, chunk Window[T], out []T, unit int64) error {
	if err := p.check(int64(len(out)), int64(len(chunk.Data)), chunk.Region, unit); err != nil {
		return err
	}
	if p.Axes == nil {
		p.Rows(chunk.Region, func(r Row) { copyRow(chunk.Data, out, r.swap(), unit) })
		return nil
	}
	var room loopsOn
	loops, from, to := p.loops(room[:0], chunk.Region)
	for i := range loops {
		// The loops are made for gathering; swapping reverses the direction.
		loops[i].swap()
	}
	copyLoops(chunk.Data, out, loops, [2]int64{to, from}, unit)
	return nil
}

// check returns an error if the output or the chunk's window do not fit the projection.
func (p *Projection) check(out, chunk int64, window Region, unit int64) error {
	if err := checkItems("output", out, p.index.shape, unit); err != nil {
		return err
	}
	if err := checkItems("chunk", chunk, window.Shape, unit); err != nil {
		return err
	}
	if p.holdsChunk(window) {
		return nil
	}
	bounds := MakeRegion(len(p.Coords))
	p.Bounds(bounds)
	if !window.Contains(bounds) {
		return fmt.Errorf("chunk %v: the window %v does not hold the selection's %v", p.Coords, window, bounds)
	}
	return nil
}

// holdsChunk reports whether a window contains all data elements of the chunk. It is
// cheaper than computing the selection's bounds.
func (p *Projection) holdsChunk(window Region) bool {
	if len(window.Origin) != len(p.Coords) || len(window.Shape) != len(p.Coords) {
		return false
	}
	for k, from := range window.Origin {
		if from > 0 || window.End(k) < p.Shape[k] {
			return false
		}
	}
	return true
}

// Rows calls do for every row to copy: Dst counts elements of the output, Src elements of
// a buffer of window, a region in the chunk's coordinates that contains the projection's
// Bounds. Use it where Gather and Scatter do not suffice, for example to convert elements
// while copying.
func (p *Projection) Rows(window Region, do func(Row)) {
	switch {
	case p.index.points != nil:
		p.index.points.rows(p, window, do)
	case p.index.mask != nil:
		p.index.mask.rows(p, window, do)
	default:
		var room loopsOn
		loops, dst, src := p.loops(room[:0], window)
		rows(loops, dst, src, do)
	}
}

// loops returns the copy loops of a selection by axes, and where they begin in the output
// (dst) and in the window (src).
func (p *Projection) loops(loops []loop, window Region) (all []loop, dst, src int64) {
	dstStride, srcStride := int64(1), int64(1)
	src = window.first()
	out := len(p.index.shape)
	for k := len(p.Axes) - 1; k >= 0; k-- {
		a := &p.Axes[k]
		stride := dstStride
		if a.Dropped {
			// The output has no such axis: all of its one index goes to the same
			// position.
			stride = 0
		} else {
			out--
			dstStride *= p.index.shape[out]
		}
		if a.Count == 1 {
			dst += a.To(0) * stride
			src += a.In(0) * srcStride
		} else {
			l := loop{n: a.Count, dst: stride, src: srcStride, dstList: a.Place, srcList: a.Index}
			if a.Index == nil {
				l.src *= a.Step
			}
			if a.Place == nil {
				dst += a.Out * stride
			}
			src += a.Start * srcStride
			loops = nest(loops, l)
		}
		srcStride *= window.Shape[k]
	}
	return loops, dst, src
}
