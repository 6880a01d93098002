package table

import (
	"context"
	"slices"

	"varve/manifest"
)

// ReadColumns sets dst to the refs of n rows, starting at row. It reuses the memory of dst.
func (r *Reader) ReadColumns(ctx context.Context, row int64, n int, dst *manifest.RefColumns) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dst.Offsets, dst.Sizes = slices.Grow(dst.Offsets[:0], n), slices.Grow(dst.Sizes[:0], n)
	dst.Masks, dst.Others, dst.Checksums = nil, nil, nil
	for n > 0 {
		s, at, err := r.table(ctx, manifest.Refs, row)
		if err != nil {
			return err
		}
		p, err := s.refPage(at)
		if err != nil {
			return err
		}
		from := int(at - p.first)
		to := min(from+n, p.rows())
		p.appendTo(dst, from, to)
		n, row = n-(to-from), row+int64(to-from)
	}
	return nil
}

// appendTo appends a range of the page's refs.
func (p *refPage) appendTo(dst *manifest.RefColumns, from, to int) {
	had := len(dst.Offsets)
	if p.near != nil {
		dst.Offsets = appendWidened(dst.Offsets, p.near[from:to], p.base)
	} else {
		dst.Offsets = append(dst.Offsets, p.far[from:to]...)
	}
	if p.short != nil {
		dst.Sizes = appendWidened(dst.Sizes, p.short[from:to], 0)
	} else {
		dst.Sizes = append(dst.Sizes, p.long[from:to]...)
	}
	dst.Masks = appendRepeated(dst.Masks, had, p.masks, p.oneMask, from, to)
	dst.Others = appendRepeated(dst.Others, had, p.others, p.oneOther, from, to)
	dst.Checksums = appendRepeated(dst.Checksums, had, p.sums, p.oneSum, from, to)
}

func appendWidened(dst []int64, values []uint32, base int64) []int64 {
	at := len(dst)
	dst = slices.Grow(dst, len(values))[:at+len(values)]
	for i, v := range values {
		dst[at+i] = base + int64(v)
	}
	return dst
}

// appendRepeated appends values, or one value repeatedly, to a column that stays nil while all its
// values are zero.
func appendRepeated[T int32 | uint32](dst []T, had int, values []T, one T, from, to int) []T {
	if values == nil && one == 0 && dst == nil {
		return nil
	}
	// The first value that is not zero: fill in the zeros before it.
	if dst == nil {
		dst = make([]T, had)
	}
	if values != nil {
		return append(dst, values[from:to]...)
	}
	for range to - from {
		dst = append(dst, one)
	}
	return dst
}
