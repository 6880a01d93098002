package table

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"varve/manifest"
	"varve/readers/parquet"
)

// Begins reports whether the sources, refs and inline bytes of an older snapshot are the first ones of
// a newer snapshot, so that row numbers have the same meaning in both. Leading tables that both
// snapshots have are not read. Other tables are, because an append may have folded them into larger
// ones. A source that was moved counts as the same, unless placed is set.
func Begins(ctx context.Context, was, is *Reader, placed bool) (bool, error) {
	for _, kind := range []manifest.TableKind{manifest.Sources, manifest.Refs, manifest.Blobs} {
		rows := was.Rows(kind)
		// Rows were removed, so the older ones cannot all be there.
		if rows > is.Rows(kind) {
			return false, nil
		}
		row := countCommonRows(was.kinds[kind], is.kinds[kind])
		equal := sameColumns
		if kind == manifest.Sources && !placed {
			equal = sameScanned
		}
		if same, err := sameStrips(was.strips(ctx, kind, row, rows-row), is.strips(ctx, kind, row, rows-row), equal); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// countCommonRows returns the number of rows of the leading tables that both have.
func countCommonRows(a, b *kindTables) (rows int64) {
	if a == nil || b == nil {
		return 0
	}
	for i := range min(len(a.tables), len(b.tables)) {
		if a.tables[i].table.Name != b.tables[i].table.Name {
			break
		}
		rows += a.tables[i].table.Rows
	}
	return rows
}

// strip is a run of rows in columns. It is valid until the next step of the scan.
type strip struct {
	of       *section
	columns  []parquet.Values
	from, to int
}

// strips yields rows in order without using the cache. It computes the sizes of refs that are left
// out, because pages determine which ones are, and pages may differ.
func (r *Reader) strips(ctx context.Context, kind manifest.TableKind, row, rows int64) iter.Seq2[strip, error] {
	return func(yield func(strip, error) bool) {
		if rows == 0 {
			return
		}
		var refs RefBatch
		var columns []parquet.Values
		err := r.scanPages(ctx, kind, row, rows, func(s span, p tablePage) (bool, error) {
			if kind == manifest.Refs {
				if err := s.readRefs(p, &refs); err != nil {
					return false, err
				}
				// Checksums describe the same refs, so a snapshot with them does not differ from one without.
				columns = refs.columns[:checksumColumn]
				// readRefs has computed the sizes that were left out.
				columns[lengthColumn].Present = nil
			} else if err := s.readColumns(p, &columns); err != nil {
				return false, err
			}
			return yield(strip{s.section, columns, int(max(s.start-p.first, 0)), int(min(s.end-p.first, p.rows))}, nil), nil
		})
		if err != nil {
			yield(strip{}, err)
		}
	}
}

// readColumns reads all columns of a page.
func (s *section) readColumns(p tablePage, columns *[]parquet.Values) error {
	if len(*columns) != len(s.columns) {
		*columns = make([]parquet.Values, len(s.columns))
	}
	for i := range s.columns {
		if err := s.read(p, i, &(*columns)[i]); err != nil {
			return err
		}
	}
	return nil
}

// sameStrips reports whether two scans yield equal rows, even if their pages differ.
func sameStrips(a, b iter.Seq2[strip, error], equal func(x, y *strip, n int) (bool, error)) (bool, error) {
	next, stop := iter.Pull2(b)
	defer stop()
	var y strip
	for x, err := range a {
		for err == nil && x.from < x.to {
			if y.from == y.to {
				var more bool
				if y, err, more = next(); err != nil || !more {
					return false, err
				}
			}
			// The two may have pages of different sizes: compare the rows that both have here.
			n := min(x.to-x.from, y.to-y.from)
			if same, err := equal(&x, &y, n); !same || err != nil {
				return false, err
			}
			x.from, y.from = x.from+n, y.from+n
		}
		if err != nil {
			return false, err
		}
	}
	_, err, more := next()
	return !more && y.from == y.to, err
}

// sameColumns compares the first n rows of two strips.
func sameColumns(x, y *strip, n int) (bool, error) {
	for i := range x.columns {
		if !sameColumn(x, y, i, n) {
			return false, nil
		}
	}
	return true, nil
}

// sameScanned compares the first n rows of sources, wherever the sources are now.
func sameScanned(x, y *strip, n int) (bool, error) {
	placed := true
	for i, c := range sourceColumns {
		switch same := sameColumn(x, y, i, n); c.Name {
		case "url", "raw_url", "modified", "modified_ns", "etag", "scanned":
			placed = placed && same
		default:
			if !same {
				return false, nil
			}
		}
	}
	// Only the locations differ: compare which versions were scanned.
	if placed {
		return true, nil
	}
	was, is := sourceDecoder{columns: x.columns}, sourceDecoder{columns: y.columns}
	for i := range n {
		a, err := was.source(x.from + i)
		if err != nil {
			return false, x.of.damaged(err)
		}
		b, err := is.source(y.from + i)
		if err != nil {
			return false, y.of.damaged(err)
		}
		if a.ScanID() != b.ScanID() {
			return false, nil
		}
	}
	return true, nil
}

// sameColumn compares one column of the first n rows of two strips.
func sameColumn(x, y *strip, column, n int) bool {
	a, b := &x.columns[column], &y.columns[column]
	if a.Present != nil || b.Present != nil {
		for i := range n {
			if a.Null(x.from+i) != b.Null(y.from+i) {
				return false
			}
		}
	}
	if a.Bytes != nil {
		return slices.EqualFunc(a.Bytes[x.from:x.from+n], b.Bytes[y.from:y.from+n], bytes.Equal)
	}
	return slices.Equal(a.Ints[x.from:x.from+n], b.Ints[y.from:y.from+n])
}
