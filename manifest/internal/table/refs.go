package table

import (
	"context"
	"fmt"
	"iter"
	"math"

	"varve/manifest"
	"varve/readers/parquet"
)

// refPage is a decoded page of refs, in 8 bytes for each ref where possible.
type refPage struct {
	first    int64 // row, within the table
	base     int64 // added to near offsets
	near     []uint32
	far      []int64 // offsets, instead of near
	short    []uint32
	long     []int64 // sizes, instead of short
	masks    []uint32
	others   []int32
	sums     []uint32
	oneMask  uint32 // if masks is nil
	oneOther int32  // if others is nil
	oneSum   uint32 // if sums is nil
}

func (p *refPage) at(i int) (ref manifest.Ref) {
	if p.near != nil {
		ref.Offset = p.base + int64(p.near[i])
	} else {
		ref.Offset = p.far[i]
	}
	if p.short != nil {
		ref.Size = int64(p.short[i])
	} else {
		ref.Size = p.long[i]
	}
	ref.Mask, ref.Other, ref.Checksum = p.oneMask, p.oneOther, p.oneSum
	if p.masks != nil {
		ref.Mask = p.masks[i]
	}
	if p.others != nil {
		ref.Other = p.others[i]
	}
	if p.sums != nil {
		ref.Checksum = p.sums[i]
	}
	return ref
}

func (p *refPage) rows() int { return len(p.near) + len(p.far) }

func (p *refPage) bytes() int64 {
	return int64(200 + 4*(len(p.near)+len(p.short)+len(p.masks)+len(p.others)+len(p.sums)) + 8*(len(p.far)+len(p.long)))
}

// ReadRefs reads the refs of len(dst) rows, starting at row.
func (r *Reader) ReadRefs(ctx context.Context, row int64, dst []manifest.Ref) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for len(dst) > 0 {
		s, at, err := r.table(ctx, manifest.Refs, row)
		if err != nil {
			return err
		}
		p, err := s.refPage(at)
		if err != nil {
			return err
		}
		from := int(at - p.first)
		n := min(len(dst), p.rows()-from)
		for i := range n {
			dst[i] = p.at(from + i)
		}
		dst, row = dst[n:], row+int64(n)
	}
	return nil
}

// refPageRows is the number of rows in a page of refs.
const refPageRows = 1 << 12

// refPage returns the page that contains a row. If pages have the usual number of rows, the cache key
// follows from the row, so that a lookup of a cached page needs no layout.
func (s *section) refPage(row int64) (*refPage, error) {
	group := s.group(row)
	key := cacheKey{s.id, int32(group), int32((row - s.firsts[group]) / refPageRows), pageContent}
	// Other programs may have written pages of another size, so check that the row is in it.
	if p, ok := s.cache.get(key).(*refPage); ok && p.first <= row && row < p.first+int64(p.rows()) {
		return p, nil
	}
	at, err := s.find(row)
	if err != nil {
		return nil, err
	}
	var b RefBatch
	if err := s.readRefs(at, &b); err != nil {
		return nil, err
	}
	p := b.pack(at.first)
	s.cache.put(key, p, p.bytes())
	return p, nil
}

// RefBatch is a run of refs. It is valid until the next step of the scan.
type RefBatch struct {
	Row int64 // of the first ref
	manifest.RefColumns

	columns [checksumColumn + 1]parquet.Values
	sums    []uint32 // memory for Checksums
}

// pack returns the refs in a form that takes little memory.
func (b *RefBatch) pack(first int64) *refPage {
	p := &refPage{first: first}
	low, high, most := int64(math.MaxInt64), int64(math.MinInt64), int64(0)
	for i, offset := range b.Offsets {
		low, high, most = min(low, offset), max(high, offset), max(most, b.Sizes[i])
	}
	p.base = low
	// In most files the chunks of one page are close together.
	if uint64(high-low) <= math.MaxUint32 {
		p.near = subtractBase(b.Offsets, low)
	} else {
		p.far = append([]int64(nil), b.Offsets...)
	}
	if most <= math.MaxUint32 {
		p.short = subtractBase(b.Sizes, 0)
	} else {
		p.long = append([]int64(nil), b.Sizes...)
	}
	p.masks, p.oneMask = compress(b.Masks)
	p.others, p.oneOther = compress(b.Others)
	if b.Checksums != nil {
		p.sums, p.oneSum = compress(b.Checksums)
	}
	return p
}

func subtractBase(values []int64, base int64) []uint32 {
	out := make([]uint32, len(values))
	for i, v := range values {
		out[i] = uint32(v - base)
	}
	return out
}

// compress returns a copy of values or, if all are equal, nil and the value.
func compress[T comparable](values []T) ([]T, T) {
	for _, v := range values {
		if v != values[0] {
			return append([]T(nil), values...), v
		}
	}
	return nil, values[0]
}

// readRefs reads the refs of a page.
func (s *section) readRefs(p tablePage, b *RefBatch) error {
	isChecked := s.columns[checksumColumn] >= 0
	for i := range b.columns {
		if i == checksumColumn && !isChecked {
			continue
		}
		if err := s.read(p, i, &b.columns[i]); err != nil {
			return err
		}
	}
	b.Offsets, b.Sizes = b.columns[offsetColumn].Ints, b.columns[lengthColumn].Ints
	var err error
	if b.Masks, err = narrowTo(b.Masks, b.columns[maskColumn].Ints, 0, math.MaxUint32); err == nil {
		b.Others, err = narrowTo(b.Others, b.columns[otherColumn].Ints, 0, math.MaxInt32)
	}
	if b.Checksums = nil; err == nil && isChecked {
		b.sums, err = narrowTo(b.sums, b.columns[checksumColumn].Ints, 0, math.MaxUint32)
		b.Checksums = b.sums
	}
	if err == nil {
		err = b.fillSizes(b.columns[lengthColumn].Present)
	}
	if err != nil {
		return s.damaged(fmt.Errorf("refs from row %d on: %w", p.first, err))
	}
	return nil
}

// readExtents reads the refs of a page without masks and checksums.
func (s *section) readExtents(p tablePage, b *RefBatch) error {
	for _, i := range []int{offsetColumn, lengthColumn} {
		if err := s.read(p, i, &b.columns[i]); err != nil {
			return err
		}
	}
	b.Offsets, b.Sizes = b.columns[offsetColumn].Ints, b.columns[lengthColumn].Ints
	b.Masks, b.Checksums = nil, nil
	if one, ok := s.file.Single(s.groups[p.group], s.columns[otherColumn]); ok && one.Int == 0 {
		b.Others = nil
	} else if err := s.read(p, otherColumn, &b.columns[otherColumn]); err != nil {
		return err
	} else if b.Others, err = narrowTo(b.Others, b.columns[otherColumn].Ints, 0, math.MaxInt32); err != nil {
		return s.damaged(fmt.Errorf("refs from row %d on: %w", p.first, err))
	}
	if err := b.fillSizes(b.columns[lengthColumn].Present); err != nil {
		return s.damaged(fmt.Errorf("refs from row %d on: %w", p.first, err))
	}
	return nil
}

// fillSizes computes the sizes that the table leaves out: up to the next ref's offset.
func (b *RefBatch) fillSizes(present []uint8) error {
	for i, one := range present {
		if one != 0 {
			continue
		}
		// Pages are decoded one by one, so a size cannot depend on the next page.
		if i+1 == len(b.Offsets) {
			return fmt.Errorf("the last row of a page of %d rows has no length", len(present))
		}
		b.Sizes[i] = b.Offsets[i+1] - b.Offsets[i]
	}
	for i, size := range b.Sizes {
		if size < 0 {
			return fmt.Errorf("row %d of the page has length %d", i, size)
		}
	}
	return nil
}

// narrowTo converts integers to a smaller type. Each has to be in the range from low to high.
func narrowTo[T uint32 | int32](dst []T, values []int64, low, high int64) ([]T, error) {
	if cap(dst) < len(values) {
		dst = make([]T, len(values))
	}
	dst = dst[:len(values)]
	for i, v := range values {
		if v < low || v > high {
			return dst, fmt.Errorf("row %d of the page has value %d, outside the range %d to %d", i, v, low, high)
		}
		dst[i] = T(v)
	}
	return dst, nil
}

// ScanRefs yields refs in order without using the cache.
func (r *Reader) ScanRefs(ctx context.Context, row, rows int64) iter.Seq2[*RefBatch, error] {
	return r.scanRefs(ctx, row, rows, (*section).readRefs)
}

// ScanExtents is ScanRefs without masks and checksums.
func (r *Reader) ScanExtents(ctx context.Context, row, rows int64) iter.Seq2[*RefBatch, error] {
	return r.scanRefs(ctx, row, rows, (*section).readExtents)
}

func (r *Reader) scanRefs(ctx context.Context, row, rows int64, read func(*section, tablePage, *RefBatch) error) iter.Seq2[*RefBatch, error] {
	return func(yield func(*RefBatch, error) bool) {
		var b RefBatch
		err := r.scanPages(ctx, manifest.Refs, row, rows, func(s span, p tablePage) (more bool, err error) {
			if err := read(s.section, p, &b); err != nil {
				return false, err
			}
			from, to := max(s.start-p.first, 0), min(s.end-p.first, p.rows)
			out := RefBatch{Row: s.first + p.first + from, RefColumns: b.Slice(int(from), int(to))}
			return yield(&out, nil), nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// RefBounds are bounds of consecutive refs. They are those of the row group that contains the refs, so they may be wider.
type RefBounds struct {
	Row, Rows               int64
	LeastOffset, MostOffset int64 // of Ref.Offset
	LeastSize, MostSize     int64
	LeastOther, MostOther   int64
	AreKnown                bool // false if the table has no statistics
}

// ScanRefBounds yields bounds of refs in order, without reading the refs.
func (r *Reader) ScanRefBounds(ctx context.Context, row, rows int64) iter.Seq2[RefBounds, error] {
	return func(yield func(RefBounds, error) bool) {
		err := r.spans(ctx, manifest.Refs, row, rows, func(s span) bool {
			for at := s.start; at < s.end; {
				group := s.group(at)
				end := s.end
				if group+1 < len(s.firsts) {
					end = min(end, s.firsts[group+1])
				}
				b := RefBounds{Row: s.first + at, Rows: end - at}
				b.addStatistics(s.section, group)
				if !yield(b, nil) {
					return false
				}
				at = end
			}
			return true
		})
		if err != nil {
			yield(RefBounds{}, err)
		}
	}
}

// addStatistics sets the bounds of a row group. Sizes that the table leaves out end at the next offset, which is within bounds.
func (b *RefBounds) addStatistics(s *section, group int) {
	b.AreKnown = true
	for column, to := range map[int][2]*int64{
		offsetColumn: {&b.LeastOffset, &b.MostOffset}, lengthColumn: {&b.LeastSize, &b.MostSize}, otherColumn: {&b.LeastOther, &b.MostOther},
	} {
		least, most, ok := s.file.Range(s.groups[group], s.columns[column])
		*to[0], *to[1], b.AreKnown = least, most, b.AreKnown && ok
	}
}

// scanPages calls do with each page that contains some of the rows, until do returns false.
func (r *Reader) scanPages(ctx context.Context, kind manifest.TableKind, row, rows int64, do func(span, tablePage) (bool, error)) (failed error) {
	more := true
	err := r.spans(ctx, kind, row, rows, func(s span) bool {
		err := s.pages(s.start, s.end, func(p tablePage) bool {
			if failed = ctx.Err(); failed == nil {
				more, failed = do(s, p)
			}
			return more && failed == nil
		})
		if failed == nil {
			failed = err
		}
		return more && failed == nil
	})
	if failed == nil {
		failed = err
	}
	return failed
}
