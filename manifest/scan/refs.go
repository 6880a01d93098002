package scan

import (
	"slices"
	"sync"

	"varve/manifest"
	"varve/readers"
)

// refs has one row per ref, in columns. masks and others are nil while all their values are 0.
type refs struct {
	offsets, sizes []int64
	masks          []uint32
	others         []int32
	stored         int64 // total size of the chunks
}

var freeRefs = sync.Pool{New: func() any { return new(refs) }}

// maxKept limits the rows of buffers that are kept for reuse.
const maxKept = 1 << 20

func newRefs() *refs { return freeRefs.Get().(*refs) }

// free returns the buffer to the pool.
func (r *refs) free() {
	if cap(r.offsets) > maxKept {
		return
	}
	*r = refs{offsets: r.offsets[:0], sizes: r.sizes[:0]}
	freeRefs.Put(r)
}

// clone returns a copy. The rows of a result are renumbered and freed, so two results must not share them.
func (r *refs) clone() *refs {
	out := newRefs()
	out.offsets, out.sizes = append(out.offsets, r.offsets...), append(out.sizes, r.sizes...)
	out.masks, out.others, out.stored = slices.Clone(r.masks), slices.Clone(r.others), r.stored
	return out
}

func (r *refs) len() int { return len(r.offsets) }

// add appends n rows without stored bytes, and returns the number of the first.
func (r *refs) add(n int) int {
	first := len(r.offsets)
	r.offsets, r.sizes = extend(r.offsets, n), extend(r.sizes, n)
	for i := first; i < first+n; i++ {
		r.offsets[i], r.sizes[i] = manifest.NotStored, 0
	}
	if r.masks != nil {
		r.masks = append(r.masks, make([]uint32, n)...)
	}
	if r.others != nil {
		r.others = append(r.others, make([]int32, n)...)
	}
	return first
}

// grow reserves memory for n more rows.
func (r *refs) grow(n int) {
	r.offsets, r.sizes = slices.Grow(r.offsets, n), slices.Grow(r.sizes, n)
}

func extend(s []int64, n int) []int64 {
	if len(s)+n <= cap(s) {
		return s[:len(s)+n]
	}
	return append(s, make([]int64, n)...)
}

// append adds the row of a chunk in the source itself.
func (r *refs) append(ref *readers.Ref) {
	r.offsets, r.sizes = append(r.offsets, ref.Offset), append(r.sizes, int64(ref.Size))
	r.stored += int64(ref.Size)
	if ref.Mask != 0 && r.masks == nil {
		r.masks = make([]uint32, len(r.offsets)-1)
	}
	if r.masks != nil {
		r.masks = append(r.masks, ref.Mask)
	}
}

// cut removes all rows from n on.
func (r *refs) cut(n int) {
	for _, size := range r.sizes[n:] {
		r.stored -= size
	}
	r.offsets, r.sizes = r.offsets[:n], r.sizes[:n]
	if r.masks != nil {
		r.masks = r.masks[:n]
	}
	if r.others != nil {
		r.others = r.others[:n]
	}
}

// set fills a row.
func (r *refs) set(row int, x manifest.Ref) {
	r.offsets[row], r.sizes[row] = x.Offset, x.Size
	r.stored += x.Size
	if x.Mask != 0 {
		if r.masks == nil {
			r.masks = make([]uint32, len(r.offsets))
		}
		r.masks[row] = x.Mask
	}
	if x.Other != 0 {
		if r.others == nil {
			r.others = make([]int32, len(r.offsets))
		}
		r.others[row] = x.Other
	}
}
