package ingest

import (
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/table"
)

// copying copies sources and their refs from the old snapshot into the new one.
//
// A source may name other files: hidden sources. The Parts of a source name hidden sources that have a header and refs, and
// belong to this source only. Refs name hidden sources that only have bytes, which several sources may share. All of them
// are copied, and what names them gets their new rows.
//
//	old    A   bytes   part   B   C   bytes'      rows of sources
//	       └─────┴──────┘     │   └─────┘
//	new    A   bytes   part       C   bytes'      B was removed
type copying struct {
	*revision
	sink   *refSink
	number map[*manifest.File]int // the old row of each source
	rows   map[int]int            // the new rows of copied sources, by the old ones
	inline map[int64]int64        // the new rows of inline chunks, by the old ones
}

func newCopying(r *revision, sink *refSink) *copying {
	c := &copying{revision: r, sink: sink, number: make(map[*manifest.File]int, len(r.old.files)), rows: map[int]int{}, inline: map[int64]int64{}}
	for i, f := range r.old.files {
		c.number[f] = i
	}
	return c
}

// newRow returns the new row of a source, or -1 if it was not copied.
func (c *copying) newRow(old int) int {
	if row, ok := c.rows[old]; ok {
		return row
	}
	return -1
}

// sources copies sources with the hidden sources that they name. Sources whose refs follow one another are copied together.
func (c *copying) sources(ctx context.Context, names []string) error {
	if _, err := c.old.namers(ctx); err != nil { // for unused
		return err
	}
	var run []*manifest.File
	end := int64(0)
	for _, name := range names {
		named := c.old.byName[name]
		parts, err := c.partsOf(named)
		if err != nil {
			return err
		}
		for _, f := range append([]*manifest.File{named}, parts...) {
			rows := f.Header.Rows()
			if all := c.old.reader.Rows(manifest.Refs); rows < 0 || rows > all || f.Row > all-rows {
				return fmt.Errorf("%s: %w: %d refs from row %d on, of %d", f.URL, codec.ErrCorrupt, rows, f.Row, all)
			}
			if len(run) > 0 && f.Row != end {
				if err := c.run(ctx, run); err != nil {
					return err
				}
				run = run[:0]
			}
			run, end = append(run, f), f.Row+rows
		}
	}
	if len(run) == 0 {
		return nil
	}
	return c.run(ctx, run)
}

// partsOf returns the hidden sources that the Parts of a source name, in the order of their rows.
func (c *copying) partsOf(f *manifest.File) ([]*manifest.File, error) {
	var rows []int
	for _, parts := range f.Parts {
		for _, p := range parts {
			if _, err := c.old.hidden(p.File); err != nil {
				return nil, fmt.Errorf("%s: %w", f.URL, err)
			}
			rows = append(rows, p.File)
		}
	}
	slices.Sort(rows)
	var files []*manifest.File
	for _, row := range slices.Compact(rows) {
		files = append(files, c.old.files[row])
	}
	return files, nil
}

// hidden returns the hidden source in a row.
func (o *oldFiles) hidden(row int) (*manifest.File, error) {
	if row < 0 || row >= len(o.files) || !o.files[row].Hidden {
		return nil, fmt.Errorf("%w: row %d of sources is not a file that another source names", codec.ErrCorrupt, row)
	}
	return o.files[row], nil
}

// run copies sources whose refs follow one another.
func (c *copying) run(ctx context.Context, files []*manifest.File) error {
	first := files[0].Row
	by := c.tables.refRows() - first
	from := len(c.files)
	end := first
	next := 0
	// A copy gets its row when the refs before it are written, so that the hidden sources which these name come first.
	begin := func() {
		f := *files[next] // a conflict may start the update again
		old := c.number[files[next]]
		c.rows[old] = len(c.files)
		end = f.Row + f.Header.Rows()
		f.Row += by
		c.files = append(c.files, &f)
		for _, row := range c.old.unused[old] {
			unused := *c.old.files[row]
			unused.Row = end + by
			c.files = append(c.files, &unused)
		}
		next++
	}
	begin()
	last := files[len(files)-1]
	if rows := last.Row + last.Header.Rows() - first; rows > 0 {
		for batch, err := range c.old.reader.ScanRefs(ctx, first, rows) {
			if err != nil {
				return err
			}
			for at, n := 0, len(batch.Offsets); at < n; {
				for batch.Row+int64(at) == end {
					begin()
				}
				to := int(min(int64(n), end-batch.Row))
				if err := c.translate(ctx, batch, at, to, end+by); err != nil {
					return err
				}
				at = to
			}
			if err := c.sink.Append(&batch.RefColumns); err != nil {
				return err
			}
		}
	}
	for next < len(files) {
		begin()
	}
	c.moves = append(c.moves, rowMove{first, end, by})
	for _, f := range c.files[from:] {
		c.moveParts(f)
	}
	return copyFilePoints(ctx, c.old.reader, files, by, c.sink)
}

// translate gives refs of one source the new rows of inline chunks and of the hidden sources that they name. end is the new row
// of the ref after the last one of the source.
func (c *copying) translate(ctx context.Context, batch *table.RefBatch, from, to int, end int64) error {
	was, is := int32(0), int32(0) // most refs name the same source as the one before
	for i := from; i < to; i++ {
		if row, ok := (manifest.Ref{Offset: batch.Offsets[i]}).Inline(); ok {
			moved, err := c.copyInline(ctx, row)
			if err != nil {
				return err
			}
			batch.Offsets[i] = manifest.InlineRow(moved)
		}
		if other := batch.Others[i]; other != was {
			row, err := c.copyHidden(int(other)-1, end)
			if err != nil {
				return fmt.Errorf("ref %d: %w", batch.Row+int64(i), err)
			}
			was, is = other, int32(row)+1
		}
		batch.Others[i] = is
	}
	return nil
}

// copyInline copies an inline chunk unless it was copied before, and returns its new row.
func (c *copying) copyInline(ctx context.Context, row int64) (int64, error) {
	if is, ok := c.inline[row]; ok {
		return is, nil
	}
	data, err := c.old.reader.Inline(ctx, row)
	if err != nil {
		return 0, err
	}
	is, err := c.sink.Inline(data)
	c.inline[row] = is
	return is, err
}

// copyHidden copies a hidden source that refs name unless it was copied before, and returns its new row.
func (c *copying) copyHidden(old int, ref int64) (row int, err error) {
	if old < 0 {
		return -1, nil // the bytes are in the source itself
	}
	if row, ok := c.rows[old]; ok {
		return row, nil
	}
	f, err := c.old.hidden(old)
	if err != nil {
		return 0, err
	}
	copied := *f
	copied.Row = ref
	row = len(c.files)
	c.rows[old], c.files = row, append(c.files, &copied)
	return row, nil
}

// moveParts gives the Parts of a copied source the new rows of hidden sources.
func (c *copying) moveParts(f *manifest.File) {
	if f.Parts == nil {
		return
	}
	all := make(map[int][]manifest.Part, len(f.Parts))
	for variable, parts := range f.Parts {
		all[variable] = slices.Clone(parts)
		for i := range all[variable] {
			all[variable][i].File = c.rows[parts[i].File]
		}
	}
	f.Parts = all
}
