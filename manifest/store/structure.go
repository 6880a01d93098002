package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/readers/source"
)

// structurePart is the number of refs that CheckRefs gives to a worker at once.
const structurePart = 1 << 18

// CheckRefs checks rows of refs without reading sources. It calls report for each ref
//
//   - that names a row of sources, or of inline chunks, which does not exist
//   - that names another source of the dataset, instead of a file that only has bytes
//   - whose bytes are outside their source, if its size is known; that of a file in an archive, or of a compressed one, is not
//
// report may be called by several goroutines at once. workers is the number of processors to use; 0 means all.
func (s *Store) CheckRefs(ctx context.Context, row, rows int64, workers int, report func(*RefProblem)) error {
	files, err := s.files(ctx)
	if err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(max(workers, 0), runtime.GOMAXPROCS(0)))
	for from := row; from < row+rows; from += structurePart {
		group.Go(func() error {
			c := &structure{store: s, cursor: refCursor{files: files}, sources: s.snapshot.Rows(manifest.Sources), inline: s.snapshot.Rows(manifest.Blobs), report: report}
			return c.part(within, from, min(row+rows-from, structurePart))
		})
	}
	return group.Wait()
}

// structure checks consecutive refs.
type structure struct {
	store           *Store
	cursor          refCursor
	sources, inline int64 // numbers of rows
	report          func(*RefProblem)

	known map[int64]int64 // sizes by row
}

// part checks refs. It reads only those of row groups whose statistics do not show that all are right.
func (c *structure) part(ctx context.Context, row, rows int64) error {
	for b, err := range c.store.Tables().ScanRefBounds(ctx, row, rows) {
		if err != nil {
			return err
		}
		ok, err := c.areWithin(ctx, &b)
		if err == nil && !ok {
			err = c.check(ctx, b.Row, b.Rows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// areWithin reports whether the bounds of refs show that all of them name bytes that exist.
func (c *structure) areWithin(ctx context.Context, b *table.RefBounds) (bool, error) {
	if !b.AreKnown || b.LeastSize < 0 || b.MostOffset > math.MaxInt64-b.MostSize || -2-b.LeastOffset >= c.inline || b.MostOther > c.sources {
		return false, nil
	}
	end := b.MostOffset + b.MostSize
	if b.MostOther > 0 {
		if b.LeastOther != b.MostOther {
			return false, nil
		}
		if size, err := c.size(ctx, int32(b.MostOther)); err != nil || end > size {
			return false, err
		}
	}
	files := c.cursor.files
	for row, behind := b.Row, b.Row+b.Rows; row < behind; {
		file := int64(files.SourceIndex.Row.Search(row) - 1)
		h, err := files.Header(ctx, file)
		if err != nil || h == nil {
			return false, err
		}
		next := files.Row(file) + h.Rows()
		// Bytes of strided variables have gaps, so their sizes do not bound them.
		if next <= row || slices.ContainsFunc(h.Base().Variables, func(v *manifest.Variable) bool { return v.Storage.Stride != 0 }) {
			return false, nil
		}
		if c.cursor.file = file; b.MostOther == 0 {
			if size, err := c.size(ctx, 0); err != nil || end > size {
				return false, err
			}
		}
		row = next
	}
	return true, nil
}

// check reads refs and checks each.
func (c *structure) check(ctx context.Context, row, rows int64) error {
	c.cursor = refCursor{files: c.cursor.files}
	for batch, err := range c.store.Tables().ScanExtents(ctx, row, rows) {
		if err != nil {
			return err
		}
		for from, n := 0, len(batch.Offsets); from < n; {
			v, err := c.cursor.find(ctx, batch.Row+int64(from))
			if errors.Is(err, codec.ErrCorrupt) {
				c.report(&RefProblem{Err: err})
				return nil
			}
			if err != nil {
				return err
			}
			to := int(min(int64(n), c.cursor.first+c.cursor.rows-batch.Row))
			if err := c.variable(ctx, v, batch.Row+int64(from), batch.Slice(from, to)); err != nil {
				return err
			}
			from = to
		}
	}
	return nil
}

// variable checks consecutive refs of a variable.
func (c *structure) variable(ctx context.Context, v *manifest.Variable, row int64, refs manifest.RefColumns) error {
	isStrided := v.Storage.Layout == manifest.Strided && v.Storage.Stride > 0
	for from := 0; from < len(refs.Offsets); {
		to, other := len(refs.Offsets), int32(0)
		if refs.Others != nil {
			other = refs.Others[from]
			for to = from + 1; to < len(refs.Offsets) && refs.Others[to] == other; {
				to++
			}
		}
		size := int64(-1) // no bytes, if there is no such source
		if int64(other) <= c.sources {
			var err error
			if size, err = c.size(ctx, other); err != nil {
				return err
			}
		}
		sizes := refs.Sizes[:to]
		for i, offset := range refs.Offsets[:to][from:] {
			// Nearly all refs end here.
			if offset >= 0 && sizes[from+i] <= size-offset && !isStrided {
				continue
			}
			if err := c.one(ctx, v, row+int64(from+i), refs.At(from+i), size); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// size returns the size of the source that Ref.Other names. It is a very large number if it is not known, and -1 if refs of
// other sources cannot name the source.
func (c *structure) size(ctx context.Context, other int32) (int64, error) {
	file := c.cursor.file
	if other > 0 {
		file = int64(other) - 1
		if has, err := c.hasVariables(ctx, file); has || err != nil {
			return -1, err
		}
	}
	if size, ok := c.known[file]; ok {
		return size, nil
	}
	src, err := c.store.Source(ctx, file)
	if err != nil {
		return 0, err
	}
	size := src.Size
	if size <= 0 || source.IsPacked(src.URL) {
		size = math.MaxInt64
	}
	if len(c.known) > maxKnownSizes {
		clear(c.known)
	}
	if c.known == nil {
		c.known = map[int64]int64{}
	}
	c.known[file] = size
	return size, nil
}

// hasVariables reports whether a source has variables. Refs of other sources name only sources without.
func (c *structure) hasVariables(ctx context.Context, file int64) (bool, error) {
	h, err := c.cursor.files.Header(ctx, file)
	return h != nil && h.Len() > 0, err
}

// maxKnownSizes limits the sizes of sources that are kept.
const maxKnownSizes = 1 << 12

// one checks a ref in full, and reports a problem.
func (c *structure) one(ctx context.Context, v *manifest.Variable, row int64, ref manifest.Ref, size int64) error {
	if !ref.Stored() {
		return nil
	}
	p := &RefProblem{Variable: v.Path, Coords: make([]int64, len(v.Shape))}
	own, err := c.store.Source(ctx, c.cursor.file)
	if err != nil {
		return err
	}
	p.Source = own.URL
	isNamed := false // the other source is one with variables
	if ref.Other > 0 && int64(ref.Other) <= c.sources {
		if isNamed, err = c.hasVariables(ctx, int64(ref.Other)-1); err != nil {
			return err
		}
	}
	inline, isInline := ref.Inline()
	switch {
	case isInline && inline < c.inline:
		return nil
	case isInline:
		p.Err = fmt.Errorf("%s: %w: ref %d names row %d of inline chunks, of %d", own.URL, codec.ErrCorrupt, row, inline, c.inline)
	case int64(ref.Other) > c.sources:
		p.Err = fmt.Errorf("%s: %w: ref %d names row %d of sources, of %d", own.URL, codec.ErrCorrupt, row, ref.Other-1, c.sources)
	case isNamed:
		src, err := c.store.Source(ctx, int64(ref.Other)-1)
		if err != nil {
			return err
		}
		p.Err = fmt.Errorf("%s: %w: ref %d names %s, which is another source of the dataset", own.URL, codec.ErrCorrupt, row, src.URL)
	default:
		b, err := c.cursor.storedBytes(ctx, row, ref)
		if err == nil && b.Offset >= 0 && b.Length <= size-b.Offset {
			return nil
		}
		src, failed := c.store.Source(ctx, b.source)
		if failed != nil {
			return failed
		}
		p.Source = src.URL
		if p.Err = err; err == nil {
			p.Err = fmt.Errorf("%w: ref %d: %w", codec.ErrCorrupt, row, &source.RangeError{Source: src.URL, Offset: b.Offset, Length: b.Length, Size: src.Size})
		}
	}
	if g, err := v.Grid(); err == nil {
		g.Coords(row-c.cursor.first, p.Coords)
	}
	c.report(p)
	return nil
}
