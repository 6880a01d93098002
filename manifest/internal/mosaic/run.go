package mosaic

import (
	"context"
	"iter"
	"slices"

	"varve/grid"
	"varve/manifest"
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

// Run is a run of chunks of the same kind and source that follow one another in C order, in the box of
// chunks that is listed. The next run may have the same kind and source too.
type Run struct {
	Coords []int64 // of the first chunk
	Chunks int64
	Kind   Kind
	Source int64 // row of the source that Offsets are in; -1 if the bytes are inline
	Inline int64 // row in the table of inline bytes that Offsets are in; -1 if the bytes are in a source
	// Offsets and Sizes have one entry for each chunk. They are nil for Missing and Reencoded chunks.
	Offsets, Sizes []int64
}

// Locations yields the chunks of a run one by one. chunks is the box that the run was listed for.
func (r *Run) Locations(chunks grid.Region) iter.Seq[*Location] {
	return func(yield func(*Location) bool) {
		out := Location{Coords: slices.Clone(r.Coords), Kind: r.Kind, Source: r.Source, Inline: r.Inline}
		for i := range r.Chunks {
			if r.Offsets != nil {
				out.Offset, out.Size = r.Offsets[i], r.Sizes[i]
			}
			if !yield(&out) {
				return
			}
			chunks.Next(out.Coords)
		}
	}
}

// Runs yields all chunks in a box of chunk coordinates, in C order. Each Run is valid until the next
// one. An error ends the sequence.
func (m *Mosaic) Runs(ctx context.Context, refs RefReader, chunks grid.Region) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		l := &lister{m: m, refs: refs, yield: func(r *Run) bool { return yield(r, nil) }}
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
	l.locator = l.m.Locator(ctx)
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
	locator *Locator
	yield   func(*Run) bool
	plain   PlainReader // nil if the caller needs Offsets and Sizes

	box     *chunkBox
	columns manifest.RefColumns
	offsets []int64
	sizes   []int64
	out     Run
}

// runLength is the largest number of chunks of a run with Offsets and Sizes. It limits the memory.
const runLength = 4096

// next lists the chunks from the cursor on that have the same place except for the row. It reports
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
	if l.box.Row < 0 {
		kind, err := l.kindOf(ctx)
		return err == nil && l.emit(Run{Kind: kind, Source: -1, Inline: -1}, r.chunks), err
	}
	if r.rows == 0 {
		return l.listShared(ctx, r)
	}
	for row := l.box.Row; r.chunks > 0 && err == nil; {
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
		return l.emit(l.box.resolve(manifest.Ref{}, l.at.chunk.Codec), n), nil
	}
	if err := l.refs.ReadColumns(ctx, row, int(n), &l.columns); err != nil {
		return false, l.m.wrap(err)
	}
	return l.split(int(n)), nil
}

// listShared lists chunks that share one ref.
func (l *lister) listShared(ctx context.Context, r series) (more bool, err error) {
	if err := l.refs.ReadColumns(ctx, l.box.Row, 1, &l.columns); err != nil {
		return false, l.m.wrap(err)
	}
	ref := l.columns.At(0)
	out := l.box.resolve(ref, l.at.chunk.Codec)
	if out.Kind != Verbatim && out.Kind != Prefix {
		return l.emit(out, r.chunks), nil
	}
	offset, size := l.box.bytesOf(ref)
	for left := r.chunks; left > 0; {
		n := min(left, runLength)
		l.offsets, l.sizes = l.offsets[:0], l.sizes[:0]
		for range n {
			l.offsets, l.sizes = append(l.offsets, offset), append(l.sizes, size)
			offset += r.bytes
		}
		out.Offsets, out.Sizes = l.offsets, l.sizes
		if !l.emit(out, n) {
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
			for end < n && l.box.resolve(c.At(end), codec).isLike(&out) {
				end++
			}
		}
		if out.Kind == Verbatim || out.Kind == Prefix {
			out.Offsets, out.Sizes = c.Offsets[i:end], c.Sizes[i:end]
			l.adjustOffsets(&out)
		}
		if !l.emit(out, int64(end-i)) {
			return false
		}
		i = end
	}
	return true
}

// isLike reports whether the chunks of two runs could be one run.
func (r Run) isLike(s *Run) bool {
	return r.Kind == s.Kind && r.Source == s.Source && r.Inline == s.Inline
}

// adjustOffsets replaces the offsets and sizes of refs by the offsets and sizes of the chunks, which can
// be parts of the bytes that the refs locate.
func (l *lister) adjustOffsets(out *Run) {
	if l.box.size >= 0 {
		for i := range out.Sizes {
			out.Sizes[i] = l.box.size
		}
	}
	for i := range out.Offsets {
		switch {
		case out.Inline >= 0:
			out.Offsets[i] = l.box.offset
		case l.box.offset != 0:
			out.Offsets[i] += l.box.offset
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
func (l *lister) kindOf(ctx context.Context) (Kind, error) {
	if l.box.Kind == Missing {
		return Missing, nil
	}
	if l.box.isCovered && !l.box.fit.hasSameFill {
		return Reencoded, nil
	}
	return l.m.missingOrReencoded(ctx, l.refs, l.at.chunk.Region)
}

// emit yields a number of chunks and moves the cursor past them. It reports whether there are more, and
// the caller wants them.
func (l *lister) emit(r Run, chunks int64) bool {
	r.Coords, r.Chunks = l.at.coords, chunks
	l.out = r
	return l.yield(&l.out) && l.at.advance(chunks)
}
