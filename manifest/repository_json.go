package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"varve/codec"
	"varve/zarrjson"
)

// A snapshot's file is a JSON object, for others to read as well: one line for each group,
// array, placement, table and skipped source. An array's zarr.json is in it as it stands.
type snapshotDocument struct {
	headDocument
	Options    json.RawMessage     `json:"options,omitempty"`
	State      json.RawMessage     `json:"state,omitempty"`
	Seal       *Seal               `json:"seal,omitempty"`
	Groups     []groupDocument     `json:"groups"`
	Arrays     []arrayDocument     `json:"arrays"`
	Placements []placementDocument `json:"placements"`
	Tables     []tableDocument     `json:"tables"`
	Skipped    []skippedDocument   `json:"skipped"`
	Merged     map[string]int64    `json:"merged,omitempty"`
}

// headDocument are the fields that a snapshot begins with.
type headDocument struct {
	Varve   int       `json:"varve"`
	Parent  string    `json:"parent"`
	Created time.Time `json:"created"`
	Message string    `json:"message"`
	Writer  string    `json:"writer"`
	Sources int64     `json:"sources"`
	Refs    int64     `json:"refs"`
}

type groupDocument struct {
	Path       string          `json:"path"`
	Attributes json.RawMessage `json:"attributes"`
}

type arrayDocument struct {
	Path string          `json:"path"`
	Zarr json.RawMessage `json:"zarr"`
	placedDocument
}

// placedDocument is what is said of an array besides its face.
type placedDocument struct {
	Placement string            `json:"placement,omitempty"`
	Variables []string          `json:"variables,omitempty"`
	Dims      []string          `json:"dims"`
	Renamed   map[string]string `json:"renamed,omitempty"`
	Reading   Reading           `json:"reading,omitempty"`
	Pieces    []pieceDocument   `json:"pieces,omitempty"`
	Patches   []patchedDocument `json:"patches,omitempty"`
	Chunks    Counts            `json:"chunks"`
}

type pieceDocument struct {
	Origin []int64 `json:"origin"`
	Shape  []int64 `json:"shape"`
	Values string  `json:"values"`
}

type patchedDocument struct {
	Table  string  `json:"table"`
	Row    int64   `json:"row"`
	Rows   int64   `json:"rows"`
	File   string  `json:"file"`
	Counts []int64 `json:"counts"`
	Shift  []int64 `json:"shift"`
	Limit  []int64 `json:"limit"`
}

type placementDocument struct {
	ID       string            `json:"id"`
	Dims     []string          `json:"dims"`
	Segments []segmentDocument `json:"segments"`
}

type segmentDocument struct {
	Table string  `json:"table"`
	Row   int64   `json:"row"`
	Rows  int64   `json:"rows"`
	Shift []int64 `json:"shift"`
}

// tableDocument has no field for the sum, which is in the name.
type tableDocument struct {
	Kind  TableKind `json:"kind"`
	Name  string    `json:"name"`
	First int64     `json:"first"`
	Rows  int64     `json:"rows"`
	Bytes int64     `json:"bytes"`
}

type skippedDocument struct {
	URL string `json:"url"`
	Why string `json:"why"`
}

// encodeSnapshot writes the file of a snapshot. The id, a hash of it, is not in it.
func encodeSnapshot(s *Snapshot) ([]byte, error) {
	w := documentWriter{b: []byte("{\n")}
	w.field("varve", s.Varve)
	w.field("parent", s.Parent)
	w.field("created", s.Created)
	w.field("message", s.Message)
	w.field("writer", s.Writer)
	w.field("sources", s.Sources)
	w.field("refs", s.Refs)
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

// documentWriter writes an object a field at a time, as encoding/json spells values.
type documentWriter struct {
	b   []byte
	err error // the first
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

// linesAtOnce is how many lines are written before another core takes some of them.
const linesAtOnce = 64

// writeLines writes a list, one item a line. Long lists are written by all cores.
func writeLines[T any](w *documentWriter, name string, items []T, encode func(*documentWriter, *T) error) {
	w.b = fmt.Appendf(w.b, "  %q: [", name)
	stretches := make([]documentWriter, (len(items)+linesAtOnce-1)/linesAtOnce)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(stretches)) {
		workers.Go(func() {
			for i := int(next.Add(1) - 1); i < len(stretches); i = int(next.Add(1) - 1) {
				lines(&stretches[i], items, i*linesAtOnce, encode)
			}
		})
	}
	workers.Wait()
	all := len(name)
	for i := range stretches {
		all += len(stretches[i].b)
	}
	const others = 16 << 10 // behind this list
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

// lines writes items of a list from one on, with a comma behind each.
func lines[T any](w *documentWriter, items []T, first int, encode func(*documentWriter, *T) error) {
	end := min(first+linesAtOnce, len(items))
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

func encodeGroup(w *documentWriter, g *GroupFace) error {
	return w.value(groupDocument{g.Path, embed(g.Attributes.JSON())})
}

// encodeArray writes an array's line. The Zarr document is put into it as it is: it is long,
// and there are many.
func encodeArray(w *documentWriter, a *Array) error {
	if a.Face == nil {
		return fmt.Errorf("%s has no face", a.Path)
	}
	w.b = append(w.b, `{"path":`...)
	w.text(a.Path)
	w.b = append(w.b, `,"zarr":`...)
	at := len(w.b)
	whole, err := a.Face.Append(w.b, zarrjson.Compact)
	if err != nil {
		return fmt.Errorf("%s: %w", a.Path, err)
	}
	if w.b = whole; !embeddable(w.b[at:]) {
		w.b = append(w.b[:at], embed(bytes.Clone(w.b[at:]))...)
	}
	w.placed(a)
	return w.err
}

// placed writes the fields of a placedDocument, and the brace behind them, which encoding/json
// takes long for.
func (w *documentWriter) placed(a *Array) {
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
		w.embedded(a.Renamed)
	}
	if field("reading", a.Reading != "") {
		w.text(string(a.Reading))
	}
	if field("pieces", len(a.Pieces) > 0) {
		w.embedded(convert(a.Pieces, func(p Piece) pieceDocument { return pieceDocument(p) }))
	}
	if field("patches", len(a.Patches) > 0) {
		w.embedded(convert(a.Patches, func(p Patched) patchedDocument { return patchedDocument(p) }))
	}
	c := &a.Chunks
	w.b = fmt.Appendf(w.b, `,"chunks":{"verbatim":%d,"prefix":%d,"rebuilt":%d,"missing":%d`, c.Verbatim, c.Prefix, c.Rebuilt, c.Missing)
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
	w.embedded(text)
}

// embedded writes a value within a line.
func (w *documentWriter) embedded(value any) {
	if err := w.value(value); err != nil {
		w.fail(err)
	}
}

func encodePlacement(w *documentWriter, p *PlacementTable) error {
	segments := convert(p.Segments, func(s Segment) segmentDocument { return segmentDocument(s) })
	return w.value(placementDocument{p.ID, p.Dims, segments})
}

func encodeTable(w *documentWriter, t *Table) error {
	if err := t.check(); err != nil {
		return err
	}
	return w.value(tableDocument{t.Kind, t.Name, t.First, t.Rows, t.Bytes})
}

// embed returns a Zarr document as JSON within JSON, on one line. One with a bare NaN, which
// Python reads and the standard does not know, becomes a string: all else is as it should be,
// since zarrjson has read or written it.
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
		return nil // strings always have a form in JSON
	}
	return quoted
}

// embeddable tells of a document that is JSON within JSON as it is.
func embeddable(doc []byte) bool {
	return !bytes.ContainsAny(doc, "\n\r\t") && !bytes.Contains(doc, []byte("NaN")) && !bytes.Contains(doc, []byte("Infinity"))
}

// embedded reverts embed.
func embedded(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return raw, nil
	}
	var doc string
	err := json.Unmarshal(raw, &doc)
	return []byte(doc), err
}

func convert[A, B any](from []A, f func(A) B) []B {
	if len(from) == 0 {
		return nil
	}
	to := make([]B, len(from))
	for i, v := range from {
		to[i] = f(v)
	}
	return to
}

func (d *headDocument) check() error {
	switch {
	case d.Varve != Version:
		return fmt.Errorf("a snapshot of version %d: %w: this is varve %d", d.Varve, errors.ErrUnsupported, Version)
	case d.Parent != "" && !isSum(d.Parent):
		return fmt.Errorf("%w: parent is %.80q, not 64 hex digits", codec.ErrCorrupt, d.Parent)
	}
	return nil
}

// decodeHead reads the fields that a snapshot begins with, and what is behind them only if
// somebody put them elsewhere.
func decodeHead(data []byte) (*headDocument, error) {
	d := &headDocument{}
	fields := map[string]any{"varve": &d.Varve, "parent": &d.Parent, "created": &d.Created, "message": &d.Message,
		"writer": &d.Writer, "sources": &d.Sources, "refs": &d.Refs}
	in := json.NewDecoder(bytes.NewReader(data))
	_, err := in.Token() // {
	for err == nil && len(fields) > 0 && in.More() {
		var key json.Token
		if key, err = in.Token(); err != nil {
			break
		}
		name, _ := key.(string)
		into := fields[name]
		delete(fields, name)
		if into == nil {
			into = &json.RawMessage{}
		}
		err = in.Decode(into)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
	}
	return d, d.check()
}

// decodeSnapshot reads the file of a snapshot. Fields that it does not know are passed over.
func decodeSnapshot(data []byte) (*Snapshot, error) {
	var d snapshotDocument
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	s := &Snapshot{
		Varve: d.Varve, Parent: d.Parent, Created: d.Created, Message: d.Message, Writer: d.Writer,
		Options: d.Options, State: d.State, Merged: d.Merged, Sources: d.Sources, Refs: d.Refs, Seal: d.Seal,
		Placements: convert(d.Placements, decodePlacement),
		Tables:     convert(d.Tables, decodeTable),
		Skipped:    convert(d.Skipped, func(k skippedDocument) Skipped { return Skipped(k) }),
	}
	for i := range s.Tables {
		if err := s.Tables[i].check(); err != nil {
			return nil, fmt.Errorf("tables[%d]: %w", i, err)
		}
	}
	return s, s.decodeFaces(&d)
}

func (s *Snapshot) decodeFaces(d *snapshotDocument) error {
	for i, g := range d.Groups {
		face, err := decodeGroup(g)
		if err != nil {
			return fmt.Errorf("groups[%d], %q: %w", i, g.Path, err)
		}
		s.Groups = append(s.Groups, face)
	}
	for i := range d.Arrays {
		a, err := decodeArray(&d.Arrays[i])
		if err != nil {
			return fmt.Errorf("arrays[%d], %q: %w", i, d.Arrays[i].Path, err)
		}
		s.Arrays = append(s.Arrays, a)
	}
	return nil
}

func decodeGroup(g groupDocument) (GroupFace, error) {
	doc, err := embedded(g.Attributes)
	if err != nil {
		return GroupFace{}, err
	}
	attributes, err := zarrjson.ParseAttributes(doc)
	return GroupFace{g.Path, attributes.Relaid()}, err
}

func decodeArray(a *arrayDocument) (Array, error) {
	doc, err := embedded(a.Zarr)
	if err != nil {
		return Array{}, err
	}
	face, err := zarrjson.ParseArray(doc)
	if err != nil {
		return Array{}, err
	}
	// The white space is the snapshot's, not that of a document that a client sees.
	face.Attributes = face.Attributes.Relaid()
	return Array{
		Path: a.Path, Face: face, Placement: a.Placement, Variables: a.Variables, Dims: a.Dims,
		Renamed: a.Renamed, Reading: a.Reading, Chunks: a.Chunks,
		Pieces:  convert(a.Pieces, func(p pieceDocument) Piece { return Piece(p) }),
		Patches: convert(a.Patches, func(p patchedDocument) Patched { return Patched(p) }),
	}, nil
}

func decodeTable(t tableDocument) Table {
	sum := strings.TrimSuffix(path.Base(t.Name), path.Ext(t.Name))
	return Table{t.Kind, t.Name, t.First, t.Rows, t.Bytes, sum[strings.LastIndexByte(sum, '-')+1:]}
}

func decodePlacement(p placementDocument) PlacementTable {
	segments := convert(p.Segments, func(s segmentDocument) Segment { return Segment(s) })
	return PlacementTable{p.ID, p.Dims, segments}
}
