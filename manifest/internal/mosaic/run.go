package mosaic

import (
	"context"

	"varve/grid"
	"varve/manifest"
	"varve/readers"
)

// RefReader reads rows of the table of refs.
type RefReader interface {
	// ReadColumns sets dst to the refs of n rows, starting at row.
	ReadColumns(ctx context.Context, row int64, n int, dst *manifest.RefColumns) error
}

// PlainReader is a RefReader that knows about some rows that they are plain, without reading them.
type PlainReader interface {
	// IsPlain reports whether all these rows are known to locate bytes in the file itself, to which all
	// filters were applied.
	IsPlain(row, rows int64) bool
}

// Runs yields all chunks in a box of chunk coordinates, in C order. Each Run is valid until the next
// one. An error ends the sequence.
func (m *Mosaic) Runs(ctx context.Context, refs RefReader, chunks grid.Region) readers.Reusing[manifest.Run] {
	return m.runs(ctx, &lister{m: m, refs: refs}, chunks)
}

func (m *Mosaic) runs(ctx context.Context, l *lister, chunks grid.Region) readers.Reusing[manifest.Run] {
	return func(yield func(*manifest.Run, error) bool) {
		l.yield = func(r *manifest.Run) bool { return yield(r, nil) }
		if err := l.list(ctx, chunks); err != nil {
			yield(nil, err)
		}
	}
}

// list lists all chunks in a box.
func (l *lister) list(ctx context.Context, chunks grid.Region) (err error) {
	if l.at, err = newCursor(l.m.grid, chunks); err != nil {
		return l.m.wrap(err)
	}
	l.locator = l.m.locator(ctx)
	for more := l.at != nil; more && err == nil; {
		more, err = l.next(ctx)
	}
	return err
}

// lister lists the chunks of a box as runs.
type lister struct {
	m       *Mosaic
	refs    RefReader
	at      *cursor
	locator *locator
	yield   func(*manifest.Run) bool
	plain   PlainReader // nil if the caller needs Offsets and Sizes
	masked  func(file int64)

	box     *chunkBox
	columns manifest.RefColumns
	offsets []int64
	sizes   []int64
	out     manifest.Run

	checksums []uint32 // of the chunks of the next run, or nil
}

// runLength is the largest number of chunks of a run with Offsets and Sizes. It limits the memory.
const runLength = 4096

// next lists the chunks from the cursor on that have the same candidate except for the row. It reports
// whether there are more.
func (l *lister) next(ctx context.Context) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if l.box, err = l.locator.chunkBox(l.at); err != nil {
		return false, err
	}
	r := l.box.inOrder(l.at)
	// The kind of these chunks does not depend on one ref.
	if l.box.row < 0 {
		kind, err := l.kindOf(ctx)
		return err == nil && l.emit(manifest.Location{Kind: kind, Source: -1}, r.chunks, nil, nil), err
	}
	if r.rows == 0 {
		return l.listShared(ctx, r)
	}
	for row := l.box.row; r.chunks > 0 && err == nil; {
		n := min(r.chunks, runLength)
		if more, err = l.listEach(ctx, row, n); !more {
			break
		}
		row, r.chunks = row+n, r.chunks-n
	}
	return more, err
}

// listEach lists n chunks that have a ref each.
func (l *lister) listEach(ctx context.Context, row, n int64) (more bool, err error) {
	if l.plain != nil && l.box.size < 0 && l.plain.IsPlain(row, n) {
		return l.emit(l.box.resolve(manifest.Ref{}, l.at.chunk.Codec), n, nil, nil), nil
	}
	if err := l.refs.ReadColumns(ctx, row, int(n), &l.columns); err != nil {
		return false, l.m.wrap(err)
	}
	return l.split(int(n)), nil
}

// listShared lists chunks that share one ref.
func (l *lister) listShared(ctx context.Context, r series) (more bool, err error) {
	if err := l.refs.ReadColumns(ctx, l.box.row, 1, &l.columns); err != nil {
		return false, l.m.wrap(err)
	}
	out := l.box.resolve(l.columns.At(0), l.at.chunk.Codec)
	l.noteMasked(&out, 0, 1)
	if !out.Kind.HasBytes() {
		return l.emit(out, r.chunks, nil, nil), nil
	}
	offset, size := out.Offset, out.Size
	for left := r.chunks; left > 0; {
		n := min(left, runLength)
		l.offsets, l.sizes = l.offsets[:0], l.sizes[:0]
		for range n {
			l.offsets, l.sizes = append(l.offsets, offset), append(l.sizes, size)
			offset += r.bytes
		}
		if !l.emit(out, n, l.offsets, l.sizes) {
			return false, nil
		}
		left -= n
	}
	return true, nil
}

// split lists the chunks whose refs were read last, as runs of equal kind and source.
func (l *lister) split(n int) (more bool) {
	c, codec := &l.columns, l.at.chunk.Codec
	for i := 0; i < n; {
		out := l.box.resolve(c.At(i), codec)
		end := i + 1
		// The usual case is fast: if all refs point into the file itself, only missing chunks differ.
		if c.Masks == nil && c.Others == nil && c.Offsets[i] >= 0 && l.box.size < 0 {
			for end < n && c.Offsets[end] >= 0 {
				end++
			}
		} else {
			for end < n {
				if next := l.box.resolve(c.At(end), codec); !isLike(&next, &out) {
					break
				}
				end++
			}
		}
		l.noteMasked(&out, i, end)
		var offsets, sizes []int64
		l.checksums = nil
		if out.Kind.HasBytes() {
			offsets, sizes = c.Offsets[i:end], c.Sizes[i:end]
			l.findChecksums(c, i, end)
			l.adjustOffsets(out.InlineRow > 0, offsets, sizes)
		}
		if !l.emit(out, int64(end-i), offsets, sizes) {
			return false
		}
		i = end
	}
	return true
}

// noteMasked calls masked if a range of the refs that were read last has stored chunks that the box would have verbatim, but for
// their masks.
func (l *lister) noteMasked(out *manifest.Location, from, to int) {
	if l.masked == nil || l.columns.Masks == nil || out.Kind != manifest.Reencoded || l.box.kind == manifest.Reencoded || !l.box.isMatch {
		return
	}
	for i := from; i < to; i++ {
		if ref := l.columns.At(i); ref.Stored() {
			l.masked(l.m.File(l.box.tile))
			return
		}
	}
}

// findChecksums sets the checksums of chunks that consist of all bytes of a ref.
func (l *lister) findChecksums(c *manifest.RefColumns, from, to int) {
	if c.Checksums == nil || l.box.offset != 0 {
		return
	}
	l.checksums = c.Checksums[from:to]
	for i := range l.checksums {
		if ref := c.At(from + i); !l.box.isWholeRef(ref) {
			l.checksums[i] = 0
		}
	}
}

// isLike reports whether chunks at both locations could be one run.
func isLike(a, b *manifest.Location) bool {
	return a.Kind == b.Kind && a.Source == b.Source && a.InlineRow == b.InlineRow
}

// adjustOffsets replaces the offsets and sizes of refs by the offsets and sizes of the chunks, which can
// be parts of the bytes that the refs locate.
func (l *lister) adjustOffsets(isInline bool, offsets, sizes []int64) {
	if l.box.size >= 0 {
		for i := range sizes {
			sizes[i] = l.box.size
		}
	}
	for i := range offsets {
		switch {
		case isInline:
			offsets[i] = l.box.offset
		case l.box.offset != 0:
			offsets[i] += l.box.offset
		default:
			return
		}
	}
}

// inOrder returns the chunks of the box that follow one another in C order, as long as their rows or
// bytes are at equal distances.
func (s *chunkBox) inOrder(c *cursor) series {
	all := series{chunks: 1}
	for k := len(s.axes) - 1; k >= 0; k-- {
		r := s.axes[k]
		if r.chunks > 1 {
			if all.chunks == 1 {
				all.rows, all.bytes = r.rows, r.bytes
				if r.rows > 1 {
					// The rows between belong to other chunks, and reading them would be a waste.
					return series{chunks: 1, rows: 1}
				}
			} else if r.rows != all.rows*all.chunks || r.bytes != all.bytes*all.chunks {
				break
			}
			all.chunks *= r.chunks
		}
		if r.chunks != c.box.Shape[k] {
			break
		}
	}
	return all
}

// kindOf returns the kind of the box's chunks, which does not depend on one ref.
func (l *lister) kindOf(ctx context.Context) (manifest.ChunkKind, error) {
	if l.box.kind == manifest.Missing {
		return manifest.Missing, nil
	}
	if l.box.isCovered && !l.box.fit.hasSameFill {
		return manifest.Reencoded, nil
	}
	return l.m.missingOrReencoded(ctx, l.refs, l.at.chunk.Region)
}

// emit yields a number of chunks and moves the cursor past them. It reports whether there are more, and
// the caller wants them.
func (l *lister) emit(first manifest.Location, chunks int64, offsets, sizes []int64) bool {
	first.Coords = l.at.coords
	l.out = manifest.Run{Location: first, Chunks: chunks, Offsets: offsets, Sizes: sizes, Checksums: l.checksums}
	l.checksums = nil
	if chunks > 1 {
		l.out.Checksum = 0 // of the first chunk only
	}
	return l.yield(&l.out) && l.at.advance(chunks)
}
