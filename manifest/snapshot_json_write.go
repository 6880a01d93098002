package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"varve/zarrjson"
)

// Encode returns the content of a snapshot's file. It does not contain the ID, which is its hash.
func (s *Snapshot) Encode() ([]byte, error) {
	w := documentWriter{b: []byte("{\n")}
	w.field("varve", s.Varve)
	w.field("parent", s.Parent)
	w.field("created", s.Created)
	w.field("message", s.Message)
	w.field("writer", s.Writer)
	w.field("sources", s.Sources)
	w.field("refs", s.Refs)
	if s.Generation > 0 {
		w.field("generation", s.Generation)
	}
	if s.Checksums {
		w.field("checksums", s.Checksums)
	}
	if len(s.Options) > 0 {
		w.field("options", s.Options)
	}
	if len(s.State) > 0 {
		w.field("state", s.State)
	}
	if s.Seal != nil {
		w.field("seal", s.Seal)
	}
	if len(s.Merged) > 0 {
		w.field("merged", s.Merged)
	}
	writeLines(&w, "groups", s.Groups, encodeGroup)
	writeLines(&w, "arrays", s.Arrays, encodeArray)
	writeLines(&w, "placements", s.Placements, encodePlacement)
	writeLines(&w, "tables", s.Tables, encodeTable)
	writeLines(&w, "skipped", s.Skipped, func(w *documentWriter, k *Skipped) error { return w.value(skippedDocument(*k)) })
	if w.err != nil {
		return nil, fmt.Errorf("snapshot: %w", w.err)
	}
	return append(bytes.TrimSuffix(w.b, []byte(",\n")), "\n}\n"...), nil
}

// documentWriter writes a JSON object one field at a time, with encoding/json's form of values.
type documentWriter struct {
	b   []byte
	err error // the first error
}

func (w *documentWriter) field(name string, value any) {
	w.b = fmt.Appendf(w.b, "  %q: ", name)
	if err := w.value(value); err != nil {
		w.fail(err)
	}
	w.b = append(w.b, ",\n"...)
}

func (w *documentWriter) value(value any) error {
	b := bytes.NewBuffer(w.b)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	w.b = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return nil
}

func (w *documentWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// writeLines writes a list, one item a line. All cores share the work on a long list.
func writeLines[T any](w *documentWriter, name string, items []T, encode func(*documentWriter, *T) error) {
	w.b = fmt.Appendf(w.b, "  %q: [", name)
	stretches := make([]documentWriter, (len(items)+linesPerTask-1)/linesPerTask)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(stretches)) {
		workers.Go(func() {
			for i := int(next.Add(1) - 1); i < len(stretches); i = int(next.Add(1) - 1) {
				lines(&stretches[i], items, i*linesPerTask, encode)
			}
		})
	}
	workers.Wait()
	all := len(name)
	for i := range stretches {
		all += len(stretches[i].b)
	}
	const others = 16 << 10 // likely size of the fields that follow this list
	if cap(w.b)-len(w.b) < all {
		w.b = slices.Grow(w.b, all+others)
	}
	for i := range stretches {
		if err := stretches[i].err; err != nil {
			w.fail(fmt.Errorf("%s%w", name, err))
		}
		w.b = append(w.b, stretches[i].b...)
	}
	if len(items) > 0 {
		w.b = append(bytes.TrimSuffix(w.b, []byte(",")), "\n  "...)
	}
	w.b = append(w.b, "],\n"...)
}

// lines writes the items of one task, with a comma after each.
func lines[T any](w *documentWriter, items []T, first int, encode func(*documentWriter, *T) error) {
	end := min(first+linesPerTask, len(items))
	for i := first; i < end; i++ {
		w.b = roomFor(w.b, 0, i-first, end-first)
		w.b = append(w.b, "\n    "...)
		if err := encode(w, &items[i]); err != nil {
			w.fail(fmt.Errorf("[%d]: %w", i, err))
			return
		}
		w.b = append(w.b, ',')
	}
}

func encodeGroup(w *documentWriter, g *GroupSchema) error {
	return w.value(groupDocument{g.Path, embed(g.Attributes.JSON()), g.AttributeTypes})
}

// encodeArray writes the line of an array. It appends the Zarr document without copying it, because a
// snapshot can have many long documents.
func encodeArray(w *documentWriter, a *Array) error {
	if a.Schema == nil {
		return fmt.Errorf("%s has no schema", a.Path)
	}
	w.b = append(w.b, `{"path":`...)
	w.text(a.Path)
	w.b = append(w.b, `,"zarr":`...)
	at := len(w.b)
	whole, err := a.Schema.Append(w.b, zarrjson.Compact)
	if err != nil {
		return fmt.Errorf("%s: %w", a.Path, err)
	}
	if w.b = whole; !embeddable(w.b[at:]) {
		w.b = append(w.b[:at], embed(bytes.Clone(w.b[at:]))...)
	}
	w.writePlacement(a)
	return w.err
}

// writePlacement writes the fields of placementFields and the closing brace. It does not use encoding/json,
// because that is too slow for snapshots with many arrays.
func (w *documentWriter) writePlacement(a *Array) {
	field := func(name string, some bool) bool {
		if some {
			w.b = append(append(append(w.b, `,"`...), name...), `":`...)
		}
		return some
	}
	if field("placement", a.Placement != "") {
		w.text(a.Placement)
	}
	if field("variables", len(a.Variables) > 0) {
		w.texts(a.Variables)
	}
	field("dims", true)
	w.texts(a.Dims)
	if field("renamed", len(a.Renamed) > 0) {
		w.writeValue(a.Renamed)
	}
	if field("unnamed", len(a.Unnamed) > 0) {
		w.texts(a.Unnamed)
	}
	if field("reading", a.Reading != "") {
		w.text(string(a.Reading))
	}
	if field("calibrated", a.Calibrated) {
		w.b = append(w.b, "true"...)
	}
	if field("attribute_types", len(a.AttributeTypes) > 0) {
		w.writeValue(a.AttributeTypes)
	}
	if field("codec_sizes", len(a.CodecSizes) > 0) {
		w.writeValue(a.CodecSizes)
	}
	if field("pieces", len(a.Pieces) > 0) {
		w.writeValue(convert(a.Pieces, func(p Piece) pieceDocument { return pieceDocument(p) }))
	}
	if field("patches", len(a.Patches) > 0) {
		w.writeValue(convert(a.Patches, func(p Patched) patchedDocument { return patchedDocument(p) }))
	}
	c := &a.Chunks
	w.b = fmt.Appendf(w.b, `,"chunks":{"verbatim":%d,"prefix":%d,"rebuilt":%d,"missing":%d`, c.Verbatim, c.Prefix, c.Reencoded, c.Missing)
	if c.Patched != 0 {
		w.b = fmt.Appendf(w.b, `,"patched":%d`, c.Patched)
	}
	w.b = append(w.b, "}}"...)
}

func (w *documentWriter) texts(list []string) {
	if list == nil {
		w.b = append(w.b, "null"...)
		return
	}
	w.b = append(w.b, '[')
	for i, text := range list {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.text(text)
	}
	w.b = append(w.b, ']')
}

func (w *documentWriter) text(text string) {
	if isPlain(text) {
		w.b = append(append(append(w.b, '"'), text...), '"')
		return
	}
	w.writeValue(text)
}

// writeValue writes a value within a line.
func (w *documentWriter) writeValue(value any) {
	if err := w.value(value); err != nil {
		w.fail(err)
	}
}

func encodePlacement(w *documentWriter, p *PlacementTable) error {
	segments := convert(p.Segments, func(s Segment) segmentDocument { return segmentDocument(s) })
	return w.value(placementDocument{p.ID, p.Dims, segments})
}

func encodeTable(w *documentWriter, t *Table) error {
	if err := t.Check(); err != nil {
		return err
	}
	return w.value(tableDocument{t.Kind, t.Name, t.First, t.Rows, t.Bytes})
}

// embed returns a Zarr document on one line, so that it can be nested in JSON. A document with an unquoted
// NaN or Infinity, which Python reads but the standard forbids, becomes a JSON string. Other documents are
// valid JSON, because zarrjson has read or written them.
func embed(doc []byte) json.RawMessage {
	if embeddable(doc) {
		return doc
	}
	b := bytes.NewBuffer(make([]byte, 0, len(doc)))
	if json.Compact(b, doc) == nil {
		return b.Bytes()
	}
	quoted, err := json.Marshal(string(doc))
	if err != nil {
		return nil // cannot happen: every string has a JSON form
	}
	return quoted
}

// embeddable reports whether a document can be nested in a line of JSON without any change.
func embeddable(doc []byte) bool {
	return !bytes.ContainsAny(doc, "\n\r\t") && !bytes.Contains(doc, []byte("NaN")) && !bytes.Contains(doc, []byte("Infinity"))
}
