package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"varve/manifest"
	"varve/manifest/repo"
)

// File is the open file of a table, such as a *repo.TableFile.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Opener opens the file of a table. It is called when the table is first read.
type Opener func(ctx context.Context, t manifest.Table) (File, error)

// InRepository returns an opener for the tables of a repository.
func InRepository(r *repo.Repository) Opener {
	return func(ctx context.Context, t manifest.Table) (File, error) { return r.OpenTable(ctx, t) }
}

// Reader reads the tables of a snapshot or a scan part. It may be used by any number of goroutines.
// Rows that are read by number come from decoded pages in the cache. Scans do not use the cache.
type Reader struct {
	open  Opener
	cache *Cache
	kinds map[manifest.TableKind]*kindTables
	// headers decodes single headers. Reading chunks of many files needs many headers that are nearly equal.
	headers struct {
		sync.Mutex
		manifest.HeaderDecoder
	}
}

// kindTables are the tables of one kind.
type kindTables struct {
	kind   manifest.TableKind
	tables []*lazySection
	rows   int64
}

// Open returns a reader of tables. It checks that the rows of each kind have no gaps, but reads
// nothing: a table's file is opened when its first row is read.
func Open(tables []manifest.Table, open Opener, cache *Cache) (*Reader, error) {
	r := &Reader{open: open, cache: cache, kinds: map[manifest.TableKind]*kindTables{}}
	for _, t := range tables {
		k := r.kinds[t.Kind]
		if k == nil {
			k = &kindTables{kind: t.Kind}
			r.kinds[t.Kind] = k
		}
		k.tables = append(k.tables, &lazySection{table: t})
	}
	for _, k := range r.kinds {
		if err := k.arrange(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// arrange sorts tables by their rows, and checks that they have no gaps.
func (k *kindTables) arrange() error {
	// A snapshot may list its tables in any order.
	slices.SortStableFunc(k.tables, func(a, b *lazySection) int {
		if a.table.First != b.table.First {
			return int(min(max(a.table.First-b.table.First, -1), 1))
		}
		return int(min(max(a.table.Rows-b.table.Rows, -1), 1)) // empty tables first
	})
	for _, t := range k.tables {
		if t.table.First != k.rows || t.table.Rows < 0 {
			return &manifest.DamageError{Name: t.table.Name, Damage: manifest.FileCorrupt,
				Detail: fmt.Sprintf("the snapshot lists it with %d rows from row %d on, but the tables of %s before it end at %d", t.table.Rows, t.table.First, k.kind, k.rows)}
		}
		k.rows += t.table.Rows
	}
	return nil
}

// Close closes the open files. Later reads return fs.ErrClosed.
func (r *Reader) Close() error {
	var all error
	for _, k := range r.kinds {
		for _, t := range k.tables {
			all = errors.Join(all, t.close(r.cache))
		}
	}
	return all
}

func (t *lazySection) close(cache *Cache) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Free the cache for other tables now, since nobody will ask for these pages again.
	if s := t.ready.Swap(nil); s != nil {
		cache.forget(s.id)
	}
	t.isClosed = true
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}

// OpenAll opens the files of all tables, so that they can be read even if they are renamed or removed
// later. It continues after errors.
func (r *Reader) OpenAll(ctx context.Context) error {
	var all error
	for kind, k := range r.kinds {
		if kind == manifest.Chunks {
			continue // not a table
		}
		for _, t := range k.tables {
			_, err := r.section(ctx, t)
			all = errors.Join(all, err)
		}
	}
	return all
}

// Rows returns the number of rows of a kind.
func (r *Reader) Rows(kind manifest.TableKind) int64 {
	if k := r.kinds[kind]; k != nil {
		return k.rows
	}
	return 0
}

// section returns the table t, opening it if necessary.
func (r *Reader) section(ctx context.Context, t *lazySection) (*section, error) {
	if s := t.ready.Load(); s != nil {
		return s, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.ready.Load(); s != nil {
		return s, nil
	}
	if t.isClosed {
		return nil, fmt.Errorf("%s: %w", t.table.Name, fs.ErrClosed)
	}
	f, err := r.open(ctx, t.table)
	if err != nil {
		return nil, err
	}
	s, err := openTable(f, t.table, r.cache)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t.file = f
	t.ready.Store(s)
	return s, nil
}

// table returns the table that contains a row, and the row's number within it.
func (r *Reader) table(ctx context.Context, kind manifest.TableKind, row int64) (*section, int64, error) {
	k := r.kinds[kind]
	if k == nil || row < 0 || row >= k.rows {
		return nil, 0, fmt.Errorf("row %d of %s: there are %d rows: %w", row, kind, r.Rows(kind), fs.ErrNotExist)
	}
	low, high := 0, len(k.tables)
	for low+1 < high {
		if middle := (low + high) / 2; k.tables[middle].table.First <= row {
			low = middle
		} else {
			high = middle
		}
	}
	t := k.tables[low]
	s, err := r.section(ctx, t)
	return s, row - t.table.First, err
}

// span is a range of rows of one table.
type span struct {
	*section
	start, end int64 // within the table
	first      int64 // number of the table's first row among all tables
}

// spans calls do for the tables that contain a range of rows, in order, until it returns false.
func (r *Reader) spans(ctx context.Context, kind manifest.TableKind, row, rows int64, do func(span) bool) error {
	if row < 0 || rows < 0 || rows > r.Rows(kind) || row > r.Rows(kind)-rows {
		return fmt.Errorf("%d rows of %s from row %d on: there are %d rows: %w", rows, kind, row, r.Rows(kind), fs.ErrNotExist)
	}
	for end := row + rows; row < end; {
		s, at, err := r.table(ctx, kind, row)
		if err != nil {
			return err
		}
		n := min(end-row, s.rows-at)
		if !do(span{s, at, at + n, row - at}) {
			return nil
		}
		row += n
	}
	return nil
}
