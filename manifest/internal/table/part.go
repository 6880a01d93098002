package table

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/readers/parquet"
	"varve/readers/source"
)

// PartWriter writes the results of a scan to one Parquet file, a scan part. It takes refs and inline
// bytes while the scan runs, and the files at the end.
type PartWriter struct {
	// Generation is the lowest generation of the programs that scanned the sources. It may be changed until Close.
	Generation int
	// Seal permits the sources to the user who scanned them. It may be set until Close.
	Seal *manifest.Seal

	out    *parquet.Writer
	refs   RefWriter
	inline *Writer[[]byte]
	points *Writer[*ChunkPoints]
}

// NewPart starts a scan part of sources that this program scans.
func NewPart(w io.Writer) *PartWriter {
	p := &PartWriter{Generation: manifest.Generation, out: parquet.NewWriter(w, partColumns(), parquet.Options{})}
	p.refs.b = p.builder(manifest.Refs, uncheckedRefColumns)
	p.inline = inlineIn(p.builder(manifest.Blobs, inlineColumns))
	p.points = pointsIn(p.builder(manifest.FilePoints, pointColumns))
	return p
}

// partMeta returns the metadata of a part.
func partMeta(generation int, seal *manifest.Seal) (parquet.Pair, error) {
	text := ""
	if seal != nil {
		encoded, err := json.Marshal(seal)
		if err != nil {
			return parquet.Pair{}, err
		}
		text = `,"seal":` + string(encoded)
	}
	return parquet.Pair{Key: metaKey, Value: fmt.Sprintf(`{"version":%d,"generation":%d%s%s`, manifest.Version, generation, text, partMark())}, nil
}

// partMark returns the text in which the metadata of every part ends.
func partMark() string { return metaOf(partTable).Value[len(`{"version":1`):] }

// builder returns a builder of rows of a kind, for the columns that all kinds share.
func (w *PartWriter) builder(kind manifest.TableKind, columns []parquet.Column) *builder {
	b := newBuilder(w.out, kind, columns)
	shared := partColumns()
	b.isPart, b.width = true, len(shared)
	for i, c := range columns {
		b.fileColumns[i] = slices.IndexFunc(shared, func(s parquet.Column) bool { return s.Name == nameInPart(kind, c.Name) })
	}
	return b
}

// Append adds refs, like RefWriter.Append.
func (w *PartWriter) Append(refs *manifest.RefColumns) error { return w.refs.Append(refs) }

// Inline adds inline bytes and returns their row.
func (w *PartWriter) Inline(b []byte) (row int64, err error) {
	row = w.inline.Rows()
	return row, w.inline.Append(b)
}

// FilePoints adds the access points of a source that is a packed file.
func (w *PartWriter) FilePoints(ctx context.Context, row int64, src *manifest.Source, points *source.Points) error {
	return AppendFile(ctx, w.points, row, src, points)
}

// NextRef returns the row of the next ref.
func (w *PartWriter) NextRef() int64 { return w.refs.Rows() }

// NextInline returns the row of the next inline bytes.
func (w *PartWriter) NextInline() int64 { return w.inline.Rows() }

// Close writes the files and their headers, groups and values, each once, and the sources that were left out.
func (w *PartWriter) Close(files []*manifest.File, skipped []manifest.Skipped) error {
	headers, groups, values := map[string]*manifest.FileHeader{}, map[string]*manifest.FileGroups{}, map[string]*manifest.Values{}
	sources := sourcesIn(w.builder(manifest.Sources, unmovedColumns))
	for _, f := range files {
		if f.Header != nil {
			headers[f.Header.ID] = f.Header
		}
		if f.Groups != nil {
			groups[f.Groups.ID] = f.Groups
		}
		for _, v := range f.Values {
			// Values of which only the sum is known have no row.
			if v != nil && !v.Summed {
				values[v.ID] = v
			}
		}
		if err := sources.Append(NewSourceRow(f)); err != nil {
			return err
		}
	}
	err := errors.Join(w.refs.flush(), w.inline.Close(), w.points.Close(), sources.Close(),
		appendSorted(headersIn(w.builder(manifest.Headers, documentColumns)), headers),
		appendSorted(groupsIn(w.builder(manifest.Groups, documentColumns)), groups),
		appendSorted(valuesIn(w.builder(manifest.ValueOf, valueColumns)), values),
		w.appendSkipped(skipped))
	if err != nil {
		return err
	}
	about, err := partMeta(w.Generation, w.Seal)
	if err != nil {
		return err
	}
	w.out.SetMeta(about)
	return w.out.Close()
}

// skippedJSON is the JSON of a source that was left out. Its row has the URL as ID.
type skippedJSON struct {
	Why string `json:"why"`
}

// appendSkipped writes the sources that were left out, in the given order.
func (w *PartWriter) appendSkipped(skipped []manifest.Skipped) error {
	rows := &Writer[manifest.Skipped]{b: w.builder(skippedTable, documentColumns), add: func(b *builder, s manifest.Skipped) error {
		text, err := json.Marshal(skippedJSON{s.Why})
		b.text(idColumn, string([]rune(s.URL))) // snapshots replace bytes that are not UTF-8 too
		b.own(jsonColumn, text)
		return err
	}}
	return errors.Join(rows.Append(skipped...), rows.Close())
}

// appendSorted writes rows in the order of their IDs.
func appendSorted[T any](w *Writer[T], rows map[string]T) error {
	ids := make([]string, 0, len(rows))
	for id := range rows {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, strings.Compare)
	for _, id := range ids {
		if err := w.Append(rows[id]); err != nil {
			return err
		}
	}
	return w.Close()
}

// IsPart reports from its footer whether a file is a scan part. A truncated Parquet file is an error,
// because it may have been one.
func IsPart(r io.ReaderAt, size int64) (bool, error) {
	footer, err := parquet.Footer(r, size)
	if err != nil || footer == nil {
		return false, err
	}
	return bytes.Contains(footer, []byte(partMark())), nil
}

// Part is an open scan part. The rows of each kind are numbered from 0.
type Part struct {
	*Reader
	file File
	// Generation is the generation of the program that scanned the sources.
	Generation int
	Seal       *manifest.Seal // of the user who scanned the sources, or nil
}

// OpenPart opens a part. name is its name in errors. Closing the part closes the file.
func OpenPart(name string, f File, cache *Cache) (*Part, error) {
	failed := &section{name: name}
	file, err := parquet.Open(f, f.Size())
	if err != nil {
		return nil, failed.fail(err)
	}
	said, err := readMeta(file, partTable)
	if err != nil {
		return nil, failed.refuse(err)
	}
	p := &Part{Reader: &Reader{cache: cache, kinds: map[manifest.TableKind]*kindTables{}}, file: f, Generation: said.Generation, Seal: said.Seal}
	for _, kind := range partKinds {
		if kind == manifest.FilePoints && !slices.ContainsFunc(file.Columns, func(c parquet.Column) bool { return c.Name == nameInPart(kind, "checksum") }) {
			continue // varve wrote the part before there were access points of files
		}
		s, err := newSection(name, file, kind, cache)
		if err != nil {
			return nil, err
		}
		lazy := &lazySection{table: manifest.Table{Name: name}}
		lazy.ready.Store(s)
		p.kinds[kind] = &kindTables{kind: kind, tables: []*lazySection{lazy}}
	}
	// The row groups of all kinds are mixed: sort them into one section for each kind.
	for g := range file.Groups {
		kind, ok := file.Single(g, tableColumn)
		k := p.kinds[manifest.TableKind(kind.Bytes)]
		if !ok || k == nil {
			return nil, failed.damaged(fmt.Errorf("row group %d belongs to no table, or to an unknown table %.40q", g, kind.Bytes))
		}
		s := k.tables[0].ready.Load()
		s.addGroup(g)
		k.rows, k.tables[0].table.Rows = s.rows, s.rows
	}
	for _, k := range p.kinds {
		if err := k.tables[0].ready.Load().checkRows(f.Size()); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Skipped returns the sources that the scan left out, with the reasons.
func (p *Part) Skipped(ctx context.Context) (list []manifest.Skipped, err error) {
	all := documents(ctx, p.Reader, skippedTable, func(row keyedRow) (s manifest.Skipped, err error) {
		var read skippedJSON
		err = json.Unmarshal(row.rest[0], &read)
		return manifest.Skipped{URL: row.id, Why: read.Why}, err
	})
	for s, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// Close closes the file.
func (p *Part) Close() error { return errors.Join(p.Reader.Close(), p.file.Close()) }

// Files returns all sources with their headers, groups and values, which are deduplicated by shared. A
// source that only provides bytes for refs of others has none.
func (r *Reader) Files(ctx context.Context, shared *manifest.Shared) ([]*manifest.File, error) {
	headers, err := byID(r.ScanHeaders(ctx), func(h *manifest.Header) (string, *manifest.FileHeader) { return h.ID, shared.Header(h, nil) })
	if err != nil {
		return nil, err
	}
	groups, err := byID(r.ScanGroups(ctx), func(g *manifest.GroupAttributes) (string, *manifest.FileGroups) {
		return g.ID, shared.Groups(g, nil)
	})
	if err != nil {
		return nil, err
	}
	values, err := byID(r.ScanValues(ctx), func(v *manifest.Values) (string, *manifest.Values) { return v.ID, shared.Values(v) })
	if err != nil {
		return nil, err
	}
	var files []*manifest.File
	for row, err := range r.ScanSources(ctx, 0, r.Rows(manifest.Sources)) {
		if err != nil {
			return nil, err
		}
		f, err := row.file(headers, groups, values)
		if err != nil {
			return nil, fmt.Errorf("source %d, %s: %w", len(files), row.URL, err)
		}
		files = append(files, f)
	}
	return files, nil
}

// FilesAt returns the sources in some rows, with their headers, groups and values. Its cost does not depend on the
// number of other sources.
func (r *Reader) FilesAt(ctx context.Context, rows []int64) ([]*manifest.File, error) {
	headers, groups, values := map[string]*manifest.FileHeader{}, map[string]*manifest.FileGroups{}, map[string]*manifest.Values{}
	shared := manifest.NewShared()
	header := func(ctx context.Context, id string) (*manifest.FileHeader, error) {
		h, err := r.Header(ctx, id)
		if err != nil {
			return nil, err
		}
		own := *h // others may use the one in the cache
		own.Variables = slices.Clone(h.Variables)
		return shared.Header(&own, nil), nil
	}
	groupsOf := func(ctx context.Context, id string) (*manifest.FileGroups, error) {
		g, err := r.Groups(ctx, id)
		if err != nil {
			return nil, err
		}
		return manifest.NewFileGroups(g), nil
	}
	files := make([]*manifest.File, len(rows))
	for i, row := range rows {
		s, err := r.Source(ctx, row)
		if err != nil {
			return nil, err
		}
		err = errors.Join(once(ctx, headers, s.Header, header), once(ctx, groups, s.Groups, groupsOf))
		for _, id := range s.Values {
			if _, summed := Summed(id); !summed {
				err = errors.Join(err, once(ctx, values, id, r.Values))
			}
		}
		if err == nil {
			files[i], err = s.file(headers, groups, values)
		}
		if err != nil {
			return nil, fmt.Errorf("source %d, %s: %w", row, s.URL, err)
		}
	}
	return files, nil
}

// once gets the row with an ID, unless known has it or there is no ID.
func once[T any](ctx context.Context, known map[string]T, id string, get func(context.Context, string) (T, error)) (err error) {
	if _, ok := known[id]; !ok && id != "" {
		known[id], err = get(ctx, id)
	}
	return err
}

func byID[R, T any](all iter.Seq2[R, error], shared func(R) (string, T)) (map[string]T, error) {
	out := map[string]T{}
	for v, err := range all {
		if err != nil {
			return nil, err
		}
		id, one := shared(v)
		out[id] = one
	}
	return out, nil
}

// file joins a source with its rows in other tables.
func (s *SourceRow) file(headers map[string]*manifest.FileHeader, groups map[string]*manifest.FileGroups, values map[string]*manifest.Values) (*manifest.File, error) {
	f := &manifest.File{Source: s.Source, Row: s.Row, Bytes: s.Bytes, Hidden: s.Hidden, Header: headers[s.Header], Groups: groups[s.Groups]}
	switch {
	case f.Groups == nil && s.Groups != "":
		return nil, missingRow("groups", s.Groups)
	case f.Header == nil && s.Header != "":
		return nil, missingRow("header", s.Header)
	case f.Header == nil && !s.Hidden:
		return nil, fmt.Errorf("%w: the source has no header", codec.ErrCorrupt)
	}
	// Callers can rely on a value, also for sources without attributes.
	f.Groups = cmp.Or(f.Groups, manifest.NewFileGroups(&manifest.GroupAttributes{}))
	if f.Header == nil {
		f.Header = manifest.NewFileHeader(&manifest.Header{})
		return f, nil
	}
	f.Values = make([]*manifest.Values, f.Header.Len())
	for path, id := range s.Values {
		i := f.Header.Find(path)
		v, summed := Summed(id)
		if !summed {
			v = values[id]
		}
		if i < 0 || v == nil {
			return nil, missingRow("values of "+path+", which are", id)
		}
		f.Values[i] = v
	}
	for path, parts := range s.Parts {
		i := f.Header.Find(path)
		if i < 0 {
			return nil, missingRow("variable", path)
		}
		if f.Parts == nil {
			f.Parts = map[int][]manifest.Part{}
		}
		f.Parts[i] = parts
	}
	return f, nil
}

func missingRow(what, id string) error {
	return fmt.Errorf("%w: no table has the %s %.80q", codec.ErrCorrupt, what, id)
}
