package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"varve/manifest"
)

// Header returns a header by its ID. While the cache keeps it, every call returns the same pointer. It
// must not be changed. If no table has the ID, the error is fs.ErrNotExist, also for Groups and
// Values.
func (r *Reader) Header(ctx context.Context, id string) (*manifest.Header, error) {
	return document(ctx, r, manifest.Headers, id, func(row keyedRow) (*manifest.Header, error) {
		r.headers.Lock()
		defer r.headers.Unlock()
		return parseHeader(&r.headers.HeaderDecoder, row)
	})
}

// Groups returns group attributes by their ID. They must not be changed.
func (r *Reader) Groups(ctx context.Context, id string) (*manifest.GroupAttributes, error) {
	return document(ctx, r, manifest.Groups, id, parseGroups)
}

// Values returns values by their ID. They must not be changed.
func (r *Reader) Values(ctx context.Context, id string) (*manifest.Values, error) {
	return document(ctx, r, manifest.ValueOf, id, parseValues)
}

// keyedRow is a row of a table that is sorted by ID: the ID and the other columns.
type keyedRow struct {
	of   *section
	id   string
	rest [2][]byte
}

func parseHeader(d *manifest.HeaderDecoder, row keyedRow) (*manifest.Header, error) {
	h, err := d.Decode(row.rest[0])
	if err != nil {
		return nil, err
	}
	h.ID = row.id
	return h, nil
}

func parseGroups(row keyedRow) (*manifest.GroupAttributes, error) {
	g := &manifest.GroupAttributes{}
	if err := json.Unmarshal(row.rest[0], g); err != nil {
		return nil, err
	}
	g.ID = row.id
	return g, nil
}

func parseValues(row keyedRow) (*manifest.Values, error) {
	texts, err := unpackTexts(row.rest[1])
	if err != nil {
		return nil, err
	}
	v := &manifest.Values{ID: row.id, Texts: texts}
	if len(row.rest[0]) > 0 {
		v.Data = bytes.Clone(row.rest[0])
	}
	return v, nil
}

// unpackTexts reverts packTexts.
func unpackTexts(packed []byte) ([][]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	if len(packed) < 4 || uint64(binary.LittleEndian.Uint32(packed)) > uint64(len(packed)-4)/4 {
		return nil, fmt.Errorf("%d bytes of texts are truncated", len(packed))
	}
	texts := make([][]byte, binary.LittleEndian.Uint32(packed))
	packed = packed[4:]
	for i := range texts {
		if len(packed) < 4 || uint64(binary.LittleEndian.Uint32(packed)) > uint64(len(packed)-4) {
			return nil, fmt.Errorf("text %d is truncated", i)
		}
		n := 4 + binary.LittleEndian.Uint32(packed)
		texts[i], packed = bytes.Clone(packed[4:n]), packed[n:]
	}
	if len(packed) > 0 {
		return nil, fmt.Errorf("%d bytes follow the last of %d texts", len(packed), len(texts))
	}
	return texts, nil
}

// document finds a row by its ID and parses it. It searches the newest table first.
func document[T any](ctx context.Context, r *Reader, kind manifest.TableKind, id string, parse func(keyedRow) (T, error)) (v T, err error) {
	s, at, err := r.seek(ctx, kind, id)
	if err != nil {
		return v, err
	}
	key := cacheKey{s.id, int32(at >> 31), int32(at & (1<<31 - 1)), documentContent}
	return cached(r.cache, key, func() (T, int64, error) {
		var row keyedRow
		var none T
		p, err := s.find(at)
		if err == nil {
			row, err = s.keyed(p, int(at-p.first))
		}
		if err != nil {
			return none, 0, err
		}
		v, err := parse(row)
		if err != nil {
			return none, 0, s.damaged(fmt.Errorf("%s %s: %w", kind, id, err))
		}
		return v, 3 * int64(len(row.rest[0])+len(row.rest[1])), nil // parsed documents take about three times their text
	})
}

// keyed returns a row of a page, through the cache.
func (s *section) keyed(p tablePage, i int) (row keyedRow, err error) {
	for column := range s.columns {
		texts, err := s.column(p, column)
		if err != nil {
			return row, err
		}
		if column == idColumn {
			row.id = string(texts[i])
		} else {
			row.rest[column-1] = texts[i]
		}
	}
	return row, nil
}

// seek returns the table and the number of the row with an ID.
func (r *Reader) seek(ctx context.Context, kind manifest.TableKind, id string) (*section, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	k := r.kinds[kind]
	for i := 0; k != nil && i < len(k.tables); i++ {
		// An append usually looks for what it has just written.
		s, err := r.section(ctx, k.tables[len(k.tables)-1-i])
		if err != nil {
			return nil, 0, err
		}
		row, found, err := s.search(func(p tablePage, i int) (int, error) {
			ids, err := s.column(p, idColumn)
			if err != nil {
				return 0, err
			}
			return strings.Compare(string(ids[i]), id), nil
		})
		if err != nil || found {
			return s, row, err
		}
	}
	return nil, 0, fmt.Errorf("%s %.80q: %w", kind, id, fs.ErrNotExist)
}

// search is a binary search for a row. compare returns a negative number if row i of a page is before
// the wanted row, and a positive one if it is after it.
func (s *section) search(compare func(p tablePage, i int) (int, error)) (row int64, found bool, err error) {
	// Each step decodes one page, or finds it in the cache.
	for low, high := int64(0), s.rows; low < high; {
		row = (low + high) / 2
		p, err := s.find(row)
		if err != nil {
			return 0, false, err
		}
		c, err := compare(p, int(row-p.first))
		switch {
		case err != nil || c == 0:
			return row, err == nil, err
		case c < 0:
			low = row + 1
		default:
			high = row
		}
	}
	return 0, false, nil
}

// documents yields all rows of a table in the order of IDs.
func documents[T any](ctx context.Context, r *Reader, kind manifest.TableKind, parse func(keyedRow) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range r.keyedRows(ctx, kind, 0, r.Rows(kind)) {
			var v T
			if err == nil {
				if v, err = parse(row); err != nil {
					err = row.of.damaged(fmt.Errorf("%s %s: %w", kind, row.id, err))
				}
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// keyedRows yields rows with IDs without using the cache. The caller may keep them.
func (r *Reader) keyedRows(ctx context.Context, kind manifest.TableKind, row, rows int64) iter.Seq2[keyedRow, error] {
	return func(yield func(keyedRow, error) bool) {
		for s, err := range r.strips(ctx, kind, row, rows) {
			if err != nil {
				yield(keyedRow{}, err)
				return
			}
			for i := s.from; i < s.to; i++ {
				row := keyedRow{of: s.of, id: string(s.columns[idColumn].Bytes[i])}
				for j := range s.columns[1:] {
					row.rest[j] = s.columns[1+j].Bytes[i]
				}
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// ScanHeaders yields all headers, in the order of their tables and IDs. The caller may keep them.
func (r *Reader) ScanHeaders(ctx context.Context) iter.Seq2[*manifest.Header, error] {
	var d manifest.HeaderDecoder
	return documents(ctx, r, manifest.Headers, func(row keyedRow) (*manifest.Header, error) { return parseHeader(&d, row) })
}

// ScanGroups yields all group attributes, in the order of their tables and IDs. The caller may keep
// them.
func (r *Reader) ScanGroups(ctx context.Context) iter.Seq2[*manifest.GroupAttributes, error] {
	return documents(ctx, r, manifest.Groups, parseGroups)
}

// ScanValues yields all values, in the order of their tables and IDs. The caller may keep them.
func (r *Reader) ScanValues(ctx context.Context) iter.Seq2[*manifest.Values, error] {
	return documents(ctx, r, manifest.ValueOf, parseValues)
}

// Inline returns one row of the inline bytes. They must not be changed.
func (r *Reader) Inline(ctx context.Context, row int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, at, err := r.table(ctx, manifest.Blobs, row)
	if err != nil {
		return nil, err
	}
	p, err := s.find(at)
	if err != nil {
		return nil, err
	}
	page, err := s.column(p, inlineColumn)
	if err != nil {
		return nil, err
	}
	return page[at-p.first], nil
}
