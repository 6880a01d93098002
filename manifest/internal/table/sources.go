package table

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"varve/manifest"
	"varve/manifest/internal/packed"
	"varve/readers/parquet"
)

// Source returns one row of the sources. It must not be changed.
func (r *Reader) Source(ctx context.Context, row int64) (*SourceRow, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, at, err := r.table(ctx, manifest.Sources, row)
	if err != nil {
		return nil, err
	}
	p, err := s.find(at)
	if err != nil {
		return nil, err
	}
	key := cacheKey{s.id, int32(p.group), int32(p.page), pageContent}
	rows, err := cached(r.cache, key, func() ([]SourceRow, int64, error) { return s.readSources(p) })
	if err != nil {
		return nil, err
	}
	return &rows[at-p.first], nil
}

// ScanSources yields sources in order without using the cache. The caller may keep them.
func (r *Reader) ScanSources(ctx context.Context, row, rows int64) iter.Seq2[*SourceRow, error] {
	return func(yield func(*SourceRow, error) bool) {
		err := r.scanPages(ctx, manifest.Sources, row, rows, func(s span, p tablePage) (bool, error) {
			sources, _, err := s.readSources(p)
			if err != nil {
				return false, err
			}
			for i := max(s.start-p.first, 0); i < min(s.end-p.first, p.rows); i++ {
				if !yield(&sources[i], nil) {
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// sourceBytes is the approximate memory of a row without its texts.
const sourceBytes = 250

// readSources reads a page of sources, and returns the memory that it takes.
func (s *section) readSources(p tablePage) ([]SourceRow, int64, error) {
	columns := make([]parquet.Values, len(sourceColumns))
	size := sourceBytes * p.rows
	for i := range columns {
		if err := s.read(p, i, &columns[i]); err != nil {
			return nil, 0, err
		}
		size += 2 * bytesOf(columns[i].Bytes)
	}
	rows := make([]SourceRow, p.rows)
	d := sourceDecoder{columns: columns, shared: map[string]string{}}
	for i := range rows {
		if err := d.decode(&rows[i], i); err != nil {
			return nil, 0, s.damaged(fmt.Errorf("source %d: %w", p.first+int64(i), err))
		}
	}
	return rows, size, nil
}

// sourceDecoder decodes rows of one page, and deduplicates their texts.
type sourceDecoder struct {
	columns []parquet.Values
	shared  map[string]string
	last    []byte // JSON of the values of the previous row
	values  map[string]string
}

func (d *sourceDecoder) decode(row *SourceRow, i int) (err error) {
	c := d.columns
	if row.Source, err = d.source(i); err != nil {
		return err
	}
	row.Format = d.share(c[formatColumn].Bytes[i])
	row.Row, row.Bytes = c[rowColumn].Ints[i], c[bytesColumn].Ints[i]
	row.Hidden = c[hiddenColumn].Ints[i] != 0
	row.Header, row.Groups = d.share(c[headerColumn].Bytes[i]), d.share(c[groupsColumn].Bytes[i])
	if row.Size < 0 || row.Row < 0 || row.Bytes < 0 {
		return fmt.Errorf("size %d, row %d or bytes %d is negative", row.Size, row.Row, row.Bytes)
	}
	return d.decodeJSON(row, c[valuesColumn].Bytes[i], c[partsColumn].Bytes[i])
}

// source returns the columns about the source itself, except its format.
func (d *sourceDecoder) source(i int) (s manifest.Source, err error) {
	c := d.columns
	s.URL = string(c[urlColumn].Bytes[i])
	if !c[rawURLColumn].Null(i) {
		s.URL = string(c[rawURLColumn].Bytes[i])
	}
	if !c[modifiedColumn].Null(i) {
		nanoseconds := c[modifiedNanosColumn].Ints[i]
		if nanoseconds < 0 || nanoseconds > 999_999_999 {
			return s, fmt.Errorf("modified_ns is %d", nanoseconds)
		}
		s.Modified = time.Unix(c[modifiedColumn].Ints[i], nanoseconds).UTC()
	}
	s.Size, s.ETag, s.Scanned = c[sizeColumn].Ints[i], string(c[etagColumn].Bytes[i]), string(c[scannedColumn].Bytes[i])
	return s, nil
}

func (d *sourceDecoder) share(text []byte) string {
	// A million sources share a few formats and header IDs.
	if s, ok := d.shared[string(text)]; ok {
		return s
	}
	s := string(text)
	d.shared[s] = s
	return s
}

func (d *sourceDecoder) decodeJSON(row *SourceRow, values, parts []byte) error {
	if values != nil {
		// Neighbouring files often have equal values: parse them once.
		if !bytes.Equal(values, d.last) {
			d.last, d.values = values, nil
			if err := json.Unmarshal(values, &d.values); err != nil {
				return fmt.Errorf("values: %w", err)
			}
			d.values = withKeys(d.values, pathOfKey)
		}
		row.Values = d.values
	}
	if parts == nil {
		return nil
	}
	var stored map[string][]storedPart
	if err := json.Unmarshal(parts, &stored); err != nil {
		return fmt.Errorf("parts: %w", err)
	}
	row.Parts = make(map[string][]manifest.Part, len(stored))
	for key, list := range stored {
		path := pathOfKey(key)
		for _, p := range list {
			row.Parts[path] = append(row.Parts[path], manifest.Part(p))
		}
	}
	return nil
}

// SourceIndex has the data of each source that a lookup of chunks needs.
type SourceIndex struct {
	IDs    []string    // IDs of headers without duplicates; the first is empty, for sources without a header
	Header packed.Ints // index in IDs, by the row of the source
	Row    packed.Ints // row of the first ref, by the row of the source
}

// Index reads only the header IDs and first refs of all sources.
func (r *Reader) Index(ctx context.Context) (*SourceIndex, error) {
	index := &SourceIndex{IDs: []string{""}}
	numbers := map[string]int64{"": 0}
	var rows, headers parquet.Values
	err := r.scanPages(ctx, manifest.Sources, 0, r.Rows(manifest.Sources), func(s span, p tablePage) (bool, error) {
		if err := s.read(p, rowColumn, &rows); err != nil {
			return false, err
		}
		if err := s.read(p, headerColumn, &headers); err != nil {
			return false, err
		}
		for _, row := range rows.Ints {
			index.Row.Append(row)
		}
		for _, id := range headers.Bytes {
			at, ok := numbers[string(id)]
			if !ok {
				at = int64(len(index.IDs))
				numbers[string(id)] = at
				index.IDs = append(index.IDs, string(id))
			}
			index.Header.Append(at)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return index, nil
}
