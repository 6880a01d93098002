package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"varve/codec"
	"varve/zarrjson"
)

// snapshotDocument is the JSON of a snapshot's file, which other programs can read too: one line for
// each group, array, placement, table and skipped source. It contains each array's zarr.json
// unchanged.
type snapshotDocument struct {
	headDocument
	Generation int                 `json:"generation,omitempty"`
	Checksums  bool                `json:"checksums,omitempty"`
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

// headDocument has the first fields of a snapshot.
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
	Path       string            `json:"path"`
	Attributes json.RawMessage   `json:"attributes"`
	Types      map[string]string `json:"attribute_types,omitempty"`
}

type arrayDocument struct {
	Path string          `json:"path"`
	Zarr json.RawMessage `json:"zarr"`
	placementFields
}

// placementFields has the fields of an array besides its schema.
type placementFields struct {
	Placement  string            `json:"placement,omitempty"`
	Variables  []string          `json:"variables,omitempty"`
	Dims       []string          `json:"dims"`
	Renamed    map[string]string `json:"renamed,omitempty"`
	Unnamed    []string          `json:"unnamed,omitempty"`
	Reading    Reading           `json:"reading,omitempty"`
	Calibrated bool              `json:"calibrated,omitempty"`
	Types      map[string]string `json:"attribute_types,omitempty"`
	CodecSizes [][][2]int64      `json:"codec_sizes,omitempty"`
	Pieces     []pieceDocument   `json:"pieces,omitempty"`
	Patches    []patchedDocument `json:"patches,omitempty"`
	Chunks     Counts            `json:"chunks"`
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

// tableDocument has no field for the sum, because the name contains it.
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

// linesPerTask is the number of lines that one goroutine writes before it takes the next ones.
const linesPerTask = 64

// unembed returns the document that was passed to embed, given the result of embed.
func unembed(raw json.RawMessage) ([]byte, error) {
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

func (d *headDocument) checkVersion() error {
	switch {
	case d.Varve != Version && d.Varve != VersionOfViews:
		return fmt.Errorf("the snapshot has version %d, which is %w: this varve reads versions %d and %d", d.Varve, errors.ErrUnsupported, Version, VersionOfViews)
	case d.Parent != "" && !IsSum(d.Parent):
		return fmt.Errorf("%w: parent is %.80q, not 64 hex digits", codec.ErrCorrupt, d.Parent)
	}
	return nil
}

// Entry is the short description of a snapshot in a log.
type Entry struct {
	ID, Parent      string
	Created         time.Time
	Message, Writer string
	Sources, Refs   int64
}

// DecodeEntry returns the first fields of a snapshot's file, without its ID. It does not parse the rest of
// the file, unless another program wrote the fields in another order.
func DecodeEntry(data []byte) (*Entry, error) {
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
		// Skip a field of another name.
		if into == nil {
			into = &json.RawMessage{}
		}
		err = in.Decode(into)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
	}
	return &Entry{Parent: d.Parent, Created: d.Created, Message: d.Message, Writer: d.Writer, Sources: d.Sources, Refs: d.Refs}, d.checkVersion()
}

// DecodeSnapshot parses a snapshot's file. It ignores fields that it does not know.
func DecodeSnapshot(data []byte) (*Snapshot, error) {
	var d snapshotDocument
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
	}
	if err := d.checkVersion(); err != nil {
		return nil, err
	}
	s := &Snapshot{
		Varve: d.Varve, Parent: d.Parent, Created: d.Created, Message: d.Message, Writer: d.Writer, Generation: d.Generation,
		Options: d.Options, State: d.State, Merged: d.Merged, Sources: d.Sources, Refs: d.Refs, Checksums: d.Checksums, Seal: d.Seal,
		Placements: convert(d.Placements, decodePlacement),
		Tables:     convert(d.Tables, decodeTable),
		Skipped:    convert(d.Skipped, func(k skippedDocument) Skipped { return Skipped(k) }),
	}
	for i := range s.Tables {
		if err := s.Tables[i].Check(); err != nil {
			return nil, fmt.Errorf("tables[%d]: %w", i, err)
		}
	}
	return s, s.decodeSchemas(&d)
}

func (s *Snapshot) decodeSchemas(d *snapshotDocument) error {
	for i, g := range d.Groups {
		schema, err := decodeGroup(g)
		if err != nil {
			return fmt.Errorf("groups[%d], %q: %w", i, g.Path, err)
		}
		s.Groups = append(s.Groups, schema)
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

func decodeGroup(g groupDocument) (GroupSchema, error) {
	doc, err := unembed(g.Attributes)
	if err != nil {
		return GroupSchema{}, err
	}
	attributes, err := zarrjson.ParseAttributes(doc)
	return GroupSchema{g.Path, attributes.WithoutLayout(), g.Types}, err
}

func decodeArray(a *arrayDocument) (Array, error) {
	doc, err := unembed(a.Zarr)
	if err != nil {
		return Array{}, err
	}
	schema, err := zarrjson.ParseArray(doc)
	if err != nil {
		return Array{}, err
	}
	// Forget the white space of the attributes: a snapshot has them on one line, and clients get them
	// indented.
	schema.Attributes = schema.Attributes.WithoutLayout()
	return Array{
		Path: a.Path, Schema: schema, Placement: a.Placement, Variables: a.Variables, Dims: a.Dims,
		Renamed: a.Renamed, Unnamed: a.Unnamed, Reading: a.Reading, Calibrated: a.Calibrated, AttributeTypes: a.Types, CodecSizes: a.CodecSizes, Chunks: a.Chunks,
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
