package table

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"varve/codec"
	"varve/manifest"
	"varve/readers/parquet"
)

// section contains the rows of one kind in one file.
type section struct {
	name    string // of the file, for errors
	id      uint64 // for cache keys
	kind    manifest.TableKind
	file    *parquet.File
	groups  []int   // of the file
	firsts  []int64 // first row of each group, within the section
	rows    int64
	columns []int // index in the file for each column of the kind; -1 if the file does not have it: all null
	cache   *Cache
}

// sectionIDs distinguishes tables in caches.
var sectionIDs atomic.Uint64

// newSection finds the rows of a kind in a file.
func newSection(name string, file *parquet.File, kind manifest.TableKind, cache *Cache) (*section, error) {
	s := &section{name: name, id: sectionIDs.Add(1), kind: kind, file: file, cache: cache}
	columns, err := columnsOf(kind, file)
	if err != nil {
		return nil, s.fail(err)
	}
	isPart := len(file.Columns) > 0 && file.Columns[tableColumn].Name == kindColumn.Name
	for column, c := range columns {
		if isPart {
			c.Name = nameInPart(kind, c.Name)
		}
		i := slices.IndexFunc(file.Columns, func(have parquet.Column) bool { return have.Name == c.Name })
		leftOut := i < 0 && mayLack(kind, column)
		if !leftOut && (i < 0 || file.Columns[i].Type != c.Type) {
			return nil, s.damaged(fmt.Errorf("it has no column %s of type %v", c.Name, c.Type))
		}
		s.columns = append(s.columns, i)
	}
	return s, nil
}

// addGroup adds a row group of the file.
func (s *section) addGroup(group int) {
	s.groups = append(s.groups, group)
	s.firsts = append(s.firsts, s.rows)
	s.rows += s.file.Groups[group].Rows
}

// openTable opens a file that contains one table.
func openTable(f File, t manifest.Table, cache *Cache) (*section, error) {
	failed := &section{name: t.Name}
	// Cheaper than a checksum, and finds truncated files before anything is read.
	if f.Size() != t.Bytes {
		return nil, sizeError(t, f.Size())
	}
	file, err := parquet.Open(f, f.Size())
	if err != nil {
		return nil, failed.fail(err)
	}
	if _, err := readMeta(file, t.Kind); err != nil {
		return nil, failed.refuse(err)
	}
	if file.Rows != t.Rows {
		return nil, failed.damaged(fmt.Errorf("it has %d rows instead of %d", file.Rows, t.Rows))
	}
	s, err := newSection(t.Name, file, t.Kind, cache)
	if err != nil {
		return nil, err
	}
	for g := range file.Groups {
		s.addGroup(g)
	}
	return s, s.checkRows(f.Size())
}

// rowsOfByte limits the rows of kinds that are read as a whole, for each byte of the file. No table
// that varve writes has more.
var rowsOfByte = map[manifest.TableKind]int64{
	manifest.Sources: 4, manifest.Headers: 4, manifest.Groups: 4, manifest.ValueOf: 4, skippedTable: 4, manifest.Tiles: 64,
}

func (s *section) checkRows(size int64) error {
	if most, ok := rowsOfByte[s.kind]; ok && s.rows/most > size {
		return s.damaged(fmt.Errorf("it claims %d rows of %s in %d bytes", s.rows, s.kind, size))
	}
	return nil
}

func sizeError(t manifest.Table, size int64) error {
	damage := manifest.FileCorrupt
	if size < t.Bytes {
		damage = manifest.FileTruncated
	}
	return &manifest.DamageError{Name: t.Name, Damage: damage, Detail: fmt.Sprintf("it has %d bytes instead of %d", size, t.Bytes)}
}

// fail adds the file's name to an error of reading it. An error about the bytes becomes a DamageError.
func (s *section) fail(err error) error {
	var damage *manifest.DamageError
	switch {
	case errors.As(err, &damage):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &manifest.DamageError{Name: s.name, Damage: manifest.FileTruncated, Detail: err.Error()}
	case errors.Is(err, codec.ErrCorrupt):
		return s.damaged(err)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

func (s *section) damaged(err error) error {
	return &manifest.DamageError{Name: s.name, Damage: manifest.FileCorrupt, Detail: err.Error()}
}

// refuse is fail for errors that are damage unless they are errors.ErrUnsupported.
func (s *section) refuse(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return s.fail(err)
	}
	return s.damaged(err)
}

// tablePage is the page that contains a row.
type tablePage struct {
	group  int // index in section.groups
	layout *parquet.Layout
	page   int
	first  int64 // first row of the page, within the section
	rows   int64 // number of rows of the page
}

// group returns the index of the row group that contains a row of the section.
func (s *section) group(row int64) int {
	low, high := 0, len(s.firsts)
	for low+1 < high {
		if middle := (low + high) / 2; s.firsts[middle] <= row {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// find returns the page that contains a row of the section.
func (s *section) find(row int64) (tablePage, error) {
	group := s.group(row)
	l, err := s.layout(group)
	if err != nil {
		return tablePage{}, err
	}
	return s.pageAt(group, l, l.Find(int(row-s.firsts[group]))), nil
}

func (s *section) pageAt(group int, l *parquet.Layout, page int) tablePage {
	start, end := l.Rows(page)
	return tablePage{group, l, page, s.firsts[group] + int64(start), int64(end - start)}
}

func (s *section) layout(group int) (*parquet.Layout, error) {
	key := cacheKey{s.id, int32(group), 0, layoutContent}
	return cached(s.cache, key, func() (*parquet.Layout, int64, error) {
		l, err := s.file.Layout(s.groups[group])
		if err != nil {
			return nil, 0, s.fail(err)
		}
		return l, l.Bytes(), nil
	})
}

// read reads a column of a page.
func (s *section) read(p tablePage, column int, dst *parquet.Values) error {
	group, in := s.groups[p.group], s.columns[column]
	// The file does not have the column: all values are null.
	if in < 0 {
		*dst = parquet.Values{Bytes: make([][]byte, p.rows), Present: make([]uint8, p.rows)}
		return nil
	}
	var dictionary *parquet.Dictionary
	if s.file.HasDictionary(group, in) {
		var err error
		if dictionary, err = s.dictionary(p.group, column); err != nil {
			return err
		}
	}
	if err := s.file.Page(group, p.layout, in, p.page, dictionary, dst); err != nil {
		return s.fail(err)
	}
	return s.checkNulls(p, column, dst)
}

// checkNulls checks that required columns have no nulls: in a part all columns are optional in
// Parquet's schema.
func (s *section) checkNulls(p tablePage, column int, v *parquet.Values) error {
	if v.Present == nil {
		return nil
	}
	columns, err := columnsOf(s.kind, s.file)
	if err != nil || columns[column].Optional {
		return err
	}
	for i, present := range v.Present {
		if present == 0 {
			return s.damaged(fmt.Errorf("row %d: %s is null", p.first+int64(i), columns[column].Name))
		}
	}
	return nil
}

func (s *section) dictionary(group, column int) (*parquet.Dictionary, error) {
	key := cacheKey{s.id, int32(group), 0, dictionaryContent + content(column)}
	return cached(s.cache, key, func() (*parquet.Dictionary, int64, error) {
		d, err := s.file.Dictionary(s.groups[group], s.columns[column])
		if err != nil {
			return nil, 0, s.fail(err)
		}
		return d, bytesOf(d.Bytes) + 8*int64(len(d.Ints)), nil
	})
}

// bytesOf returns the approximate memory that texts take.
func bytesOf(texts [][]byte) int64 {
	n := 24 * int64(len(texts))
	for _, t := range texts {
		n += int64(len(t))
	}
	return n
}

// column returns a column of a page of texts, through the cache.
func (s *section) column(p tablePage, column int) ([][]byte, error) {
	key := cacheKey{s.id, int32(p.group), int32(p.page), columnContent + content(column)}
	return cached(s.cache, key, func() ([][]byte, int64, error) {
		var v parquet.Values
		if err := s.read(p, column, &v); err != nil {
			return nil, 0, err
		}
		return v.Bytes, bytesOf(v.Bytes), nil
	})
}

// pages calls do with the pages that contain a range of rows, in order, until it returns false.
func (s *section) pages(row, end int64, do func(tablePage) bool) error {
	for row < end {
		p, err := s.find(row)
		if err != nil {
			return err
		}
		if !do(p) {
			return nil
		}
		row = p.first + p.rows
	}
	return nil
}

// lazySection is a table whose file is opened when it is first needed.
type lazySection struct {
	table manifest.Table
	mu    sync.Mutex
	ready atomic.Pointer[section]
	file  File

	isClosed bool
}
