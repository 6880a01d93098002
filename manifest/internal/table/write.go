package table

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"varve/manifest"
)

// Writer writes a table with rows of type T.
type Writer[T any] struct {
	b   *builder
	add func(*builder, T) error
	key string // of the last row, in tables that are sorted by key
}

// Append adds rows. After an error nothing more can be added.
func (w *Writer[T]) Append(rows ...T) error {
	for _, row := range rows {
		if w.b.err == nil {
			w.b.err = w.add(w.b, row)
		}
		if w.b.err != nil {
			return w.b.err
		}
		if err := w.b.endRow(); err != nil {
			return err
		}
	}
	return nil
}

// Rows returns the number of rows so far.
func (w *Writer[T]) Rows() int64 { return w.b.total }

// Close writes the remaining rows and the footer. It does not close the io.Writer.
func (w *Writer[T]) Close() error { return w.b.close() }

// inOrder returns a writer of rows that have to come in the order of their keys.
func inOrder[T any](b *builder, key func(T) string, add func(*builder, T) error) *Writer[T] {
	w := &Writer[T]{b: b}
	w.add = func(b *builder, row T) error {
		k := key(row)
		// Readers search by ID, so disorder would hide rows.
		if k <= w.key {
			return fmt.Errorf("table of %s: row %d: ID %q follows %q, but IDs have to increase", b.kind, b.total, k, w.key)
		}
		w.key = k
		return add(b, row)
	}
	return w
}

// SourceRow is one row of the table of sources: a manifest.File whose header, groups and values are in
// other tables.
type SourceRow struct {
	manifest.Source
	Header string                     // ID; empty if the source only provides bytes for refs of others
	Groups string                     // ID
	Values map[string]string          // IDs by the path of the variable, for variables that were read; see Summed
	Parts  map[string][]manifest.Part // by the path of the variable; File is a row of the sources
	Row    int64                      // row of its first ref, among all refs of the manifest
	Bytes  int64
	Hidden bool
}

// NewSourceRow returns the row of a file. It copies Parts and Row unchanged.
func NewSourceRow(f *manifest.File) *SourceRow {
	row := &SourceRow{Source: f.Source, Row: f.Row, Bytes: f.Bytes, Hidden: f.Hidden}
	if f.Groups != nil {
		row.Groups = f.Groups.ID
	}
	if f.Header == nil {
		return row
	}
	row.Header = f.Header.ID
	for i, v := range f.Values {
		if v == nil || i >= f.Header.Len() {
			continue
		}
		if row.Values == nil {
			row.Values = map[string]string{}
		}
		row.Values[f.Header.Base().Variables[i].Path] = idOf(v)
	}
	for i, parts := range f.Parts {
		if i < 0 || i >= f.Header.Len() {
			continue
		}
		if row.Parts == nil {
			row.Parts = map[string][]manifest.Part{}
		}
		row.Parts[f.Header.Base().Variables[i].Path] = parts
	}
	return row
}

// sumOf is the prefix of IDs of values that were only compared. The table of values does not have
// them.
const sumOf = "sum:"

func idOf(v *manifest.Values) string {
	switch {
	case !v.Summed:
		return v.ID
	case v.Summary == nil:
		return sumOf + v.ID
	}
	return sumOf + v.ID + " " + v.Summary.String()
}

// Summed returns the values of such an ID. It reports false for an ordinary ID.
func Summed(id string) (*manifest.Values, bool) {
	text, ok := strings.CutPrefix(id, sumOf)
	id, summary, _ := strings.Cut(text, " ")
	return &manifest.Values{ID: id, Summed: true, Summary: manifest.ParseSummary(summary)}, ok
}

// NewSources starts a table of sources that were not moved since they were scanned, in the order of
// their rows.
func NewSources(w io.Writer) *Writer[*SourceRow] {
	return sourcesIn(newTable(w, manifest.Sources, unmovedColumns))
}

// NewMovedSources starts a table of sources of which some were moved.
func NewMovedSources(w io.Writer) *Writer[*SourceRow] {
	return sourcesIn(newTable(w, manifest.Sources, sourceColumns))
}

func sourcesIn(b *builder) *Writer[*SourceRow] { return &Writer[*SourceRow]{b: b, add: addSource} }

func addSource(b *builder, s *SourceRow) error {
	parts, err := json.Marshal(storedParts(s.Parts))
	if err != nil {
		return err
	}
	values, err := json.Marshal(withKeys(s.Values, keyOfPath))
	if err != nil {
		return err
	}
	if len(s.Parts) == 0 {
		parts = nil
	}
	if len(s.Values) == 0 {
		values = nil
	}
	b.addURL(s.URL)
	b.int(sizeColumn, s.Size)
	b.addModified(s)
	b.text(etagColumn, s.ETag)
	b.text(formatColumn, s.Format)
	b.text(headerColumn, s.Header)
	b.text(groupsColumn, s.Groups)
	b.blob(valuesColumn, values)
	b.blob(partsColumn, parts)
	b.int(rowColumn, s.Row)
	b.int(bytesColumn, s.Bytes)
	hidden := int64(0)
	if s.Hidden {
		hidden = 1
	}
	b.int(hiddenColumn, hidden)
	switch {
	case len(b.columns) > scannedColumn:
		b.text(scannedColumn, s.Scanned)
	case s.Scanned != "":
		return fmt.Errorf("%s: the source was moved, but the table has no column for that", s.URL)
	}
	return nil
}

// addURL adds a URL. A name that is not UTF-8 is stored twice: its bytes, and a text to display.
func (b *builder) addURL(url string) {
	if utf8.ValidString(url) {
		b.text(urlColumn, url)
		b.null(rawURLColumn)
		return
	}
	b.text(urlColumn, string([]rune(url)))
	b.blob(rawURLColumn, []byte(url))
}

func (b *builder) addModified(s *SourceRow) {
	if s.Modified.IsZero() {
		b.null(modifiedColumn)
		b.null(modifiedNanosColumn)
		return
	}
	b.int(modifiedColumn, s.Modified.Unix())
	b.int(modifiedNanosColumn, int64(s.Modified.Nanosecond()))
}

// storedPart is the stored form of a manifest.Part.
type storedPart struct {
	File   int     `json:"file"`
	Origin []int64 `json:"origin"`
	Start  []int64 `json:"start"`
	Shape  []int64 `json:"shape"`
}

func storedParts(parts map[string][]manifest.Part) map[string][]storedPart {
	if len(parts) == 0 {
		return nil
	}
	out := make(map[string][]storedPart, len(parts))
	for path, list := range parts {
		stored := make([]storedPart, len(list))
		for i, p := range list {
			stored[i] = storedPart(p)
		}
		out[keyOfPath(path)] = stored
	}
	return out
}

// rawKey is the prefix of a key for a path that is not UTF-8, which JSON cannot contain. A path itself
// starts with a slash.
const rawKey = "base64:"

func keyOfPath(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	return rawKey + base64.StdEncoding.EncodeToString([]byte(path))
}

func pathOfKey(key string) string {
	coded, ok := strings.CutPrefix(key, rawKey)
	if !ok {
		return key
	}
	path, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return key // cannot be a path of a variable
	}
	return string(path)
}

func withKeys(values map[string]string, key func(string) string) map[string]string {
	out := make(map[string]string, len(values))
	for k, v := range values {
		out[key(k)] = v
	}
	return out
}

// NewHeaders starts a table of headers. They have to come in the order of their IDs, without
// duplicates.
func NewHeaders(w io.Writer) *Writer[*manifest.FileHeader] {
	return headersIn(newTable(w, manifest.Headers, documentColumns))
}

func headersIn(b *builder) *Writer[*manifest.FileHeader] {
	return inOrder(b, func(h *manifest.FileHeader) string { return h.ID }, func(b *builder, h *manifest.FileHeader) error {
		return addDocument(b, h.ID, h)
	})
}

// NewGroups starts a table of group attributes. They have to come in the order of their IDs, without
// duplicates.
func NewGroups(w io.Writer) *Writer[*manifest.FileGroups] {
	return groupsIn(newTable(w, manifest.Groups, documentColumns))
}

func groupsIn(b *builder) *Writer[*manifest.FileGroups] {
	return inOrder(b, func(g *manifest.FileGroups) string { return g.ID }, func(b *builder, g *manifest.FileGroups) error {
		return addDocument(b, g.ID, g)
	})
}

func addDocument(b *builder, id string, document json.Marshaler) error {
	text, err := document.MarshalJSON()
	if err != nil {
		return fmt.Errorf("%s %s: %w", b.kind, id, err)
	}
	b.text(idColumn, id)
	b.own(jsonColumn, text)
	return nil
}

// NewValues starts a table of values. They have to come in the order of their IDs, without duplicates.
func NewValues(w io.Writer) *Writer[*manifest.Values] {
	return valuesIn(newTable(w, manifest.ValueOf, valueColumns))
}

func valuesIn(b *builder) *Writer[*manifest.Values] {
	return inOrder(b, func(v *manifest.Values) string { return v.ID }, func(b *builder, v *manifest.Values) error {
		b.text(idColumn, v.ID)
		b.blob(dataColumn, v.Data)
		b.blob(textsColumn, packTexts(v.Texts))
		return nil
	})
}

// packTexts packs texts in the format of numcodecs' vlen-bytes: their number, then each with its size
// in front, all in 4 bytes, little-endian.
//
//	texts "ab", "c":  02 00 00 00 │ 02 00 00 00 'a' 'b' │ 01 00 00 00 'c'
func packTexts(texts [][]byte) []byte {
	if len(texts) == 0 {
		return nil
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(texts)))
	for _, t := range texts {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(t))), t...)
	}
	return out
}

// NewInline starts a table of inline bytes.
func NewInline(w io.Writer) *Writer[[]byte] {
	return inlineIn(newTable(w, manifest.Blobs, inlineColumns))
}

func inlineIn(b *builder) *Writer[[]byte] {
	return &Writer[[]byte]{b: b, add: func(b *builder, p []byte) error {
		b.blob(inlineColumn, p)
		return nil
	}}
}

// NewTiles starts a table of tiles for a number of dimensions.
func NewTiles(w io.Writer, dims int) *Writer[manifest.Tile] {
	b := newTable(w, manifest.Tiles, tileColumns(dims))
	if dims < 0 || dims > maxDims {
		b.err = fmt.Errorf("tiles along %d dimensions, and more than %d are %w", dims, maxDims, errors.ErrUnsupported)
	}
	return &Writer[manifest.Tile]{b: b, add: func(b *builder, t manifest.Tile) error {
		if len(t.Origin) != dims || len(t.Start) != dims || len(t.Shape) != dims {
			return fmt.Errorf("tile %d: origin %v, start %v or shape %v does not have %d dimensions", b.total, t.Origin, t.Start, t.Shape, dims)
		}
		b.int(fileColumn, int64(t.File))
		for i := range dims {
			b.int(dimColumn(originColumn, i), t.Origin[i])
			b.int(dimColumn(startColumn, i), t.Start[i])
			b.int(dimColumn(shapeColumn, i), t.Shape[i])
		}
		return nil
	}}
}
