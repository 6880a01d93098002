package parquet

import (
	"errors"
	"fmt"

	"varve/readers/thrift"
)

// Scanner reads the values of a column of a row group from its start, page after page. It keeps one page
// in memory.
type Scanner struct {
	file       *File
	group      int
	column     int
	chunk      *chunk
	at, end    int64
	dictionary *Dictionary
	page       pageValues
	part       Values
}

// Scan starts to read a column of a row group.
func (f *File) Scan(group, column int) (*Scanner, error) {
	c := &f.Groups[group].chunks[column]
	if c.start < 0 || c.size < 0 || c.start > f.data || c.size > f.data-c.start {
		return nil, corruptf("%d bytes at offset %d are not before the footer at offset %d", c.size, c.start, f.data)
	}
	if kind := f.Columns[column].Type; kind == Other || kind.isList() {
		return nil, fmt.Errorf("column %q has %v: %w", f.Columns[column].Name, kind, errors.ErrUnsupported)
	}
	return &Scanner{file: f, group: group, column: column, chunk: c, at: c.start, end: c.start + c.size}, nil
}

// Read sets dst to the values of the next rows. Of dst it reuses Ints.
func (s *Scanner) Read(dst *Values, rows int) error {
	dst.Ints, dst.Bytes, dst.Present = dst.Ints[:0], dst.Bytes[:0], nil
	for had := 0; had < rows; {
		if s.page.rows == 0 {
			if err := s.nextPage(); err != nil {
				return err
			}
			continue
		}
		n := int(min(int64(rows-had), s.page.rows))
		if err := s.page.read(&s.part, n); err != nil {
			return s.fail(err)
		}
		dst.append(&s.part, had, n)
		had += n
	}
	return nil
}

// append adds n values to v, which has had rows.
func (v *Values) append(part *Values, had, n int) {
	v.Ints, v.Bytes = append(v.Ints, part.Ints...), append(v.Bytes, part.Bytes...)
	if part.Present == nil && v.Present == nil {
		return
	}
	v.Present = appendPresent(v.Present, had)
	v.Present = append(v.Present, part.Present...)
	v.Present = appendPresent(v.Present, had+n)
}

// appendPresent marks rows as not null up to a number of rows.
func appendPresent(present []uint8, rows int) []uint8 {
	for len(present) < rows {
		present = append(present, 1)
	}
	return present
}

func (s *Scanner) fail(err error) error { return s.file.at(s.group, s.column, s.at, err) }

// nextPage reads the next page, and the dictionary if it is one.
func (s *Scanner) nextPage() error {
	if s.at >= s.end {
		return corruptf("column %s has fewer values than rows", s.file.Columns[s.column].Name)
	}
	h, size, err := s.head()
	if err != nil {
		return s.fail(err)
	}
	where := extent{s.at, int32(size)}
	switch {
	case h.kind == dictionaryPage:
		s.dictionary, err = s.file.readDictionary(s.column, s.chunk, where)
	case h.kind != dataPage && h.kind != dataPageV2:
		// An index page, or a later addition.
	case h.encoding == plainEncoding || h.encoding == plainDictionary || h.encoding == dictionaryEncoding:
		s.page, err = s.file.values(s.column, s.chunk, where, s.dictionary)
	default:
		err = fmt.Errorf("encoding %d (supported: PLAIN and RLE_DICTIONARY): %w", h.encoding, errors.ErrUnsupported)
	}
	if err != nil {
		return s.fail(err)
	}
	s.at += size
	return nil
}

// head reads the header of the next page. It returns the size of the page with its header.
func (s *Scanner) head() (h pageHead, size int64, err error) {
	data := make([]byte, min(s.end-s.at, maxPageHead))
	if err := readFull(s.file.r, data, s.at); err != nil {
		return h, 0, err
	}
	t := thrift.NewReader(data)
	h.read(t)
	if t.Err() != nil {
		return h, 0, t.Err()
	}
	left := s.end - s.at - int64(t.Offset())
	if h.stored < 0 || h.stored > left || h.plain < 0 || h.values < 0 {
		return h, 0, corruptf("%d values in %d bytes are out of range (%d bytes remain)", h.values, h.stored, left)
	}
	if h.stored > maxPageBytes || h.plain > maxForeignPage {
		return h, 0, fmt.Errorf("%d bytes (limit %d): %w", max(h.stored, h.plain), maxForeignPage, errors.ErrUnsupported)
	}
	return h, int64(t.Offset()) + h.stored, nil
}
