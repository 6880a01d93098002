package scan

import (
	"slices"
	"sync"

	"varve/manifest"
	"varve/readers"
)

// refs are the refs of a source. The sources of Others are numbered by account.others.
type refs struct {
	manifest.RefColumns
	stored int64 // total size of the chunks
}

var freeRefs = sync.Pool{New: func() any { return new(refs) }}

// maxKept limits the rows of buffers that are kept for reuse.
const maxKept = 1 << 20

func newRefs() *refs { return freeRefs.Get().(*refs) }

// free returns the buffer to the pool.
func (r *refs) free() {
	if cap(r.Offsets) > maxKept {
		return
	}
	*r = refs{RefColumns: manifest.RefColumns{Offsets: r.Offsets[:0], Sizes: r.Sizes[:0]}}
	freeRefs.Put(r)
}

// clone returns a copy. The rows of a result are renumbered and freed, so two results must not share them.
func (r *refs) clone() *refs {
	out := newRefs()
	out.Offsets, out.Sizes = append(out.Offsets, r.Offsets...), append(out.Sizes, r.Sizes...)
	out.Masks, out.Others, out.stored = slices.Clone(r.Masks), slices.Clone(r.Others), r.stored
	return out
}

func (r *refs) len() int { return len(r.Offsets) }

// add appends n rows without stored bytes, and returns the number of the first.
func (r *refs) add(n int) int {
	first := len(r.Offsets)
	r.Offsets, r.Sizes = extend(r.Offsets, n), extend(r.Sizes, n)
	for i := first; i < first+n; i++ {
		r.Offsets[i], r.Sizes[i] = manifest.NotStored, 0
	}
	if r.Masks != nil {
		r.Masks = append(r.Masks, make([]uint32, n)...)
	}
	if r.Others != nil {
		r.Others = append(r.Others, make([]int32, n)...)
	}
	return first
}

// grow reserves memory for n more rows.
func (r *refs) grow(n int) {
	r.Offsets, r.Sizes = slices.Grow(r.Offsets, n), slices.Grow(r.Sizes, n)
}

func extend(s []int64, n int) []int64 {
	if len(s)+n <= cap(s) {
		return s[:len(s)+n]
	}
	return append(s, make([]int64, n)...)
}

// append adds the row of a chunk in the source itself.
func (r *refs) append(ref *readers.Ref) {
	r.Offsets, r.Sizes = append(r.Offsets, ref.Offset), append(r.Sizes, int64(ref.Size))
	r.stored += int64(ref.Size)
	if ref.Mask != 0 && r.Masks == nil {
		r.Masks = make([]uint32, len(r.Offsets)-1)
	}
	if r.Masks != nil {
		r.Masks = append(r.Masks, ref.Mask)
	}
}

// cut removes all rows from n on.
func (r *refs) cut(n int) {
	for _, size := range r.Sizes[n:] {
		r.stored -= size
	}
	r.Offsets, r.Sizes = r.Offsets[:n], r.Sizes[:n]
	if r.Masks != nil {
		r.Masks = r.Masks[:n]
	}
	if r.Others != nil {
		r.Others = r.Others[:n]
	}
}

// set fills a row.
func (r *refs) set(row int, x manifest.Ref) {
	r.Offsets[row], r.Sizes[row] = x.Offset, x.Size
	r.stored += x.Size
	if x.Mask != 0 {
		if r.Masks == nil {
			r.Masks = make([]uint32, len(r.Offsets))
		}
		r.Masks[row] = x.Mask
	}
	if x.Other != 0 {
		if r.Others == nil {
			r.Others = make([]int32, len(r.Offsets))
		}
		r.Others[row] = x.Other
	}
}
